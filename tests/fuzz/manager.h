/*
 * What outlives a daemon: its socket, its journal, and the descriptors that it
 * has kept, as a service manager keeps them.
 */
#ifndef DDBLOCKD_TESTS_FUZZ_MANAGER_H
#define DDBLOCKD_TESTS_FUZZ_MANAGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/journal.h"
#include "ipc/server.h"

#define MANAGER_KEPT_MAX 64	/* of what is more no copy is kept */

struct manager {
	int listening;
	struct sockaddr_un address;	/* of that */
	socklen_t address_length;
	struct journal journal;		/* of the daemon that runs */
	bool journals;			/* it has one */
	int block;
	int memory;			/* -1: none */
	int kept[MANAGER_KEPT_MAX];
	int given[MANAGER_KEPT_MAX];	/* copies, to the next daemon */
	size_t n_kept;
	uint64_t number;
};

void manager_open(struct manager *);
void manager_close(struct manager *);

/* server_calls.keep */
uint64_t manager_keep(struct manager *, int fd, bool is_memory);

/* A daemon has ended, and a journal begins for the next one, which gets what
 * was left; without a journal, if that is not good. */
struct server_legacy manager_pass_on(struct manager *);
/* It has taken what it can: the rest ends. */
void manager_passed(struct manager *);

#endif
