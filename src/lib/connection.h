/*
 * A connection from the inside. Its parts: bytes (connection.c), requests and
 * their replies (request.c), holds and their deadlines (hold.c), the locks of a
 * hold (parts.c), lines taken apart and sent to where they belong (dispatch.c).
 */
#ifndef DDBLOCKD_LIB_CONNECTION_H
#define DDBLOCKD_LIB_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/buffer.h"
#include "ddblock.h"
#include "ipc/protocol.h"

#define CONNECTION_PATH_MAX 108		/* what a socket address takes */
#define CONNECTION_NAME_MAX 64
#define CONNECTION_SECRET_MAX 64
#define CONNECTION_TEXT_MAX 512
#define CONNECTION_UNSENT_MAX (2 * 1024 * 1024)
#define CONNECTION_CONNECT_S 10
#define REQUESTS_MAX 1024
#define REQUEST_ANSWER_MS 30000	/* how long a call that blocks has patience */

enum request_kind {
	REQUEST_HELLO = 1,
	REQUEST_ACQUIRE,
	REQUEST_RELEASE,
	REQUEST_WATCH,
	REQUEST_RESUME,
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
	bool lost;			/* RELEASE: of what was lost */
	ddblock_row_function *on_row;
	ddblock_row_function *on_progress;	/* LIST, ACQUIRE */
	void *progress_arg;
	ddblock_reply_function *on_reply;
	void *arg;
};

struct hold {
	TAILQ_ENTRY(hold) entry;
	uint64_t id;
	struct parts *parts;
	struct ddblock_row *found;	/* kept in the lock; or NULL */
	uint64_t until_ms;		/* boot time */
	uint64_t end_ms;		/* and it is not renewed beyond */
	uint32_t count;			/* times that it is held */
	bool manual;			/* !RENEWED is not about it */
	uint64_t margin_ms;
	bool lost;
	char name_space[CONNECTION_NAME_MAX + 1];
};

TAILQ_HEAD(request_queue, request);
TAILQ_HEAD(hold_queue, hold);
TAILQ_HEAD(watch_queue, watch);	/* watch.c */

struct ddblock {
	int socket;			/* -1: broken, see error */
	int timer;			/* -1: not needed yet */
	int poll;			/* epoll of both; -1: not needed yet */
	bool poll_out;			/* what epoll waits for */
	int error;			/* why it broke, or 0 */
	bool dispatching;
	struct buffer in;
	struct buffer out;
	int pass_fd;			/* goes with what is there in ->out, */
	size_t pass_at;			/* or -1 */

	struct request_queue requests;
	size_t n_requests;
	uint64_t last_number;

	struct hold_queue holds;
	void *holds_by_id;		/* tsearch(3) */
	uint64_t deadline_ms;		/* no hold expires before */
	uint64_t timer_ms;		/* what the timer is set to */

	struct watch_queue watches;

	ddblock_event_function *on_event;
	void *event_arg;
	char default_namespace[CONNECTION_NAME_MAX + 1];
	char secret[CONNECTION_SECRET_MAX + 1];	/* of what lingers */
	char path[CONNECTION_PATH_MAX];
	char last_text[CONNECTION_TEXT_MAX];
};

/* A row is a line from the daemon; nobody outside knows. */
struct ddblock_row {
	struct codec_line line;
};

/* Let a duplicate of @fd go with what is there in ->out from now on. One at a
 * time. DDBLOCK_E_LIMIT, DDBLOCK_E_SYSTEM */
int connection_pass(struct ddblock *, int fd, size_t at);
void connection_drop_passed(struct ddblock *);

/* Write what can be written at once. A failure shows at the next read. */
void connection_flush(struct ddblock *);

/* 0: something was read. 1: nothing to read now. Negative: it ended. */
int connection_read(struct ddblock *);

/* It is over: holds are lost, requests fail, and @code stays. Calls back. */
void connection_break(struct ddblock *, int code, const char *text);

/* The timer runs out at the next deadline. */
int connection_need_timer(struct ddblock *);
void connection_set_timer(struct ddblock *);

/* Return @code, and keep what is to be said about it. */
int connection_fail(struct ddblock *, int code, const char *text);

/*
 * A request: new (it has no effect until it is sent), then write its
 * arguments to ->out, then send. On failure of send the request is gone and
 * ->out is as it was.
 */
struct request_draft {
	struct request *request;
	size_t mark;		/* where it begins in ->out */
};

int request_new(struct ddblock *, enum request_kind, enum protocol_verb,
    struct request_draft *ret);
int request_send(struct ddblock *, struct request_draft *,
    uint64_t *ret_number);
/* The same; its reply calls back. */
int request_send_for(struct ddblock *, struct request_draft *,
    ddblock_reply_function *, void *arg, uint64_t *ret_number);
/* Which lock: @ns and @sort may be NULL. */
void request_write_name(struct ddblock *, const char *key, const char *ns,
    const char *sort);
struct request *request_find(struct ddblock *, uint64_t number);

/* Call back with the reply and forget the request. */
void request_answer(struct ddblock *, struct request *,
    const struct ddblock_reply *);

/* The codes of an ERR line, its text kept as the last one. */
void request_read_error(struct ddblock *, const struct codec_line *,
    struct ddblock_reply *ret);

/*
 * The locks of one hold, in the order in which they were named, each with its
 * token, which may be 0: not every record format has tokens.
 */
struct parts {
	size_t n;
	struct part {
		const char *key;
		uint64_t token;
		char *token_text;	/* beyond all numbers; or NULL */
		bool granted;	/* the daemon has said so */
	} part[];
};

/* NULL: out of memory. */
struct parts *parts_new(const char *const *keys, size_t n);

/* Accepts NULL. */
void parts_free(struct parts *);

struct part *parts_find(struct parts *, const char *key);

/* Take the token from the row about one of several, or from a grant of one.
 * DDBLOCK_E_NOMEM */
int parts_granted(struct parts *, const struct codec_line *);
/* One more, of which that line tells. DDBLOCK_E_NOMEM */
int parts_add(struct parts **, const char *key, const struct codec_line *);
bool parts_are_granted(const struct parts *);

/*
 * Of a grant the hold takes the parts. DDBLOCK_E_PROTOCOL: the line is none.
 * DDBLOCK_E_LOCK_LOST: it is one, of the past; it was given back.
 */
int hold_granted(struct ddblock *, struct request *,
    const struct codec_line *, uint64_t *ret_id);
struct hold *hold_find(const struct ddblock *, uint64_t id);
/* A row of what is resumed: a hold, or one more lock of it.
 * DDBLOCK_E_PROTOCOL, DDBLOCK_E_NOMEM */
int hold_resumed(struct ddblock *, const struct codec_line *);
void hold_free(struct ddblock *, struct hold *);
const char *hold_namespace(const struct ddblock *, const struct hold *);

/* Take a later deadline from the line. */
void hold_extend(struct ddblock *, struct hold *, const struct codec_line *);

/* The same for every hold of the line's namespace. */
void hold_renewed(struct ddblock *, const struct codec_line *);

void hold_lose(struct ddblock *, struct hold *, enum ddblock_loss);
void hold_lose_all(struct ddblock *, enum ddblock_loss);

/* Report the holds whose deadline has passed. */
void hold_check(struct ddblock *);

/* The fields about what is kept in a lock, for free(3); NULL: nothing is. */
int kept_copy(const struct codec_line *, struct ddblock_row **ret);

/* Keep the secret that a grant came with, if it did. */
void resume_note(struct ddblock *, const struct codec_line *);

/* Tell the daemon that a hold is not wanted, whatever it thinks of it. */
void hold_give_back(struct ddblock *, uint64_t id);

/* The OK of a RELEASE. */
void release_refused(struct ddblock *, const struct request *, int code);
void release_answered(const struct request *, const struct codec_line *,
    struct ddblock_reply *ret);

/* The answer to a WATCH, and !CHANGED. They call back. */
void watch_answered(struct ddblock *, uint64_t request,
    const struct ddblock_row *, int code);
void watch_changed(struct ddblock *, const struct ddblock_row *);
void watch_free_all(struct ddblock *);

/* One line from the daemon. Negative: the daemon talks nonsense. */
int dispatch_line(struct ddblock *, char *line, size_t length);

void event_report(struct ddblock *, const struct ddblock_event *);

/* A call that blocks, until its request is answered. */
struct wait {
	uint64_t number;
	uint64_t limit_ms;	/* boot time: then the request is abandoned */
	bool answered;
	int code;
	int cause;			/* RELEASE, as far as it goes */
	uint64_t id;
	ddblock_row_function *on_row;	/* of the caller */
	ddblock_row_function *on_progress;
	void *arg;
};

void wait_on_reply(void *wait, struct ddblock *,
    const struct ddblock_reply *);

/* The end of patience for what concerns a hold: its own deadline. */
uint64_t wait_limit_ms(const struct ddblock *, uint64_t id);

/* DDBLOCK_E_NO_DAEMON: no answer within the limit. Else what was answered. */
int wait_until_answered(struct ddblock *, struct wait *);

#endif
