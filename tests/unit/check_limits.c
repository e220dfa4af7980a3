/*
 * What a user may have at the most by a rule of the caller's: beside its share,
 * and however much it asks for at once.
 *
 * The store is a few lines that grant everything, when the test says so.
 */
#include <stdio.h>
#include <string.h>

#include "core/rate.h"
#include "core/state.h"
#include "core_fixture.h"
#include "ddblock.h"
#include "test.h"

#define NOW_MS 1000
#define USER 7
#define OTHER 8

static struct core *core;
static struct core_update update;
static uint64_t now_ms, last_request;
static struct operation *submitted[64];	/* without an outcome */
static size_t n_submitted;
static int code, cause;	/* of the step's last reply; 1: there was none */
static char text[OUTCOME_TEXT_MAX];

static void
step(struct core_event event)
{
	event.now_ms = now_ms;
	code = 1;
	text[0] = '\0';
	ck_assert_int_ge(core_step(core, &event, &update), 0);
	for (struct core_action *a = update.actions; a != NULL; a = a->next) {
		struct core_reply *reply = (struct core_reply *)(void *)a;

		if (a->type == CORE_SUBMIT) {
			ck_assert_uint_lt(n_submitted, 64);
			submitted[n_submitted++] = &CONTAINER_OF((uintptr_t)a,
			    struct core_submit, action)->operation;
		} else if (a->type == CORE_REPLY) {
			code = reply->code;
			cause = reply->cause;
			(void)snprintf(text, sizeof(text), "%s",
			    reply->text == NULL ? "" : reply->text);
		}
	}
}

/* Everything that was asked of it is done. */
static void
store(void)
{
	while (n_submitted > 0) {
		struct operation *o = submitted[0];
		struct holder me = o->me;
		struct outcome outcome = { .kind = OUTCOME_DONE,
			.sent_ms = now_ms };

		memmove(submitted, submitted + 1,
		    --n_submitted * sizeof(submitted[0]));
		if (o->kind == OPERATION_SESSION_OPEN)
			outcome.session = (struct session_record){
				.exists = true,
				.lease_ms = core_fixture.lease_ms };
		else if (o->kind == OPERATION_ACQUIRE)
			outcome.lock = (struct lock_record){ .exists = true,
				.holders = &me, .n_holders = 1,
				.mode = LOCK_MODE_EXCLUSIVE, .token = 1000 };
		step((struct core_event){ .type = CORE_STORED,
		    .stored = { o, &outcome } });
	}
}

static void
begin_with(uint32_t request_rate)
{
	struct core_namespace ns = core_fixture;
	const struct core_limits limits = {
		.clients_max = 10, .requests_per_client_max = 1000,
		.holds_per_client_max = 1000,
		.watches_per_client_max = 1000, .watches_max = 1000,
		.locks_max = 1000, .memory_max = 16 << 20,
		.requests_max = 1000, .observations_max = 10,
		.in_doubt_max = 1000, .per_step_max = 1000,
	};

	ns.request_rate = request_rate;
	now_ms = NOW_MS;
	n_submitted = 0;
	last_request = 0;
	core = core_fixture_new(&ns, &limits, now_ms);
	step((struct core_event){ .type = CORE_TIMER });
	store();
}

static void
begin(void)
{
	begin_with(0);
}

static void
end(void)
{
	core_free(core);
}

TEST_FIXTURE(begin, end)

static void
ask_of(uint32_t user, uint64_t client, enum core_verb verb, const char *key,
    const struct core_user_limits *limits)
{
	static const struct core_secret secret = { .clear = { 1, 1 } };

	step((struct core_event){ .type = CORE_REQUEST, .request = {
	    .client = client, .request = ++last_request, .verb = verb,
	    .key = key_text(key), .user = user, .limits = limits,
	    .terms = { .mode = LOCK_MODE_EXCLUSIVE }, .secret = &secret } });
}

static void
ask(enum core_verb verb, const char *key,
    const struct core_user_limits *limits)
{
	ask_of(USER, USER, verb, key, limits);
}

#define RULE "rule \"a\" (line 3 of f)"

TEST(test_locks)
{
	const struct core_user_limits three = { .locks = { 3, RULE } };
	const struct core_user_limits one = { .locks = { 1, RULE } };
	const struct key keys[] = { key_text("m1"), key_text("m2") };

	ask(CORE_ACQUIRE, "a", &three);
	store();
	ck_assert_int_eq(code, 0);
	/* What is asked for counts as what is held. */
	ask(CORE_ACQUIRE, "b", &three);
	ck_assert_int_eq(code, 1);
	/* So do several at once, each. */
	step((struct core_event){ .type = CORE_REQUEST, .request = {
	    .client = USER, .request = ++last_request, .verb = CORE_ACQUIRE,
	    .keys = keys, .n_keys = 2, .key = keys[0], .user = USER,
	    .limits = &three, .terms = { .mode = LOCK_MODE_EXCLUSIVE } } });
	ck_assert_int_eq(code, DDBLOCK_E_LIMIT);
	ask_of(USER, 70, CORE_ACQUIRE, "c", &three);
	ck_assert_int_eq(code, 1);
	ask_of(USER, 71, CORE_ACQUIRE, "d", &three);
	ck_assert_int_eq(code, DDBLOCK_E_LIMIT);
	ck_assert_str_eq(text, "this user's programs have or have asked for 3 "
	    "locks; locks_max of " RULE " is 3");
	/* Another user of the same rule has as many. */
	ask_of(OTHER, OTHER, CORE_ACQUIRE, "d", &three);
	ck_assert_int_eq(code, 1);
	/* A lower limit takes nothing away. */
	ask(CORE_ACQUIRE, "e", &one);
	ck_assert_int_eq(code, DDBLOCK_E_LIMIT);
	store();
	ck_assert_int_eq(code, 0);
	ck_assert_uint_eq(core->namespaces[0].n_held, 4);
	/* What ends makes room. */
	step((struct core_event){ .type = CORE_GONE, .client = 70 });
	ask(CORE_ACQUIRE, "f", &three);
	ck_assert_int_eq(code, 1);
	store();
	ask(CORE_ACQUIRE, "g", &three);
	ck_assert_int_eq(code, DDBLOCK_E_LIMIT);
	ask(CORE_ACQUIRE, "g", NULL);
	ck_assert_int_eq(code, 1);
}

/* A request that ends without a lock gives back its room, and what was admitted
 * before a restart keeps it. */
TEST(test_what_is_asked)
{
	const struct core_user_limits one = { .locks = { 1, RULE } };
	struct core_event event = { .type = CORE_REQUEST, .request = {
		.client = USER, .request = 100, .verb = CORE_ACQUIRE,
		.key = key_text("b"), .wait_ms = CORE_FOREVER, .user = USER,
		.limits = &one, .terms = { .mode = LOCK_MODE_EXCLUSIVE } } };

	ask_of(OTHER, OTHER, CORE_ACQUIRE, "b", &one);
	store();
	step(event);
	ck_assert_int_eq(code, 1);
	ask(CORE_ACQUIRE, "c", &one);
	ck_assert_int_eq(code, DDBLOCK_E_LIMIT);
	event.request.request = 101;
	event.request.again = true;
	step(event);
	ck_assert_int_eq(code, 1);
	for (uint64_t i = 100; i <= 101; i++)
		step((struct core_event){ .type = CORE_REQUEST, .request = {
		    .client = USER, .request = ++last_request, .target = i,
		    .verb = CORE_CANCEL, .user = USER, .limits = &one } });
	ask(CORE_ACQUIRE, "c", &one);
	store();
	ck_assert_int_eq(code, 0);
	ck_assert_uint_eq(core->shares.has[SHARE_ASKED], 0);
}

TEST(test_watches)
{
	const struct core_user_limits two = { .watches = { 2, RULE } };

	ask(CORE_WATCH, "a", &two);
	ask_of(USER, 70, CORE_WATCH, "b", &two);
	ask(CORE_WATCH, "c", &two);
	ck_assert_int_eq(code, DDBLOCK_E_LIMIT);
	ck_assert_str_eq(text, "this user's programs watch 2 locks; "
	    "watches_max of " RULE " is 2");
	ask_of(OTHER, OTHER, CORE_WATCH, "c", &two);
	ck_assert_int_ne(code, DDBLOCK_E_LIMIT);
	ask(CORE_UNWATCH, "a", &two);
	ask(CORE_WATCH, "c", &two);
	ck_assert_int_ne(code, DDBLOCK_E_LIMIT);
}

TEST(test_memory)
{
	static char data[60000];
	struct core_user_limits limits = { .bytes = { 150000, RULE } };
	const struct change change = {
		.contents = { .data = { data, sizeof(data) } } };
	struct core_event event = { .type = CORE_REQUEST, .request = {
		.client = USER, .verb = CORE_ACQUIRE, .key = key_text("k"),
		.wait_ms = CORE_FOREVER, .user = USER, .limits = &limits,
		.change = &change,
		.terms = { .mode = LOCK_MODE_EXCLUSIVE } } };
	char expected[128];

	for (int i = 0; i < 2; i++) {
		event.request.request = ++last_request;
		step(event);
		ck_assert_int_eq(code, 1);
	}
	/* There is room for less. */
	event.request.request = ++last_request;
	step(event);
	ck_assert_int_eq(code, DDBLOCK_E_LIMIT);
	(void)snprintf(expected, sizeof(expected), "this user's programs take "
	    "%llu bytes of memory; memory_max of " RULE " is 150000",
	    (unsigned long long)core->shares.has[SHARE_BYTES]);
	ck_assert_str_eq(text, expected);
	ask(CORE_GET, "k", &limits);
	ck_assert_int_ne(code, DDBLOCK_E_LIMIT);
	/* What gives back is asked nothing. */
	limits.bytes.most = 1;
	ask(CORE_GET, "k", &limits);
	ck_assert_int_eq(code, DDBLOCK_E_LIMIT);
	step((struct core_event){ .type = CORE_REQUEST, .request = {
	    .client = USER, .request = ++last_request, .verb = CORE_CANCEL,
	    .target = 1, .user = USER, .limits = &limits } });
	ck_assert_int_ne(code, DDBLOCK_E_LIMIT);
}

static void
acquire(const char *key, uint64_t wait_ms,
    const struct core_user_limits *limits)
{
	step((struct core_event){ .type = CORE_REQUEST, .request = {
	    .client = USER, .request = ++last_request, .verb = CORE_ACQUIRE,
	    .key = key_text(key), .user = USER, .limits = limits,
	    .wait_ms = wait_ms, .terms = { .mode = LOCK_MODE_EXCLUSIVE } } });
}

/* How many of these come through at once. */
static int
admitted_of(int n, const struct core_user_limits *limits)
{
	int admitted = 0;

	for (int i = 0; i < n; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "r%d", i);
		ask(CORE_GET, key, limits);
		admitted += code != DDBLOCK_E_LIMIT;
	}
	store();
	return admitted;
}

/* Where the namespace has no rate, too. */
TEST(test_a_rate)
{
	const struct core_user_limits four = { .rate = { 4, RULE } };
	const struct core_user_limits none = { .rate = { 0, NULL } };

	now_ms += 5000;
	ck_assert_int_eq(admitted_of(10, &four), 5);
	ask(CORE_GET, "more", &four);
	ck_assert_str_eq(text, "this user's programs have asked the store for "
	    "as much as they may; request_rate of " RULE " is 4; the next "
	    "request is in 250 ms");
	/* Another user is not held back, nor is an acquire refused. */
	ask_of(OTHER, OTHER, CORE_GET, "x", &four);
	ck_assert_int_ne(code, DDBLOCK_E_LIMIT);
	now_ms += 500;
	ck_assert_int_eq(admitted_of(10, &four), 2);
	/* The last request says which. */
	ck_assert_int_eq(admitted_of(10, &none), 10);
	ck_assert_int_eq(admitted_of(10, NULL), 10);
	ck_assert_int_eq(admitted_of(10, &four), 0);
}

/* Others' rules, before the user asks again. */
TEST(test_other_limits)
{
	const struct core_user_limits four = { .rate = { 4, RULE } };
	struct core_event event = { .type = CORE_LIMITED,
		.limited = { USER, &four } };

	step(event);
	ck_assert(!core->had_rates);
	now_ms += 5000;
	acquire("a", 0, NULL);
	store();
	step(event);
	ck_assert(rate_is_own(&core->namespaces[0], USER));
	ck_assert(!rate_is_own(&core->namespaces[0], OTHER));
	event.limited.limits = NULL;
	step(event);
	ck_assert(!rate_is_own(&core->namespaces[0], USER));
}

/* Who waits for a lock waits for its turn, and is told why if that is too
 * long. */
TEST(test_the_rate_of_acquires)
{
	const struct core_user_limits one = { .rate = { 1, RULE } };

	now_ms += 5000;
	ck_assert_int_eq(admitted_of(2, &one), 2);
	ask(CORE_ACQUIRE, "a", &one);
	ck_assert_int_eq(code, DDBLOCK_E_LIMIT);
	acquire("b", CORE_FOREVER, &one);
	acquire("c", 500, &one);
	ck_assert_int_eq(code, 1);
	ck_assert_uint_eq(n_submitted, 0);
	now_ms += 1000;
	step((struct core_event){ .type = CORE_TIMER });
	ck_assert_int_eq(code, DDBLOCK_E_ACQUIRE_TIMEOUT);
	ck_assert_int_eq(cause, DDBLOCK_E_LIMIT);
	ck_assert_ptr_nonnull(strstr(text, "request_rate of " RULE " is 1;"));
	ck_assert_uint_eq(n_submitted, 1);
	store();
	ck_assert_int_eq(code, 0);
}

/* Who has left comes back to what it owes, with what its leaving cost. */
TEST(test_the_rate_of_who_has_left)
{
	const struct core_user_limits four = { .rate = { 4, RULE } };

	now_ms += 5000;
	acquire("a", 0, &four);
	acquire("b", 0, &four);
	store();
	ck_assert_int_eq(admitted_of(10, &four), 3);
	step((struct core_event){ .type = CORE_GONE, .client = USER });
	ck_assert_ptr_null(core->tenants);
	store();
	now_ms += 500;
	ck_assert_int_eq(admitted_of(10, &four), 0);
	now_ms += 250;
	ck_assert_int_eq(admitted_of(10, &four), 1);
}

/* The lower of the two counts, and is what is named. */
TEST(test_a_rate_and_a_share)
{
	const struct core_user_limits few = { .rate = { 4, RULE } };
	const struct core_user_limits many = { .rate = { 1000, RULE } };

	end();
	begin_with(40);
	now_ms += 5000;
	ck_assert_int_eq(admitted_of(30, &few), 5);
	ask(CORE_GET, "more", &few);
	ck_assert_ptr_nonnull(strstr(text, RULE));
	now_ms += 5000;
	ck_assert_int_lt(admitted_of(100, &many), 30);
	ask(CORE_GET, "more", &many);
	ck_assert_ptr_nonnull(strstr(text, "left for the others"));
}
