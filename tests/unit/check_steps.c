/*
 * No step of the core takes long because much is due at one moment: it does
 * some, and the rest comes with the next steps, which follow at once.
 *
 * The store is a few lines that grant everything at once; without them all
 * requests wait for the session, which is never opened.
 */
#include <stdio.h>

#include "core/state.h"
#include "core_fixture.h"
#include "ddblock.h"
#include "test.h"

#define MANY 95
#define PER_STEP 10
#define ASKED_MS 1000
#define TRY_MS core_fixture.try_ms
#define CLIENT 1

static struct core_update update;

static struct core *
steps_core(void)
{
	const struct core_limits limits = {
		.clients_max = 10, .requests_per_client_max = MANY + 1,
		.holds_per_client_max = MANY, .watches_per_client_max = 10,
		.watches_max = 10, .locks_max = MANY + 1,
		.requests_max = 2 * MANY, .observations_max = 10,
		.in_doubt_max = MANY, .per_step_max = PER_STEP,
	};

	return core_fixture_new(&core_fixture, &limits, ASKED_MS);
}

static int
steps_count(enum core_action_type type)
{
	int n = 0;

	for (const struct core_action *a = update.actions; a != NULL;
	    a = a->next)
		n += a->type == type;
	return n;
}

/* How many replies it has. */
static int
steps_step(struct core *core, struct core_event event)
{
	ck_assert_int_ge(core_step(core, &event, &update), 0);
	return steps_count(CORE_REPLY);
}

static int
steps_ask_for(struct core *core, uint64_t client, uint64_t now_ms, int number,
    uint64_t wait_ms, const struct core_terms *terms)
{
	static const struct core_secret secret = { .clear = { 1, 1 } };
	char key[16];
	const int length = snprintf(key, sizeof(key), "k%d", number);

	return steps_step(core, (struct core_event){ .type = CORE_REQUEST,
	    .now_ms = now_ms, .request = { .client = client,
		.request = (uint64_t)number + 1, .verb = CORE_ACQUIRE,
		.key = { key, (size_t)length }, .wait_ms = wait_ms,
		.terms = *terms, .secret = &secret,
		.privileged = true } });
}

static int
steps_ask(struct core *core, uint64_t client, uint64_t now_ms, int number,
    uint64_t wait_ms)
{
	return steps_ask_for(core, client, now_ms, number, wait_ms,
	    &(struct core_terms){ .mode = LOCK_MODE_EXCLUSIVE });
}

/* The step's first operation. */
static struct operation *
steps_submitted(void)
{
	const struct core_action *a = update.actions;

	while (a != NULL && a->type != CORE_SUBMIT)
		a = a->next;
	ck_assert_ptr_nonnull(a);
	return &CONTAINER_OF((uintptr_t)a, struct core_submit, action)->
	    operation;
}

/* It is done. */
static int
steps_store(struct core *core, uint64_t now_ms)
{
	struct operation *o = steps_submitted();
	struct outcome outcome = { .kind = OUTCOME_DONE, .sent_ms = now_ms };
	struct holder me = o->me;

	if (o->kind == OPERATION_SESSION_OPEN)
		outcome.session = (struct session_record){ .exists = true,
			.lease_ms = core_fixture.lease_ms };
	else
		outcome.lock = (struct lock_record){ .exists = true,
			.holders = &me, .n_holders = 1,
			.mode = LOCK_MODE_EXCLUSIVE, .token = 1000 };
	return steps_step(core, (struct core_event){ .type = CORE_STORED,
	    .now_ms = now_ms, .stored = { o, &outcome } });
}

/* How many of the replies tell this request of this client so. */
static int
steps_told(uint64_t client, uint64_t request, int code)
{
	int n = 0;

	for (const struct core_action *a = update.actions; a != NULL;
	    a = a->next) {
		const struct core_reply *r = (const void *)a;

		n += a->type == CORE_REPLY && r->client == client &&
		    r->request == request && r->code == code;
	}
	return n;
}

/* All wait for the session, whose opening this is. */
static struct operation *
steps_wait(struct core *core)
{
	struct operation *opening;

	(void)steps_step(core, (struct core_event){ .type = CORE_TIMER,
	    .now_ms = ASKED_MS });
	opening = steps_submitted();
	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(steps_ask(core, CLIENT, ASKED_MS, i,
		    CORE_FOREVER), 0);
	return opening;
}

/* A core with this many holds. */
static struct core *
steps_core_with(const struct core_terms *terms)
{
	struct core *core = steps_core();

	(void)steps_step(core, (struct core_event){ .type = CORE_TIMER,
	    .now_ms = ASKED_MS });
	(void)steps_store(core, ASKED_MS);
	for (int i = 0; i < MANY; i++) {
		(void)steps_ask_for(core, CLIENT, ASKED_MS, i, 0, terms);
		ck_assert_int_eq(steps_store(core, ASKED_MS), 1);
	}
	ck_assert_uint_eq(core->namespaces[0].n_held, MANY);
	return core;
}

/* All of them are answered, some in each step of one moment. */
static void
steps_expect_all(struct core *core, uint64_t now_ms, int n_answered)
{
	while (n_answered < MANY) {
		int n;

		ck_assert_uint_le(update.next_ms, now_ms);
		n = steps_step(core, (struct core_event){ .type = CORE_TIMER,
		    .now_ms = now_ms });
		ck_assert_int_gt(n, 0);
		ck_assert_int_le(n, PER_STEP);
		n_answered += n;
	}
	ck_assert_int_eq(n_answered, MANY);
}

TEST(test_tries_that_end_together)
{
	struct core *core = steps_core();

	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(steps_ask(core, CLIENT, ASKED_MS, i, 0), 0);
	steps_expect_all(core, ASKED_MS + TRY_MS, 0);
	ck_assert_uint_gt(update.next_ms, ASKED_MS + TRY_MS);
	core_free(core);
}

/* Another client's request is served between them. */
TEST(test_an_event_between)
{
	struct core *core = steps_core();
	const uint64_t now_ms = ASKED_MS + TRY_MS;

	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(steps_ask(core, CLIENT, ASKED_MS, i, 0), 0);
	ck_assert_int_eq(steps_ask(core, CLIENT + 1, now_ms, MANY, 0),
	    PER_STEP);
	steps_expect_all(core, now_ms, PER_STEP);
	ck_assert_uint_le(update.next_ms, now_ms + TRY_MS);
	core_free(core);
}

/* All that waited for the session asks the store, or is told why it cannot. */
TEST(test_a_session_that_opens)
{
	struct core *core = steps_core();
	struct operation *opening = steps_wait(core);
	struct outcome outcome = { .kind = OUTCOME_DONE, .sent_ms = ASKED_MS,
		.session = { .exists = true,
		    .lease_ms = core_fixture.lease_ms } };
	int n;

	(void)steps_step(core, (struct core_event){ .type = CORE_STORED,
	    .now_ms = ASKED_MS, .stored = { opening, &outcome } });
	for (n = steps_count(CORE_SUBMIT); n < MANY;
	    n += steps_count(CORE_SUBMIT)) {
		ck_assert_int_le(steps_count(CORE_SUBMIT), PER_STEP);
		ck_assert_int_gt(steps_count(CORE_SUBMIT), 0);
		ck_assert_uint_eq(update.next_ms, ASKED_MS);
		(void)steps_step(core, (struct core_event){ .type = CORE_TIMER,
		    .now_ms = ASKED_MS });
	}
	ck_assert_int_eq(n, MANY);
	core_free(core);
}

TEST(test_a_session_that_is_refused)
{
	struct core *core = steps_core();
	struct operation *opening = steps_wait(core);
	struct outcome outcome = { .kind = OUTCOME_REFUSED,
		.sent_ms = ASKED_MS, .code = DDBLOCK_E_ACCESS_DENIED };
	int n = steps_step(core, (struct core_event){ .type = CORE_STORED,
	    .now_ms = ASKED_MS, .stored = { opening, &outcome } });

	ck_assert_int_le(n, PER_STEP);
	steps_expect_all(core, ASKED_MS, n);
	core_free(core);
}

/* All that the client waits for, another one waits for before it. */
static void
steps_wait_behind(struct core *core)
{
	for (uint64_t client = CLIENT + 1; client >= CLIENT; client--) {
		for (int i = 0; i < MANY; i++)
			ck_assert_int_eq(steps_ask(core, client, ASKED_MS, i,
			    CORE_FOREVER), 0);
	}
}

/* A client asks no more: all that it waits for is answered, in steps. */
TEST(test_a_client_that_drains)
{
	struct core *core = steps_core();
	int n;

	steps_wait_behind(core);
	n = steps_step(core, (struct core_event){ .type = CORE_HALF_CLOSED,
	    .now_ms = ASKED_MS, .client = CLIENT });
	ck_assert_int_le(n, PER_STEP);
	steps_expect_all(core, ASKED_MS, n);
	core_free(core);
}

/* The request that is next is answered by something else. */
TEST(test_a_client_that_drains_and_less_is_left)
{
	struct core *core = steps_core();
	int n;

	steps_wait_behind(core);
	n = steps_step(core, (struct core_event){ .type = CORE_HALF_CLOSED,
	    .now_ms = ASKED_MS, .client = CLIENT });
	ck_assert_int_eq(steps_told(CLIENT, (uint64_t)n,
	    DDBLOCK_E_CANCELLED), 1);
	n += steps_step(core, (struct core_event){ .type = CORE_REQUEST,
	    .now_ms = ASKED_MS, .request = { .client = CLIENT,
		.request = 100, .verb = CORE_CANCEL,
		.target = (uint64_t)n + 1 } });
	/* One of the replies is that of the CANCEL. */
	while (core->drains != NULL) {
		ck_assert_uint_eq(update.next_ms, ASKED_MS);
		n += steps_step(core, (struct core_event){
		    .type = CORE_TIMER, .now_ms = ASKED_MS });
	}
	ck_assert_int_eq(n, MANY + 1);
	core_free(core);
}

/* Clients use the same numbers, and each cancels its own requests, from the
 * middle on. What was answered is not found again. */
TEST(test_cancels)
{
	struct core *core = steps_core();
	struct core_waiter_view v;

	for (uint64_t client = 1; client <= 9; client++) {
		for (int i = 0; i < 10; i++)
			ck_assert_int_eq(steps_ask(core, client, ASKED_MS, i,
			    CORE_FOREVER), 0);
	}
	for (uint64_t n = 0; n < 90; n++) {
		const uint64_t client = n % 9 + 1, target = (n + 5) % 10 + 1;
		const struct core_event cancel = { .type = CORE_REQUEST,
			.now_ms = ASKED_MS, .request = { .client = client,
			    .request = 100, .verb = CORE_CANCEL,
			    .target = target } };

		ck_assert(core_view_request(core, client, target, ASKED_MS,
		    &v));
		ck_assert_uint_eq(v.client, client);
		ck_assert_int_eq(v.key.bytes[1], '0' + (int)target - 1);
		(void)steps_step(core, cancel);
		ck_assert_int_eq(steps_told(client, 100, 0), 1);
		ck_assert_int_eq(steps_told(client, target,
		    DDBLOCK_E_CANCELLED), 1);
		ck_assert(!core_view_request(core, client, target, ASKED_MS,
		    &v));
		(void)steps_step(core, cancel);
		ck_assert_int_eq(steps_told(client, 100,
		    DDBLOCK_E_BAD_REQUEST), 1);
	}
	ck_assert_uint_eq(core->asked.n, 0);
	core_free(core);
}

/* What stays when its client leaves is looked at in steps, and its end is. */
TEST(test_what_lingers)
{
	struct core *core = steps_core_with(&(struct core_terms){
	    .mode = LOCK_MODE_EXCLUSIVE, .linger_ms = 1000 });
	const struct namespace *ns = &core->namespaces[0];
	struct core_event event = { .type = CORE_GONE, .client = CLIENT,
		.now_ms = ASKED_MS };
	uint32_t n = 0;
	int more;

	do {
		more = core_step(core, &event, &update);
		ck_assert_uint_le(ns->n_lingering, n + PER_STEP);
		n = ns->n_lingering;
		event.type = CORE_LEAVES;
	} while (more > 0);
	ck_assert_uint_eq(n, MANY);
	event = (struct core_event){ .type = CORE_TIMER,
		.now_ms = ASKED_MS + 1000 };
	for (; n > 0; n = ns->n_lingering) {
		ck_assert_uint_le(update.next_ms, event.now_ms);
		(void)steps_step(core, event);
		ck_assert_uint_lt(ns->n_lingering, n);
		ck_assert_uint_ge(ns->n_lingering + PER_STEP, n);
	}
	ck_assert_uint_eq(ns->n_held, 0);
	core_free(core);
}

static int
steps_resume(struct core *core, uint64_t client, uint64_t request)
{
	static const struct core_secret secret = { .clear = { 1, 1 } };

	return steps_step(core, (struct core_event){ .type = CORE_REQUEST,
	    .now_ms = ASKED_MS, .request = { .client = client,
		.request = request, .verb = CORE_RESUME, .secret = &secret,
		.privileged = true } });
}

static uint32_t
steps_held_by(const struct core *core, uint64_t client)
{
	struct core_hold_view v = { .hold = 0 };
	uint32_t n = 0;

	while (core_next_hold_of(core, client, v.hold, ASKED_MS, &v))
		n++;
	return n;
}

static uint64_t
steps_closed(void)
{
	for (const struct core_action *a = update.actions; a != NULL;
	    a = a->next) {
		if (a->type == CORE_CLOSE)
			return ((const struct core_close *)(const void *)a)->
			    client;
	}
	return 0;
}

/* A client is cut off, another one gets what it had, and a third one resumes
 * that in the middle of it: each step does some. */
TEST(test_resumes)
{
	struct core *core = steps_core_with(&(struct core_terms){
	    .mode = LOCK_MODE_EXCLUSIVE, .linger_ms = 1000 });
	const struct core_event timer = { .type = CORE_TIMER,
		.now_ms = ASKED_MS };
	uint32_t n, n_before;

	ck_assert_int_eq(steps_resume(core, 2, 1), 0);
	/* What the first one says now is not heard. */
	ck_assert_int_eq(steps_step(core, (struct core_event){
	    .type = CORE_REQUEST, .now_ms = ASKED_MS, .request = {
		.client = 1, .request = 200, .verb = CORE_RELEASE,
		.hold = 1 } }), 0);
	while (steps_closed() == 0) {
		ck_assert_uint_eq(update.next_ms, ASKED_MS);
		ck_assert_int_eq(steps_step(core, timer), 0);
	}
	ck_assert_uint_eq(steps_closed(), 1);
	for (n = steps_held_by(core, 2); n < MANY / 2;
	    n = steps_held_by(core, 2)) {
		ck_assert_int_eq(steps_step(core, timer), 0);
		ck_assert_uint_le(steps_held_by(core, 2), n + PER_STEP);
	}
	/* It asks for nothing else before it has all of it. */
	(void)steps_ask(core, 2, ASKED_MS, MANY - 1, CORE_FOREVER);
	ck_assert_int_eq(steps_told(2, MANY, DDBLOCK_E_BAD_REQUEST), 1);
	(void)steps_resume(core, 2, 2);
	ck_assert_int_eq(steps_told(2, 2, DDBLOCK_E_BAD_REQUEST), 1);
	(void)steps_resume(core, 3, 1);
	while (steps_told(3, 1, 0) == 0) {
		ck_assert_uint_eq(update.next_ms, ASKED_MS);
		n_before = steps_held_by(core, 3);
		(void)steps_step(core, timer);
		ck_assert_uint_le(steps_held_by(core, 3), n_before + PER_STEP);
	}
	ck_assert_uint_eq(steps_held_by(core, 3), MANY);
	ck_assert_uint_eq(steps_held_by(core, 2), 0);
	/* The answer was lost: it asks again. */
	ck_assert_int_eq(steps_resume(core, 3, 2), 1);
	ck_assert_int_eq(steps_told(3, 2, 0), 1);
	core_free(core);
}

/* It hears nothing of what it has in part: the answer says how it is. */
TEST(test_resumes_in_danger)
{
	struct core *core = steps_core_with(&(struct core_terms){
	    .mode = LOCK_MODE_EXCLUSIVE, .linger_ms = 60000 });
	struct core_event timer = { .type = CORE_TIMER, .now_ms = ASKED_MS };
	struct core_hold_view v;

	ck_assert_int_eq(steps_resume(core, 2, 1), 0);
	while (steps_held_by(core, 2) == 0)
		(void)steps_step(core, timer);
	timer.now_ms += core_fixture.danger_ms;
	ck_assert_int_eq(steps_step(core, timer), 0);
	ck_assert(core_next_hold_of(core, 2, 0, timer.now_ms, &v) && v.danger);
	ck_assert_int_eq(steps_count(CORE_NOTICE), 0);
	while (core->resumes != NULL)
		(void)steps_step(core, timer);
	ck_assert_int_eq(steps_told(2, 1, 0), 1);
	core_free(core);
}

/* The core is freed in the middle of it. */
TEST(test_resumes_to_no_end)
{
	struct core *core = steps_core_with(&(struct core_terms){
	    .mode = LOCK_MODE_EXCLUSIVE, .linger_ms = 1000 });

	ck_assert_int_eq(steps_resume(core, 2, 1), 0);
	ck_assert_int_eq(steps_resume(core, 3, 1), 0);
	core_free(core);
}
