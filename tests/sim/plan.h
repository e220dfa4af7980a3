/*
 * A plan: everything that is decided about a history before it runs. A world
 * (settings) and steps, each with its time: actions of clients, and faults of
 * messages, hosts and the table. It is text, one line a step, so that a
 * scenario is written, a seed's history printed, and a failure cut down to the
 * few lines that it needs, all in one language:
 *
 *     # A long pause: another takes over, and the sleeper finds out.
 *     world hosts=2 lease=20s latency=2ms..8ms
 *     host A rate=+4000ppm offset=12s
 *     format awslabs keep-released
 *     peer P java wall=+2s
 *     at 0s     c1@A lock x hold=60s
 *     at 4s     c2@B lock x wait=100s hold=5s end=close
 *     at 5s     A pause 40s
 *     at 6s     B message session-beat 1 lose-answer
 *     at 6s     c3@P lock x wait=60s hold=5s
 *     at 7s     hand break x
 *     at 8s     B move bridge
 *     end 120s
 *
 * Chance while it runs (latencies, jitter) comes from the world's seed, per
 * host and message, so that a removed step changes as little as possible of the
 * rest. The whole language is in plan_text.h.
 */
#ifndef DDBLOCKD_TESTS_PLAN_H
#define DDBLOCKD_TESTS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/core.h"

#define PLAN_HOSTS_MAX 9	/* A to I */
#define PLAN_PEERS_MAX 6	/* P to U */
#define PLAN_PEER_FIRST 10	/* P, where a step says a host */
#define PLAN_MACHINES_MAX (PLAN_PEER_FIRST + PLAN_PEERS_MAX)
#define PLAN_NAMESPACES_MAX 2
#define PLAN_CLIENTS_MAX 1000
#define PLAN_KEY_MAX 32
#define PLAN_TYPE_MAX 48
#define PLAN_ANY 0		/* as a message kind: any message */
#define PLAN_FOREVER UINT64_MAX

/* The record format of a namespace. */
enum plan_format {
	FORMAT_NATIVE = 0,
	FORMAT_AWSLABS,
	FORMAT_PYTHON,
	FORMAT_JS_OPEN,		/* "js-fail-open" */
	FORMAT_JS_CLOSED,	/* "js-fail-closed" */
	FORMAT_DLOCK,
	FORMATS
};

/*
 * An older client, on a host of its own: peer_*.c has its behaviour. Its
 * programs lock as "c3@P lock" says, hold the lock and release it, or never do;
 * faults of hosts and messages hit it as well, except those of our daemons
 * alone.
 */
enum peer_kind {
	PEER_NONE = 0,
	PEER_JAVA,		/* "java": the client of awslabs */
	PEER_DYNAMOLOCK,
	PEER_PYTHON,
	PEER_JS_OPEN,		/* "js-fail-open" */
	PEER_JS_CLOSED,		/* "js-fail-closed" */
	PEER_DLOCK,
	PEER_KINDS
};

/*
 * Of a world with a bridge, which phase of the move from an older format
 * (namespace 0) to the native one (namespace 1) a host's configuration is of:
 * it decides in which of the two its clients' locks are.
 */
enum plan_phase {
	PHASE_OLD = 0,		/* "old" */
	PHASE_BRIDGE,		/* "bridge": in both */
	PHASE_NATIVE,		/* "native" */
	PHASES
};

/* The faults of one message: a request to the table, with its answer. */
enum message_fault {
	MESSAGE_LOST = 1,	/* "lose": it never arrives; no answer */
	MESSAGE_ANSWER_LOST,	/* "lose-answer": it does its work unseen */
	MESSAGE_LATE,		/* "late MS": it arrives that much later */
	MESSAGE_ANSWER_LATE,	/* "answer-late MS" */
	MESSAGE_TWICE,		/* "twice MS": a copy arrives that much later,
				 * and its answer is the one that counts */
	MESSAGE_UNSENT,		/* "unsent": no connection; never sent */
	MESSAGE_THROTTLED,	/* "throttled" */
	MESSAGE_FAILED,		/* "failed": 500, without an effect */
	MESSAGE_FAILED_AFTER,	/* "failed-after": 500, with its effect */
	MESSAGE_GARBLED,	/* "garbled": it works, the answer is cut off */
	MESSAGE_DENIED,		/* "denied": AccessDeniedException */
	MESSAGE_UNPROCESSED,	/* "unprocessed N": keys of a batch left out */
	MESSAGE_REFUSED,	/* "refused TYPE": that error, no effect */
	MESSAGE_IN_THE_WAY,	/* "in-the-way": its condition fails, for any
				 * item */
	MESSAGE_FAULTS
};

enum step_kind {
	/* clients; a client is a connection, made when first needed */
	STEP_LOCK = 1,	/* "c1@A lock KEY[+KEY...] [mode=shared] [limit=N]
			 * [fail-closed] [wait=T] [hold=T] [renew=T] [end=E]"
			 * and the terms of ACQUIRE; wait is 0 or a time or
			 * "forever"; talk=T is how often the client says
			 * something */
	STEP_RELEASE,	/* "c1 release KEY", now */
	STEP_RENEW,	/* "c1 renew KEY" */
	STEP_DOWNGRADE,	/* "c1 downgrade KEY [limit=N]" */
	STEP_CANCEL,	/* "c1 cancel KEY": of its waiting lock */
	STEP_GET,	/* "c1@A get KEY" */
	STEP_LIST,	/* "c1@A list [PREFIX] [page=T]": the client asks for
			 * the next page so long after a page */
	STEP_LIST_HELD,	/* "c1@A list-held [PREFIX] [page=T]" */
	STEP_WATCH,	/* "c1@A watch KEY" */
	STEP_UNWATCH,	/* "c1 unwatch KEY" */
	STEP_RESUME,	/* "c2@A resume c1 [stranger] [resumes] [hold=T]
			 * [end=E]": the holds that c1 left, or has; a stranger
			 * is another user */
	STEP_DRAIN,	/* "c1 drain": it sends no more, but listens */
	STEP_CUT_OFF,	/* "c1 cut-off": its daemon ends the connection */
	STEP_END_PROCESS,	/* "c1 end-process": that of process= ends */
	STEP_CLOSE,	/* "c1 close": the process ends */

	/* hosts */
	STEP_KILL,	/* "A kill": the daemon dies; clients live on */
	STEP_BOOT,	/* "A boot": it starts (again) */
	STEP_RESTART,	/* "A restart T": the daemon dies, and its successor
			 * starts so long after, and inherits */
	STEP_TEAR,	/* "A tear T": the same, but it dies in the middle of
			 * what it writes next */
	STEP_HUSH,	/* "A hush T": the same, but it dies before it says
			 * what it has to tell next of holds, which it has
			 * written */
	STEP_REVIVE,	/* "A revive T": the same, but of a machine of which
			 * there is a copy that has its sessions by then
			 * (where there are none: a restart) */
	STEP_CRASH,	/* "A crash": the host dies, with all its clients */
	STEP_STOP,	/* "A stop": SIGTERM */
	STEP_STOP_RELEASE,	/* "A stop-release": with release_on_stop */
	STEP_PAUSE,	/* "A pause T": SIGSTOP of the daemon */
	STEP_SUSPEND,	/* "A suspend T": host and clients sleep; boot time
			 * goes on */
	STEP_FREEZE,	/* "A freeze T": and boot time stands still */
	STEP_CUT,	/* "A cut T": its packets are lost, both ways */
	STEP_DOWN,	/* "A down T": its connections are refused at once */
	STEP_WALL,	/* "A wall +T|-T": a user sets its wall clock */
	STEP_STARVE,	/* "A starve N M": from its core's N-th allocation from
			 * now, M fail */
	STEP_MOVE,	/* "A move PHASE": its daemon is killed, and starts with
			 * the configuration of that phase */
	STEP_RELOAD,	/* "A reload [poll=T] [handover=N] [idle=T] [audit=T]
			 * [locks=N] [holds=N]": other settings, and for what is
			 * not said the world's */
	STEP_WITHDRAW,	/* "A drain": no new grants, */
	STEP_UNDRAIN,	/* "A undrain": and again */
	STEP_HEAR_FREED,	/* "A hear-freed KEY": a hint that nobody here
				 * sent; and the others */
	STEP_HEAR_WANTED,
	STEP_HEAR_BROKEN,
	STEP_HEAR_CHANGED,
	STEP_HEAR_WATCHING,	/* by the first of the hosts */
	STEP_HEAR_USED,

	/* messages */
	STEP_MESSAGE,	/* "A message KIND N[..M] FAULT [MS|N|TYPE]": the N-th
			 * from now, or all up to the M-th */
	STEP_OPERATION,	/* "A operation KIND N[..M] FAULT ...": all messages of
			 * the N-th operation from now that sends any */

	/* the table */
	STEP_TABLE_CUT,	/* "table cut T": no host reaches it */
	STEP_TABLE_THROTTLE,	/* "table throttle T" */
	STEP_TABLE_EXPIRE,	/* "table expire +T|-T": TTL deletes what is due
				 * at that distance from now */
	STEP_HAND_DELETE,	/* "hand delete KEY" */
	STEP_HAND_BREAK,	/* "hand break KEY" */
	STEP_HAND_GARBLE,	/* "hand garble KEY": an ill-typed record */
	STEP_HAND_REPAIR,	/* "hand repair KEY": deletes the ill-typed */
	STEP_HAND_END_SESSION,	/* "hand end-session A": marks it dead */
	STEP_HAND_DELETE_SESSION,	/* "hand delete-session A" */
	STEP_HAND_GARBLE_SESSION,	/* "hand garble-session A" */
	STEP_HAND_WAITER_MARK,	/* "hand wish KEY [mode=shared] [of=A]": of that
			 * host's newest session, or of a session that never
			 * existed */
	STEP_HAND_REMOVE_MARK,	/* "hand unwish KEY": takes all wishes out */
	STEP_HAND_HOLD,	/* "hand hold KEY [lease=T]": for a session that never
			 * was, with any holder */
	STEP_HAND_TAKE,	/* "hand take KEY": its first holder's element out */
	STEP_HAND_TOKEN,	/* "hand token KEY token=N" */
	STEP_HAND_BACKUP,	/* "hand backup": of all items */
	STEP_HAND_RESTORE,	/* "hand restore": all items are as they were in
				 * the backup, which is empty at first */
	STEP_HAND_SPEND,	/* "hand spend KEY [left=N]": its token becomes
				 * the last, with so many left */

	/* the daemon's state, in any trace */
	STEP_SHOW,	/* "A show": namespaces, and waiters */
	STEP_TALLY,	/* "A tally": operations since the last time */

	/* an administrator: looks for the holder, then breaks its hold */
	STEP_BREAK,	/* "c1@A break KEY" */
	STEP_RAISE,	/* "c1@A raise KEY": its token, to the store's time */
	STEP_KINDS
};

/* How a client ends a hold. */
enum plan_end {
	END_RELEASE = 0,	/* "release" */
	END_CLOSE,		/* "close": its connection, with the hold */
	END_DRAIN,		/* "drain": and then */
	END_NEVER,		/* "never": until the end of the plan */
	END_CUT_OFF,	/* "cut-off": its daemon ends its connection */
};

struct plan_step {
	enum step_kind kind;
	uint64_t at_ms;
	unsigned host;		/* 0 is A; of host, message and session steps,
				 * LOCK, GET, LIST, WATCH, RESUME, BREAK */
	unsigned client;	/* from 1 */
	uint32_t namespace_index;	/* "ns=1" */
	char key[PLAN_KEY_MAX];	/* or prefix */
	bool shared;		/* LOCK: and not exclusive */
	uint32_t limit;		/* LOCK, shared: most holders; 0: any number */
	bool fail_closed;	/* LOCK */
	uint64_t wait_ms;	/* LOCK: 0 is try, PLAN_FOREVER */
	uint64_t hold_ms;	/* LOCK, after the grant; PLAN_FOREVER */
	uint64_t renew_ms;	/* LOCK: every so often; 0: never */
	uint64_t max_hold_ms;	/* LOCK; 0: without */
	uint64_t keepalive_ms;	/* LOCK; 0: without */
	uint64_t danger_ms;	/* LOCK; 0: the world's; FOREVER */
	bool manual;		/* LOCK: only RENEW prolongs it */
	bool reentrant;		/* LOCK */
	bool stays;		/* LOCK: on_close=lease */
	uint64_t linger_ms;	/* LOCK; 0: not at all */
	uint64_t at_least_ms;	/* LOCK; 0: no longer than its client has it */
	uint64_t every_ms;	/* LOCK; 0: at any time */
	bool at_end;		/* LOCK: that counts if it succeeds */
	bool resumes;		/* LOCK, RESUME: it comes back after a cut, or
				 * works until its own deadline */
	uint64_t process_ms;	/* LOCK of one key: for a process that lives
				 * so long after its client; 0: for none */
	bool stranger;		/* RESUME, LOCK: another user, who has no more
				 * than a share */
	bool only_if_exists;	/* LOCK */
	uint64_t page_ms;	/* LIST; FOREVER: it never asks */
	bool brings;		/* LOCK: and brings data, */
	bool notes;		/* LOCK: each renewal an attribute, */
	bool leaves;		/* LOCK: and its release data, */
	bool clears;		/* LOCK: or removes the contents */
	uint64_t talk_ms;	/* LOCK: says something so often; 0: never */
	enum plan_end end;
	uint64_t ms;		/* how long */
	int64_t shift_ms;	/* WALL, TABLE_EXPIRE */
	enum message_fault fault;
	enum operation_kind operation;	/* MESSAGE; PLAN_ANY */
	uint32_t nth;		/* MESSAGE, STARVE: 1 is the next */
	uint32_t last;		/* MESSAGE: up to this one; 0: only the nth */
	uint32_t count;		/* STARVE; UNPROCESSED; SPEND: left */
	char type[PLAN_TYPE_MAX];	/* REFUSED */
	uint64_t lease_ms;	/* HOLD */
	uint64_t token;		/* TOKEN */
	unsigned of;		/* WISH: a host and 1; 0: of none */
	enum plan_phase phase;	/* MOVE */
	/* RELOAD; 0: as the world has it */
	uint64_t poll_ms, idle_ms, audit_ms;
	uint32_t handover_max, locks_max, holds_max;
};

/* "format NAME [ns=1] [go-lease] ...": of a namespace, beside its name. */
struct plan_namespace {
	enum plan_format format;
	bool go_lease;		/* AWSLABS: as dynamolock writes it */
	bool keep_released;	/* AWSLABS: so are released records */
	bool keep_attributes;	/* AWSLABS */
	bool local_time;	/* JS_OPEN: when it was acquired */
	bool fencing;		/* DLOCK */
	uint64_t skew_ms;	/* DLOCK: between any two wall clocks */
	uint64_t lease_ms;	/* beyond a bridge; 0: the world's */
};

struct plan_host {
	int32_t rate_ppm;	/* of its boot clock, within drift/2 */
	uint64_t offset_ms;	/* its boot time when the history begins */
	int64_t wall_ms;	/* its wall clock is that much wrong */
	bool absent;		/* "absent": its daemon starts by STEP_BOOT */
	enum plan_phase phase;	/* when the history begins */
};

/* "peer P KIND [rate=...] [offset=...] [wall=...] [retries=N] [patience=T]
 * [keep]" */
struct plan_peer {
	enum peer_kind kind;
	struct plan_host host;	/* its clocks */
	uint32_t retries;	/* of a request, by the SDK, ... */
	uint64_t patience_ms;	/* ... each when it has waited so long for the
				 * answer; 0: a request's time */
	bool keep;		/* JAVA, DYNAMOLOCK: released records */
};

/* "expect losses=0 grants=8": how often clients are told so, in all. */
#define PLAN_WHATEVER UINT32_MAX
struct plan_expect {
	uint32_t losses;
	uint32_t grants;
	uint32_t changes;	/* of which a watcher was told */
};

struct plan {
	uint64_t seed;
	unsigned n_hosts;	/* 0: older clients are among themselves */
	uint32_t n_namespaces;			/* 1 or 2, of one table each */
	bool bridge;		/* namespace 1 has one, to namespace 0 */
	bool hedges;		/* renewals that are late are sent twice, and
				 * what is lost has the next wait longer */
	bool no_transactions;	/* at this endpoint */
	bool bad_hints;		/* many are lost, late or forged */
	struct core_namespace ns;		/* same for all */
	struct core_limits limits;
	uint64_t retention_s;
	uint64_t latency_ms, latency_max_ms;	/* one way */
	uint64_t lateness_ms;	/* a timer fires up to so late */
	uint32_t scan_page;	/* items of a page; 0: as the service */
	struct plan_namespace namespaces[PLAN_NAMESPACES_MAX];
	struct plan_host hosts[PLAN_HOSTS_MAX];
	struct plan_peer peers[PLAN_PEERS_MAX];
	unsigned n_peers;
	struct plan_step *steps;	/* in order of time */
	size_t n_steps;
	size_t size;
	uint64_t quiet_ms;	/* faults end here; 8 is judged from now on.
				 * Not in the text: the end */
	uint64_t end_ms;
	struct plan_expect expect;
	char *trace;		/* "trace KINDS" of a scenario, or NULL; the
				 * words of world.h, with commas */
	uint64_t trace_from_ms;	/* "from=T", and "to=T": only meanwhile */
	uint64_t trace_to_ms;	/* FOREVER: to the end */
};

/* Defaults: 3 hosts, the product's own timings, calm. */
void plan_init(struct plan *);
void plan_done(struct plan *);

/* Heartbeat, danger, margin, request, try as the product derives them from the
 * lease and the drift. */
void plan_derive(struct core_namespace *);

/* Is there such a host or peer, and which of both? */
bool plan_has_machine(const struct plan *, unsigned host);
bool plan_is_peer(unsigned host);
const struct plan_host *plan_machine(const struct plan *, unsigned host);
char plan_machine_name(unsigned host);
const char *plan_format_name(enum plan_format);
const char *plan_phase_name(enum plan_phase);
const char *plan_peer_name(enum peer_kind);
/* Which format does it know? */
enum plan_format plan_peer_format(enum peer_kind);

/* Is it a valid world, with steps that fit? 0, or -1 with the reason, for
 * people. */
int plan_check(const struct plan *, char *ret_text, size_t text_size);

/* plan_bridge.c: the same, about the hosts that go over the bridge and when. */
int plan_check_bridge(const struct plan *, char *ret_text, size_t text_size);
/* How long a hold of a daemon of that phase may be valid after the daemon's
 * end, by any clock. */
uint64_t plan_rest_ms(const struct plan *, enum plan_phase);
/* The settings that all hosts have of that namespace. */
void plan_namespace(const struct plan *, uint32_t namespace_index,
    struct core_namespace *ret);

/* Append a step; its place is found by plan_sort(). Ends the process without
 * memory. */
struct plan_step *plan_add(struct plan *, enum step_kind, uint64_t at_ms);
void plan_sort(struct plan *);	/* stable */

/* A copy without the steps whose bit in @drop is set (NULL: of all). */
void plan_copy(struct plan *to, const struct plan *from, const bool *drop);

/* Is it a fault (and not a client's intended action)? The start of a daemon is
 * none. */
bool plan_is_fault(const struct plan_step *);
/* Does a client do it? */
bool plan_is_of_client(const struct plan_step *);
const char *plan_step_name(enum step_kind);	/* "hand break" */
const char *plan_fault_name(enum message_fault);
/* Is it only for scenarios, and met by no seed? */
bool plan_step_is_scripted(enum step_kind);
bool plan_fault_is_scripted(enum message_fault);

/* plan_text.c, plan_write.c. A plan ends with the file, or where its golden
 * trace begins. 0, or -1 with the line's number and the reason. @plan is
 * initialised; the text changes it. */
int plan_read(struct plan *, FILE *, char *ret_text, size_t text_size);
void plan_write(const struct plan *, FILE *);
void plan_write_step(const struct plan_step *, FILE *);

/* plan_random.c: the plan of a seed; @foreign: with older clients. */
void plan_random(struct plan *, uint64_t seed, bool foreign);
/* plan_alone.c: the same, for one daemon that has the store for itself. A plan
 * with older clients does not change. */
void plan_alone(struct plan *);

#endif
