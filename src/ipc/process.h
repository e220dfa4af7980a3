/*
 * Processes that something is held for, by descriptors that their clients
 * passed. (process.c says why and how.)
 */
#ifndef DDBLOCKD_IPC_PROCESS_H
#define DDBLOCKD_IPC_PROCESS_H

/* Allocation failures come back as results; they never end this process. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((void)0)

#include <uthash.h>

#include "ipc/connection.h"

/* A process; its end is an event. */
struct process {
	UT_hash_handle hh;	/* in server->processes, by number */
	uint64_t number;
	struct server *server;
	uint64_t client;	/* who asked; it may have left */
	struct user *user;	/* and whose it is, and bounds */
	char *name;		/* what that client was called */
	int fd;
	int signal;		/* that tells it of a loss; 0: none does */
	bool told;
	pid_t pid;
	struct event event;
};

/* One read, with what was passed along. As recv(). */
ssize_t process_receive(struct connection *, char *data, size_t size);

/* What was run of it is done with: what nobody took is closed. */
void process_forget_passed(struct connection *);

/*
 * Take the one that was passed with this line, for a request of this
 * connection. 0, or a code with its reason in server->reason.
 */
int process_take(struct connection *, int signal, uint64_t *ret_number);

/* NULL: there is none such, or none. */
const struct process *process_find(const struct server *, uint64_t number);

/* May we signal it? */
bool process_can_be_told(const struct process *);

/* Tell it that it has lost this hold, unless it has none. */
void process_notify(struct server *, uint64_t hold);

/* Nothing is for it any more. */
void process_drop(struct server *, uint64_t number);

/* The server ends. Who has nobody else that could tell is told now. */
void process_drop_all(struct server *);

#endif
