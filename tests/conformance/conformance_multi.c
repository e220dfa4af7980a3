/*
 * Conformance: several locks at once, all or none.
 */
#include <stdio.h>
#include <string.h>

#include "conformance.h"
#include "ddblock.h"

void
multi_init(struct multi *v, const struct key *keys, size_t n)
{
	struct ident session = case_ident();

	v->n = n;
	v->whole = case_operation(OPERATION_MULTI, (struct key){ 0 });
	for (size_t i = 0; i < n; i++) {
		struct operation *part = &v->parts[i];

		v->keys[i] = keys[i];
		*part = case_operation(OPERATION_ACQUIRE, keys[i]);
		part->me = case_holder();
		part->me.session = session;
		part->session = session;
		part->tokens = 4;
		part->owner = "web-1/several:4711";
		v->list[i] = part;
	}
	v->whole.keys = v->keys;
	v->whole.n_keys = n;
	v->whole.parts = v->list;
}

static void
multi_share(struct multi *v, uint64_t limit)
{
	for (size_t i = 0; i < v->n; i++) {
		v->parts[i].mode = LOCK_MODE_SHARED;
		v->parts[i].limit = limit;
		v->parts[i].tokens = 1;
	}
}

void
multi_keys(struct key *keys, size_t n)
{
	static unsigned calls;
	char name[32];

	calls++;
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "%zu.%u", (i * 7) % 26,
		    calls);
		keys[i] = case_key(name);
	}
}

/* Not one of them was touched. */
static void
multi_are_absent(const struct multi *v)
{
	for (size_t i = 0; i < v->n; i++)
		ck_assert(!case_read(v->keys[i])->lock.record.exists);
}

static const size_t sizes[] = { 1, 2, 3, MULTI_MAX };

TEST_ROWS(test_all, sizes)
{
	struct multi v;
	struct key keys[MULTI_MAX];
	size_t n = sizes[_i];
	struct seen *s;

	multi_keys(keys, n);
	multi_init(&v, keys, n);
	s = case_done(case_do(&v.whole));
	ck_assert(!s->unanswered);
	ck_assert_uint_eq(s->n_parts, n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(s->parts[i].kind, OUTCOME_DONE);
		ck_assert(case_holds(&s->locks[i], &v.parts[i].me));
		ck_assert_str_eq(s->locks[i].owner, "web-1/several:4711");
		ck_assert_int_eq((int)s->locks[i].record.mode,
		    LOCK_MODE_EXCLUSIVE);
		case_same(&s->locks[i], &case_read(keys[i])->lock);
	}
	for (size_t i = 0; i < n; i++)
		case_done(case_release(keys[i], &v.parts[i].me));
}

/* Each goes on from its own token. */
TEST(test_tokens)
{
	struct multi v;
	struct key keys[3];
	uint64_t tokens[3];
	struct seen *s;

	multi_keys(keys, 3);
	for (size_t i = 0; i < 3; i++) {
		struct holder before = case_holder();

		s = case_acquire(keys[i], &before, (uint32_t)i + 1);
		tokens[i] = s->lock.record.token;
		case_done(case_release(keys[i], &before));
	}
	multi_init(&v, keys, 3);
	s = case_done(case_do(&v.whole));
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(s->locks[i].record.token, tokens[i] + 4);
}

/* If any lock is held, none is acquired. */
TEST_LOOP(test_none, 0, 3)
{
	struct holder you = case_holder();
	size_t held = (size_t)_i;
	struct multi v;
	struct key keys[3];
	struct seen *before;
	struct seen *s;

	multi_keys(keys, 3);
	before = case_acquire(keys[held], &you, 1);
	multi_init(&v, keys, 3);
	s = case_conflict(case_do(&v.whole));
	ck_assert(!s->unanswered);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_int_eq(s->parts[i].kind, i == held ?
		    OUTCOME_CONFLICT : OUTCOME_REFUSED);
		ck_assert_int_eq(s->parts[i].code, 0);
		if (i != held)
			ck_assert(!case_read(keys[i])->lock.record.exists);
	}
	case_same(&s->locks[held], &before->lock);
	case_same(&s->locks[held], &case_read(keys[held])->lock);
	/* When it is free, so are all. */
	case_done(case_release(keys[held], &you));
	multi_init(&v, keys, 3);
	case_done(case_do(&v.whole));
}

/* Each that stands in the way is told. */
TEST(test_two_in_the_way)
{
	struct holder you = case_holder();
	struct multi v;
	struct key keys[3];
	struct seen *s;

	multi_keys(keys, 3);
	case_done(case_acquire(keys[0], &you, 1));
	case_done(case_share(keys[2], &you, 0));
	multi_init(&v, keys, 3);
	s = case_conflict(case_do(&v.whole));
	ck_assert_int_eq(s->parts[0].kind, OUTCOME_CONFLICT);
	ck_assert_int_eq(s->parts[1].kind, OUTCOME_REFUSED);
	ck_assert_int_eq(s->parts[2].kind, OUTCOME_CONFLICT);
	ck_assert(case_holds(&s->locks[2], &you));
}

TEST_LOOP(test_share, 0, 3)
{
	struct holder you = case_holder();
	struct multi v;
	struct key keys[2];
	struct seen *s;

	multi_keys(keys, 2);
	case_done(case_share(keys[1], &you, (uint64_t)_i));
	multi_init(&v, keys, 2);
	multi_share(&v, (uint64_t)_i);
	s = case_do(&v.whole);
	if (_i == 1) {
		case_conflict(s); /* it has one seat, and that is taken */
		ck_assert_int_eq(s->parts[1].kind, OUTCOME_CONFLICT);
		ck_assert(!case_read(keys[0])->lock.record.exists);
		return;
	}
	case_done(s);
	ck_assert(case_holds(&s->locks[0], &v.parts[0].me));
	ck_assert(case_has(&s->locks[1], &v.parts[1].me));
	ck_assert(case_has(&s->locks[1], &you));
	ck_assert_uint_eq(s->locks[1].record.limit, (uint64_t)_i);
}

/* A semaphore has one limit: a client with another limit gets neither lock. */
static const uint64_t limits[] = { 3, 0 };

TEST_ROWS(test_other_limit, limits)
{
	struct holder you = case_holder();
	struct multi v;
	struct key keys[2];
	struct seen *s;

	multi_keys(keys, 2);
	case_done(case_share(keys[1], &you, limits[_i]));
	multi_init(&v, keys, 2);
	multi_share(&v, 2);
	s = case_conflict(case_do(&v.whole));
	ck_assert_int_eq(s->parts[0].kind, OUTCOME_REFUSED);
	ck_assert_int_eq(s->parts[1].kind, OUTCOME_CONFLICT);
	ck_assert_uint_eq(s->locks[1].record.limit, limits[_i]);
	ck_assert(!case_read(keys[0])->lock.record.exists);
	/* A free lock has none. */
	case_done(case_release(keys[1], &you));
	multi_init(&v, keys, 2);
	multi_share(&v, 2);
	s = case_done(case_do(&v.whole));
	ck_assert_uint_eq(s->locks[1].record.limit, 2);
}

/* The kinds of use take turns here, too; and a new holder's mark is removed. */
TEST(test_turns)
{
	struct holder you = case_holder();
	struct ident waits = case_ident();
	struct multi v;
	struct key keys[2];
	struct seen *s;

	multi_keys(keys, 2);
	multi_init(&v, keys, 2);
	case_done(case_acquire(keys[0], &you, 1));
	case_done(case_add_shared_waiter(keys[0], waits));
	case_done(case_add_waiter(keys[0], v.parts[0].session));
	case_done(case_release(keys[0], &you));
	s = case_conflict(case_do(&v.whole));
	ck_assert_int_eq(s->parts[0].kind, OUTCOME_CONFLICT);
	ck_assert(case_marked_shared(&s->locks[0], waits));
	case_done(case_remove_shared_waiter(keys[0], waits));
	s = case_done(case_do(&v.whole));
	ck_assert(!case_marked(&s->locks[0], v.parts[0].session));
}

/* Clients that ask for overlapping keys at the same time get all of theirs, or
 * none. */
TEST(test_race)
{
	enum { RACERS = 6 };
	static struct multi v[RACERS];
	struct operation wholes[RACERS];
	struct seen *s[RACERS];
	struct key keys[3];
	size_t n_done = 0;

	multi_keys(keys, 3);
	for (size_t i = 0; i < RACERS; i++) {
		/* Two of three, in either order. */
		struct key two[2] = { keys[i % 3], keys[(i + 1) % 3] };

		multi_init(&v[i], two, 2);
		wholes[i] = v[i].whole;
	}
	case_do_many(wholes, RACERS, s);
	for (size_t i = 0; i < RACERS; i++) {
		bool done = s[i]->kind == OUTCOME_DONE;

		n_done += done;
		for (size_t k = 0; k < 2; k++)
			ck_assert(case_holds(&case_read(v[i].keys[k])->lock,
			    &v[i].parts[k].me) == done);
	}
	ck_assert_uint_eq(n_done, 1);
}

enum contradiction {
	TWICE,		/* the same key */
	TOO_MANY,
	NO_KEY,
	TWO_SESSIONS,
	OF_THE_DEAD,
	NO_ACQUIRE,
	OTHER_KEY,	/* a part is of another key than it says */
	PART_UNSOUND,
	CONTRADICTIONS,
};

TEST_LOOP(test_contradictions, 0, CONTRADICTIONS)
{
	struct holder dead = case_holder();
	struct multi v;
	struct key keys[MULTI_MAX + 1];
	struct operation *part = &v.parts[1];
	size_t n = _i == TOO_MANY ? MULTI_MAX + 1 : 2;
	struct seen *s;

	multi_keys(keys, n);
	if (_i == TWICE)
		keys[1] = keys[0];
	multi_init(&v, keys, n);
	if (_i == NO_KEY)
		v.whole.n_keys = 0;
	if (_i == TWO_SESSIONS)
		part->me.session = case_ident();
	if (_i == OF_THE_DEAD) {
		part->dead = &dead;
		part->n_dead = 1;
	}
	if (_i == NO_ACQUIRE)
		part->kind = OPERATION_RELEASE;
	if (_i == OTHER_KEY)
		part->key = case_key("other");
	if (_i == PART_UNSOUND)
		part->limit = 3;
	s = case_do(&v.whole);
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_int_eq(s->code, DDBLOCK_E_BAD_REQUEST);
	multi_are_absent(&v);
}

TEST(test_long_keys)
{
	static char bytes[2][KEY_LENGTH_MAX];
	struct key keys[2];
	struct multi v;

	for (size_t i = 0; i < 2; i++) {
		struct key name = case_key(i == 0 ? "long 1" : "long 2");

		memset(bytes[i], 'k', sizeof(bytes[i]));
		memcpy(bytes[i], name.bytes, name.length);
		keys[i] = (struct key){ bytes[i], sizeof(bytes[i]) };
	}
	multi_init(&v, keys, 2);
	case_done(case_do(&v.whole));
}

TCase *
conformance_multi(void)
{
	return test_case("together", __FILE__);
}
