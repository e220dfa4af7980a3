/*
 * Requests as our own record format writes them, for the differential test of
 * the model of DynamoDB.
 *
 *     dynamo_native TABLE SEED COUNT
 *
 * prints COUNT lines of OPERATION, a tab and the JSON of a request, for random
 * operations on few keys and sessions. It keeps a model of its own, so that
 * about half of the conditions hold: most operations are those of a host that
 * has just read the record, the others know nothing of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "dialect/dialect.h"
#include "dynamo.h"

#define NATIVE_KEYS 4
#define NATIVE_SESSIONS 5
#define NATIVE_HOLDERS_MAX 8
#define NATIVE_WALL_MS UINT64_C(1700000000000)

struct native {
	struct random random;
	struct dynamo *dynamo;
	struct dialect_table table;
	struct dialect_request request;
	struct dynamo_answer answer;
	struct ident sessions[NATIVE_SESSIONS];
};

static const struct key native_keys[NATIVE_KEYS] = {
	{ "a", 1 }, { "jobs/\"x\"\n", 9 }, { "jobs/\xc3\xa4", 7 }, { "b", 1 },
};

static uint64_t
native_chance(struct native *n, uint64_t limit)
{
	return random_next(&n->random) % limit;
}

/* Write the request of @o and let the own model carry it out. */
static bool
native_carry_out(struct native *n, const struct operation *o,
    const struct dialect_attempt *a, struct dialect_view *view)
{
	if (dialect_native.request(&n->table, o, a, &n->request, view) < 0)
		return false;
	dynamo_request(n->dynamo, NATIVE_WALL_MS, n->request.operation,
	    n->request.body.data, n->request.body.length, &n->answer);
	return true;
}

/* The present record; valid until the view is cleared. */
static void
native_look(struct native *n, const struct operation *o,
    struct dialect_view *view)
{
	struct operation read = {
		.kind = dialect_is_session(o->kind) ?
		    OPERATION_SESSION_READ : OPERATION_READ,
		.key = o->key, .session = o->session,
	};
	struct dialect_attempt a = {
		.step = DIALECT_DO, .wall_ms = NATIVE_WALL_MS,
	};

	dialect_view_init(view);
	if (native_carry_out(n, &read, &a, view))
		(void)dialect_native.answer(&n->table, &read, &a, false,
		    n->answer.body.data, n->answer.body.length, view);
}

static struct holder
native_holder(struct native *n)
{
	struct holder h = {
		.session = n->sessions[native_chance(n, NATIVE_SESSIONS)],
		.grant = { 7, native_chance(n, 20) },
		.lease_ms = 20000, .fail_closed = native_chance(n, 4) == 0,
	};

	return h;
}

/* Holders as the record shows them, some of them, or any client. */
static size_t
native_holders(struct native *n, const struct lock_record *l,
    struct holder *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < l->n_holders && i < NATIVE_HOLDERS_MAX - 1;
	    i++) {
		if (native_chance(n, 8) > 0)
			ret[count++] = l->holders[i];
	}
	if (count == 0 || native_chance(n, 10) == 0)
		ret[count++] = native_holder(n);
	return count;
}

/* A session's hold that fits the use. */
static void
native_fill_use(struct native *n, struct operation *o,
    const struct lock_record *l, bool informed)
{
	if (o->kind == OPERATION_ACQUIRE && o->mode == LOCK_MODE_SHARED) {
		o->limit = informed && l->n_holders > 0 ?
		    l->limit : native_chance(n, 4);
		/* A client that may join the holders replaces none of them. */
		if (l->mode == LOCK_MODE_SHARED && native_chance(n, 5) > 0)
			o->n_dead = 0;
	}
	if (o->kind != OPERATION_REMOVE_WAITER)
		return;
	if (o->mode == LOCK_MODE_EXCLUSIVE && l->n_exclusive_waiters > 0)
		o->session = l->exclusive_waiters[0];
	if (o->mode == LOCK_MODE_SHARED && l->n_shared_waiters > 0)
		o->session = l->shared_waiters[0];
}

/* The operation's knowledge of the record. */
static void
native_fill(struct native *n, struct operation *o,
    const struct dialect_view *view, struct holder *holders)
{
	const struct lock_record *l = &view->lock;
	bool informed = native_chance(n, 4) > 0;

	if (o->kind == OPERATION_RAISE)
		o->tokens = native_chance(n, 3) * TOKENS_RAISED;

	o->token_seen = informed ? l->token : native_chance(n, 100);
	o->beat = informed ? view->session.beat : native_chance(n, 50);
	o->n_holders = native_holders(n, l, holders);
	o->holders = holders;
	if (o->kind == OPERATION_ACQUIRE && l->n_holders > 0 && informed) {
		o->dead = holders;
		o->n_dead = o->n_holders;
	}
	if (o->kind == OPERATION_EXTEND && l->n_holders > 0 && informed)
		o->me = l->holders[0];
	native_fill_use(n, o, l, informed);
}

static void
native_print(struct native *n)
{
	size_t length = n->request.body.length;

	(void)printf("%s\t", n->request.operation);
	(void)fwrite(n->request.body.data, 1, length, stdout);
	(void)printf("\n");
}

static void
native_step(struct native *n)
{
	/* Each as often as it is in this list. */
	static const enum operation_kind kinds[] = {
		OPERATION_ACQUIRE, OPERATION_ACQUIRE, OPERATION_ACQUIRE,
		OPERATION_RELEASE, OPERATION_RELEASE, OPERATION_EXTEND,
		OPERATION_ADD_WAITER, OPERATION_REMOVE_WAITER,
		    OPERATION_REMOVE_WAITER,
		OPERATION_BREAK, OPERATION_RAISE,
		OPERATION_READ, OPERATION_READ_MANY,
		OPERATION_SCAN, OPERATION_SESSION_OPEN,
		OPERATION_SESSION_BEAT, OPERATION_SESSION_BEAT,
		OPERATION_SESSION_READ, OPERATION_SESSION_KILL,
		OPERATION_SESSION_BURY, OPERATION_SESSION_CLOSE,
	};
	bool shared = native_chance(n, 2) == 0;
	struct operation o = {
		.kind = kinds[native_chance(n,
		    sizeof(kinds) / sizeof(kinds[0]))],
		.key = native_keys[native_chance(n, NATIVE_KEYS)],
		.me = native_holder(n),
		.tokens = shared ?
		    1 : 1 + (uint32_t)native_chance(n, TOKENS_MAX),
		.mode = shared ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE,
		.owner = native_chance(n, 2) == 0 ? "web-1/nightly:9" : NULL,
		.session = n->sessions[native_chance(n, NATIVE_SESSIONS)],
		.lease_ms = 20000, .keys = native_keys, .n_keys = NATIVE_KEYS,
		.prefix = { "jobs/", native_chance(n, 2) * 5 },
	};
	struct dialect_attempt a = {
		.step = native_chance(n, 3) == 0 && o.kind ==
		    OPERATION_RELEASE ? DIALECT_DO_STAYS : DIALECT_DO,
		.wall_ms = NATIVE_WALL_MS + native_chance(n, 100000),
	};
	struct holder holders[NATIVE_HOLDERS_MAX];
	struct dialect_view seen, view;

	native_look(n, &o, &seen);
	native_fill(n, &o, &seen, holders);
	/* One of them stays. */
	if (a.step == DIALECT_DO_STAYS && o.n_holders > 1)
		o.n_holders--;
	a.beat = o.beat + native_chance(n, 3);
	dialect_view_init(&view);
	if (native_carry_out(n, &o, &a, &view))
		native_print(n);
	dialect_view_clear(&view);
	dialect_view_clear(&seen);
}

static void
native_create(struct native *n)
{
	char body[500];
	int length = snprintf(body, sizeof(body), "{\"TableName\":\"%s\","
	    "\"BillingMode\":\"PAY_PER_REQUEST\",\"KeySchema\":"
	    "[{\"KeyType\":\"HASH\",\"AttributeName\":\"key\"}],"
	    "\"AttributeDefinitions\":[{\"AttributeType\":\"S\","
	    "\"AttributeName\":\"key\"}]}", n->table.table);

	dynamo_request(n->dynamo, NATIVE_WALL_MS, "CreateTable", body,
	    (size_t)length, &n->answer);
	(void)printf("CreateTable\t%s\n", body);
}

int
main(int argc, char **argv)
{
	struct native n = {
		.table = { .key_attribute = "key", .retention_s = 604800,
		    .host = "web-1", .pid = "812", .version = "0.1.0" },
	};
	uint64_t seed[4] = { 1, 2, 3, 4 };
	unsigned long count;

	if (argc != 4) {
		(void)fprintf(stderr,
		    "usage: dynamo_native TABLE SEED COUNT\n");
		return 2;
	}
	n.table.table = argv[1];
	seed[0] = strtoull(argv[2], NULL, 10);
	count = strtoul(argv[3], NULL, 10);
	random_init(&n.random, seed);
	for (size_t i = 0; i < NATIVE_SESSIONS; i++)
		n.sessions[i] = random_ident(&n.random);
	n.dynamo = dynamo_new();
	if (n.dynamo == NULL)
		return EXIT_FAILURE;
	dialect_request_init(&n.request);
	dynamo_answer_init(&n.answer);
	native_create(&n);
	while (count-- > 0)
		native_step(&n);
	dialect_request_done(&n.request);
	dynamo_answer_done(&n.answer);
	dynamo_free(n.dynamo);
	return EXIT_SUCCESS;
}
