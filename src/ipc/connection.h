/*
 * The insides of the server, shared by the files of src/ipc/ only.
 *
 * Order of work: a readable socket runs its lines; whatever is to be sent is
 * appended to a connection's output and the connection is put on the list of
 * those with work. At the end of the loop's round server_on_work() sends each
 * output with one write and removes the connections that ended. So a batch of
 * requests costs one write, and nothing is freed under somebody's feet.
 */
#ifndef DDBLOCKD_IPC_CONNECTION_H
#define DDBLOCKD_IPC_CONNECTION_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "common/buffer.h"
#include "ipc/codec.h"
#include "ipc/protocol.h"
#include "ipc/server.h"

#define SERVER_CHUNK_SIZE (16 * 1024)	/* read at once */
#define SERVER_SPARE_MAX 32		/* empty buffers kept for the next */
#define SERVER_SPARE_SIZE_MAX (16 * 1024)
#define CONNECTION_LINES_MAX 512	/* run before others have their turn */
#define CONNECTION_LISTINGS_MAX 8	/* unanswered, per connection */
#define CONNECTION_GUESSES_MAX 8	/* secrets that are none */
#define CONNECTION_NAME_MAX 100
#define CONNECTION_LOW_BYTES (64 * 1024) /* below this a listing goes on */
#define LISTING_STEPS_MAX 512		/* looked at in one round */
#define TELL_MS 1000			/* about what waits */

/* A user of this host and what all his connections together use. */
struct user {
	struct user *next;
	uid_t uid;
	uint32_t n_connections;
	uint32_t n_processes;	/* that something is held for */
	size_t queued_bytes;
	size_t pending_bytes;	/* and of these, for the core: up to half of
				 * what there may be */
	struct account *greatest;	/* who has most of them; NULL: all have
					 * little */
};

/* Of one connection, as it was when a round was over. */
struct account {
	size_t bytes;		/* of user->queued_bytes */
	size_t weight;		/* 0: it is not in the heap */
	struct account *child, *next;
	struct account *previous;	/* or whose first child it is */
};

/* Who is at the other end, as the kernel says. */
struct peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	char *name;		/* HELLO's, else the command's; never NULL */
};

/* What the row of a lock may say of it, one bit each, as ARGUMENT_STATE has
 * them; and that of a hold, as ARGUMENT_HOLD_STATE. */
enum listing_state {
	LISTING_FREE = 1,
	LISTING_HELD = 2,
	LISTING_DEAD = 4,

	LISTING_HOLD_HELD = 1,
	LISTING_HOLD_DANGER = 2,
	LISTING_HOLD_LOST = 4,
};

/* A LIST, CHECK, HELD, WAITING or RESUME that goes on as the client reads. */
struct listing {
	uint64_t namespaces;	/* a bit each; LIST, CHECK: those yet to be
				 * read */
	uint32_t namespace_index;	/* and the one that is being read */
	bool asked;		/* LIST: and the core has been asked to */
	char *key;			/* NULL: any; LIST: a prefix */
	size_t key_length;
	char *sort;			/* NULL: any */
	size_t sort_length;
	unsigned states;		/* LIST, HELD */
	uint64_t after;		/* but LIST: the last one that was seen */
	uint64_t n_rows;
	uint64_t n_warnings, n_errors;	/* CHECK: of these */
	uint64_t n_examined;		/* LIST */
	uint64_t read_milliunits;
	bool tells;			/* LIST: how far it is, */
	uint64_t tell_ms;		/* so often, */
	uint64_t tell_at_ms;		/* then for the next time */
	bool ready;			/* the next page may be asked for */
};

enum pending_kind {
	PENDING_CORE = 1,	/* the core answers once */
	PENDING_LIST,		/* the core answers page by page */
	PENDING_CHECK,		/* a store answers thing by thing */
	PENDING_HELD,		/* answered from the core's views */
	PENDING_WAITING,
	PENDING_RELEASES,		/* of all: answered with its parts */
	PENDING_RESUME,	/* the core answers, then its views */
};

/* A change that a client has not room for: what is true when it has will be
 * said. */
struct unread {
	struct unread *next;
	uint32_t namespace_index;
	size_t key_length;
	char key[];
};

/* What one who waits in line was told last. */
struct report {
	bool said;
	bool held;
	bool dead;
	uint32_t ahead;
	int cause;
	uint32_t n_holders;
	uint64_t client;
	uint64_t token;
};

/* A request that has no final reply yet. */
struct pending {
	struct pending *next;
	struct pending *prev;
	uint64_t number;
	enum pending_kind kind;
	bool acquire;			/* may be cancelled */
	size_t bytes;			/* that the core keeps for it */
	bool reports;			/* its place in line */
	bool best_effort;		/* RELEASE: OK, whatever happens */
	struct pending *whole;		/* of which this is a part, unheard */
	uint32_t n_parts;		/* RELEASES: without an answer */
	uint32_t n_released, n_lost, n_failed;
	int cause;			/* of a failure */
	size_t tag_length;
	char tag[CODEC_TAG_MAX + 1];
	struct listing *listing;	/* NULL for PENDING_CORE */
	struct report told;
};

struct connection {
	struct server *server;
	uint64_t client;		/* the core's name for it */
	int fd;
	short watched;			/* what @event waits for */
	struct event event;
	struct peer peer;
	struct user *user;

	struct buffer in;		/* an unfinished line, or more lines */
	size_t scanned;			/* of @in: known to have no LF */
	struct buffer out;
	struct account account;
	uint64_t requests;		/* numbers handed out */
	struct pending *pending;
	uint32_t n_pending;
	size_t pending_bytes;		/* of all of them */
	uint32_t n_listings;
	uint32_t n_reports;

	/* Asked for !RENEWED: until_ms of each namespace's unsent one, or 0.
	 * Written when it is sent, or before the next line about a hold, so a
	 * slow reader gets the latest only, and nothing about what came
	 * after. */
	uint64_t *renewed;

	struct unread *unread;		/* to be said when it reads again */

	bool skipping;			/* the rest of a line too long */
	bool has_lines;			/* in @in, not yet run */
	bool blocked;			/* the socket takes no more now */
	bool draining;			/* no more requests will come */
	bool doomed;			/* server_on_work() removes it */
	bool cut_off;			/* and its client may go on yet */
	bool in_core;			/* the core has heard of it */
	bool promises;	/* to say something often: the core hears of all */
	bool secretive;	/* what it is told or says is to be wiped */
	uint32_t n_guesses;		/* secrets that were none */
	uint32_t n_passed;	/* descriptors that came, not taken yet: */
	int passed;		/* the first, or -1 */

	bool has_work;
	struct connection *work_next;
	struct connection *work_prev;
};

struct server {
	struct event_base *base;
	struct server_calls calls;
	void *arg;
	struct server_limits limits;
	gid_t admin_group;
	char *path;
	char *version;
	char *host;
	uint64_t started_ms;

	int fd;				/* listening, or -1 */
	int reserve_fd;			/* given up to accept and refuse */
	bool bound;			/* the socket file is ours: */
	dev_t device;
	ino_t inode;
	struct event *accept_event;
	struct event *accept_pause;
	struct event *tell_event;	/* while somebody is told */
	bool stopping;
	bool refusing;

	struct connection **slots;	/* by the low bits of client */
	uint32_t n_slots;
	uint32_t n_connections;
	uint32_t slot_hint;
	uint64_t serial;
	struct user *users;
	struct process *processes;	/* process.h */
	uint32_t n_processes;
	uint64_t process_serial;

	struct event *work_event;
	struct connection *work;
	bool working;
	bool work_scheduled;

	struct buffer spare[SERVER_SPARE_MAX];
	size_t n_spare;
	char chunk[SERVER_CHUNK_SIZE + 1];
	struct codec_line line;
	struct buffer changed;		/* the line about one change, */
	uint64_t changed_serial;	/* for all who watch that lock */
	char reason[PROTOCOL_REASON_MAX];	/* of a refused request */
};

/* server.c */
struct connection *server_find(const struct server *, uint64_t client);
/* What holds in this namespace are called that do not say it: as it is
 * configured, or as their connection is. False: that is gone (NULL). */
bool server_owner(const struct server *, uint32_t namespace_index,
    const struct connection *, char ret[OWNER_LENGTH_MAX + 1]);
int server_add(struct server *, struct connection *);
void server_schedule(struct server *, struct connection *);
void server_log(struct server *, int priority, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void server_take_spare(struct server *, struct buffer *);
void server_give_spare(struct server *, struct buffer *);

/* listener.c */
int listener_open(struct server *, mode_t mode, gid_t group, char *text,
    size_t text_size);
int listener_start(struct server *);
void listener_close(struct server *);

/* peer.c */
int peer_init(struct peer *, int fd);
void peer_done(struct peer *);
int peer_rename(struct peer *, const char *name, size_t length);
/* HOST/NAME:PID, cut to fit. */
void peer_owner(const struct peer *, const char *host, char *text,
    size_t text_size);
/* Is it root, or one of the group of administrators? */
bool peer_is_admin(const struct peer *, int fd, gid_t admin_group);
struct user *user_find(struct server *, uid_t uid);
void user_leave(struct server *, struct user *);
void user_leave_process(struct server *, struct user *);
/* For one more process: with its connections they are not too many yet. */
bool user_has_room(const struct server *, const struct user *);

/* connection.c */
int connection_new(struct server *, int fd, struct connection **ret);
void connection_free(struct connection *);
void connection_run(struct connection *);
void connection_flush(struct connection *);
void connection_watch(struct connection *);
void connection_drain(struct connection *);
/* For the core it has ended. It is told why, and closed. */
void connection_dismiss(struct connection *, int code, const char *why);
/* We end it, for a reason that the log says: CORE_CUT and close at the end of
 * this round, unless the client has ended it already. */
void connection_cut(struct connection *, const char *why);
/* One write, as much as the socket takes. */
void connection_send(struct connection *);
/* Is there little enough to send, so that requests may be run? */
bool connection_has_room(const struct connection *);
/* Where to write a line; connection_queued() after it. */
struct buffer *connection_out(struct connection *);
void connection_queued(struct connection *);
/* Step the core on behalf of this connection. */
int connection_step(struct connection *, struct core_event *);
/* A reply without arguments; text NULL: the code's. */
void connection_refuse(struct connection *, const char *tag, int code,
    const char *text);

/* account.c. What it has queued when a round is over; who has most is cut off
 * if its user has too much. */
void account_review(struct connection *);
/* It has nothing any more. */
void account_close(struct connection *);

/* pending.c */
struct pending *pending_new(struct connection *, enum pending_kind,
    const struct codec_text *tag);
void pending_free(struct connection *, struct pending *);
struct pending *pending_find(struct connection *, uint64_t number);
struct pending *pending_find_tag(struct connection *, const char *tag,
    size_t length);
/* NULL for what is not asked for. */
struct listing *listing_new(const struct codec_text *key,
    const struct codec_text *sort);
void pending_free_listing(struct listing *);

/* release.c: the release of all. */
int release_all(struct connection *, const struct protocol_request *);
void release_answered(struct connection *, struct pending *part, int code);

/* verbs.c: run one request line. */
void verbs_run(struct connection *, struct codec_line *);

/* verbs_*.c: a handler for each verb. Each returns 0, or a code with its reason
 * in server->reason. */
#define VERB(name, handler, ...)                                               \
	int verbs_##handler(struct connection *,                               \
	    const struct protocol_request *);
#include "ipc/protocol.def"

/* What handlers share; they return the same. */
int verbs_reason(struct connection *, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int verbs_namespace(struct connection *, const struct protocol_request *,
    uint32_t *ret);
/* The same for several, a bit each. Without ns=, @ret stands. */
int verbs_namespaces(struct connection *, const struct protocol_request *,
    uint64_t *ret);
/* The name of the lock that the key @n and the sort= of this request mean; the
 * key's bytes, or @bytes. */
int verbs_name(struct connection *, const struct protocol_request *, size_t n,
    uint32_t namespace_index, char bytes[KEY_BYTES_MAX], struct key *ret);
/* Is there room for one more request? */
int verbs_room(struct connection *);
/* A request to be answered later; refused for want of memory. */
int verbs_pending(struct connection *, enum pending_kind,
    const struct protocol_request *, struct pending **ret);
/* One whose answer has rows, if there is room for it, too; listing_new(). */
int verbs_pending_rows(struct connection *, enum pending_kind,
    const struct protocol_request *, const struct codec_text *key,
    struct pending **ret);
/* Ask the core. Its answer may have come before this returns, and @p be gone;
 * it is if the core refused to be asked. */
int verbs_step(struct connection *, struct pending *, struct core_event *);
/* Ask the core what the rest of @event says; the answer comes later. */
int verbs_ask(struct connection *, const struct protocol_request *,
    struct core_event *);
/* What a line changes of what is kept in a lock. It points into the line. */
struct verbs_change {
	struct change change;
	struct attribute attributes[CODEC_ARGUMENTS_MAX];
};

/* verbs_keep.c. @ret_change is NULL if the line says nothing of that. */
int verbs_change(struct connection *, const struct protocol_request *,
    struct verbs_change *ret, const struct change **ret_change);

/* verbs_resume.c */
void resume_answered(struct connection *, struct pending *,
    const struct core_reply *);
void resume_row(struct connection *, const struct pending *,
    const struct core_hold_view *);

/* listing.c */
/* Tell how far it is, at most that often. */
void listing_tell(struct connection *, struct listing *, uint64_t tell_ms);
void listing_where(const struct connection *, struct buffer *,
    const struct listing *);
/* Does any listing of this connection tell? Then it does now. */
bool listing_say_all(struct connection *, uint64_t now_ms);
/* Ask the core to read the next of the namespaces of a LIST. Negative: it does
 * not admit that, and the request is gone. */
int listing_start(struct connection *, struct pending *);
void listing_rows(struct connection *, const struct core_rows *);
/* The core has read a namespace to its end. */
void listing_read(struct connection *, struct pending *);
/* Write what there is room for of what the core's views show. */
void listing_continue_view(struct connection *, struct pending *);
/* Write or ask for the next rows of what is being listed. */
void connection_continue_listing(struct connection *);

/* report.c: a place in line. */
void report_begin(struct connection *, struct pending *);
void report_say_all(struct connection *, uint64_t now_ms);

/* tell.c: what is told from time to time. */
void tell_start(struct server *);
void tell_on_time(evutil_socket_t, short, void *server);

/* answer.c: the core's actions as lines. */
void answer_reply(struct connection *, const struct core_reply *);
void answer_notice(struct connection *, const struct core_notice *);
void answer_renewed(struct connection *, uint32_t namespace_index,
    uint64_t until_ms);
void answer_write_renewed(struct connection *);

/* change.c: what those who watch a lock are told. */
void change_tell(struct connection *, const struct core_change *);
/* What was put aside because it did not read. */
void change_tell_rest(struct connection *);
void change_forget(struct connection *);

#endif
