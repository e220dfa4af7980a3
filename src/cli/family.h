/*
 * All the processes that descend from one, whatever group or session they are
 * in, as far as /proc shows them.
 */
#ifndef DDBLOCKD_CLI_FAMILY_H
#define DDBLOCKD_CLI_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Those that are listed at a time. Whoever ends more has to ask again. */
#define FAMILY_MAX 4096

struct family {
	size_t n;
	pid_t pids[FAMILY_MAX];	/* parents before their children */
};

/* Which of them. */
struct family_choice {
	pid_t group_not;	/* none of this group */
	bool one_session;	/* those of @session only */
	pid_t session;		/* 0: any that began outside our pid namespace,
				 * as that of a container's first process may */
	const struct family *not;	/* children of the root that are not
					 * looked at, nor theirs; or NULL */
	bool ended_too;		/* those that nobody has reaped */
};

/* Add the children of a process. By all its threads, or, on kernels that do
 * not list them, by all the processes there are. */
void family_add_children(struct family *, pid_t);
void family_add_children_slowly(struct family *, pid_t);

/* A signal (0: none) to all descendants of @root that are chosen; returns how
 * many there are. */
size_t family_signal(pid_t root, int number, const struct family_choice *);

/* Was it stopped, by a signal or a debugger? */
bool family_is_stopped(pid_t);

#endif
