/*
 * The state of the judge. Private to judge*.c; each structure is changed only
 * by the file that is named with it.
 *
 *     judge +- hosts      daemons: alive, paused, how fast their clocks are
 *           +- clients    connections, with what they asked and hold
 *           +- holds      what daemons told of grants, by host and number
 *           +- sessions   items of the table
 *           +- locks items of the table, with waiters, holders, and every grant
 *                         that was ever in one
 */
#ifndef DDBLOCKD_TESTS_JUDGE_STATE_H
#define DDBLOCKD_TESTS_JUDGE_STATE_H

#include <uthash.h>
#include <utlist.h>

#include "core/heap.h"
#include "judge.h"
#include "judge_turns.h"
#include "judge_record.h"

#define JUDGE_ROUNDING_MS 2	/* of moments read off a clock */
#define JUDGE_NEVER UINT64_MAX
#define JUDGE_PPM UINT64_C(1000000)
#define JUDGE_NOBODY UINT_MAX		/* as a host: not known */

/*
 * A duty with its time. judge_fact() calls @miss for each whose time is over.
 */
struct judge_due {
	struct timer timer;	/* first */
	void (*miss)(struct judge *, void *owner);
	void *owner;
};

/* ---- judge.c ---- */
/* The highest tokens of a lock that one life of a daemon told. */
struct judge_told {
	uint64_t since_ms;
	uint64_t token, exclusive;
};

struct judge_host {
	bool running;
	bool paused;
	uint64_t resumed_ms;
	uint64_t mute_until;	/* it has just gone on and may lag behind */
	bool inherited;		/* from a daemon that died, ... */
	uint64_t inherited_ms;	/* ... at last then */
	bool repeated;		/* the network did that to it, ... */
	uint64_t repeated_ms;	/* ... at last then */
	uint64_t frozen_ms;	/* when it stood still last */
	uint64_t frozen_until;	/* JUDGE_NEVER: it does */
	uint64_t started_ms;	/* this life */
	uint64_t died_ms;	/* the one before */
	int32_t rate_ppm;
	/* This life gave a token of a lock whose record went back. */
	uint64_t noticed_ms[FACT_NAMESPACES_MAX];
	bool withdrawn, releases;	/* it grants nothing new; it stops */
	uint32_t holds_max;	/* of one client; 0: as the rules have it, */
	uint64_t limited_ms;	/* since then */
	struct judge_hold *holds;	/* that it told, of any life */
	struct judge_session *sessions;
};

/* ---- judge_client.c ---- */
/* The terms of a hold's end and warning; 0: no own terms. */
struct judge_terms {
	uint64_t max_hold_ms;
	uint64_t keepalive_ms;
	uint64_t danger_ms;	/* JUDGE_NEVER: it is not */
	bool manual;
	bool reentrant;
	bool stays;
	uint64_t linger_ms;	/* 0: it does not */
	bool resumes;		/* it may, if its daemon ends the connection */
	uint64_t process;	/* whose it is when its client has left; or 0 */
	uint64_t at_least_ms;	/* it stays so long in any case; or 0 */
	uint64_t every_ms;	/* once in so long; or 0 */
	bool at_end;		/* it counts if it succeeds */
};

struct judge_request {
	struct judge_request *prev, *next;		/* of the client */
	struct judge_request *wait_prev, *wait_next;	/* of the lock */
	struct judge_client *client;
	uint64_t id;
	enum core_verb verb;
	struct judge_lock *lock;	/* ACQUIRE */
	struct judge_lock *broken;	/* BREAK */
	struct judge_lock *raised;	/* RAISE */
	uint64_t hold;			/* RELEASE, RENEW */
	uint64_t target;		/* CANCEL; RESUME: whose */
	uint64_t user;			/* ACQUIRE, RESUME */
	struct judge_lock *watched;	/* WATCH, UNWATCH */
	uint64_t multi;	/* ACQUIRE of several: the first's id; 0: alone */
	uint64_t wait_ms;		/* ACQUIRE */
	bool shared;			/* ACQUIRE */
	uint64_t limit;			/* ACQUIRE, shared; 0: none */
	struct judge_terms terms;	/* ACQUIRE */
	uint64_t first_ms;	/* DOWNGRADE: of the hold; else 0 */
	bool fail_closed;		/* ACQUIRE */
	uint64_t asked_ms;
	uint64_t due_ms;
	bool unread;		/* asked while the daemon was paused */
	bool leaves;		/* RELEASE: one lock of several */
	bool downgrading;	/* RELEASE: of a hold being downgraded */
	uint64_t woken_ms;	/* then: when that went on; 0 */
	uint64_t until_ms;	/* RENEW: the deadline told before */
	uint64_t contents[FACT_SLOTS];	/* that it brings */
	struct judge_due due;
	struct judge_due multi_due;	/* J2 */
};

struct judge_client {
	UT_hash_handle hh;		/* by id */
	uint64_t id;
	unsigned host;
	bool gone;
	bool gone_unread;	/* while its daemon was paused */
	uint64_t spoke_ms;	/* it sent something then, */
	uint64_t heard_ms;	/* and then to one that took steps, */
	uint64_t heard_before_ms;	/* and, before this moment, then */
	uint64_t secret;	/* its own secret, or an earlier client's */
	struct judge_request *requests;
	struct judge_hold *holds;
	uint32_t n_open;		/* requests that caps are about */
	uint32_t n_holds;
	struct judge_due due;		/* back within its caps */
};

struct judge_hold_id {
	uint64_t hold;
	uint64_t host;
};

enum judge_hold_state {
	HOLD_VALID = 1,
	HOLD_RELEASED,		/* a release was asked */
	HOLD_LOST,
	HOLD_OVER,		/* the client or its need of it is gone */
};

struct judge_hold {
	UT_hash_handle hh;		/* in judge->holds; not if deserted */
	struct judge_hold_id id;
	struct judge_hold *prev, *next;			/* of the lock */
	struct judge_hold *client_prev, *client_next;
	struct judge_hold *host_prev, *host_next;
	struct judge_client *client;
	struct judge_lock *lock;
	struct judge_grant *grant;	/* NULL: the table is not seen */
	enum judge_hold_state state;
	bool deserted;		/* its daemon is dead: it will not be told */
	bool exempt;		/* from 1 to 3: its host stood still */
	bool counted;		/* among its client's possible holds */
	bool read;		/* RELEASED: and its daemon has read that */
	bool warned;
	bool reassured;		/* or need not be */
	bool told_lost;
	uint64_t multi;		/* one of several: by this request; 0: alone */
	bool shared;
	uint64_t limit;		/* shared; 0: none */
	bool downgrading;	/* it asked to share it, */
	uint64_t downgrade;	/* with this request */
	uint64_t limit_asked;	/* and limit */
	bool fail_closed;	/* and without a deadline */
	uint64_t token;
	uint64_t since_ms;
	uint64_t first_ms;	/* before it was downgraded */
	uint64_t until_ms;
	struct judge_terms terms;
	uint64_t user;		/* who may resume it */
	uint64_t linger_ms;	/* no client has it until then (0: not so), */
	uint64_t linger_most_ms;	/* or then, by a slow clock */
	uint64_t resumed_ms;	/* it may be resumed until then at least */
	bool let_go;		/* nor may any client have it again */
	bool cut_off;		/* by its daemon, and it may resume it */
	uint64_t end_ms;	/* despite renewals; JUDGE_NEVER */
	char name[33];		/* in a foreign record; "": not known */
	uint64_t record_sent_ms;	/* of its latest renewal that landed */
	bool taken;		/* another took its foreign record, */
	uint64_t broken_ms;	/* or broke it: that was sent then; 0 */
	unsigned breaker;	/* at this host */
	uint32_t n_again;	/* reentrant: releases that do not end it */
	bool kept, lost_again;	/* by a successor, which may tell of that */
	size_t turn;		/* of the lock's history */
	struct judge_due due;	/* a warning, or the loss */
};

/* ---- judge_session.c ---- */
struct judge_beat {
	uint64_t beat;
	uint64_t at_ms;		/* it came first */
};

struct judge_session {
	UT_hash_handle hh;		/* by name */
	char name[33];
	struct judge_session *prev, *next;	/* of the host */
	unsigned host;		/* JUDGE_NOBODY: only seen in an element */
	uint64_t opened_ms;	/* it landed; JUDGE_NEVER */
	uint64_t sent_ms;	/* the latest renewal that ever landed, */
	uint64_t before_ms;	/* and the one before */
	uint64_t beat;
	uint64_t changed_ms;	/* @beat is in the table since; if it came back,
				 * since it was there first, ... */
	uint64_t back_ms;	/* ... and it came back then; 0: it did not */
	struct judge_beat *beats;	/* all that were ever there */
	size_t n_beats, beats_size;
	uint64_t revived_ms;	/* it moved after a lease's stand; 0: never */
	uint64_t lease_ms;
	uint64_t absent_ms;	/* shown by a lock, but not there; NEVER */
	uint64_t ended_ms;	/* its daemon did; JUDGE_NEVER */
	uint64_t dead_ms;	/* it was marked then; 0: never */
	bool lost;		/* and with it all of them */
	bool exists;
	bool dead;
	bool ever_dead;		/* despite later changes of the item */
	bool ever_absent;	/* after it was there */
	bool hand_dead;		/* it was broken */
};

/* ---- judge_lock.c ---- */
struct judge_grant {
	UT_hash_handle hh;		/* by id, in the judge */
	char id[33];
	struct judge_grant *next;	/* of the lock */
	struct judge_grant *standing_prev, *standing_next;
	struct judge_lock *lock;
	struct judge_session *session;
	bool shared;		/* as it came in */
	uint64_t limit;		/* shared; 0: none, and all of a host have it */
	uint64_t first_sent_ms;	/* by the attempt that landed first */
	uint64_t appeared_ms;
	uint64_t token_before;
	uint64_t token_since;	/* that of when it came first, in any use */
	uint64_t token_told;	/* the latest */
	uint64_t token_top;	/* the record had it, with this element */
	uint64_t released_ms;	/* its own daemon's send; JUDGE_NEVER */
	uint64_t left_ms;
	uint64_t lost_ms;	/* a hold of it was told lost; 0: none */
	uint64_t idle_ms;	/* no client has it since */
	uint32_t n_told;	/* holds: more than 1 by hand-over */
	uint32_t n_valid;	/* of which clients have now */
	bool fail_closed;
	bool left_held;		/* then: by a client that has gone, */
	bool was_left_held;	/* and it was taken out since */
	bool standing;
	bool left;		/* it was gone at least once */
	uint64_t gap_since_ms;	/* the loss was judged then, ... */
	bool gap;		/* after which it stays a margin longer */
	bool forfeited;		/* that loss was all of it: no other client gets
				 * it */
	bool stopped;		/* and came from a stop of its daemon */
	bool given_up;		/* its last hold was released or left */
	bool hand_gone;		/* taken out by hand, or broken */
	bool restored;		/* it was there before, and came by hand */
	bool broken;		/* by a client at a host: */
	unsigned breaker;
	uint64_t told_ms;	/* the first */
	bool takeover;
	bool once;		/* for one run of a period */
	bool taken;		/* by others, of a dead session */
	struct judge_grant *became;	/* its client shares it by that one */
};

/* One acquisition, as the client saw it; for judge_order.c. */
enum judge_end_kind {
	END_OPEN = 0,		/* still held */
	END_RELEASED,		/* a release was asked and answered */
	END_LOST,		/* told */
	END_DESERTED,		/* by its deadline, or when the client left */
};

struct judge_turn {
	uint64_t asked_ms;	/* the acquire */
	uint64_t granted_ms;
	uint64_t age;		/* of the lock: tokens rise within an age */
	uint64_t token;
	bool shared;
	uint64_t limit;		/* shared; 0: none */
	enum judge_end_kind end;
	uint64_t end_ms;	/* the release is asked, the loss told, ... */
	uint64_t ended_ms;	/* it was answered; JUDGE_NEVER */
	bool exempt;
};

/* ---- judge_break.c ---- */
struct judge_break {
	struct judge_break *next;	/* of the lock */
	unsigned host;
	uint64_t asked_ms;
	uint64_t token;		/* as it had been seen, or */
	char record[FACT_VERSION_MAX];	/* this */
};

/* ---- judge_watch.c ---- */
struct judge_watch {
	struct judge_watch *prev, *next;	/* of the lock */
	struct judge_client *client;
	struct judge_lock *lock;
	enum fact_state state;	/* as it was told */
	uint64_t token;
	uint64_t token_exclusive;	/* of the last exclusive holder */
	uint64_t n_holders;
	uint64_t age;		/* of the lock, then */
	bool outdated;		/* the contents have changed since */
	struct judge_due due;	/* to be told otherwise */
};

/* ---- judge_contents.c ---- */
struct judge_value {
	UT_hash_handle hh;
	uint64_t id;		/* of the request that brought it */
	uint64_t over_ms;	/* which was answered then, or given up; or
				 * NEVER */
	uint64_t acknowledged_ms;	/* or 0 */
	bool landed[FACT_SLOTS];
};

struct judge_lock {
	UT_hash_handle hh;
	uint32_t namespace_index;
	struct judge_hold *holds;	/* VALID ones */
	struct judge_watch *watches;
	struct judge_request *waiters;	/* the first requests come first */
	uint64_t gone_ms;	/* when the last holder was gone, */
	uint64_t used_ms;	/* also if it had deserted its hold before */
	uint64_t stays_ms;	/* a holder that was cut off keeps it; or 0 */
	uint64_t ran_ms;	/* the last that counts was asked for; or 0 */
	uint64_t cleared_ms;	/* when a daemon removed its own element */

	bool known;		/* below is the present item */
	bool exists;
	bool readable;
	bool has_ttl;
	bool shared;		/* its use, now or last */
	uint64_t limit;
	uint64_t token;		/* also of an item that is gone */
	uint64_t token_top;	/* the highest that it had */
	uint64_t token_told;	/* the highest, of this age */
	uint64_t token_exclusive;	/* the highest of exclusive holds */
	struct judge_told told[FACT_HOSTS_MAX];
	uint64_t hand_ms;	/* it was changed by hand last then; 0 */
	uint64_t age;		/* how often deletion by hand set it back */
	uint64_t created_ms;	/* or its tokens raised */
	uint64_t removed_ms;
	bool spent;		/* its token was set by hand */
	bool raised;		/* or ahead of its time, from over a bridge */
	uint64_t contents[FACT_SLOTS];
	uint64_t emptied_ms;	/* a release asked for that; 0: none did */
	size_t n_waiter_marks;
	struct judge_waiter_mark waiter_marks[FACT_WAITER_MARKS_MAX];
	size_t n_named;			/* of which */
	struct judge_mark_left *marks_left;	/* all that ever were */
	uint64_t waited_ms[FACT_HOSTS_MAX];	/* the last waiter left then */
	uint64_t multi_ms[FACT_HOSTS_MAX];	/* and for more than this */
	uint64_t unmarked_ms[FACT_HOSTS_MAX];	/* by its earlier request */
	struct judge_line line;
	uint64_t marked_ms[2];	/* one came or went then: 1, for shared use */
	struct judge_yield yields[FACT_HOSTS_MAX];
	struct judge_grant *standing;	/* the elements */
	size_t n_standing;
	uint64_t occupied_ms;	/* there are marks since; not the earlier */
	uint64_t joined_ms;	/* the last came then */
	struct judge_grant *grants;	/* all that ever were */
	struct judge_break *breaks;	/* that were asked for */
	uint64_t raise_ms[FACT_HOSTS_MAX];	/* first asked for then; 0 */
	bool says_broken;	/* the item names its breaker */

	struct judge_record record;	/* in a foreign namespace */
	enum judge_phase phase;		/* by this record */
	struct judge_belief *beliefs;

	struct judge_due wait_due;	/* 8 */
	struct judge_due idle_due;	/* holds without a client are removed */

	struct judge_turn *turns;
	size_t n_turns;
	size_t turns_size;
	char key[];		/* "0KEY": the namespace, too */
};

struct judge {
	struct judge_rules rules;
	uint32_t n_namespaces;
	uint64_t now_ms;
	uint64_t quiet_ms;	/* or JUDGE_NEVER */
	struct heap heap;
	struct judge_host hosts[FACT_HOSTS_MAX + 1];
	struct judge_client *clients;
	struct judge_hold *holds;
	struct judge_session *sessions;
	struct judge_grant *grants;
	struct judge_lock *locks;
	struct judge_value *values;
	struct judge_text *texts;
	struct judge_counts counts;
	bool guilty;
	struct judge_finding finding;
};

/* judge.c */
void *judge_alloc(size_t size);		/* zeroed; or the end */
void judge_find(struct judge *, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void judge_due_init(struct judge *, struct judge_due *,
    void (*miss)(struct judge *, void *owner), void *owner);
void judge_due_done(struct judge *, struct judge_due *);
void judge_due_set(struct judge *, struct judge_due *, uint64_t at_ms);
void judge_due_unset(struct judge *, struct judge_due *);
char judge_host_name(unsigned host);
/* Does the host's daemon take steps? */
bool judge_is_awake(const struct judge *, unsigned host);
/* It does not, or it may not have come so far yet. */
bool judge_is_mute(const struct judge *, unsigned host);
/* Of the host's boot clock, in a million of real time's. */
uint64_t judge_rate(const struct judge *, unsigned host);
/* How long @ms by the host's boot clock can take at most, and takes at least,
 * when both ends are read off in whole milliseconds, rounded down. */
uint64_t judge_most_ms(const struct judge *, unsigned host, uint64_t ms);
uint64_t judge_least_ms(const struct judge *, unsigned host, uint64_t ms);
uint64_t judge_stretch_ms(const struct judge *, uint64_t ms);
bool judge_is_known_host(unsigned host);

/* judge_client.c */
void judge_client_fact(struct judge *, const struct fact *);
void judge_host_ended(struct judge *, unsigned host, bool killed);
void judge_host_froze(struct judge *, unsigned host);
/* Its boot clock stood still for @stood_ms. */
void judge_host_resumed(struct judge *, unsigned host, uint64_t stood_ms);
void judge_client_free_all(struct judge *);

/* judge_token.c */
void judge_token_told(struct judge *, const struct judge_hold *);
struct judge_lock *judge_raise_asked(struct judge *, const struct fact *);
/* Does this write raise the token, for nobody, as a client asked? */
bool judge_raise_is_meant(const struct judge_lock *, const struct fact *);
void judge_raise_check(struct judge *, const struct judge_lock *,
    const struct fact *);
void judge_raise_answered(struct judge *, const struct judge_request *,
    const struct fact *);

/* judge_hold.c */
void judge_hold_grant(struct judge *, struct judge_client *,
    const struct judge_request *, const struct fact *);
struct judge_hold *judge_hold_get(const struct judge *, unsigned host,
    uint64_t hold);
/* A VALID one ends; whether it may is judged elsewhere. */
void judge_hold_end(struct judge *, struct judge_hold *,
    enum judge_hold_state state, enum judge_end_kind end);
void judge_hold_answered(struct judge *, struct judge_hold *);
void judge_hold_turn_over(struct judge *, struct judge_hold *);
void judge_hold_desert(struct judge *, struct judge_hold *);
/* The release was not admitted: the client still holds it. */
void judge_hold_restore(struct judge *, struct judge_hold *);
void judge_hold_forget(struct judge *, struct judge_hold *);
bool judge_hold_is_exempt(const struct judge_hold *);
void judge_hold_free(struct judge *, struct judge_hold *);
/* May a hold of this use be valid beside a hold of that use? */
bool judge_is_compatible(bool shared, uint64_t limit, bool other_shared,
    uint64_t other_limit);
void judge_hold_check_deadline(struct judge *, const struct judge_hold *);

/* judge_downgrade.c */
void judge_downgrade_asked(struct judge *, struct judge_hold *,
    const struct judge_request *);
bool judge_downgrade_left_to_process(struct judge *, struct judge_hold *);
void judge_downgrade_answered(struct judge *, struct judge_hold *,
    const struct judge_request *, const struct fact *);
bool judge_downgrade_done(const struct judge_hold *);
bool judge_downgrade_landed(const struct judge_lock *, const struct fact *);
void judge_downgrade_follow(struct judge *, struct judge_grant *from,
    struct judge_grant *to);

/* judge_notice.c */
void judge_notice_fact(struct judge *, const struct fact *);
bool judge_notice_is_multi_loss(const struct judge_hold *);
void judge_notice_lost(struct judge *, struct judge_hold *, enum core_loss);
/* Is it time to warn of it? */
bool judge_notice_is_danger(const struct judge *, const struct judge_hold *);
void judge_notice_renewed_all(struct judge *, const struct fact *);
void judge_notice_renew(struct judge *, struct judge_hold *,
    uint64_t until_ms);
/* When is its next event due? And the event did not come. */
void judge_notice_schedule(struct judge *, struct judge_hold *);
void judge_notice_missed(struct judge *, void *hold);
void judge_notice_check_release(struct judge *, const struct judge_hold *,
    int code);
void judge_notice_check_stolen(struct judge *, const struct judge_hold *,
    const struct judge_request *, int code);

/* judge_terms.c */
uint64_t judge_terms_danger_ms(const struct judge *,
    const struct judge_hold *);
uint64_t judge_terms_silent_ms(const struct judge *,
    const struct judge_hold *);
bool judge_terms_is_silent(const struct judge *, const struct judge_hold *);
void judge_terms_check_end(struct judge *, const struct judge_hold *);
void judge_terms_check_loss(struct judge *, const struct judge_hold *,
    enum core_loss);
void judge_terms_check_renewal(struct judge *, const struct judge_hold *,
    const struct judge_request *, uint64_t until_ms);
void judge_terms_check_gap(struct judge *, const struct judge_hold *);
void judge_terms_spoke(struct judge *, struct judge_client *);
bool judge_terms_again(struct judge *, const struct judge_client *,
    const struct judge_request *, const struct fact *);

/* judge_linger.c */
bool judge_linger_is_resumed(const struct judge *, const struct judge_client *);
uint64_t judge_linger_due_ms(const struct judge *, const struct judge_hold *);
void judge_linger_woke(struct judge *, struct judge_hold *,
    uint64_t stood_ms);
bool judge_linger_may_be_lost(const struct judge_hold *);
void judge_linger_given_back(struct judge *, struct judge_hold *);
void judge_linger_granted(struct judge *, struct judge_hold *, bool resumes);
bool judge_linger_left(struct judge *, struct judge_hold *, bool cut_off);
void judge_linger_missed(struct judge *, struct judge_hold *);
void judge_linger_check_held(struct judge *, const struct judge_request *);
bool judge_linger_let_go(struct judge *, struct judge_hold *);
void judge_linger_taken(struct judge *, struct judge_client *,
    const struct fact *);
void judge_linger_answered(struct judge *, const struct judge_request *,
    int code);
void judge_linger_released(struct judge *, unsigned host);

/* judge_session.c */
struct judge_session *judge_session_get(struct judge *, const char *name);
void judge_session_fact(struct judge *, const struct fact *);
void judge_session_shown(struct judge *, struct judge_session *);
/* Was the request of this host at @sent_ms sent by the session's own daemon? */
bool judge_session_is_own(const struct judge_session *, unsigned host,
    uint64_t sent_ms);
bool judge_session_is_frozen(const struct judge *,
    const struct judge_session *);
void judge_session_free_all(struct judge *);

/* judge_lock.c */
struct judge_lock *judge_lock_get(struct judge *, uint32_t namespace_index,
    const char *key);
const char *judge_lock_name(const struct judge_lock *);
void judge_lock_fact(struct judge *, const struct fact *);
void judge_lock_free_all(struct judge *);

/* judge_break.c */
void judge_break_asked(struct judge *, const struct fact *);
void judge_break_left(struct judge *, const struct judge_lock *,
    struct judge_grant *, const struct fact *);
void judge_break_answered(struct judge *, const struct judge_request *);
void judge_break_free(struct judge_lock *);

/* judge_bridge.c: times of a lock's record, ... */
uint64_t judge_lease_ms(const struct judge *, const struct judge_lock *);
uint64_t judge_margin_ms(const struct judge *, const struct judge_lock *);
uint64_t judge_danger_ms(const struct judge *, const struct judge_lock *);
uint64_t judge_longest_lease_ms(const struct judge *);
/* ... and two records that are one lock. Is it a hold of both, under leases of
 * two lengths? */
bool judge_bridge_is_uneven(const struct judge *, const struct judge_hold *);
void judge_bridge_granted(struct judge *, struct judge_hold *);
void judge_bridge_believed(struct judge *, struct judge_lock *);
bool judge_bridge_is_ended(const struct judge_hold *);
bool judge_bridge_is_good(const struct judge *, const struct judge_hold *,
    enum core_loss);
void judge_bridge_lost(struct judge *, const struct judge_hold *);
void judge_bridge_check_record(struct judge *, const struct judge_lock *,
    const struct fact *, bool renewed);
bool judge_bridge_is_theirs(const struct judge_lock *);
uint64_t judge_bridge_theirs_ms(const struct judge_lock *);

/* judge_quiet.c: duties after the last fault */
void judge_quiet_asked(struct judge *, struct judge_request *);
void judge_quiet_review(struct judge *, struct judge_lock *);
void judge_quiet_begin(struct judge *);
/* Has there been no fault for a lease? */
bool judge_quiet_is_calm(const struct judge *);
void judge_quiet_waited(struct judge *, void *lock);
void judge_quiet_idle(struct judge *, void *lock);
bool judge_quiet_is_kept(const struct judge_grant *);
bool judge_quiet_is_inherited(const struct judge *, unsigned host,
    uint64_t since_ms);
uint64_t judge_quiet_from_ms(const struct judge *, uint64_t since_ms);

/* judge_watch.c */
void judge_watch_answered(struct judge *, const struct judge_request *,
    const struct fact *);
void judge_watch_changed(struct judge *, struct judge_client *,
    const struct fact *);
void judge_watch_review(struct judge *, struct judge_lock *);
void judge_watch_left(struct judge *, const struct judge_client *);
void judge_watch_free_all(struct judge *, struct judge_lock *);
void judge_watch_outdate(struct judge_lock *);

/* judge_order.c */
void judge_order_check(struct judge *, const struct judge_lock *);

#endif
