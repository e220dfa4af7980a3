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

/* From whom they descend. Its children and its state are seen by descriptors
 * that are there, also when nothing can be opened any more. */
struct family_root {
	pid_t pid;
	int children;	/* of its first thread; -1: this kernel lists none */
	int about;	/* its state */
	int all;	/* the processes that there are */
};

#define FAMILY_NONE { .children = -1, .about = -1, .all = -1 }

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

/* 0, or -1 and errno. */
int family_open(struct family_root *, pid_t);
void family_close(struct family_root *);

/* Add the children of the root. By all its threads, or, on kernels that do not
 * list them, by all the processes there are. False: they could not be seen. */
bool family_add_children(struct family *, const struct family_root *);

/*
 * A signal (0: none) to all descendants that are chosen; returns how many there
 * are, and if that could not be seen, one at least. It allocates no memory.
 * Where nothing can be opened, it reaches the children of a root which is the
 * caller or has one thread; theirs are the caller's when they have ended.
 */
size_t family_signal(const struct family_root *, int number,
    const struct family_choice *);

/* Was it stopped, by a signal or a debugger? So it may be if nothing says. */
bool family_is_stopped(const struct family_root *);

#endif
