/*
 * The record formats of older clients on a DynamoDB endpoint, and over a
 * network that loses things: every kind of write is done if the record fits and
 * not done if it does not, and a lost answer never makes a conflict of what we
 * did ourselves.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "conformance.h"
#include "ddblock.h"
#include "dynamodb_place.h"
#include "dynamodb_proxy.h"
#include "store/store_dynamodb.h"

#define DEADLINE_MS 16000	/* a first attempt gets a quarter of it */
#define DEADLINE_HUNG_MS 2000

enum act {
	ACT_ACQUIRE,		/* what is not there */
	ACT_TAKE_FREE,		/* what was given back, as it was seen */
	ACT_TAKE_DEAD,
	ACT_REFRESH,
	ACT_EXTEND,
	ACT_UPDATE,
	ACT_RELEASE,
	ACT_KEEP,		/* a release that leaves the record there */
	ACT_BREAK,
	ACTS,
};

static const char *const act_names[ACTS] = {
	"acquire", "take free", "take dead", "refresh", "extend", "update",
	"release", "keep", "break",
};

#define BIT(act) (1u << (act))
#define ALWAYS (BIT(ACT_ACQUIRE) | BIT(ACT_REFRESH) | BIT(ACT_RELEASE) |       \
	BIT(ACT_BREAK))

/* What there is to test, and in which table. */
static const struct format {
	const char *name, *format;
	unsigned acts;
	bool keeps;		/* every release leaves the record there */
	struct dialect_table table;
} formats[] = {
	{ "java", "awslabs", ALWAYS | BIT(ACT_TAKE_FREE) | BIT(ACT_TAKE_DEAD) |
	    BIT(ACT_UPDATE) | BIT(ACT_KEEP), false,
	    { .key_attribute = "key", .keep_attributes = true } },
	{ "dynamolock", "awslabs", ALWAYS | BIT(ACT_TAKE_FREE) |
	    BIT(ACT_TAKE_DEAD) | BIT(ACT_UPDATE), true,
	    { .key_attribute = "key", .go_lease = true,
	    .keep_released = true } },
	{ "python", "python", ALWAYS | BIT(ACT_TAKE_DEAD) | BIT(ACT_UPDATE),
	    false, { .key_attribute = "lock_key",
	    .sort_attribute = "sort_key", .expiry_s = 3600 } },
	{ "js-open", "js-fail-open", ALWAYS | BIT(ACT_TAKE_FREE) |
	    BIT(ACT_TAKE_DEAD) | BIT(ACT_EXTEND), true,
	    { .key_attribute = "id", .keep_attributes = true } },
	{ "js-timed", "js-fail-open", ALWAYS | BIT(ACT_TAKE_FREE) |
	    BIT(ACT_TAKE_DEAD) | BIT(ACT_EXTEND), true,
	    { .key_attribute = "id", .local_time = true } },
	{ "js-closed", "js-fail-closed", ALWAYS, false,
	    { .key_attribute = "id" } },
	{ "dlock", "dlock", ALWAYS | BIT(ACT_TAKE_DEAD), false,
	    { .key_attribute = "key", .prefix = "app/" } },
	{ "fencing", "dlock", ALWAYS | BIT(ACT_TAKE_FREE) |
	    BIT(ACT_TAKE_DEAD) | BIT(ACT_EXTEND), true,
	    { .key_attribute = "key", .fencing = true } },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static const struct format *format;	/* the one of this run */
static struct proxy *proxy;
static int synchronised = 1;	/* the host's clock */

static int
target_synchronised(void)
{
	return synchronised;
}

static struct store *
target_open(struct event_base *base, store_outcome_fn outcome, void *arg)
{
	struct store_dynamodb_config config = {
		.format = format->format, .table = format->table,
		.synchronised = target_synchronised,
		.unsynchronised_text = "nobody sets the clock",
	};
	struct place_answer a;
	struct store *store;
	char table[64];

	(void)snprintf(table, sizeof(table), "formats-%s", format->name);
	proxy = proxy_new(base, getenv("AWS_ENDPOINT_URL_DYNAMODB"));
	config.endpoint = proxy_endpoint(proxy);
	config.table.table = table;
	store = place_open_as(base, &config, outcome, arg);
	a = place_ask_table(base, store, true);
	ck_assert_msg(a.code == 0, "%s", a.text);
	return store;
}

static void
target_close(struct store *store)
{
	store_free(store);
	proxy_free(proxy);
}

/* ---- scenes ------------------------------------------------------------ */

/* One operation and all that it needs. */
struct scene {
	enum act act;
	struct key key;
	struct holder me;
	struct holder you;
	struct seen *before;		/* the record */
	struct operation operation;
};

static bool
format_can(enum act act)
{
	return (format->acts & BIT(act)) != 0;
}

/* The acts that it has, one after the other; ACTS: no more. */
static enum act
format_act(int i)
{
	enum act act = ACT_ACQUIRE;

	for (; act < ACTS && (!format_can(act) || i-- > 0); act++)
		;
	return act;
}

/* The name of a hold, as the core makes them. */
static struct holder
scene_holder(void)
{
	struct holder h = { .lease_ms = 20000 };

	h.grant = ident_renewable(case_ident());
	h.session = h.grant;
	return h;
}

/* How long it may hold it is not in every record. */
static bool
scene_held_by(const struct seen_lock *l, const struct holder *h)
{
	return l->record.n_holders == 1 &&
	    ident_equal(l->holders[0].grant, h->grant) &&
	    ident_equal(l->holders[0].session, h->grant);
}

static struct operation
scene_operation(enum operation_kind kind, struct key key,
    const struct holder *me)
{
	struct operation o = case_operation(kind, key);

	o.me = *me;
	o.tokens = 1;
	o.holders = me;
	o.n_holders = 1;
	o.owner = "web-1/nightly:9";
	o.with_contents = true;
	o.deadline_ms = o.submitted_ms + DEADLINE_MS;
	return o;
}

static struct seen *
scene_do(enum operation_kind kind, struct key key, const struct holder *me)
{
	struct operation o = scene_operation(kind, key, me);
	struct seen *s = case_do(&o);

	case_done(s);
	return s;
}

/* Held by who is dead: with a deadline, that has to come. */
static struct seen *
scene_dead(struct key key, struct holder *you)
{
	struct seen *s;

	you->lease_ms = 2;
	(void)scene_do(OPERATION_ACQUIRE, key, you);
	do
		s = scene_do(OPERATION_READ, key, you);
	while (s->lock.record.ends_in_ms > 0);
	return s;
}

static void
scene_prepare(struct scene *c, enum act act)
{
	static unsigned scenes;
	char name[24];

	memset(c, 0, sizeof(*c));
	c->act = act;
	(void)snprintf(name, sizeof(name), "format%u", scenes++);
	c->key = case_key(name);
	c->me = scene_holder();
	c->you = scene_holder();
	switch (act) {
	case ACT_ACQUIRE:
	case ACTS:
		break;
	case ACT_TAKE_FREE:
		(void)scene_do(OPERATION_ACQUIRE, c->key, &c->you);
		if (!format->keeps) {
			struct operation o = scene_operation(OPERATION_RELEASE,
			    c->key, &c->you);

			o.keep = true;
			case_done(case_do(&o));
		} else {
			(void)scene_do(OPERATION_RELEASE, c->key, &c->you);
		}
		break;
	case ACT_TAKE_DEAD:
		(void)scene_dead(c->key, &c->you);
		break;
	case ACT_BREAK:
		(void)scene_do(OPERATION_ACQUIRE, c->key, &c->you);
		break;
	default:
		(void)scene_do(OPERATION_ACQUIRE, c->key, &c->me);
		break;
	}
	c->before = scene_do(OPERATION_READ, c->key, &c->me);
}

/* The operation of the scene, on the record that was seen before it. */
static void
scene_fill(struct scene *c)
{
	static const enum operation_kind kinds[ACTS] = {
		OPERATION_ACQUIRE, OPERATION_ACQUIRE, OPERATION_ACQUIRE,
		OPERATION_REFRESH, OPERATION_EXTEND, OPERATION_UPDATE,
		OPERATION_RELEASE, OPERATION_RELEASE, OPERATION_BREAK,
	};
	static const struct attribute stage = {
		{ "stage", 5 }, { "two", 3 }, false,
	};
	const struct lock_record *r = &c->before->lock.record;
	struct operation *o = &c->operation;

	*o = scene_operation(kinds[c->act], c->key, &c->me);
	o->token_seen = r->token;
	o->beat = r->beat;
	if (c->act == ACT_TAKE_FREE || c->act == ACT_TAKE_DEAD ||
	    c->act == ACT_BREAK)
		o->version = c->before->lock.version;
	if (c->act == ACT_TAKE_DEAD) {
		o->dead = r->holders;
		o->n_dead = r->n_holders;
	}
	if (c->act == ACT_UPDATE) {
		o->contents.attributes = &stage;
		o->contents.n_attributes = 1;
		if (strcmp(format->format, "awslabs") == 0)
			o->contents.data = (struct key){ "kept", 4 };
	}
	o->keep = c->act == ACT_KEEP;
}

/* What a consistent read must show now that it is done. */
static void
scene_check(const struct scene *c)
{
	struct seen *s = scene_do(OPERATION_READ, c->key, &c->me);
	const struct lock_record *r = &s->lock.record;
	const struct lock_record *was = &c->before->lock.record;
	bool tokens = format_can(ACT_EXTEND);

	switch (c->act) {
	case ACT_RELEASE:
	case ACT_KEEP:
	case ACT_BREAK:
		ck_assert_uint_eq(r->n_holders, 0);
		ck_assert(r->exists == (format->keeps || c->act == ACT_KEEP));
		if (r->exists)
			ck_assert_uint_eq(r->token, was->token);
		return;
	case ACT_REFRESH:
	case ACT_UPDATE:
		ck_assert_uint_gt(r->beat, was->beat);
		ck_assert_uint_eq(r->token, was->token);
		break;
	default:
		if (tokens)
			ck_assert_uint_gt(r->token, was->token);
		break;
	}
	ck_assert(scene_held_by(&s->lock, &c->me));
	if (c->act == ACT_UPDATE)
		ck_assert(contents_are_equal(s->contents,
		    &c->operation.contents));
}

/* ---- cases ------------------------------------------------------------- */

/* The scene with its first request lost; twice the time, and so on, if it was
 * over before the store could ask once more: the machine may stand still. */
static void
scene_lose(struct scene *c, enum act act, enum proxy_fault fault)
{
	uint64_t time_ms = proxy_hangs(fault) ? DEADLINE_HUNG_MS :
	    DEADLINE_MS;
	struct seen *s = NULL;

	for (int i = 0; i < 3; i++, time_ms *= 2) {
		scene_prepare(c, act);
		scene_fill(c);
		if (proxy_lose(proxy, fault, &c->operation, time_ms, &s))
			return;
	}
	ck_abort_msg("%s, %s, fault %d: %s, %s", format->name, act_names[act],
	    fault, outcome_kind_name(s->kind), s->text);
}

START_TEST(test_lost_once)
{
	enum act act = format_act(_i / (int)PROXY_LOSSES);
	enum proxy_fault fault = proxy_losses[_i % (int)PROXY_LOSSES];
	struct scene c;

	scene_lose(&c, act, fault);
	scene_check(&c);
	if (fault == PROXY_HOLD) {
		proxy_let_go(proxy);
		scene_check(&c);
	}
}
END_TEST

/*
 * With nothing lost: one request. A machine that is busy elsewhere may be
 * slower than an attempt waits; that is seen and tried again.
 */
START_TEST(test_nothing_lost)
{
	bool alone = false;

	for (int i = 0; i < 5 && !alone; i++) {
		struct scene c;
		struct seen *s;
		unsigned before;

		scene_prepare(&c, format_act(_i));
		before = proxy_requests(proxy);
		scene_fill(&c);
		s = case_do(&c.operation);
		case_done(s);
		alone = proxy_requests(proxy) == before + 1;
		ck_assert(s->unanswered != alone);
		scene_check(&c);
	}
	ck_assert(alone);
}
END_TEST

/* Somebody else has it by then: a conflict that shows who, and no change. What
 * was to be given back is not there: a conflict, too, without a loss. */
START_TEST(test_record_does_not_fit)
{
	struct holder third = scene_holder();
	struct seen *s, *there;
	struct scene c;

	scene_prepare(&c, format_act(_i));
	scene_fill(&c);
	/* Whoever holds it gives it back, and another comes. */
	if (c.before->lock.record.n_holders > 0) {
		struct operation o = scene_operation(OPERATION_BREAK, c.key,
		    &c.me);

		o.version = c.before->lock.version;
		case_done(case_do(&o));
	}
	s = scene_do(OPERATION_READ, c.key, &third);
	{
		struct operation o = scene_operation(OPERATION_ACQUIRE, c.key,
		    &third);

		o.version = s->lock.record.version;
		o.token_seen = s->lock.record.token;
		case_done(case_do(&o));
	}
	there = scene_do(OPERATION_READ, c.key, &third);
	c.operation.submitted_ms = clock_boot_ms();
	c.operation.deadline_ms = c.operation.submitted_ms + DEADLINE_MS;
	s = case_do(&c.operation);
	case_conflict(s);
	ck_assert(scene_held_by(&s->lock, &third));
	s = scene_do(OPERATION_READ, c.key, &third);
	ck_assert_str_eq(s->lock.version, there->lock.version);
	ck_assert(scene_held_by(&s->lock, &third));
}
END_TEST

/* Everything lost: it is not known. */
START_TEST(test_all_lost)
{
	enum proxy_fault fault = _i % 2 == 0 ?
	    PROXY_LOSE_REQUEST : PROXY_LOSE_ANSWER;
	struct seen *s = NULL;
	struct scene c;
	unsigned before;

	for (int i = 0; i < 5 && s == NULL; i++) {
		scene_prepare(&c, format_act(_i / 2));
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
	if (fault == PROXY_LOSE_ANSWER)
		scene_check(&c);
}
END_TEST

/* A renewal that lands after the lock was given back brings nobody back. */
START_TEST(test_late_renewal)
{
	struct scene c;
	struct seen *s;

	scene_lose(&c, (enum act)_i, PROXY_HOLD);
	(void)scene_do(OPERATION_RELEASE, c.key, &c.me);
	proxy_let_go(proxy);
	s = scene_do(OPERATION_READ, c.key, &c.me);
	ck_assert_uint_eq(s->lock.record.n_holders, 0);
}
END_TEST

/* An endpoint that does not say what stood in the way is asked for it. */
START_TEST(test_conflict_without_record)
{
	struct scene c;
	struct seen *s;
	unsigned before;

	scene_prepare(&c, ACT_BREAK);
	before = proxy_requests(proxy);
	proxy_next(proxy, PROXY_STRIP_ITEM, 1);
	c.operation = scene_operation(OPERATION_ACQUIRE, c.key, &c.me);
	s = case_do(&c.operation);
	case_conflict(s);
	ck_assert(scene_held_by(&s->lock, &c.you));
	ck_assert_uint_eq(proxy_requests(proxy), before + 2);
}
END_TEST

/* While nobody sets the clock that it depends on nothing is taken, and nobody
 * is asked; what is held is kept and given back. */
START_TEST(test_clock)
{
	enum act act = (enum act)_i;
	bool takes = act == ACT_ACQUIRE || act == ACT_TAKE_FREE ||
	    act == ACT_TAKE_DEAD;
	struct scene c;
	struct seen *s;
	unsigned before;

	if (!format_can(act))
		return;
	scene_prepare(&c, act);
	before = proxy_requests(proxy);
	synchronised = act == ACT_ACQUIRE ? -EPERM : 0;
	scene_fill(&c);
	s = case_do(&c.operation);
	if (takes) {
		case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
		ck_assert_int_eq(s->code, DDBLOCK_E_UNREACHABLE);
		ck_assert_str_eq(s->text, "nobody sets the clock");
		ck_assert_uint_eq(proxy_requests(proxy), before);
		synchronised = 1;
		scene_fill(&c);
		s = case_do(&c.operation);
	}
	synchronised = 1;
	case_done(s);
	scene_check(&c);
}
END_TEST

/* Many at once, and all of them page by page. */
START_TEST(test_many)
{
	struct key keys[3] = {
		case_key("many-a"), case_key("many-b"), case_key("many-c"),
	};
	struct holder a = scene_holder();
	struct operation o;
	struct seen *s;
	size_t found = 0;
	char cursor[SCAN_CURSOR_MAX];

	(void)scene_do(OPERATION_ACQUIRE, keys[0], &a);
	(void)scene_do(OPERATION_ACQUIRE, keys[1], &a);
	o = case_operation(OPERATION_READ_MANY, (struct key){ 0 });
	o.keys = keys;
	o.n_keys = 3;
	s = case_do(&o);
	case_done(s);
	ck_assert(s->processed[0] && s->processed[1] && s->processed[2]);
	ck_assert(scene_held_by(&s->locks[0], &a));
	ck_assert(scene_held_by(&s->locks[1], &a));
	ck_assert(!s->locks[2].record.exists);
	o = case_operation(OPERATION_SCAN, (struct key){ 0 });
	o.prefix = (struct key){ keys[0].bytes, keys[0].length - 1 };
	o.held_only = true;
	do {
		s = case_do(&o);
		case_done(s);
		for (size_t i = 0; i < s->n_locks; i++)
			found += scene_held_by(&s->locks[i], &a);
		memcpy(cursor, s->cursor, s->cursor_length);
		o.cursor = (struct key){ cursor, s->cursor_length };
		o.submitted_ms = clock_boot_ms();
		o.deadline_ms = o.submitted_ms + DEADLINE_MS;
	} while (s->cursor_length > 0);
	ck_assert_uint_eq(found, 2);
}
END_TEST

static int
run(size_t which)
{
	const struct format *f = &formats[which];
	struct conformance_target target = {
		.name = f->name, .open = target_open, .close = target_close,
	};
	Suite *suite = conformance_empty(&target);
	TCase *cases = tcase_create("formats");
	int n = 0;

	format = f;
	while (format_act(n) != ACTS)
		n++;
	tcase_add_loop_test(cases, test_nothing_lost, 0, n);
	tcase_add_loop_test(cases, test_record_does_not_fit, 0, n);
	tcase_add_loop_test(cases, test_lost_once, 0, n * (int)PROXY_LOSSES);
	tcase_add_loop_test(cases, test_all_lost, 0, 2 * n);
	for (int act = ACT_REFRESH; act <= (int)ACT_UPDATE; act++) {
		if (format_can((enum act)act))
			tcase_add_loop_test(cases, test_late_renewal, act,
			    act + 1);
	}
	tcase_add_test(cases, test_conflict_without_record);
	tcase_add_loop_test(cases, test_clock, ACT_ACQUIRE, ACTS);
	tcase_add_test(cases, test_many);
	conformance_add(suite, cases);
	return conformance_run(suite);
}

int
main(void)
{
	place_need_endpoint();
	return place_run_each(run, FORMATS) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
