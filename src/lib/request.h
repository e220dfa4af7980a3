/*
 * Requests under way, each known by the number that is its tag.
 *
 * A request: new (it has no effect until it is sent), then write its arguments
 * to ->out of the connection, then send. On failure of send the request is gone
 * and ->out has not changed.
 */
#ifndef DDBLOCKD_LIB_REQUEST_H
#define DDBLOCKD_LIB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ddblock.h"
#include "ipc/protocol.h"
#include "lib/connection.h"
#include "lib/parts.h"

#define REQUESTS_MAX 1024
#define REQUEST_ANSWER_MS 30000	/* how long a call blocks at most */

enum request_kind {
	REQUEST_HELLO = 1,
	REQUEST_ACQUIRE,
	REQUEST_RELEASE,
	REQUEST_GIVE_BACK,	/* RELEASE by ourselves */
	REQUEST_WATCH,
	REQUEST_RESUME,
	REQUEST_REOPEN,		/* RESUME by ourselves */
	REQUEST_OTHER,
};

struct request {
	TAILQ_ENTRY(request) entry;
	uint64_t number;		/* also its tag */
	enum request_kind kind;
	char name_space[CONNECTION_NAME_MAX + 1]; /* ACQUIRE; "": default */
	struct parts *parts;		/* ACQUIRE */
	uint64_t hold;			/* RENEW, RELEASE; 0: another verb */
	bool manual;			/* ACQUIRE: only RENEW prolongs it */
	bool abandoned;			/* a grant is given back at once */
	bool lost;			/* RELEASE: of a lost hold */
	bool stale;			/* RELEASE: of an earlier daemon */
	bool asks_resume;		/* HELLO */
	bool again;			/* it may be sent twice */
	bool sent;			/* on this connection or an old one */
	bool there;			/* RELEASE: the hold was resumed */
	uint64_t until_ms;		/* ACQUIRE: the end of its wait */
	char *line;			/* to be sent again; or NULL */
	size_t line_length;
	int pass_fd;			/* goes with the line; or -1 */
	ddblock_row_function *on_row;
	ddblock_row_function *on_progress;	/* LIST, ACQUIRE */
	void *progress_arg;
	ddblock_reply_function *on_reply;
	void *arg;
};

struct request_draft {
	struct request *request;
	size_t mark;		/* where it begins in ->out */
};

int request_new(struct ddblock *, enum request_kind, enum protocol_verb,
    struct request_draft *ret);
int request_send(struct ddblock *, struct request_draft *,
    uint64_t *ret_number);
/* The same, with a callback for its reply. */
int request_send_for(struct ddblock *, struct request_draft *,
    ddblock_reply_function *, void *arg, uint64_t *ret_number);
/* Which lock: @ns and @sort may be NULL. */
void request_write_name(struct ddblock *, const char *key, const char *ns,
    const char *sort);
struct request *request_find(struct ddblock *, uint64_t number);
/* One that releases that hold and was not found ->there, or NULL. */
struct request *request_find_release(struct ddblock *, uint64_t id);

/* Write it once more, with what is left of its wait. Without room, or time, it
 * is answered. */
void request_send_again(struct ddblock *, struct request *);

/* Call back with the reply and forget the request. */
void request_answer(struct ddblock *, struct request *,
    const struct ddblock_reply *);

/* Forget it, or all, without callbacks. */
void request_forget(struct ddblock *, struct request *);
void request_free_all(struct ddblock *);

#endif
