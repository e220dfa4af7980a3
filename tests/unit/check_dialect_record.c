/*
 * Shared by formats of one item and one holder: keys, names, many records at
 * once, listings, and operations that none supports.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "dialect_life.h"
#include "test.h"

#define VERSION "8d524f11-b878-4be1-acdd-8c23f85d5e6c"
#define THEIRS S("ownerName", "vm1") "," S("leaseDuration", "3000") ","        \
	S("recordVersionNumber", VERSION)
#define RELEASED S("isReleased", "1")

static const struct dialect_table plain = {
	.table = "locks", .key_attribute = "key", .host = "web-1",
	.keep_attributes = true,
};

static struct life
begin(const struct dialect_table *table)
{
	struct life l;

	life_init(&l, &dialect_awslabs, table);
	return l;
}

/* ---- keys -------------------------------------------------------------- */

static struct operation
read_key(const char *key)
{
	struct operation o = life_make(OPERATION_READ);

	o.key = key_text(key);
	return o;
}

static void
acquire_key(struct life *l, const char *key)
{
	struct operation o = life_make(OPERATION_ACQUIRE);

	o.key = key_text(key);
	life_expect(l, &o, "", OUTCOME_DONE);
	o = read_key(key);
	life_expect(l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l->outcome.lock.n_holders, 1);
}

TEST(test_number_keys)
{
	static const char *const good[] = {
		"0", "7", "-7", "42.5", "-0.25", "0.001",
		"12345678901234567890123456789012345678",
	};
	static const char *const bad[] = {
		"", "x", "07", "-0", "7.0", "7.", ".5", "1e3", "+7", " 7",
		"1-", "--1", "123456789012345678901234567890123456789",
	};
	struct dialect_table t = plain;
	struct life l;

	t.key_type = DIALECT_KEY_NUMBER;
	l = begin(&t);
	for (size_t i = 0; i < sizeof(good) / sizeof(char *); i++)
		acquire_key(&l, good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(char *); i++) {
		struct operation o = read_key(bad[i]);

		life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST,
		    i == 0 ? "empty" : "number");
	}
	life_done(&l);
}

TEST(test_byte_keys)
{
	struct dialect_table t = plain;
	struct life l;
	struct operation o;

	t.key_type = DIALECT_KEY_BYTES;
	t.prefix = "p/";
	l = begin(&t);
	acquire_key(&l, "a");
	life_put_key(&l, "cC9i", THEIRS);	/* "p/b" */
	life_put_key(&l, "Yg==", THEIRS);	/* "b" */
	life_put_key(&l, "cC//", THEIRS);	/* no text */
	o = life_make(OPERATION_SCAN);
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.n_rows, 2);
	o.prefix = key_text("b");
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.n_rows, 1);
	ck_assert(key_equal(l.outcome.rows[0].key, key_text("b")));
	life_done(&l);
}

TEST(test_prefix)
{
	struct dialect_table t = plain;
	struct life l;
	struct operation o = life_make(OPERATION_SCAN);
	char name[KEY_LENGTH_MAX + 1] = "", prefix[KEY_LENGTH_MAX + 2] = "";

	t.prefix = "app/";
	l = begin(&t);
	acquire_key(&l, "k");
	life_put_key(&l, "k", THEIRS);		/* not ours */
	life_put_key(&l, "app/", THEIRS);	/* nor this */
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.n_rows, 1);
	ck_assert(key_equal(l.outcome.rows[0].key, key_text("k")));
	ck_assert_str_eq(l.outcome.rows[0].record.owner, "us");
	/* In a message the key is as it is in the table. */
	life_put_key(&l, "app/k", "");
	o = read_key("k");
	life_refuses(&l, &o, DDBLOCK_E_BAD_RECORD, "item \"app/k\"");
	memset(name, 'x', KEY_LENGTH_MAX);
	memset(prefix, 'y', KEY_LENGTH_MAX + 1);
	l.table.prefix = prefix;
	o = read_key(name);
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "prefix");
	life_done(&l);
}

TEST(test_sort)
{
	struct dialect_table t = plain;
	struct life l;
	struct operation o = life_make(OPERATION_ACQUIRE);

	l = begin(&t);
	o.key = (struct key){ "k\0s", 3 };
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "no sort key");
	life_done(&l);

	t.sort_attribute = "range";
	l = begin(&t);
	life_expect(&l, &o, "", OUTCOME_DONE);
	acquire_key(&l, "k");
	o = life_make(OPERATION_SCAN);
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.n_rows, 2);
	ck_assert_uint_eq(l.outcome.rows[0].key.length +
	    l.outcome.rows[1].key.length, 4);
	life_done(&l);

	t.sort_type = DIALECT_KEY_NUMBER;
	l = begin(&t);
	o = life_make(OPERATION_ACQUIRE);
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "sort key is a number");
	o.key = (struct key){ "k\0" "7", 3 };
	life_expect(&l, &o, "", OUTCOME_DONE);
	life_done(&l);
}

TEST(test_odd_keys)
{
	static const struct key odd[] = {
		{ "\xff", 1 }, { "", 0 }, { "k\0", 2 }, { "k\0-", 3 },
	};
	struct life l = begin(&plain);

	for (size_t i = 0; i < 4; i++) {
		struct operation o = life_make(OPERATION_READ);

		o.key = odd[i];
		life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "key");
	}
	life_done(&l);
}

TEST(test_names)
{
	static const struct dialect_name renamed[] = {
		{ "recordVersionNumber", "rvn" }, { "data", "payload" },
		{ "isReleased", "gone" },
	};
	static const struct attribute ours = {
		{ "recordVersionNumber", 19 }, { "x", 1 }, false,
	};
	static const struct attribute clash = {
		{ "rvn", 3 }, { "x", 1 }, false,
	};
	struct dialect_table t = plain;
	struct life l;
	struct operation o = life_make(OPERATION_ACQUIRE);

	t.renamed = renamed;
	t.n_renamed = 3;
	t.key_attribute = "pk";
	l = begin(&t);
	life_expect(&l, &o, "", OUTCOME_DONE);
	o = life_make(OPERATION_UPDATE);
	o.contents = (struct contents){ { "hi", 2 }, &ours, 1 };
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert(contents_are_equal(&l.outcome.lock.contents, &o.contents));
	ck_assert(strstr(life_item(&l), B("payload", "aGk=")) != NULL);
	o.contents = (struct contents){ { NULL, 0 }, &clash, 1 };
	life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED, "of that name itself");
	o = life_make(OPERATION_RELEASE);
	o.keeps_contents = true;
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert(strstr(life_item(&l), S("gone", "1")) != NULL);
	life_is_bad(&l, S("ownerName", "x") "," S("leaseDuration", "1"),
	    "rvn", "text");
	life_done(&l);
}

/* ---- many -------------------------------------------------------------- */

TEST(test_many)
{
	static const struct key keys[] = {
		{ "k", 1 }, { "bad", 3 }, { "none", 4 }, { "free", 4 },
		{ "more", 4 },
	};
	struct life l = begin(&plain);
	struct operation o = life_make(OPERATION_READ_MANY);
	const struct outcome *out = &l.outcome;

	life_put_key(&l, "k", THEIRS "," S("mine", "x") "," B("data", "aGk="));
	life_put_key(&l, "bad", S("ownerName", "x"));
	life_put_key(&l, "free", THEIRS "," RELEASED);
	life_put_key(&l, "more", THEIRS);
	o.keys = keys;
	o.n_keys = 5;
	life_expect(&l, &o, "ar", OUTCOME_DONE);
	ck_assert(out->processed[0] && out->locks[0].n_holders == 1);
	/* Other clients do not see the contents. */
	ck_assert(contents_are_empty(&out->locks[0].contents));
	ck_assert(!out->processed[1]);
	ck_assert(out->processed[2] && !out->locks[2].exists);
	ck_assert(out->processed[3] && out->locks[3].exists &&
	    out->locks[3].n_holders == 0);
	ck_assert(strstr(out->text, "item \"bad\"") != NULL);
	/* An unprocessed key is not an absent one. */
	dynamo_leave_unprocessed(l.dynamo, 2);
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert(out->processed[0] && out->processed[2]);
	ck_assert(!out->processed[3] && !out->processed[4]);
	o.n_keys = 0;
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "keys");
	life_done(&l);
}

TEST(test_read_without_contents)
{
	struct life l = begin(&plain);
	struct operation o = life_make(OPERATION_READ);

	life_put(&l, THEIRS "," S("mine", "x") "," B("data", "aGk="));
	o.with_contents = false;
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert(contents_are_empty(&l.outcome.lock.contents));
	ck_assert_uint_eq(l.outcome.lock.n_holders, 1);
	o.with_contents = true;
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(contents_size(&l.outcome.lock.contents), 7);
	life_done(&l);
}

/* ---- listings ---------------------------------------------------------- */

/* How many rows a listing has in all, over all its pages. */
static size_t
list_all(struct life *l, struct operation *o, unsigned *ret_pages)
{
	char cursor[SCAN_CURSOR_MAX];
	size_t n = 0;

	o->cursor = (struct key){ NULL, 0 };
	*ret_pages = 0;
	do {
		life_expect(l, o, "", OUTCOME_DONE);
		n += l->outcome.n_rows;
		++*ret_pages;
		memcpy(cursor, l->outcome.next_cursor.bytes != NULL ?
		    l->outcome.next_cursor.bytes : "",
		    l->outcome.next_cursor.length);
		o->cursor = (struct key){ cursor,
			l->outcome.next_cursor.length };
	} while (o->cursor.length > 0);
	return n;
}

TEST_LOOP(test_listing, 0, 2)
{
	struct dialect_table t = plain;
	struct operation o = life_make(OPERATION_SCAN);
	struct life l;
	unsigned pages;
	char key[32];

	if (_i == 1)
		t.key_type = DIALECT_KEY_NUMBER;
	l = begin(&t);
	for (int i = 100; i < 350; i++) {
		(void)snprintf(key, sizeof(key), "%d", i);
		life_put_key(&l, key, i % 5 == 0 ? THEIRS "," RELEASED :
		    i % 5 == 1 ? S("ownerName", "of another format") :
		    i % 5 == 2 ? THEIRS "," N("leaseDurationMs", "0") :
		    i % 5 == 3 ? S("recordVersionNumber", "bad") : THEIRS);
	}
	ck_assert_uint_eq(list_all(&l, &o, &pages), 150);
	ck_assert_uint_eq(pages, 3);
	o.held_only = true;
	ck_assert_uint_eq(list_all(&l, &o, &pages), 100);
	o.prefix = key_text("10");
	ck_assert_uint_eq(list_all(&l, &o, &pages), 4);
	o.held_only = false;
	ck_assert_uint_eq(list_all(&l, &o, &pages), 6);
	o.prefix = key_text("x");
	ck_assert_uint_eq(list_all(&l, &o, &pages), 0);
	o.prefix = key_text("\xff");
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "UTF-8");
	o.prefix = key_text("");
	o.cursor = (struct key){ "\0\5k", 3 };
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "place");
	life_done(&l);
}

/* Held records of the other formats. */
static const struct {
	const struct dialect *dialect;
	const char *held, *free;
} lists[] = {
	{ &dialect_python, S("owner_name", "x") "," N("lease_duration", "3")
	    "," S("record_version_number", VERSION) "," N("expiry_time", "5"),
	    NULL },
	{ &dialect_js_fail_open, S("owner", "js") "," B("guid",
	    "vQLPVd/6zGgahu4Qq7N/LzOgwtvUbwVmpac3NQnw3SMKMGt32v/YDI9O3wzYZssn"
	    "kzoFPMRo/VM9qR7vhXcHzQ==") "," N("leaseDurationMs", "3000") ","
	    N("fencingToken", "1"), S("owner", "js") "," B("guid",
	    "vQLPVd/6zGgahu4Qq7N/LzOgwtvUbwVmpac3NQnw3SMKMGt32v/YDI9O3wzYZssn"
	    "kzoFPMRo/VM9qR7vhXcHzQ==") "," N("leaseDurationMs", "1") ","
	    N("fencingToken", "1") },
	{ &dialect_js_fail_closed, S("owner", "js") "," B("guid",
	    "vQLPVd/6zGgahu4Qq7N/LzOgwtvUbwVmpac3NQnw3SMKMGt32v/YDI9O3wzYZssn"
	    "kzoFPMRo/VM9qR7vhXcHzQ=="), NULL },
	{ &dialect_dlock, S("owner", "x") "," N("until", "1001"),
	    S("owner", "x") "," N("until", "1000") },
};

TEST_ROWS(test_listings_of_others, lists)
{
	struct life l;
	struct operation o = life_make(OPERATION_SCAN);

	life_init(&l, lists[_i].dialect, &plain);
	life_put_key(&l, "held", lists[_i].held);
	life_put_key(&l, "other", S("something", "else"));
	if (lists[_i].free != NULL)
		life_put_key(&l, "free", lists[_i].free);
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.n_rows, lists[_i].free != NULL ? 2 : 1);
	o.held_only = true;
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.n_rows, 1);
	ck_assert(key_equal(l.outcome.rows[0].key, key_text("held")));
	life_done(&l);
}

/*
 * ---- operations that none supports ------------------------------------------
 */

static const struct dialect *const all[] = {
	&dialect_awslabs, &dialect_python, &dialect_js_fail_open,
	&dialect_js_fail_closed, &dialect_dlock,
};

TEST_ROWS(test_unsupported, all)
{
	static const enum operation_kind kinds[] = {
		OPERATION_ADD_WAITER, OPERATION_REMOVE_WAITER,
		    OPERATION_SESSION_OPEN,
		OPERATION_SESSION_BEAT, OPERATION_SESSION_READ,
		OPERATION_SESSION_KILL, OPERATION_SESSION_BURY,
		OPERATION_SESSION_CLOSE, OPERATION_MULTI,
	};
	struct operation o, part = life_make(OPERATION_ACQUIRE);
	const struct operation *parts[] = { &part };
	struct life l;

	life_init(&l, all[_i], &plain);
	ck_assert(dialect_find(all[_i]->name) == all[_i]);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		o = life_make(kinds[i]);
		o.parts = parts;
		o.keys = &part.key;
		o.n_keys = 1;
		life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED, all[_i]->name);
	}
	o = life_make(OPERATION_ACQUIRE);
	o.limit = 2;
	life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED, "shared");
	o.limit = 0;
	o.mode = LOCK_MODE_SHARED;
	life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED, all[_i]->name);
	o.mode = LOCK_MODE_EXCLUSIVE;
	o.tokens = 2;
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "token");
	o = life_make(OPERATION_RELEASE);
	o.n_holders = 2;
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "one holder");
	o = life_make(OPERATION_BREAK);
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "not seen");
	o = life_make(OPERATION_REFRESH);
	o.beat = all[_i]->life == LOCK_LIFE_DEADLINE ? INT64_MAX :
	    all[_i] == &dialect_awslabs || all[_i] == &dialect_python ?
	    UINT32_MAX : UINT64_MAX - 1;
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "renewed too often");
	life_is(&l, "");
	life_done(&l);
}

TEST_ROWS(test_leases, all)
{
	struct life l;
	struct operation o = life_make(OPERATION_ACQUIRE);

	life_init(&l, all[_i], &plain);
	o.me.lease_ms = UINT64_C(366) * 86400 * 1000 + 1;
	o.me.fail_closed = all[_i] == &dialect_js_fail_closed;
	if (all[_i] == &dialect_js_fail_closed) {
		o.me.lease_ms = 0;	/* it has none */
		life_expect(&l, &o, "", OUTCOME_DONE);
	} else {
		life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "lease");
		o.me.lease_ms = 0;
		life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "lease");
		o.me.lease_ms = UINT64_C(366) * 86400 * 1000;
		life_expect(&l, &o, "", OUTCOME_DONE);
	}
	life_done(&l);
}
