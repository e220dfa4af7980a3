/*
 * What a world is made of. Private to the simulator; each structure is changed
 * only by the file that is named with it.
 *
 *     world +- script      the plan's steps, one after the other
 *           +- hosts       daemons: the core, and
 *           |   +- jobs        operations on their way
 *           |                  or an older client (peer.h), on its own
 *           +- messages    requests under way, and their answers
 *           +- customers   connections of local programs, and
 *           |   +- errands     the locks that they are after
 *           +- table       the model of DynamoDB, seen from outside
 *
 * All that happens later is an alarm in one heap. Times are real milliseconds;
 * each host reads them through a clock of its own.
 */
#ifndef DDBLOCKD_TESTS_WORLD_STATE_H
#define DDBLOCKD_TESTS_WORLD_STATE_H

#include <limits.h>

#include "aws/skew.h"
#include "core/heap.h"
#include "core/succession.h"
#include "dynamo.h"
#include "store/attempts.h"
#include "world.h"

#define WORLD_WALL_MS UINT64_C(1700000000000)	/* the service's, at 0 */
#define WORLD_LAG_MS 1000	/* of reads that may be old */
#define WORLD_NEVER UINT64_MAX
#define WORLD_NOBODY UINT_MAX	/* in place of a host */
#define WORLD_SESSIONS_MAX 512
#define WORLD_JOURNAL_BYTES 65536	/* of a daemon, at first */
#define WORLD_STEPS_MAX 2000	/* of a core within one millisecond */
#define WORLD_SIGNATURE_MS (15u * 60 * 1000)	/* valid so long */

struct world;
struct alarm;
struct peer;
struct peer_call;
struct letter;
struct json_object;

typedef void alarm_fn(struct world *, struct alarm *);

/* Embedded first in what it wakes. */
struct alarm {
	struct timer timer;
	alarm_fn *ring;
};

/* ---- network.c ---- */
struct message {
	struct alarm alarm;
	struct message *next, **link;
	struct host *host;
	struct job *job;	/* that waits for the answer; or NULL */
	struct peer_call *call;	/* the same, of an older client */
	const char *operation;	/* "UpdateItem" */
	enum operation_kind kind;	/* or PLAN_ANY */
	char *body;
	size_t length;
	bool landed;		/* alarm is for the answer */
	bool repeated;		/* it has landed twice, or will */
	enum message_fault fault;
	uint32_t fault_count;
	uint64_t fault_ms;
	const char *fault_type;
	uint64_t trip_ms;	/* of the answer */
	uint64_t sent;		/* real */
	uint64_t sent_boot_ms;
	uint64_t signed_ms;	/* the service's clock, as the sender saw it */
	int64_t date_s;
	struct dynamo_answer answer;
	char what[96];		/* for the trace */
};

/* ---- host.c ---- */
struct job_try {
	struct message *message;	/* under way, or NULL */
	uint64_t until_ms;		/* boot time */
	uint32_t attempt;		/* its number */
};

struct fault {
	enum message_fault fault;
	enum operation_kind operation;	/* PLAN_ANY */
	bool whole;			/* all messages of an operation */
	uint32_t left;			/* 1: the next one */
	uint32_t many;			/* and those after it */
	uint32_t count;
	uint64_t ms;
	const char *type;
};

struct job {
	struct alarm alarm;
	struct job *next, **link;
	struct host *host;
	struct operation *operation;
	struct attempts attempts;
	struct job_try tries[ATTEMPTS_OUT_MAX];
	uint64_t next_ms;		/* boot time of the next attempt */
	uint64_t hedge_ms;		/* of one beside the first; 0: none */
	bool started;
	bool hit;			/* by a fault */
	bool sent;			/* a message */
	struct fault whole;		/* that befalls each of them; or 0 */
};

/* A line from a client that the daemon has not read yet. */
struct line {
	struct line *next;
	struct core_event event;
	char key[PLAN_KEY_MAX];
	char owner[24];
	char record[FACT_VERSION_MAX];	/* "": it names none */
	struct core_secret secret;
};

struct host {
	struct world *world;
	unsigned index;
	char name[12];
	struct peer *peer;		/* NULL: it is for daemons */
	struct alarm alarm;		/* the core's next_ms */
	struct core *core;		/* NULL: no daemon runs */
	struct coverage_eye *eye;
	enum plan_phase phase;		/* of its configuration */
	unsigned lives;
	unsigned sessions;		/* opened, in all lives */
	bool stopping;
	const struct plan_step *reload;	/* the last of this life; NULL */
	struct job *jobs;
	struct line *lines, **lines_end;
	uint64_t leaving;		/* the client whose end it reads now, */
	bool cuts;			/* or makes */
	struct leave {
		uint64_t client;
		bool cut;
	} *leaves;			/* they have more that ends */
	unsigned n_leaves, leaves_size;
	uint64_t outlived;		/* or that of a process of whose */

	struct alarm look;		/* for the service's time */
	struct message *look_message;
	struct skew skew;		/* of this life, */
	struct attempts_shared shared;	/* and this */

	int32_t rate_ppm;
	uint64_t offset_ms;
	uint64_t stood_ms;		/* boot time stood still so long */
	uint64_t frozen_at;		/* or WORLD_NEVER */
	int64_t wall_ms;

	struct journal *journal;	/* see restart.c; NULL: none */
	uint8_t *journal_memory;
	uint8_t *legacy;		/* what a dead daemon left, or NULL */
	size_t legacy_size;
	uint64_t restart_ms;
	unsigned stores_left;		/* then it dies; 0: not so */
	bool stepping;			/* its core takes a step */
	bool torn;			/* it has died so, and must end */
	bool hushed;			/* it dies when it has something to
					 * tell */
	bool revived;			/* what it left is another's, too, */
	uint64_t n_elsewhere;		/* and so are the connections so far */
	bool came_back;		/* it cuts off those who are not there */

	struct alarm resume;
	uint64_t paused_until;		/* the daemon; 0: it runs */
	bool asleep;			/* and all programs with it */
	uint64_t cut_until;
	uint64_t down_until;
	struct fault *faults;		/* to come */
	size_t n_faults;
	size_t faults_size;
	uint64_t n_messages;
	unsigned tally[OPERATION_SESSION_CLOSE + 1];	/* see STEP_TALLY */
	uint64_t stepped_at;
	unsigned steps;
};

/* ---- restart.c ---- */
void restart_begin_journal(struct host *);
void restart_spare(struct host *, const struct core_event *);
bool restart_save(struct host *);
void restart_hush(struct host *, const struct core_action *);
void restart_done(struct host *);
void restart_order(struct host *, const struct plan_step *);
void restart_die(struct host *);
bool restart_inherit(struct host *);
void restart_go_on(struct host *);

/* ---- spoil.c ---- */
void spoil_journal(struct host *, const void *memory, size_t size);

/* ---- customer.c ---- */
enum errand_state {
	ERRAND_ASKED = 1,
	ERRAND_HOLDS,
	ERRAND_LOST,
};

/* One lock that a client is after, from the request until its end. */
struct errand {
	struct alarm alarm;		/* the end */
	struct alarm renewal;
	struct alarm talk;		/* the next word */
	struct errand *next;
	struct customer *customer;
	const struct plan_step *step;
	enum errand_state state;
	bool lost;			/* it was told so */
	uint64_t request;
	uint64_t hold;
	uint64_t token;			/* BREAK: that was seen, or */
	char record[FACT_VERSION_MAX];	/* of which format there is this */
	char key[PLAN_KEY_MAX];
};

/* What it asked the release of: it is its own again if that is refused. */
struct customer_release {
	struct customer_release *next;
	uint64_t hold;
};

/* A request without its reply. */
struct asked {
	struct asked *next;
	uint64_t id;
	enum core_verb verb;
	uint32_t namespace_index;
	uint64_t hold;
	char key[PLAN_KEY_MAX];
};

/* Several keys of a plan, "a+b", one by one in their order; over a bridge each
 * of them twice. */
struct customer_keys {
	size_t n;
	char keys[PLAN_KEY_MAX][PLAN_KEY_MAX];
	uint32_t namespaces[PLAN_KEY_MAX];
};

/* What is held as one, for the facts about each. */
struct customer_multi {
	struct customer_multi *next;
	uint64_t hold;			/* the first one's; that of all */
	uint64_t request;		/* by which it came */
	struct customer_keys keys;
	uint64_t holds[PLAN_KEY_MAX];
};

struct customer {
	struct world *world;
	struct host *host;
	unsigned number;		/* in the plan */
	uint64_t id;			/* of this connection; 0: none */
	bool draining;
	bool watches;			/* or did */
	bool stranger;			/* another user */
	struct errand *errands;
	struct asked *asked;
	struct customer_release *releases;
	struct customer_multi *multis;
	struct alarm page;		/* the next of a listing, */
	uint64_t page_ms;		/* so long after the one before */
	uint64_t page_request;
	const struct plan_step *resumes;	/* it came for that */

	/* Of its last connection that was told a secret; they outlive it. */
	struct core_secret secret;
	uint64_t secret_of;
};

/* ---- world.c ---- */
struct world {
	const struct plan *plan;
	const struct world_options *options;
	struct coverage_history history;
	struct heap heap;
	uint64_t now;
	bool over;
	bool guilty;
	struct judge *judge;		/* NULL: facts are not judged */
	struct judge_finding finding;
	/* What becomes of an action of a core that is not for the store. */
	void (*act)(struct host *, const struct core_action *);
	/* Of a request that a core does not admit. */
	void (*refuse)(struct host *, const struct core_request *, int code);
	/* The service carries out a request that has arrived. */
	void (*serve)(struct message *, uint64_t wall_ms);
	size_t journal_bytes;		/* at first; 0: there are no journals */
	struct fleet *fleet;		/* NULL: a plan's world */
	struct alarm script;
	size_t step;			/* the next */
	struct alarm quiet, end;
	bool is_quiet;
	bool is_end;

	struct host *hosts;		/* each machine of the plan */
	unsigned n_hosts;
	struct message *messages;
	struct letter *letters;		/* post.c */
	uint64_t n_letters;
	struct customer customers[PLAN_CLIENTS_MAX + 1];
	struct survivor *survivors;
	uint64_t n_connections;
	uint64_t n_requests;

	/* table.c */
	struct dynamo *dynamo;
	struct json_tokener *tokener;	/* lent to all operations */
	const struct dialect *dialects[PLAN_NAMESPACES_MAX];
	struct dialect_table tables[PLAN_NAMESPACES_MAX];
	struct core_namespace namespaces[PLAN_NAMESPACES_MAX];
	struct json_object *backups[PLAN_NAMESPACES_MAX];  /* their items */
	unsigned writer;		/* a host, or FACT_BY_HAND */
	uint64_t writer_sent;
	uint64_t table_cut_until;
	uint64_t throttled_until;
	struct {
		struct ident ident;
		char text[33];
		char name[24];
		unsigned host;
		uint32_t namespace_index;
	} sessions[WORLD_SESSIONS_MAX];
	size_t n_sessions;
};

void world_set(struct world *, struct alarm *, uint64_t at);
void world_unset(struct world *, struct alarm *);
/* An alarm is made and goes away with the object that it is in. */
void world_add_alarm(struct world *, struct alarm *, alarm_fn *);
void world_remove_alarm(struct world *, struct alarm *);
/* A number below @limit (not 0) that only these and the seed decide. */
uint64_t world_chance(const struct world *, unsigned stream, uint64_t number,
    uint64_t limit);
void world_tell(struct world *, const struct fact *);
void world_loop(struct world *);	/* until it is over */
void world_find(struct world *, const char *invariant, const char *format,
    ...) __attribute__((format(printf, 3, 4)));
void world_trace(struct world *, enum world_trace, const char *host,
    const char *format, ...) __attribute__((format(printf, 4, 5)));
void *world_alloc(size_t size);	/* zeroed */

/* host.c */
void host_init(struct world *, unsigned index);
/* A daemon's, with these clocks. */
void host_make(struct world *, unsigned index, const char *name,
    const struct plan_host *);
void host_done(struct host *);
void host_boot(struct host *);
void host_die(struct host *);
void host_crash(struct host *);
void host_kill(struct host *);
int host_step(struct host *, struct core_event *);

/* ---- releases.c ---- */
void customer_note_release(struct customer *, uint64_t hold);
/* Has it asked for that, and not heard of its end? It has now. */
bool customer_hears_of_release(struct customer *, uint64_t hold);
void customer_forget_releases(struct customer *);

/* ---- order.c ---- */
void host_stop(struct host *, bool release);
void host_drain(struct host *, bool drain);
void host_reload(struct host *, const struct plan_step *);
void order_tell(struct host *, enum core_event_type);
void order_config(struct host *,
    struct core_namespace namespaces[PLAN_NAMESPACES_MAX],
    struct core_config *ret);
int order_configure(struct host *, struct core_event *);
void host_pause(struct host *, uint64_t ms, enum step_kind);
bool host_is_paused(const struct host *);
/* Give a client's event to the daemon, or let it wait in the socket. */
void host_say(struct host *, const struct core_event *, const char *key,
    const char *owner);
/* What this client sent will not be read. */
/* Has its connection ended, as far as the daemon has read? */
bool host_leaves(const struct host *, uint64_t client);
void host_ignore(struct host *, uint64_t client);
bool host_is_to_hear_of(const struct host *, uint64_t client);
void host_stored(struct host *, struct operation *, const struct outcome *);
uint64_t host_boot_ms(const struct host *);
/* The first real millisecond at which the host reads @boot_ms or more. */
uint64_t host_real_ms(const struct host *, uint64_t boot_ms);
uint64_t host_wall_ms(const struct host *);

/* job.c */
void job_submit(struct host *, struct operation *);
void job_answered(struct job *, struct message *, const struct aws_answer *);
void job_free(struct job *);
void job_start_all(struct host *);	/* the service's time is known */

/* network.c */
void network_serve(struct message *, uint64_t wall_ms);
/* @job waits for the answer, or the caller becomes the message's call. */
struct message *network_send(struct host *, struct job *,
    const char *operation, const char *body, size_t length,
    enum operation_kind kind, const char *what);
void network_abandon(struct message *);
/* The store is in the daemon, and dies with it: what has not landed never
 * will. */
void network_end(struct host *);
void network_done(struct world *);

/* peer.c: the client of this host, if it is one of those */
void peer_init(struct host *);
void peer_done(struct host *);
void peer_step(struct host *, const struct plan_step *);
void peer_leave(struct host *);		/* the history is over */
/* The answer to a call; NULL: there was no connection. */
void peer_answered(struct peer_call *, const struct dynamo_answer *);

/* customer.c */
void customer_lock(struct world *, const struct plan_step *);
void customer_ask(struct world *, const struct plan_step *);
void customer_close(struct customer *);
void customer_cut_off(struct customer *);
void customer_lose_daemon(struct customer *);
bool customer_stays(const struct customer *);
void customer_forget(struct customer *);	/* its daemon is dead */
void customer_split(const char *text, struct customer_keys *ret);
void customer_granted(struct customer *, uint64_t request, uint64_t hold);
void customer_not_granted(struct customer *, uint64_t request);
/* Who holds a lock was answered; NULL: that is not known. */
void customer_looked(struct customer *, uint64_t request,
    const struct core_holder_view *);
void customer_done(struct world *);
struct customer *customer_of(struct world *, uint64_t id);	/* or NULL */
const char *show_verb(enum core_verb);
/* The customer of this step, connected to its host; NULL: it cannot be. */
struct customer *customer_at(struct world *, const struct plan_step *);
uint64_t customer_request(struct customer *, struct core_request *,
    const char *key);
/* It has a hold that it came for. */
void customer_has(struct customer *, const char *key, uint64_t hold,
    bool lost);

/* pages.c: listings */
void pages_init(struct customer *);
void pages_ask(struct world *, const struct plan_step *);
/* Ask for the next page, when the client has read this one. */
void pages_turn(struct customer *, uint64_t request);
/* Is it a listing that is given up? */
bool pages_cancel(struct customer *, const struct plan_step *);

/* resume.c */
void resume_ask(struct world *, const struct plan_step *);
void resume_granted(struct customer *, const struct core_reply *);
void resume_answered(struct host *, const struct core_reply *);
void resume_dismissed(struct host *, uint64_t client);

/* ---- post.c ---- */
void post_take(struct host *, const struct core_hint *);
void post_forge(struct host *, const struct plan_step *);
void post_done(struct world *);

/* told.c */
void customer_act(struct host *, const struct core_action *);
struct customer_multi *customer_find_multi(const struct customer *,
    uint64_t hold);
bool customer_is_part(const struct customer *, uint64_t hold);
/* Of one request about several keys, the @i-th has this number. */
uint64_t customer_nth(uint64_t request, size_t i);
void customer_refused(struct host *, const struct core_request *, int code);

/* table.c */
void table_init(struct world *);
void table_done(struct world *);
/* By hand. */
void table_do(struct world *, const char *operation, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void table_step(struct world *, const struct plan_step *);
void table_opening(struct host *, const struct operation *);
const char *table_session_name(const struct world *, struct ident);
/* "A2.", for what carries this session's number; or "" */
const char *table_session_text_name(const struct world *, const char *text);

/* A session with a name; @host is WORLD_NOBODY's if no daemon opened it. */
void table_name_session(struct world *, struct ident, unsigned host,
    uint32_t namespace_index, const char *name);

unsigned table_session_host(const struct world *, struct ident);
struct ident table_host_session(const struct world *, unsigned host);

/* hand.c */
void backup_step(struct world *, uint32_t namespace_index, bool restore);
void hand_step(struct world *, const struct plan_step *);
void hand_beat_all(struct world *, unsigned host, uint64_t beat);

/* show.c */
/* An operation, for people. */
void show_operation(const struct host *, const struct operation *,
    char *text, size_t size);
/* Who holds a lock, for people: " held by c1@A token 1s+1". */
void show_holder(const struct core_holder_view *, char *text, size_t size);
/* "1s+1": seconds after the beginning, and grants within that second. */
void show_token(uint64_t token, char *text, size_t size);
unsigned show_client(uint64_t client);	/* its number in the plan */
void show_all(struct host *);		/* STEP_SHOW */
void show_tally(struct host *);

/* table_record.c: a record of another format, as a fact, and for people */
void table_record_read(const struct world *, uint32_t namespace_index,
    struct json_object *item, struct fact *ret);
/* Has it only got a mark by this write of ours? Which; NULL: no new one. */
bool table_record_is_marked(const struct world *, struct fact *,
    struct json_object *before, struct json_object *after);
void table_record_trace(struct world *, const char *host,
    const struct fact *, struct json_object *before,
    struct json_object *after);

/* bridge.c */
/* What a daemon that starts now has in its configuration. */
void bridge_configure(const struct host *,
    struct core_namespace ret[PLAN_NAMESPACES_MAX]);
/* Where its clients have their locks. */
uint32_t bridge_namespace(const struct host *, uint32_t namespace_index);
/* Is each lock of that namespace in two records? */
bool bridge_is_crossed(const struct host *, uint32_t namespace_index);
/* How long what is asked there may take: an operation for each record; ... */
uint64_t bridge_request_ms(const struct host *, uint32_t namespace_index);
/* ... and a try, or a look. */
uint64_t bridge_try_ms(const struct host *, uint32_t namespace_index);
/* All records that a request for these keys is about. */
void bridge_split(const struct host *, uint32_t namespace_index,
    const char *text, struct customer_keys *ret);
/* The @i-th lock of what was granted as one; false: it is another one, or not
 * told as it should be. */
bool bridge_part(const struct host *, const struct core_reply *,
    const struct customer_keys *, uint32_t i, struct core_part *ret);

/* survivor.c: processes that outlive their clients */
void survivor_new(const struct errand *);
void survivor_parted(struct host *, uint64_t process);
void survivor_begin_all(const struct customer *);
void survivor_end(const struct customer *);	/* before its client leaves */
void survivor_end_all(struct world *);
void survivor_end_here(const struct host *);
void survivor_done(struct world *);
bool survivor_has(const struct host *, uint64_t hold);
bool survivor_lose(const struct host *, uint64_t hold);
void survivor_end_of(struct world *, uint64_t client);

/* table_make.c */
void table_make(struct world *, uint32_t namespace_index);

/* script.c */
void script_perform(struct world *, const struct plan_step *);

/* starve.c: memory of the core */
void starve_arm(unsigned host, uint32_t nth, uint32_t count);
uint32_t starve_made(unsigned host);	/* allocations, since armed */
void starve_disarm(void);
void starve_enter(unsigned host);	/* its core takes a step */
void starve_leave(void);

#endif
