/*
 * A connection: its bytes, in and out, its timer, and all other state of it.
 * Above each group of fields of struct ddblock stands the file that writes
 * them; open.c makes them all.
 */
#ifndef DDBLOCKD_LIB_CONNECTION_H
#define DDBLOCKD_LIB_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/buffer.h"
#include "ddblock.h"

#define CONNECTION_PATH_MAX 108		/* the size of a socket address */
#define CONNECTION_NAME_MAX 64
#define CONNECTION_SECRET_MAX 64
#define CONNECTION_TEXT_MAX 512
#define CONNECTION_UNSENT_MAX (2 * 1024 * 1024)
#define CONNECTION_CONNECT_S 10

TAILQ_HEAD(request_queue, request);
TAILQ_HEAD(hold_queue, hold);
TAILQ_HEAD(watch_queue, watch);

enum reconnect_state {
	RECONNECT_UP = 0,	/* requests are written at once */
	RECONNECT_AWAY,		/* there is no socket */
	RECONNECT_OPENING,	/* there is one, whose RESUME has no answer */
};

struct reconnect {
	bool wanted;		/* by the caller */
	bool known;		/* the daemon knows resume=yes */
	enum reconnect_state state;
	char *name;		/* for the greeting; or NULL */
	uint64_t least_ms;	/* for so long it tries, also without holds, */
	uint64_t limit_ms;	/* that is until then */
	uint64_t retry_ms;	/* AWAY: the next try */
	uint64_t pause_ms;	/* between two tries; 0: the first */
	uint64_t up_ms;		/* since then it is UP */
	uint64_t due_ms;	/* the earliest of these times, or NEVER */
	uint64_t last_number;	/* OPENING: of the request that ends it, */
	uint64_t last_row;	/* and the hold of its last row */
	uint64_t seed;
};

struct ddblock {
	/* connection.c */
	int socket;			/* -1: broken, see error */
	int timer;			/* -1: not needed yet */
	uint64_t timer_ms;		/* what it is set to */
	int poll;			/* epoll of both; -1: not needed yet */
	bool poll_out;			/* what epoll waits for */
	struct buffer in;
	struct buffer out;
	bool blocks;			/* connecting may wait (open.c) */
	int pass_fd;			/* goes with the bytes now in ->out, */
	size_t pass_at;			/* or -1 */
	char path[CONNECTION_PATH_MAX];
	char last_text[CONNECTION_TEXT_MAX];

	/* request.c */
	struct request_queue requests;
	size_t n_requests;
	uint64_t last_number;

	/* hold.c */
	struct hold_queue holds;
	void *holds_by_id;		/* tsearch(3) */
	uint64_t deadline_ms;		/* no hold expires before */
	uint64_t last_id;		/* the greatest until now */
	uint64_t id_base;		/* to the daemon's own ids (hold.c) */

	/* hold.c, resume.c */
	char secret[CONNECTION_SECRET_MAX + 1];	/* of lingering holds */

	/* watch.c */
	struct watch_queue watches;

	/* event.c */
	ddblock_event_function *on_event;
	void *event_arg;

	/* reconnect.c, open.c */
	struct reconnect again;

	/* reply.c */
	char default_namespace[CONNECTION_NAME_MAX + 1];

	/* dispatch.c */
	int error;			/* why it broke, or 0 */
	bool dispatching;
};

/* Makes the fields of connection.c; there is no socket yet. @path fits. */
void connection_init(struct ddblock *, const char *path);
void connection_done(struct ddblock *);

/* DDBLOCK_E_SYSTEM, DDBLOCK_E_NO_DAEMON; errno says more. It waits for a
 * daemon that is too busy only if ->blocks. */
int connection_connect(struct ddblock *);

/* Send a duplicate of @fd with the bytes that follow in ->out. One at a time.
 * DDBLOCK_E_LIMIT, DDBLOCK_E_SYSTEM */
int connection_pass(struct ddblock *, int fd, size_t at);
void connection_drop_passed(struct ddblock *);

/* Write as much as goes at once. A failure shows at the next read. */
void connection_flush(struct ddblock *);

/* 0: something was read. 1: nothing to read now. Negative: it ended. */
int connection_read(struct ddblock *);

/* End all input and output; what arrived in part is dropped. */
void connection_shut(struct ddblock *);

/* The timer runs out at ->deadline_ms or ->again.due_ms. */
int connection_need_timer(struct ddblock *);
void connection_set_timer(struct ddblock *);

/* Return @code, and keep the error text. */
int connection_fail(struct ddblock *, int code, const char *text);

#endif
