/*
 * The fleet's store over a network that loses things: every kind of write,
 * with its first request or the answer to it lost in every way, is done once
 * and known to be done; and what lands late does no harm by itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "conformance.h"
#include "ddblock.h"
#include "dynamodb_place.h"
#include "dynamodb_proxy.h"
#include "store/store_dynamodb.h"

/* A first attempt gets a quarter of it. */
#define DEADLINE_MS 8000
#define DEADLINE_HUNG_MS 2000	/* where it is to run out of it */

#define LIMIT 2		/* so that who joins takes the last seat */
#define TOKENS 16

enum act {
	ACT_ACQUIRE,
	ACT_TAKE,
	ACT_RELEASE,
	ACT_EXTEND,
	ACT_UPDATE,
	ACT_WANT,
	ACT_UNWANT,
	ACT_SHARE,
	ACT_JOIN,
	ACT_LEAVE,
	ACT_TAKE_SHARED,
	ACT_WANT_SHARED,
	ACT_UNWANT_SHARED,
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

static struct proxy *proxy;

static struct store *
target_open(struct event_base *base, store_outcome_fn outcome, void *arg)
{
	return proxy_open_store(base, "faults", outcome, arg, &proxy);
}

static void
target_close(struct store *store)
{
	store_free(store);
	proxy_free(proxy);
}

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

/* Who holds the lock before the operation; NULL: nobody does. */
static const struct holder *
scene_holder(const struct scene *c)
{
	switch (c->act) {
	case ACT_RELEASE:
	case ACT_EXTEND:
	case ACT_UPDATE:
		return &c->me;
	case ACT_TAKE:
	case ACT_WANT:
	case ACT_UNWANT:
	case ACT_JOIN:
	case ACT_LEAVE:
	case ACT_TAKE_SHARED:
	case ACT_WANT_SHARED:
	case ACT_UNWANT_SHARED:
	case ACT_BREAK:
		return &c->you;
	default:
		return NULL;
	}
}

static void
scene_prepare(struct scene *c, enum act act)
{
	static const enum operation_kind kinds[ACTS] = {
		OPERATION_ACQUIRE, OPERATION_ACQUIRE, OPERATION_RELEASE,
		OPERATION_EXTEND, OPERATION_UPDATE,
		OPERATION_WANT, OPERATION_UNWANT,
		OPERATION_ACQUIRE, OPERATION_ACQUIRE, OPERATION_RELEASE,
		OPERATION_ACQUIRE, OPERATION_WANT, OPERATION_UNWANT,
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
		s = case_share(c->key, &c->me, LIMIT);
		case_done(s);
		c->token = s->lock.record.token;
	}
	if (act == ACT_UNWANT)
		case_done(case_want(c->key, c->session));
	if (act == ACT_UNWANT_SHARED)
		case_done(case_want_shared(c->key, c->session));
	if (act >= ACT_BEAT && act != ACT_BURY)
		case_done(case_session(OPERATION_SESSION_OPEN, c->session, 0));
	c->operation = case_operation(kinds[act],
	    act < ACT_OPEN ? c->key : (struct key){ 0 });
}

static void
scene_fill(struct scene *c)
{
	struct operation *o = &c->operation;

	o->submitted_ms = clock_boot_ms();
	o->deadline_ms = o->submitted_ms + DEADLINE_MS;
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
	if (c->act >= ACT_SHARE && c->act <= ACT_UNWANT_SHARED) {
		o->mode = LOCK_MODE_SHARED;
		o->limit = LIMIT;
		o->tokens = 1;
	}
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
		ck_assert(case_wished(&s->lock, c->session) ==
		    (c->act == ACT_WANT));
		ck_assert(case_wished_shared(&s->lock, c->session) ==
		    (c->act == ACT_WANT_SHARED));
		break;
	}
}

static void
scene_check(const struct scene *c, const struct seen *done)
{
	struct seen *s;

	if (c->act < ACT_OPEN) {
		scene_check_lock(c);
		return;
	}
	s = case_session(OPERATION_SESSION_READ, c->session, 0);
	case_done(s);
	ck_assert(s->session.exists);
	ck_assert(s->session.dead == (c->act >= ACT_KILL));
	if (c->act == ACT_BEAT) {
		ck_assert_uint_eq(s->session.beat, done->session.beat);
		/* It counts from the send of exactly this number. */
		ck_assert_uint_eq(s->session.beat, done->sent_ms);
	}
}

/* The scene with its first request lost; twice the time, and so on, if it was
 * over before the store could ask once more: the machine may stand still. */
static struct seen *
scene_lose(struct scene *c, enum act act, enum proxy_fault fault)
{
	uint64_t time_ms = proxy_hangs(fault) ? DEADLINE_HUNG_MS :
	    DEADLINE_MS;
	struct seen *s = NULL;

	for (int i = 0; i < 3; i++, time_ms *= 2) {
		scene_prepare(c, act);
		scene_fill(c);
		if (proxy_lose(proxy, fault, &c->operation, time_ms, &s))
			return s;
	}
	ck_abort_msg("%s, fault %d: %s, %s", act_names[act], fault,
	    outcome_kind_name(s->kind), s->text);
}

START_TEST(test_lost_once)
{
	enum act act = (enum act)(_i / (int)PROXY_LOSSES);
	enum proxy_fault fault = proxy_losses[_i % (int)PROXY_LOSSES];
	struct scene c;
	struct seen *s = scene_lose(&c, act, fault);

	scene_check(&c, s);
	if (fault == PROXY_HOLD) {
		proxy_let_go(proxy);
		scene_check(&c, s);
	}
}
END_TEST

/*
 * With nothing lost: one request, and no doubt. A machine that is busy
 * elsewhere may be slower than an attempt waits; that is seen and tried again.
 */
START_TEST(test_nothing_lost)
{
	bool alone = false;

	for (int i = 0; i < 5 && !alone; i++) {
		struct scene c;
		struct seen *s;
		unsigned before;

		scene_prepare(&c, (enum act)_i);
		before = proxy_requests(proxy);
		scene_fill(&c);
		s = case_do(&c.operation);
		case_done(s);
		alone = proxy_requests(proxy) == before + 1;
		ck_assert(s->unanswered != alone);
		scene_check(&c, s);
	}
	ck_assert(alone);
}
END_TEST

/*
 * Everything lost, before or after its effect: it is not known. On a busy
 * machine the time may be over before anything was sent: then it is known, and
 * tried again.
 */
START_TEST(test_all_lost)
{
	enum proxy_fault fault = _i % 2 == 0 ?
	    PROXY_LOSE_REQUEST : PROXY_LOSE_ANSWER;
	struct scene c;
	struct seen *s = NULL;
	unsigned before;

	for (int i = 0; i < 5 && s == NULL; i++) {
		scene_prepare(&c, (enum act)(_i / 2));
		proxy_next(proxy, fault, 1000);
		before = proxy_requests(proxy);
		scene_fill(&c);
		c.operation.deadline_ms = c.operation.submitted_ms + 200;
		s = case_do(&c.operation);
		if (s->kind == OUTCOME_REFUSED &&
		    proxy_requests(proxy) == before)
			s = NULL;
		proxy_next(proxy, PROXY_PASS, 0);
	}
	ck_assert_ptr_nonnull(s);
	case_is_kind(s, OUTCOME_UNKNOWN, __FILE__, __LINE__);
	ck_assert(s->unanswered);
	ck_assert_int_eq(s->code, DDBLOCK_E_UNREACHABLE);
	if (fault == PROXY_LOSE_ANSWER && c.act != ACT_BEAT)
		scene_check(&c, s);
}
END_TEST

/* Hang as many looks at other hosts' sessions as beats have connections, and a
 * look whose first attempt ends before theirs. Is a beat done before that? */
static bool
beat_is_done_first(void)
{
	struct operation operations[5];
	struct seen *looks[5];
	struct scene c;
	struct seen *s;
	bool first;

	scene_prepare(&c, ACT_BEAT);
	proxy_next(proxy, PROXY_HOLD, 5);
	for (int i = 0; i < 5; i++) {
		unsigned before = proxy_requests(proxy);

		operations[i] = case_operation(i < 4 ?
		    OPERATION_SESSION_READ : OPERATION_READ,
		    case_key("look"));
		operations[i].session = case_ident();
		operations[i].submitted_ms = clock_boot_ms();
		operations[i].deadline_ms = operations[i].submitted_ms +
		    (i < 4 ? DEADLINE_MS : DEADLINE_HUNG_MS);
		looks[i] = case_submit(&operations[i]);
		while (proxy_requests(proxy) == before && looks[i]->kind == 0)
			case_turn();
	}
	scene_fill(&c);
	s = case_submit(&c.operation);
	while (s->kind == 0)
		case_turn();
	case_done(s);
	first = looks[4]->kind == 0;
	case_wait();
	return first;
}

/* However many looks hang, a beat does not wait for them. On a machine that is
 * busy elsewhere the order may be another; that is seen and tried again. */
START_TEST(test_beat_before_looks)
{
	bool first = false;

	for (int i = 0; i < 5 && !first; i++)
		first = beat_is_done_first();
	ck_assert(first);
}
END_TEST

/* An endpoint that does not say what stood in the way is asked for it. */
START_TEST(test_conflict_without_record)
{
	struct key key = case_key("strip");
	struct holder me = case_holder();
	struct holder you = case_holder();
	unsigned before;
	struct seen *s;

	case_done(case_acquire(key, &you, 1));
	before = proxy_requests(proxy);
	proxy_next(proxy, PROXY_STRIP_ITEM, 1);
	s = case_acquire(key, &me, 1);
	case_conflict(s);
	ck_assert(case_holds(&s->lock, &you));
	ck_assert(!s->unanswered);
	ck_assert_uint_eq(proxy_requests(proxy), before + 2);
}
END_TEST

/*
 * An acquire that lands after the lock was given back leaves an orphan. The
 * store cannot help it; it has said that this may happen.
 */
START_TEST(test_late_acquire_after_release)
{
	struct scene c;
	struct seen *s;

	scene_prepare(&c, ACT_ACQUIRE);
	proxy_next(proxy, PROXY_HOLD, 1);
	scene_fill(&c);
	s = case_do(&c.operation);
	case_done(s);
	ck_assert(s->unanswered);
	case_done(case_release(c.key, &c.me));
	proxy_let_go(proxy);
	s = case_read(c.key);
	ck_assert(case_holds(&s->lock, &c.me));
	case_done(case_release(c.key, &c.me));
}
END_TEST

/* One that takes from the dead cannot: the token has moved on. */
START_TEST(test_late_take_after_release)
{
	struct scene c;
	struct seen *s;

	scene_prepare(&c, ACT_TAKE);
	proxy_next(proxy, PROXY_HOLD, 1);
	scene_fill(&c);
	case_done(case_do(&c.operation));
	case_done(case_release(c.key, &c.me));
	proxy_let_go(proxy);
	s = case_read(c.key);
	ck_assert_uint_eq(s->lock.record.n_holders, 0);
}
END_TEST

/* One that joins leaves an orphan, too. */
START_TEST(test_late_join_after_release)
{
	struct scene c;
	struct seen *s;

	scene_prepare(&c, ACT_JOIN);
	proxy_next(proxy, PROXY_HOLD, 1);
	scene_fill(&c);
	s = case_do(&c.operation);
	case_done(s);
	ck_assert(s->unanswered);
	case_done(case_release(c.key, &c.me));
	proxy_let_go(proxy);
	s = case_read(c.key);
	ck_assert_uint_eq(s->lock.record.n_holders, 2);
	case_done(case_release(c.key, &c.me));
	ck_assert(case_holds(&case_read(c.key)->lock, &c.you));
}
END_TEST

/* A break cannot hit who came after those it was meant for. */
START_TEST(test_late_break_after_acquire)
{
	struct holder next = case_holder();
	struct scene c;
	struct seen *held;

	scene_prepare(&c, ACT_BREAK);
	proxy_next(proxy, PROXY_HOLD, 1);
	scene_fill(&c);
	case_done(case_do(&c.operation));
	held = case_acquire(c.key, &next, 1);
	case_done(held);
	proxy_let_go(proxy);
	case_same(&case_read(c.key)->lock, &held->lock);
}
END_TEST

/* Nothing is sent for an endpoint that is away, and nothing is unknown. */
START_TEST(test_nobody_there)
{
	struct key key = case_key("away");
	struct holder me = case_holder();
	struct operation o = case_operation(OPERATION_ACQUIRE, key);
	struct store_status status;
	struct seen *s;

	case_done(case_acquire(key, &me, 1));
	proxy_free(proxy);
	proxy = proxy_new(case_base(), getenv("AWS_ENDPOINT_URL_DYNAMODB"));
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
END_TEST

/* Who may not look at the table may use it: an answer's time will do. */
START_TEST(test_table_denied)
{
	struct key key = case_key("denied");
	struct holder me = case_holder();
	struct place_answer a;
	struct store_status status;
	unsigned before = proxy_requests(proxy);
	struct seen *s;

	proxy_deny_tables(proxy);
	s = case_acquire(key, &me, 1);
	case_done(s);
	ck_assert_uint_gt(s->lock.record.token, UINT64_C(1) << 50);
	/* A read first, which also shows that the keys are right. */
	ck_assert_uint_eq(proxy_requests(proxy), before + 2);
	store_view_status(case_store(), &status);
	ck_assert_int_eq(status.last_error, 0);
	ck_assert_ptr_null(strstr(strstr(status.where, "//") + 2, "//"));
	a = place_ask_table(case_base(), case_store(), false);
	ck_assert_int_eq(a.code, DDBLOCK_E_ACCESS_DENIED);
}
END_TEST

int
main(void)
{
	static const struct conformance_target target = {
		.name = "dynamodb_faults",
		.host = "web-1",
		.open = target_open,
		.close = target_close,
	};
	Suite *suite;
	TCase *cases;

	place_need_endpoint();
	suite = conformance_empty(&target);
	cases = tcase_create("faults");
	tcase_add_loop_test(cases, test_nothing_lost, 0, ACTS);
	tcase_add_loop_test(cases, test_lost_once, 0,
	    (int)(ACTS * PROXY_LOSSES));
	tcase_add_loop_test(cases, test_all_lost, 0, 2 * ACTS);
	tcase_add_test(cases, test_beat_before_looks);
	tcase_add_test(cases, test_conflict_without_record);
	tcase_add_test(cases, test_late_acquire_after_release);
	tcase_add_test(cases, test_late_take_after_release);
	tcase_add_test(cases, test_late_join_after_release);
	tcase_add_test(cases, test_late_break_after_acquire);
	tcase_add_test(cases, test_nobody_there);
	tcase_add_test(cases, test_table_denied);
	conformance_add(suite, cases);
	return conformance_run(suite);
}
