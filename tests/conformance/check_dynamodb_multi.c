/*
 * Several locks at once over a network that loses things. A transaction is
 * followed by a look, and either can be lost in every way: still it happens
 * once, and it is known when it did.
 */
#include "conformance.h"
#include "dynamodb_scene.h"
#include "test.h"

#define KEYS 3

static struct multi scene;	/* the last one */

static struct operation *
scene_prepare(int act)
{
	struct key keys[KEYS];

	(void)act;
	multi_keys(keys, KEYS);
	multi_init(&scene, keys, KEYS);
	return &scene.whole;
}

static void
scene_is_held(bool held)
{
	for (size_t i = 0; i < scene.n; i++) {
		struct seen *s = case_read(scene.keys[i]);

		case_done(s);
		ck_assert(case_holds(&s->lock, &scene.parts[i].me) == held);
		ck_assert(held || s->lock.record.n_holders == 0);
	}
}

static void
scene_check(const struct seen *done)
{
	(void)done;
	scene_is_held(true);
}

/* However many keys: the write, and the look that counts. */
static const struct scene_kind together = {
	.names = (const char *const []){ "several" },
	.requests = 2,
	.prepare = scene_prepare,
	.check = scene_check,
};

TEST(test_nothing_lost)
{
	scene_lose_nothing(&together, 0);
}

/* First the write, then the look. */
TEST_LOOP(test_lost_once, 0, (int)(2 * PROXY_LOSSES))
{
	(void)scene_lose(&together, 0, proxy_losses[_i % (int)PROXY_LOSSES],
	    (unsigned)_i / PROXY_LOSSES);
	scene_is_held(true);
	for (size_t i = 0; i < KEYS; i++)
		case_done(case_release(scene.keys[i], &scene.parts[i].me));
	/* A late copy has the same client token, and is no second write. */
	proxy_let_go();
	scene_is_held(false);
}

/* Without a look it is not known, though the write was acknowledged. */
TEST(test_look_lost)
{
	(void)scene_lose_all(&together, 0, PROXY_LOSE_ANSWER, 1, 500);
	scene_is_held(true);
}

TEST_LOOP(test_all_lost, 0, 2)
{
	struct seen *s = scene_lose_all(&together, 0,
	    _i == 0 ? PROXY_LOSE_REQUEST : PROXY_LOSE_ANSWER, 0, 200);

	ck_assert(s->unanswered);
	scene_is_held(_i == 1);
}

/* An endpoint that does not say what stood in the way is asked for it. */
TEST(test_conflict_without_reasons)
{
	struct holder you = case_holder();
	struct seen *s;
	unsigned before;

	(void)scene_prepare(0);
	case_done(case_acquire(scene.keys[1], &you, 1));
	before = proxy_requests();
	proxy_next(PROXY_STRIP_ITEM, 1, 0);
	s = case_conflict(case_do(&scene.whole));
	ck_assert_uint_eq(proxy_requests(), before + 2);
	ck_assert_int_eq(s->parts[0].kind, OUTCOME_REFUSED);
	ck_assert_int_eq(s->parts[1].kind, OUTCOME_CONFLICT);
	ck_assert(case_holds(&s->locks[1], &you));
}

int
main(void)
{
	return proxy_run("dynamodb_together", __FILE__);
}
