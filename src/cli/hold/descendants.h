/*
 * All the processes that descend from a process, in any group or session, as
 * far as /proc shows them.
 */
#ifndef DDBLOCKD_CLI_HOLD_DESCENDANTS_H
#define DDBLOCKD_CLI_HOLD_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The most that are listed at a time. To end more, ask again. */
#define DESCENDANTS_MAX 4096

struct descendants {
	size_t n;
	pid_t pids[DESCENDANTS_MAX];	/* parents before their children */
};

/* The process that they descend from. Its children and its state are read by
 * descriptors that stay open, because later it may be impossible to open
 * any. */
struct ancestor {
	pid_t pid;
	int children;	/* of its first thread; -1: not listed */
	int about;	/* its state */
	int all;	/* all processes */
};

#define ANCESTOR_NONE { .children = -1, .about = -1, .all = -1 }

/* Which of them. */
struct descendants_filter {
	pid_t except_group;	/* none of this group */
	bool one_session;	/* of @session only */
	pid_t session;		/* 0: any that began outside our pid namespace,
				 * as that of a container's first process may */
	/* Children of the ancestor that are left out, and theirs; or NULL. */
	const struct descendants *except;
	bool with_ended;	/* also those not reaped yet */
};

/* 0, or -1 and errno. */
int ancestor_open(struct ancestor *, pid_t);
void ancestor_close(struct ancestor *);

/* Add the children of the ancestor. By its threads' lists of children; by all
 * processes on kernels without such lists. False: they could not be seen. */
bool descendants_add_children(struct descendants *, const struct ancestor *);

/*
 * A signal (0: none) to all descendants that are chosen; returns how many there
 * are, and at least 1 if that could not be seen. It allocates no memory. If
 * nothing can be opened, it reaches only the children of an ancestor that is
 * the caller or has one thread; when those have ended, their children become
 * the caller's.
 */
size_t descendants_signal(const struct ancestor *, int number,
    const struct descendants_filter *);

/* Was it stopped, by a signal or a debugger? Yes, if that is not known. */
bool ancestor_is_stopped(const struct ancestor *);

#endif
