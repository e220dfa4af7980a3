/*
 * Scenes over a network that loses things. How long anything takes is not a
 * scene's business: where a machine that is busy elsewhere was too slow for
 * what is to be seen, the scene is played again.
 */
#include "dynamodb_scene.h"

#include "common/clock.h"
#include "ddblock.h"

#define SCENE_TRIES 5
#define SCENE_TIME_MS 16000	/* a first attempt gets a quarter of it */
#define SCENE_HUNG_MS 2000	/* where it is to run out of it */

/* One that is lost, and how much time there is. */
struct scene_play {
	enum proxy_fault fault;
	unsigned skips;
	unsigned n;
	uint64_t time_ms;
};

static struct seen *
scene_do(const struct scene_kind *k, int act, const struct scene_play *p,
    unsigned *ret_requests)
{
	struct operation *o = k->prepare(act);
	unsigned before = proxy_requests();
	struct seen *s;

	proxy_next(p->fault, p->n, p->skips);
	o->submitted_ms = clock_boot_ms();
	o->deadline_ms = o->submitted_ms + p->time_ms;
	s = case_do(o);
	proxy_next(PROXY_PASS, 0, 0);
	*ret_requests = proxy_requests() - before;
	return s;
}

void
scene_lose_nothing(const struct scene_kind *k, int act)
{
	const struct scene_play play = { .time_ms = SCENE_TIME_MS };

	for (int i = 0; i < SCENE_TRIES; i++) {
		unsigned n;
		struct seen *s = scene_do(k, act, &play, &n);

		case_done(s);
		if (k->requests == 1)
			ck_assert(s->unanswered == (n > 1));
		k->check(s);
		if (n == k->requests)
			return;
	}
	ck_abort_msg("%s: never in %u", k->names[act], k->requests);
}

struct seen *
scene_lose(const struct scene_kind *k, int act, enum proxy_fault fault,
    unsigned skips)
{
	bool hangs = fault == PROXY_HOLD || fault == PROXY_HIDE_ANSWER;
	/* A read may be lost, and leaves no write in doubt. */
	bool doubt = skips == 0 && fault != PROXY_THROTTLE;
	struct scene_play play = {
		fault, skips, 1, hangs ? SCENE_HUNG_MS : SCENE_TIME_MS,
	};
	struct seen *s = NULL;

	for (int i = 0; i < SCENE_TRIES; i++, play.time_ms *= 2) {
		unsigned n;

		s = scene_do(k, act, &play, &n);
		if (s->kind == OUTCOME_DONE && s->unanswered == doubt) {
			ck_assert_uint_ge(n, skips + 2);
			return s;
		}
		proxy_let_go();
	}
	ck_abort_msg("%s, fault %u: %s, %s", k->names[act], fault,
	    outcome_kind_name(s->kind), s->text);
}

struct seen *
scene_lose_all(const struct scene_kind *k, int act, enum proxy_fault fault,
    unsigned skips, uint64_t time_ms)
{
	const struct scene_play play = { fault, skips, UINT32_MAX, time_ms };
	struct seen *s = NULL;
	unsigned n = 0;

	for (int i = 0; i < SCENE_TRIES && n <= skips; i++)
		s = scene_do(k, act, &play, &n);
	case_is_kind(s, OUTCOME_UNKNOWN, k->names[act], act);
	ck_assert_int_eq(s->code, DDBLOCK_E_UNREACHABLE);
	return s;
}
