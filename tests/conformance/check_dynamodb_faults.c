/*
 * The fleet's store over a network that loses things: every kind of write,
 * with its first request or the answer to it lost in every way, is done once
 * and known to be done; and what lands late does no harm by itself.
 */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "conformance.h"
#include "ddblock.h"
#include "dynamodb_fixture.h"
#include "dynamodb_scene.h"
#include "test.h"

#define LOOK_MS 8000	/* a first attempt gets a quarter of it */
#define BRIEF_LOOK_MS 2000

#define LIMIT 2		/* so that a new sharer takes the last place */
#define TOKENS 16

enum act {
	ACT_ACQUIRE,
	ACT_TAKE,
	ACT_RELEASE,
	ACT_EXTEND,
	ACT_UPDATE,
	ACT_ADD_WAITER,
	ACT_REMOVE_WAITER,
	ACT_SHARE,
	ACT_JOIN,
	ACT_LEAVE,
	ACT_TAKE_SHARED,
	ACT_ADD_SHARED_WAITER,
	ACT_REMOVE_SHARED_WAITER,
	ACT_BREAK,
	ACT_OPEN,
	ACT_BEAT,
	ACT_KILL,
	ACT_BURY,
	ACT_CLOSE,
	ACTS,
};

static const char *const act_names[ACTS] = {
	"acquire", "take", "release", "extend", "update", "want", "unwant",
	"share", "join", "leave", "take shared", "want shared", "unwant shared",
	"break", "open", "beat", "kill", "bury", "close",
};

/* One operation and all that it needs. */
struct scene {
	enum act act;
	struct key key;
	struct holder me;
	struct holder you;
	struct ident session;
	uint64_t token;		/* before it */
	uint64_t beat;
	struct operation operation;
};

static struct scene scene;	/* the last one */

/* The holder before the operation; NULL: none. */
static const struct holder *
scene_holder(const struct scene *c)
{
	switch (c->act) {
	case ACT_RELEASE:
	case ACT_EXTEND:
	case ACT_UPDATE:
		return &c->me;
	case ACT_TAKE:
	case ACT_ADD_WAITER:
	case ACT_REMOVE_WAITER:
	case ACT_JOIN:
	case ACT_LEAVE:
	case ACT_TAKE_SHARED:
	case ACT_ADD_SHARED_WAITER:
	case ACT_REMOVE_SHARED_WAITER:
	case ACT_BREAK:
		return &c->you;
	default:
		return NULL;
	}
}

static void
scene_begin(struct scene *c, enum act act)
{
	static const enum operation_kind kinds[ACTS] = {
		OPERATION_ACQUIRE, OPERATION_ACQUIRE, OPERATION_RELEASE,
		OPERATION_EXTEND, OPERATION_UPDATE,
		OPERATION_ADD_WAITER, OPERATION_REMOVE_WAITER,
		OPERATION_ACQUIRE, OPERATION_ACQUIRE, OPERATION_RELEASE,
		OPERATION_ACQUIRE, OPERATION_ADD_WAITER,
		    OPERATION_REMOVE_WAITER,
		OPERATION_BREAK, OPERATION_SESSION_OPEN,
		OPERATION_SESSION_BEAT, OPERATION_SESSION_KILL,
		OPERATION_SESSION_BURY, OPERATION_SESSION_CLOSE,
	};
	static unsigned scenes;
	char name[24];
	struct seen *s;

	memset(c, 0, sizeof(*c));
	c->act = act;
	/* A case may need several scenes, and each its own lock. */
	(void)snprintf(name, sizeof(name), "fault%u", scenes++);
	c->key = case_key(name);
	c->me = case_holder();
	c->you = case_holder();
	c->session = c->me.session;
	if (act < ACT_OPEN && scene_holder(c) != NULL) {
		s = act == ACT_JOIN || act == ACT_LEAVE ?
		    case_share(c->key, scene_holder(c), LIMIT) :
		    case_acquire(c->key, scene_holder(c), 4);
		case_done(s);
		c->token = s->lock.record.token;
	}
	if (act == ACT_LEAVE) {
		s = case_done(case_share(c->key, &c->me, LIMIT));
		c->token = s->lock.record.token;
	}
	if (act == ACT_REMOVE_WAITER)
		case_done(case_add_waiter(c->key, c->session));
	if (act == ACT_REMOVE_SHARED_WAITER)
		case_done(case_add_shared_waiter(c->key, c->session));
	if (act >= ACT_BEAT && act != ACT_BURY)
		case_done(case_session(OPERATION_SESSION_OPEN, c->session, 0));
	c->operation = case_operation(kinds[act],
	    act < ACT_OPEN ? c->key : (struct key){ 0 });
}

static void
scene_fill(struct scene *c)
{
	struct operation *o = &c->operation;

	o->me = c->me;
	o->tokens = TOKENS;
	o->token_seen = c->token;
	o->holders = &c->me;
	o->n_holders = 1;
	o->others_hold = c->act == ACT_LEAVE;
	o->owner = "web-1/nightly:9";
	o->session = c->session;
	o->lease_ms = 20000;
	o->contents.data = (struct key){ "kept", 4 };
	o->revision = (struct revision){ 1, 77 };
	if (c->act == ACT_TAKE || c->act == ACT_TAKE_SHARED) {
		o->dead = &c->you;
		o->n_dead = 1;
	}
	if (c->act >= ACT_SHARE && c->act <= ACT_REMOVE_SHARED_WAITER) {
		o->mode = LOCK_MODE_SHARED;
		o->limit = LIMIT;
		o->tokens = 1;
	}
}

static struct operation *
scene_prepare(int act)
{
	scene_begin(&scene, (enum act)act);
	scene_fill(&scene);
	return &scene.operation;
}

/* What a consistent read must show now that it is done. */
static void
scene_check_lock(const struct scene *c)
{
	struct seen *s = case_read(c->key);
	const struct lock_record *r = &s->lock.record;

	case_done(s);
	switch (c->act) {
	case ACT_ACQUIRE:
	case ACT_TAKE:
	case ACT_EXTEND:
		ck_assert(case_holds(&s->lock, &c->me));
		if (c->token > 0)
			ck_assert_uint_eq(r->token, c->token + TOKENS);
		break;
	case ACT_SHARE:
	case ACT_JOIN:
	case ACT_TAKE_SHARED:
		ck_assert(case_has(&s->lock, &c->me));
		ck_assert_uint_eq(r->limit, LIMIT);
		ck_assert_uint_eq(r->n_holders, c->act == ACT_JOIN ? 2 : 1);
		if (c->token > 0)
			ck_assert_uint_eq(r->token, c->token + 1);
		break;
	case ACT_BREAK:
		ck_assert_uint_eq(r->n_holders, 0);
		ck_assert_uint_eq(r->token, c->token);
		ck_assert_str_eq(s->lock.broken_by, "web-1/nightly:9");
		break;
	case ACT_UPDATE:
		ck_assert(case_holds(&s->lock, &c->me));
		ck_assert_uint_eq(r->revision.random, 77);
		break;
	case ACT_LEAVE:
		ck_assert(case_holds(&s->lock, &c->you));
		ck_assert_uint_eq(r->token, c->token);
		break;
	case ACT_RELEASE:
		ck_assert_uint_eq(r->n_holders, 0);
		ck_assert_uint_eq(r->token, c->token);
		break;
	default:
		ck_assert(case_holds(&s->lock, &c->you));
		ck_assert(case_marked(&s->lock, c->session) ==
		    (c->act == ACT_ADD_WAITER));
		ck_assert(case_marked_shared(&s->lock, c->session) ==
		    (c->act == ACT_ADD_SHARED_WAITER));
		break;
	}
}

static void
scene_check(const struct seen *done)
{
	const struct scene *c = &scene;
	struct seen *s;

	if (c->act < ACT_OPEN) {
		scene_check_lock(c);
		return;
	}
	s = case_done(case_session(OPERATION_SESSION_READ, c->session, 0));
	ck_assert(s->session.exists);
	ck_assert(s->session.dead == (c->act >= ACT_KILL));
	if (c->act == ACT_BEAT && done != NULL) {
		ck_assert_uint_eq(s->session.beat, done->session.beat);
		/* It counts from the send of exactly this number. */
		ck_assert_uint_eq(s->session.beat, done->sent_ms);
	}
}

static const struct scene_kind writes = {
	.names = act_names,
	.requests = 1,
	.prepare = scene_prepare,
	.check = scene_check,
};

TEST_LOOP(test_nothing_lost, 0, ACTS)
{
	scene_lose_nothing(&writes, _i);
}

TEST_LOOP(test_lost_once, 0, (int)(ACTS * PROXY_LOSSES))
{
	struct seen *s = scene_lose(&writes, _i / (int)PROXY_LOSSES,
	    proxy_losses[_i % (int)PROXY_LOSSES], 0);

	scene_check(s);
	proxy_let_go();
	scene_check(s);
}

/* Before or after its effect. */
TEST_LOOP(test_all_lost, 0, 2 * ACTS)
{
	enum proxy_fault fault = _i % 2 == 0 ?
	    PROXY_LOSE_REQUEST : PROXY_LOSE_ANSWER;
	struct seen *s = scene_lose_all(&writes, _i / 2, fault, 0, 200);

	ck_assert(s->unanswered);
	if (fault == PROXY_LOSE_ANSWER)
		scene_check(NULL);
}

/* Hang as many looks at other hosts' sessions as beats have connections, and a
 * look whose first attempt ends before theirs. Is a beat done before that? */
static bool
beat_is_done_first(void)
{
	struct operation operations[5];
	struct seen *looks[5];
	struct operation *beat = scene_prepare(ACT_BEAT);
	struct seen *s;
	bool first;

	proxy_next(PROXY_HOLD, 5, 0);
	for (int i = 0; i < 5; i++) {
		unsigned before = proxy_requests();

		operations[i] = case_operation(i < 4 ?
		    OPERATION_SESSION_READ : OPERATION_READ,
		    case_key("look"));
		operations[i].session = case_ident();
		operations[i].submitted_ms = clock_boot_ms();
		operations[i].deadline_ms = operations[i].submitted_ms +
		    (i < 4 ? LOOK_MS : BRIEF_LOOK_MS);
		looks[i] = case_submit(&operations[i]);
		while (proxy_requests() == before && looks[i]->kind == 0)
			case_turn();
	}
	beat->submitted_ms = clock_boot_ms();
	beat->deadline_ms = beat->submitted_ms + LOOK_MS;
	s = case_submit(beat);
	while (s->kind == 0)
		case_turn();
	case_done(s);
	first = looks[4]->kind == 0;
	case_wait();
	return first;
}

/* However many looks hang, a beat does not wait for them. On a machine that is
 * busy elsewhere the order may be another; that is seen and tried again. */
TEST(test_beat_before_looks)
{
	bool first = false;

	for (int i = 0; i < 5 && !first; i++)
		first = beat_is_done_first();
	ck_assert(first);
}

/* An endpoint that does not say what stood in the way is asked for it. */
TEST(test_conflict_without_record)
{
	struct key key = case_key("strip");
	struct holder me = case_holder();
	struct holder you = case_holder();
	unsigned before;
	struct seen *s;

	case_done(case_acquire(key, &you, 1));
	before = proxy_requests();
	proxy_next(PROXY_STRIP_ITEM, 1, 0);
	s = case_conflict(case_acquire(key, &me, 1));
	ck_assert(case_holds(&s->lock, &you));
	ck_assert(!s->unanswered);
	ck_assert_uint_eq(proxy_requests(), before + 2);
}

/* The first request of this lands late: it is done by another one. */
static void
scene_hold(enum act act)
{
	(void)scene_lose(&writes, (int)act, PROXY_HOLD, 0);
}

/*
 * An acquire that lands after the lock was given back leaves an orphan, also
 * one that joins. The store cannot prevent it; it has said that this may
 * happen. A takeover from the dead leaves none: the token has moved on.
 */
static const struct {
	enum act act;
	bool orphan;
	size_t n_holders;	/* in the end */
} late[] = {
	{ ACT_ACQUIRE, true, 1 },
	{ ACT_JOIN, true, 2 },
	{ ACT_TAKE, false, 0 },
};

TEST_ROWS(test_late_after_release, late)
{
	struct seen *s;

	scene_hold(late[_i].act);
	case_done(case_release(scene.key, &scene.me));
	proxy_let_go();
	s = case_read(scene.key);
	ck_assert_uint_eq(s->lock.record.n_holders, late[_i].n_holders);
	ck_assert(case_has(&s->lock, &scene.me) == late[_i].orphan);
	if (late[_i].orphan)
		case_done(case_release(scene.key, &scene.me));
	ck_assert(case_holds(&case_read(scene.key)->lock, &scene.you) ==
	    (late[_i].act == ACT_JOIN));
}

/* A break cannot hit a holder after those it was meant for. */
TEST(test_late_break_after_acquire)
{
	struct holder next = case_holder();
	struct seen *held;

	scene_hold(ACT_BREAK);
	held = case_done(case_acquire(scene.key, &next, 1));
	proxy_let_go();
	case_same(&case_read(scene.key)->lock, &held->lock);
}

/* No request is sent while the endpoint is away, and no outcome is unknown. */
TEST(test_nobody_there)
{
	struct key key = case_key("away");
	struct holder me = case_holder();
	struct operation o = case_operation(OPERATION_ACQUIRE, key);
	struct store_status status;
	struct seen *s;

	case_done(case_acquire(key, &me, 1));
	proxy_leave();
	o.me = case_holder();
	o.tokens = 1;
	o.deadline_ms = o.submitted_ms + 500;
	s = case_do(&o);
	/* The first may go out on a connection whose end is not known yet. */
	ck_assert(s->kind == OUTCOME_REFUSED ||
	    (s->kind == OUTCOME_UNKNOWN && s->unanswered));
	ck_assert_int_eq(s->code, DDBLOCK_E_UNREACHABLE);
	store_view_status(case_store(), &status);
	ck_assert_int_eq(status.last_error, DDBLOCK_E_UNREACHABLE);
	ck_assert_str_ne(status.last_text, "");
	ck_assert_uint_eq(status.in_flight, 0);
}

/*
 * A user without the right to describe the table may use it: the time of any
 * answer suffices.
 */
TEST(test_table_denied)
{
	struct key key = case_key("denied");
	struct holder me = case_holder();
	struct store_status status;
	unsigned before = proxy_requests();
	struct seen *s;

	proxy_deny_tables();
	s = case_done(case_acquire(key, &me, 1));
	ck_assert_uint_gt(s->lock.record.token, UINT64_C(1) << 50);
	/* A read first, which also shows that the keys are right. */
	ck_assert_uint_eq(proxy_requests(), before + 2);
	store_view_status(case_store(), &status);
	ck_assert_int_eq(status.last_error, 0);
	ck_assert_ptr_null(strstr(strstr(status.where, "//") + 2, "//"));
	fixture_expect(case_base(), case_store(), false,
	    DDBLOCK_E_ACCESS_DENIED,
	    "");
}

int
main(void)
{
	return proxy_run("dynamodb_faults", __FILE__);
}
