/*
 * Several locks at once over a network that loses things. A transaction is
 * followed by a look, and either can be lost in every way: still it happens
 * once, and it is known when it did.
 */
#include "common/clock.h"
#include "conformance.h"
#include "ddblock.h"
#include "dynamodb_place.h"
#include "dynamodb_proxy.h"

#define KEYS 3
#define DEADLINE_MS 20000
#define DEADLINE_HUNG_MS 2000	/* where it is to run out of it */
#define TRIES 5		/* on a machine that may stand still */

static struct proxy *proxy;

static struct store *
target_open(struct event_base *base, store_outcome_fn outcome, void *arg)
{
	return proxy_open_store(base, "together", outcome, arg, &proxy);
}

static void
target_close(struct store *store)
{
	store_free(store);
	proxy_free(proxy);
}

static void
scene_init(struct several *v)
{
	struct key keys[KEYS];

	several_keys(keys, KEYS);
	several_init(v, keys, KEYS);
}

static void
scene_hurry(struct several *v, uint64_t time_ms)
{
	v->whole.submitted_ms = clock_boot_ms();
	v->whole.deadline_ms = v->whole.submitted_ms + time_ms;
}

/* Do it with all such requests lost, and have time for one of them. */
static struct seen *
scene_lose_all(struct several *v, unsigned step, enum proxy_fault fault,
    uint64_t time_ms)
{
	struct seen *s = NULL;

	for (int i = 0; i < TRIES; i++) {
		unsigned before = proxy_requests(proxy);

		scene_init(v);
		proxy_skip(proxy, step);
		proxy_next(proxy, fault, 1000);
		scene_hurry(v, time_ms);
		s = case_do(&v->whole);
		proxy_skip(proxy, 0);
		proxy_next(proxy, PROXY_PASS, 0);
		if (proxy_requests(proxy) > before + step)
			break;
	}
	return s;
}

static void
scene_is_held(const struct several *v, bool held)
{
	for (size_t i = 0; i < v->n; i++) {
		struct seen *s = case_read(v->keys[i]);

		case_done(s);
		ck_assert(case_holds(&s->lock, &v->parts[i].me) == held);
		ck_assert(held || s->lock.record.n_holders == 0);
	}
}

/* However many keys: the write, and the look that counts. A machine that is
 * busy elsewhere may be slower than an attempt waits, and try again. */
START_TEST(test_two_requests)
{
	bool alone = false;

	for (int i = 0; i < 5 && !alone; i++) {
		struct several v;
		struct seen *s;
		unsigned before = proxy_requests(proxy);

		scene_init(&v);
		s = case_do(&v.whole);
		case_done(s);
		alone = proxy_requests(proxy) == before + 2;
		scene_is_held(&v, true);
	}
	ck_assert(alone);
}
END_TEST

/* The scene with one request lost (@step 0: the write; 1: the look); twice the
 * time, and so on, if it was over before the store could ask once more, or if
 * more was lost: the machine may stand still. */
static void
scene_lose(struct several *v, unsigned step, enum proxy_fault fault)
{
	uint64_t time_ms = proxy_hangs(fault) ? DEADLINE_HUNG_MS :
	    DEADLINE_MS;
	/* A look may be lost and leaves no doubt. */
	bool doubt = step == 0 && fault != PROXY_THROTTLE;
	struct seen *s = NULL;

	for (int i = 0; i < 3; i++, time_ms *= 2) {
		scene_init(v);
		proxy_skip(proxy, step);
		proxy_next(proxy, fault, 1);
		scene_hurry(v, time_ms);
		s = case_do(&v->whole);
		if (s->kind == OUTCOME_DONE && s->unanswered == doubt)
			return;
		proxy_let_go(proxy);
	}
	ck_abort_msg("step %u, fault %d: %s, %s", step, fault,
	    outcome_kind_name(s->kind), s->text);
}

START_TEST(test_lost_once)
{
	enum proxy_fault fault = proxy_losses[_i % (int)PROXY_LOSSES];
	struct several v;

	scene_lose(&v, (unsigned)_i / PROXY_LOSSES, fault);
	scene_is_held(&v, true);
	for (size_t i = 0; i < KEYS; i++)
		case_done(case_release(v.keys[i], &v.parts[i].me));
	/* What comes late has its token, and is no second one. */
	if (fault == PROXY_HOLD)
		proxy_let_go(proxy);
	scene_is_held(&v, false);
}
END_TEST

/* Without a look it is not known, though the write was acknowledged. */
START_TEST(test_look_lost)
{
	struct several v;
	struct seen *s;

	s = scene_lose_all(&v, 1, PROXY_LOSE_ANSWER, 500);
	case_is_kind(s, OUTCOME_UNKNOWN, __FILE__, __LINE__);
	scene_is_held(&v, true);
}
END_TEST

START_TEST(test_all_lost)
{
	struct several v;
	struct seen *s;

	s = scene_lose_all(&v, 0,
	    _i == 0 ? PROXY_LOSE_REQUEST : PROXY_LOSE_ANSWER, 200);
	case_is_kind(s, OUTCOME_UNKNOWN, __FILE__, __LINE__);
	ck_assert(s->unanswered);
	scene_is_held(&v, _i == 1);
}
END_TEST

/* An endpoint that does not say what stood in the way is asked for it. */
START_TEST(test_conflict_without_reasons)
{
	struct holder you = case_holder();
	struct several v;
	struct seen *s;
	unsigned before;

	scene_init(&v);
	case_done(case_acquire(v.keys[1], &you, 1));
	before = proxy_requests(proxy);
	proxy_next(proxy, PROXY_STRIP_ITEM, 1);
	s = case_do(&v.whole);
	case_conflict(s);
	ck_assert_uint_eq(proxy_requests(proxy), before + 2);
	ck_assert_int_eq(s->parts[0].kind, OUTCOME_REFUSED);
	ck_assert_int_eq(s->parts[1].kind, OUTCOME_CONFLICT);
	ck_assert(case_holds(&s->locks[1], &you));
}
END_TEST

int
main(void)
{
	static const struct conformance_target target = {
		.name = "dynamodb_together",
		.host = "web-1",
		.open = target_open,
		.close = target_close,
	};
	Suite *suite;
	TCase *cases;

	place_need_endpoint();
	suite = conformance_empty(&target);
	cases = tcase_create("together");
	tcase_add_test(cases, test_two_requests);
	tcase_add_loop_test(cases, test_lost_once, 0, (int)(2 * PROXY_LOSSES));
	tcase_add_test(cases, test_look_lost);
	tcase_add_loop_test(cases, test_all_lost, 0, 2);
	tcase_add_test(cases, test_conflict_without_reasons);
	conformance_add(suite, cases);
	return conformance_run(suite);
}
