/*
 * What the process before this one left in its journal about connections, their
 * requests and processes. Its data stay in that journal.
 */
#ifndef DDBLOCKD_IPC_SERVER_LEFT_H
#define DDBLOCKD_IPC_SERVER_LEFT_H

#include "ipc/connection/keep.h"

/* An entry that is about a connection; its data is in the old journal. */
struct left_entry {
	uint64_t client;
	uint64_t order;		/* among those of its kind and client */
	struct journal_entry entry;
};

/* Of what was hidden there. */
struct left_copy {
	struct left_copy *next;
	size_t length;
	struct keep_bytes bytes;
	char data[];
};

struct left {
	struct left_entry *entries[KEEP_PROCESS - KEEP_CONNECTION + 1];
	size_t n_entries[KEEP_PROCESS - KEEP_CONNECTION + 1];
	struct left_copy *copies;
};

/* Sorted: input and output by their clients, all else by its order.
 * DDBLOCK_E_NOMEM */
int left_read(struct left *, struct server *, const struct server_legacy *);
void left_done(struct left *);

/* For bsearch(). */
int left_by_order(const void *, const void *);

/* The first of this client's; NULL: there is none. */
const struct left_entry *left_first(const struct left *, enum keep_kind,
    uint64_t client);

#endif
