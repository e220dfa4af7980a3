/*
 * Processes that locks are held for, by descriptors that their clients passed.
 * (process.c says why and how.)
 */
#ifndef DDBLOCKD_IPC_CONNECTION_PROCESS_H
#define DDBLOCKD_IPC_CONNECTION_PROCESS_H

/* Allocation failures come back as results; they never end this process. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((void)0)

#include <uthash.h>

#include "ipc/connection/connection.h"

struct keep_process;

#define PROCESS_COMMAND_MAX 15	/* as proc_pid_comm(5) says */

/* A process; its end is an event. */
struct process {
	UT_hash_handle hh;	/* in server->processes, by number */
	uint64_t number;
	struct server *server;
	uint64_t client;	/* the client; it may have left */
	struct user *user;	/* its user, with the limits */
	char *name;		/* the name of that client */
	char command[PROCESS_COMMAND_MAX + 1];	/* the kernel's name for it */
	int fd;
	int signal;		/* that reports a loss; 0: none */
	bool told;
	pid_t pid;
	uint64_t began;		/* as /proc has it; 0: not known */
	journal_place place;	/* of its entry */
	struct event event;
};

/* One read, with the descriptors passed along. As recv(); what is not the
 * client's (sender.c) is as if it had not come. */
ssize_t process_receive(struct connection *, char *data, size_t size);

/* Close the descriptors that the lines run so far did not take. */
void process_forget_passed(struct connection *);

/*
 * Take the descriptor that was passed with this line, for a request of this
 * connection. 0, or a code with its reason in server->reason.
 */
int process_take(struct connection *, int signal, uint64_t *ret_number);

/* NULL: there is no such process. */
const struct process *process_find(const struct server *, uint64_t number);

/* May we signal it? */
bool process_can_be_told(const struct process *);

/* Tell the process of this hold, if it has one, that it is lost. */
void process_notify(struct server *, uint64_t hold);

/* Put its entry into the journal, if there is one. */
void process_keep(struct process *);

/* It has this entry of a server before this one. False: it cannot be watched
 * any more, as a rule because it has ended. */
bool process_again(struct server *, const struct keep_process *,
    const char *name, size_t name_length);

/* No hold is for it any more. */
void process_drop(struct server *, uint64_t number);

/* The server ends. A process whose client has left is told now. */
void process_drop_all(struct server *);

#endif
