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
#include "dynamodb_fixture.h"
#include "dynamodb_scene.h"
#include "store/store_dynamodb.h"
#include "test.h"

#define DEADLINE_MS 16000

enum act {
	ACT_ACQUIRE,		/* an absent record */
	ACT_TAKE_FREE,		/* a released record, as it was seen */
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

/* The formats to test, and their tables. */
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
	char table[64];

	(void)snprintf(table, sizeof(table), "formats-%s", format->name);
	config.table.table = table;
	return proxy_open_store(base, &config, outcome, arg);
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

static struct scene scene;	/* the last one */

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

/* Held by a dead client: a deadline, if any, must pass first. */
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
scene_begin(struct scene *c, enum act act)
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

			o.keeps_contents = true;
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
	o->keeps_contents = c->act == ACT_KEEP;
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
scene_check(const struct seen *done)
{
	const struct scene *c = &scene;
	struct seen *s = scene_do(OPERATION_READ, c->key, &c->me);
	const struct lock_record *r = &s->lock.record;
	const struct lock_record *was = &c->before->lock.record;
	bool tokens = format_can(ACT_EXTEND);

	(void)done;
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

static const struct scene_kind writes = {
	.names = act_names,
	.requests = 1,
	.prepare = scene_prepare,
	.check = scene_check,
};

START_TEST(test_nothing_lost)
{
	scene_lose_nothing(&writes, (int)format_act(_i));
}
END_TEST

START_TEST(test_lost_once)
{
	(void)scene_lose(&writes, (int)format_act(_i / (int)PROXY_LOSSES),
	    proxy_losses[_i % (int)PROXY_LOSSES], 0);
	scene_check(NULL);
	proxy_let_go();
	scene_check(NULL);
}
END_TEST

/* Before or after its effect. */
START_TEST(test_all_lost)
{
	enum proxy_fault fault = _i % 2 == 0 ?
	    PROXY_LOSE_REQUEST : PROXY_LOSE_ANSWER;
	struct seen *s = scene_lose_all(&writes, (int)format_act(_i / 2), fault,
	    0, 200);

	ck_assert(s->unanswered);
	if (fault == PROXY_LOSE_ANSWER)
		scene_check(NULL);
}
END_TEST

/* Another client holds it by then: a conflict that shows the holder, and no
 * change. If the record to release is absent: a conflict, too, without a
 * loss. */
START_TEST(test_record_does_not_fit)
{
	struct holder third = scene_holder();
	struct operation *late = scene_prepare((int)format_act(_i));
	const struct key key = scene.key;
	struct operation o;
	struct seen *s, *there;

	/* Its holder gives it back, and another comes. */
	if (scene.before->lock.record.n_holders > 0) {
		o = scene_operation(OPERATION_BREAK, key, &scene.me);
		o.version = scene.before->lock.version;
		case_done(case_do(&o));
	}
	s = scene_do(OPERATION_READ, key, &third);
	o = scene_operation(OPERATION_ACQUIRE, key, &third);
	o.version = s->lock.record.version;
	o.token_seen = s->lock.record.token;
	case_done(case_do(&o));
	there = scene_do(OPERATION_READ, key, &third);
	late->submitted_ms = clock_boot_ms();
	late->deadline_ms = late->submitted_ms + DEADLINE_MS;
	s = case_conflict(case_do(late));
	ck_assert(scene_held_by(&s->lock, &third));
	s = scene_do(OPERATION_READ, key, &third);
	ck_assert_str_eq(s->lock.version, there->lock.version);
	ck_assert(scene_held_by(&s->lock, &third));
}
END_TEST

/* A renewal that lands after the release brings no hold back. */
START_TEST(test_late_renewal)
{
	struct seen *s;

	(void)scene_lose(&writes, _i, PROXY_HOLD, 0);
	(void)scene_do(OPERATION_RELEASE, scene.key, &scene.me);
	proxy_let_go();
	s = scene_do(OPERATION_READ, scene.key, &scene.me);
	ck_assert_uint_eq(s->lock.record.n_holders, 0);
}
END_TEST

/* An endpoint that does not say what stood in the way is asked for it. */
START_TEST(test_conflict_without_record)
{
	struct operation o;
	struct seen *s;
	unsigned before;

	scene_begin(&scene, ACT_BREAK);
	before = proxy_requests();
	proxy_next(PROXY_STRIP_ITEM, 1, 0);
	o = scene_operation(OPERATION_ACQUIRE, scene.key, &scene.me);
	s = case_conflict(case_do(&o));
	ck_assert(scene_held_by(&s->lock, &scene.you));
	ck_assert_uint_eq(proxy_requests(), before + 2);
}
END_TEST

/* While the clock that it depends on is not set, no lock is taken and no
 * request is sent; holds are renewed and released. */
START_TEST(test_clock)
{
	enum act act = (enum act)_i;
	bool takes = act == ACT_ACQUIRE || act == ACT_TAKE_FREE ||
	    act == ACT_TAKE_DEAD;
	struct seen *s;
	unsigned before;

	if (!format_can(act))
		return;
	scene_begin(&scene, act);
	before = proxy_requests();
	synchronised = act == ACT_ACQUIRE ? -EPERM : 0;
	scene_fill(&scene);
	s = case_do(&scene.operation);
	if (takes) {
		case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
		ck_assert_int_eq(s->code, DDBLOCK_E_UNREACHABLE);
		ck_assert_str_eq(s->text, "nobody sets the clock");
		ck_assert_uint_eq(proxy_requests(), before);
		synchronised = 1;
		scene_fill(&scene);
		s = case_do(&scene.operation);
	}
	synchronised = 1;
	case_done(s);
	scene_check(s);
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

	(void)scene_do(OPERATION_ACQUIRE, keys[0], &a);
	(void)scene_do(OPERATION_ACQUIRE, keys[1], &a);
	o = case_operation(OPERATION_READ_MANY, (struct key){ 0 });
	o.keys = keys;
	o.n_keys = 3;
	s = case_done(case_do(&o));
	ck_assert(s->processed[0] && s->processed[1] && s->processed[2]);
	ck_assert(scene_held_by(&s->locks[0], &a));
	ck_assert(scene_held_by(&s->locks[1], &a));
	ck_assert(!s->locks[2].record.exists);
	s = NULL;
	while ((s = case_page((struct key){ keys[0].bytes, keys[0].length - 1 },
	    true, s)) != NULL) {
		for (size_t i = 0; i < s->n_locks; i++)
			found += scene_held_by(&s->locks[i], &a);
	}
	ck_assert_uint_eq(found, 2);
}
END_TEST

static int
run(size_t which)
{
	const struct format *f = &formats[which];
	struct conformance_target target = {
		.name = f->name, .open = target_open,
		.close = proxy_close_store,
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
	return suite_end(suite);
}

int
main(void)
{
	fixture_need_endpoint();
	return fixture_run_each(run,
	    FORMATS) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
