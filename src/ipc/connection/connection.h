/*
 * A server and its connections, and the functions on them for all of src/ipc/.
 * (doc/architecture.md: The socket server.)
 *
 * Order of work: a readable socket has work, and so has a connection that a
 * line is to be sent to. At the end of the loop's round users have their turns
 * (schedule.c), and in those round_on_work() runs the lines of a connection,
 * sends its output with one write and removes it if it has ended. So a batch of
 * requests costs one write, and nothing is freed while it is in use.
 */
#ifndef DDBLOCKD_IPC_CONNECTION_CONNECTION_H
#define DDBLOCKD_IPC_CONNECTION_CONNECTION_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "common/buffer.h"
#include "common/freelist.h"
#include "common/socket_file.h"
#include "ipc/access.h"
#include "ipc/codec.h"
#include "ipc/connection/owner.h"
#include "ipc/protocol.h"
#include "ipc/server.h"

#define SERVER_CHUNK_SIZE (16 * 1024)	/* read at once */
#define SERVER_SPARE_MAX 32		/* empty buffers kept for the next */
#define SERVER_SPARE_SIZE_MAX (16 * 1024)
#define CONNECTION_LISTINGS_MAX 8	/* unanswered, per connection */
#define CONNECTION_GUESSES_MAX 8	/* wrong secrets */
#define CONNECTION_NAME_MAX 100
#define CONNECTION_LOW_BYTES (64 * 1024) /* below this a listing goes on */
#define LISTING_PIECE_MAX (64 * 1024)	/* of the text of metrics */
#define LISTING_STEPS_MAX 512		/* looked at in one turn */
#define TELL_MS 1000			/* between reports */
#define TURN_NS 100000			/* of a user: some short requests */
#define OWED_MAX_NS (5 * TURN_NS)

/* A user of this host, and what all connections of the user consume. */
struct user {
	struct user *next;
	uid_t uid;
	uint32_t n_connections;
	uint32_t n_fresh;	/* of these */
	uint32_t n_processes;	/* that a lock is held for */
	uint32_t n_requests;	/* without a reply */
	size_t queued_bytes;
	size_t spared_bytes;	/* of these no client is cut off for: they
				 * were queued when the limit became another */
	size_t pending_bytes;	/* of these, for the core: at most half of the
				 * limit */
	struct account *greatest;	/* with most bytes; NULL: all have
					 * few */

	/* schedule.c: */
	struct connection *work;	/* its connections that have some */
	struct user *turn_prev, *turn_next;
	uint64_t round;			/* of its last turn */
	int64_t credit_ns;		/* at most a turn; below 0: it owes */
	bool in_line;
};

/* Of one connection, as of the end of a round. */
struct account {
	size_t bytes;		/* of user->queued_bytes */
	size_t weight;		/* 0: it is not in the heap */
	struct account *child, *next;
	struct account *previous;	/* or the parent, of a first child */
};

/* The process that wrote something; pid 0: not known. */
struct sender {
	pid_t pid;
	uid_t uid;		/* the real one */
};

/* Is it in our pid namespace? */
enum peer_place {
	PEER_PLACE_ASK = 0,	/* the kernel, when that matters */
	PEER_HERE,
	PEER_ELSEWHERE,		/* or it is not known */
};

/* The process at the other end, as the kernel says. */
struct peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	enum peer_place place;	/* of uid 0 */
	char *name;		/* HELLO's, else the command's; never NULL */
	bool heard;		/* it wrote something, ... */
	uid_t real_uid;		/* ... as this user: another one where its
				 * program is set-user-ID */
	bool by_heir;		/* and what is to be run, in part, another
				 * process of its user */
	bool warned;		/* of what a stranger wrote */
	bool unit_asked;
	char *unit;		/* access_unit(); NULL: not known */
};

/* The states of a lock's row, one bit each, as ARGUMENT_STATE has them; and of
 * a hold's, as ARGUMENT_HOLD_STATE. */
enum listing_state {
	LISTING_FREE = 1,
	LISTING_HELD = 2,
	LISTING_DEAD = 4,

	LISTING_HOLD_HELD = 1,
	LISTING_HOLD_DANGER = 2,
	LISTING_HOLD_LOST = 4,
};

/* A LIST, CHECK, HELD, WAITING, METRICS or RESUME that goes on as the client
 * reads. */
struct listing {
	uint64_t namespaces;	/* a bit each; LIST, CHECK: those to be read */
	uint32_t namespace_index;	/* and the namespace being read */
	bool asked;		/* LIST: and the core has been asked to */
	char *key;			/* NULL: any; LIST: a prefix */
	size_t key_length;
	char *sort;			/* NULL: any */
	size_t sort_length;
	unsigned states;		/* LIST, HELD */
	uint64_t after;		/* but LIST: the last row that was seen;
				 * METRICS: the position of the next */
	uint64_t n_rows;
	uint64_t n_warnings, n_errors;	/* CHECK: of these */
	uint64_t n_examined;		/* LIST */
	uint64_t read_milliunits;
	bool tells;			/* LIST: its progress, */
	uint64_t tell_ms;		/* so often, */
	uint64_t tell_at_ms;		/* then for the next time */
	bool ready;			/* the next page may be asked for */
	bool hides;	/* some rows are not for its client, so how much was
			 * looked at is not either */
};

enum pending_kind {
	PENDING_CORE = 1,	/* the core answers once */
	PENDING_LIST,		/* the core answers page by page */
	PENDING_CHECK,		/* a store answers finding by finding */
	PENDING_HELD,		/* answered from the core's views */
	PENDING_WAITING,
	PENDING_METRICS,		/* from the daemon's text */
	PENDING_RELEASES,		/* of all: answered with its parts */
	PENDING_RESUME,	/* the core answers, then its views */
};

/* A change that a client has no room for: the state of that time is sent when
 * it has room. */
struct unread {
	struct unread *next;
	uint32_t namespace_index;
	size_t key_length;
	char key[];
};

/* The last report to a client that waits in line. */
struct report {
	uint64_t serial;	/* of its request, in the core */
	bool said;
	bool held;
	bool dead;
	uint32_t ahead;
	uint32_t place;
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
	size_t bytes;			/* that the core stores for it */
	journal_place place;		/* of its entry (keep.h) */
	struct kept_watch *watch;	/* WATCH, UNWATCH: of this lock */
	bool reports;			/* its place in line */
	bool best_effort;		/* RELEASE: OK, whatever happens */
	bool hides;		/* who has it is not for its client */
	bool denied;		/* by new rules, while it waited */
	uint64_t judged;	/* by these rules */
	bool again;			/* it was asked in another process, */
	bool answered;			/* WATCH: and answered there */
	struct pending *whole;		/* RELEASES that this is a part of */
	uint32_t n_parts;		/* RELEASES: without an answer */
	uint32_t n_released, n_lost, n_failed;
	int cause;			/* of a failure */
	size_t tag_length;
	char tag[CODEC_TAG_MAX + 1];
	struct listing *listing;	/* NULL for PENDING_CORE */
	struct report told;
};

/* A part of what is not read or not sent yet, in the journal. */
struct kept_part {
	struct kept_part *next;
	journal_place place;
	uint64_t from;		/* in bytes since the connection began */
	size_t length;
};

struct kept_stream {
	uint64_t from;		/* the buffer's first byte */
	uint64_t to;		/* entries have the bytes before this */
	struct kept_part *parts;
};

/* A watch, and the request that begins it. */
struct kept_watch {
	struct kept_watch *next;
	journal_place place;
	uint32_t namespace_index;
	size_t key_length;
	size_t line_length;
	char text[];		/* key, line without its tag */
};

/* A request that gets an entry if it is not answered at once. */
struct kept_asking {
	struct connection *connection;
	struct pending *pending;	/* NULL: there is none */
	uint64_t process;
};

/* What the process after this one knows of a connection (keep.h). */
#define KEPT_BEFORE UINT64_MAX
struct kept {
	bool on;
	uint64_t number;	/* of its socket, kept by the daemon; 0: not
				 * yet, for want of room; KEPT_BEFORE: since
				 * another process */
	journal_place place;
	struct kept_stream in, out;
	struct kept_watch *watches;
	bool watched;		/* something, at some time */
};

struct connection {
	struct server *server;
	uint64_t client;		/* the core's name for it */
	int fd;
	short watched;			/* what @event waits for */
	struct event event;
	struct peer peer;
	struct user *user;
	struct access_match match;	/* rights.c: as of these rules */
	uint64_t match_serial;
	bool has_reserve;		/* user.c: the same */
	uint64_t reserve_serial;

	struct buffer in;		/* an unfinished line, or more lines */
	size_t scanned;			/* of @in: known to have no LF */
	struct buffer out;
	struct account account;
	uint64_t requests;		/* numbers used so far */
	struct pending *pending;
	uint32_t n_pending;
	size_t pending_bytes;		/* of all of them */
	uint32_t n_listings;
	uint32_t n_reports;
	uint64_t report_after;	/* due: to requests above this number, */
	bool reports_due;	/* from the next turn on */

	/* If it asked for !RENEWED: until_ms of each namespace's unsent event,
	 * or 0. Written when output is sent, or before the next line about a
	 * hold. So a slow reader gets only the latest, and no event about later
	 * holds. */
	uint64_t *renewed;

	struct unread *unread;		/* to be sent when it reads again */
	struct kept kept;

	bool fresh;			/* accepted only: connection_begin() */
	bool skipping;			/* the rest of a line too long */
	bool readable;			/* and it was not read yet */
	bool has_lines;			/* in @in, not yet run */
	bool blocked;			/* the socket takes no more now, */
	bool writable;			/* or does again, and nothing was
					 * sent yet */
	bool draining;			/* no more requests will come */
	bool doomed;			/* round_on_work() removes it */
	bool cut_off;			/* but its client may go on */
	bool in_core;			/* the core has heard of it */
	bool leaves;			/* and of its end, in part */
	bool promises;	/* keepalive: the core hears of all input */
	bool resumes;	/* its client comes back if we end it */
	bool resuming;	/* its next lines wait for that answer */
	bool secretive;	/* its input and output are to be wiped */
	struct core_secret *secret;	/* of its holds; or NULL */
	bool tells_restart;		/* it asked for !RESTARTED */
	uint32_t n_guesses;		/* wrong secrets so far */
	uint32_t n_passed;	/* descriptors that came, not taken yet: */
	int passed;		/* the first, or -1 */

	bool has_work;
	struct connection *work_next;
	struct connection *work_prev;
};

struct inheritance;
struct keep_request;
struct wire;

struct server {
	struct event_base *base;
	struct server_calls calls;
	void *arg;
	struct server_limits limits;
	gid_t admin_group;
	bool admin_any;		/* root of any pid namespace is root */
	const struct access *access;	/* rights.h */
	uint64_t access_serial;		/* of these rules; from 1 on */
	bool access_limits;	/* they limit more than connections */
	char *path;
	char *version;
	char *host;
	uint64_t started_ms;

	int fd;				/* listening, or -1 */
	int reserve_fd;			/* given up to accept and refuse */
	struct socket_file file;
	struct event *accept_event;
	struct event *accept_pause;
	struct event *tell_event;	/* while a client wants reports */
	bool stopping;
	bool refusing;
	bool leaving;			/* another process goes on with it */

	struct connection **slots;	/* by the low bits of client */
	uint32_t n_slots;
	uint32_t n_connections;
	uint32_t slot_hint;
	uint64_t serial;
	struct user *users;
	struct owner_users owner_users;
	struct process *processes;	/* process.h */
	uint32_t n_processes;
	uint32_t n_requests;		/* without a reply, of all */
	uint64_t n_run[VERBS];		/* requests, by their verbs */
	uint64_t process_serial;

	struct event *work_event;
	/* schedule.c: */
	struct user *turns, *served;	/* with work: in this round, the next */
	struct user *serving;		/* whose turn it is; or NULL */
	uint64_t round;
	uint64_t turn_began_ns, turn_ends_ns;
	bool working;
	bool work_scheduled;

	struct journal *journal;	/* NULL: nothing is kept */
	journal_place run;		/* how far input was run (keep.h) */
	struct wire *wire;		/* wire.h; NULL: no connection is
					 * kept */
	int wire_fd;
	uint64_t wire_number;		/* as kept.number */
	struct evp_cipher_ctx_st *cipher;	/* secret.c */
	struct ident nonce;		/* the one used last */
	uint32_t late_slot;		/* where to look next for those that
					 * are late */
	struct buffer asked;		/* the line that is run, as it came */
	struct kept_asking asking;	/* the request that it is */
	struct freelist parts;
	uint64_t asked_serial;
	const struct keep_request *again;	/* it is of another process */
	struct inheritance *inheritance;	/* until server_go_on() */

	struct buffer spare[SERVER_SPARE_MAX];
	size_t n_spare;
	char chunk[SERVER_CHUNK_SIZE + 1];
	struct codec_line line;
	struct buffer changed;		/* the line about one change, */
	uint64_t changed_serial;	/* for all the lock's watchers */
	char reason[PROTOCOL_REASON_MAX];	/* of a refused request */
};

/* registry.c: connections by number. */
struct connection *server_find(const struct server *, uint64_t client);
/* Before the first: their numbers are above this. */
void server_count_from(struct server *, uint64_t client_last);
int server_add(struct server *, struct connection *);
/* By the number that it had in another process. DDBLOCK_E_LIMIT: there can be
 * no such, or another has it. */
int server_add_again(struct server *, struct connection *, uint64_t client);
/* No new one gets a number up to that. */
void server_skip(struct server *, uint64_t client);
void server_remove(struct server *, struct connection *);

/* schedule.c: this connection has work, for its user's next turn. */
void server_schedule(struct server *, struct connection *);
/* It has none any more. */
void server_unschedule(struct server *, struct connection *);
/* A round: each user with work has a turn, and in that its connections. */
void turn_begin_round(struct server *);
struct user *turn_next(struct server *);	/* NULL: all had theirs */
struct connection *turn_next_connection(struct server *, struct user *);
void turn_end(struct server *, struct user *);
void turn_end_round(struct server *);
/* Is it time for others? What is done in a turn, and is long, asks between its
 * steps. */
bool turn_is_over(const struct server *);
/* Check once a second all connections that want periodic reports. */
void server_schedule_tell(struct server *);

/* spare.c: buffers without content. */
void server_take_spare(struct server *, struct buffer *);
void server_give_spare(struct server *, struct buffer *);

/* calls.c: calls to the daemon. @user: whose program it is about, or
 * LOG_NO_USER. */
void server_log(struct server *, int priority, int64_t user,
    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* It was refused that; who it is, is filled in. */
void connection_tell_refusal(const struct connection *,
    struct server_refusal *);
/* Step the core on behalf of this connection. */
int connection_step(struct connection *, struct core_event *);

/* peer.c */
/* NULL: it has none yet, and is new. */
int peer_init(struct peer *, int fd, const char *name, size_t length);
/* The name is its command's, if that can be read: this costs more than the
 * rest. */
void peer_read_name(struct peer *);
void peer_done(struct peer *);
int peer_rename(struct peer *, const char *name, size_t length);
struct server_client peer_view(const struct peer *);
/* sender.c: may this process speak for the client? If not, the log says so. */
bool sender_is_client(struct connection *, const struct sender *);

/* Its other groups, when it connected; to be freed. DDBLOCK_E_NOMEM,
 * DDBLOCK_E_SYSTEM */
int peer_groups(int fd, gid_t **ret, size_t *ret_count);
/* Its unit (access_unit()), which is asked for once; NULL: it is not known.
 * @now: it has just connected. */
const char *peer_unit(struct peer *, int fd, bool now);
/* Is it root, of a pid namespace where that counts? */
bool peer_is_root(struct peer *, int fd, const struct server *);
/* Or a member of the group of administrators? */
bool peer_is_admin(struct peer *, int fd, const struct server *);
/* Is it the user that the daemon runs as, and that is not root? */
bool peer_is_own(const struct peer *);

/* user.c */
struct user *user_find(struct server *, uid_t uid);
void user_leave(struct server *, struct user *);
void user_free_if_unused(struct server *, struct user *);
void user_leave_process(struct server *, struct user *);
/* NULL, or why its user may not have one more connection, or process that a
 * lock is held for. */
const char *user_why_full(struct connection *, int fd);
/* May it have what no user may have all of? */
bool user_has_reserve(struct connection *);
/* May its user have one more request without a reply? */
bool user_may_ask(struct connection *);

/* account.c: note what the connection has queued now. */
void account_update(struct connection *);
/* It has nothing queued any more. */
void account_close(struct connection *);
/* The connection to cut off, if its user has too much queued; NULL: none. */
struct connection *account_payer(const struct connection *);

/* connection.c: count what it has queued at the end of a round; if its user has
 * too much, the connection with most is cut off. */
void connection_review(struct connection *);
/* For the core it has ended. Its client is told why, and it is closed. */
void connection_dismiss(struct connection *, int code, const char *why);
/* We end it, for a reason that the log says: CORE_CUT and close at the end of
 * this round, unless the client has ended it already. */
void connection_cut(struct connection *, const char *why);
/* It ends: CORE_GONE and close at the end of this round. */
void connection_doom(struct connection *);
/* It can be neither read nor written (errno). */
void connection_fail(struct connection *);
bool connection_is_gone(const struct connection *);
void connection_drain(struct connection *);
/* One write, as much as the socket takes. */
void connection_send(struct connection *);
/* Is its output small enough to run more requests? */
bool connection_has_room(const struct connection *);
/* Where to write a line; connection_queued() after it. */
struct buffer *connection_out(struct connection *);
void connection_queued(struct connection *);
/* A reply without arguments; text NULL: the code's. */
void connection_refuse(struct connection *, const char *tag, int code,
    const char *text);
/* Why its request is refused, into server->reason; and the code again. */
int connection_reason(struct connection *, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* pending.c */
struct pending *pending_new(struct connection *, enum pending_kind,
    const struct codec_text *tag);
void pending_free(struct connection *, struct pending *);
struct pending *pending_find(struct connection *, uint64_t number);
struct pending *pending_find_tag(struct connection *, const char *tag,
    size_t length);
/* NULL for values not needed. */
struct listing *listing_new(const struct codec_text *key,
    const struct codec_text *sort);
void pending_free_listing(struct listing *);

#endif
