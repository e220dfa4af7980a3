/*
 * The record format of AmazonDynamoDBLockClient and of dynamolock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "dialect_life.h"
#include "test.h"

#define UUID "11112222-3333-4444-8555-6666"
#define OWN(beat) S("ownerName", "us") "," S("leaseDuration", "20000") ","     \
	S("recordVersionNumber", UUID beat)
#define MINE OWN("00000000")
#define VERSION "8d524f11-b878-4be1-acdd-8c23f85d5e6c"
#define JAVA(lease, version) S("ownerName", "vm1") ","                         \
	S("leaseDuration", lease) "," S("recordVersionNumber", version)
#define THEIRS JAVA("3000", VERSION)
#define RELEASED S("isReleased", "1")
#define KEPT B("data", "aGk=") "," N("more", "42")

static const struct dialect_table java = {
	.table = "locks", .key_attribute = "key", .host = "web-1",
	.keep_attributes = true,
};

static struct life
begin(void)
{
	struct life l;

	life_init(&l, &dialect_awslabs, &java);
	return l;
}

/* An acquire of a seen record, free or held by a dead client. */
static struct operation
take(const char *version, size_t n_dead)
{
	struct operation o = life_make(OPERATION_ACQUIRE);

	o.version = version;
	o.dead = &you;
	o.n_dead = n_dead;
	return o;
}

static struct operation
renew(enum operation_kind kind, uint64_t beat)
{
	struct operation o = life_make(kind);

	o.beat = beat;
	return o;
}

TEST(test_acquire)
{
	struct life l = begin();
	struct operation o = life_make(OPERATION_ACQUIRE);
	const struct lock_record *r;

	r = &life_expect(&l, &o, "", OUTCOME_DONE)->lock;
	life_is(&l, MINE);
	ck_assert_uint_eq(l.n_requests, 1);
	ck_assert(r->exists && r->n_holders == 1 && r->token == 0);
	ck_assert_int_eq(r->mode, LOCK_MODE_EXCLUSIVE);
	ck_assert(ident_equal(r->holders[0].session, me.grant));
	ck_assert(ident_equal(r->holders[0].grant, me.grant));
	ck_assert_uint_eq(r->holders[0].lease_ms, 20000);
	ck_assert(!r->holders[0].fail_closed);
	ck_assert_str_eq(r->owner, "us");
	ck_assert_str_eq(r->version, UUID "00000000");
	ck_assert_uint_eq(r->beat, 0);

	/* Not of the present record, held or free: it was not seen. */
	life_put(&l, THEIRS);
	r = &life_expect(&l, &o, "", OUTCOME_CONFLICT)->lock;
	ck_assert_uint_eq(l.n_requests, 1);
	ck_assert_str_eq(r->version, VERSION);
	ck_assert_str_eq(r->owner, "vm1");
	ck_assert_uint_eq(r->holders[0].lease_ms, 3000);
	ck_assert_uint_eq(r->holders[0].grant.high, 0x8d524f11b8784be1);
	ck_assert_uint_eq(r->holders[0].grant.low, 0xacdd8c2300000000);
	ck_assert_uint_eq(r->beat, 0xf85d5e6c);
	life_put(&l, THEIRS "," RELEASED);
	r = &life_expect(&l, &o, "", OUTCOME_CONFLICT)->lock;
	ck_assert(r->exists && r->n_holders == 0 && r->version != NULL);
	life_is(&l, THEIRS "," RELEASED);
	life_done(&l);
}

TEST(test_host_owns_what_nobody_does)
{
	struct life l = begin();
	struct operation o = life_make(OPERATION_ACQUIRE);

	o.owner = NULL;
	ck_assert_str_eq(life_expect(&l, &o, "", OUTCOME_DONE)->lock.owner,
	    "web-1");
	life_done(&l);
}

/* Each term: the version that was seen, and that it is free, or was. */
static const struct {
	const char *item;
	size_t n_dead;
	bool done;
} takes[] = {
	{ THEIRS "," RELEASED "," KEPT, 0, true },
	{ THEIRS "," KEPT, 0, false },
	{ JAVA("3000", "8d524f11-b878-4be1-acdd-8c23f85d5e6d") "," RELEASED
	    "," KEPT, 0, false },
	{ THEIRS "," KEPT, 1, true },
	{ JAVA("3000", "8d524f11-b878-4be1-acdd-8c23f85d5e6d") "," KEPT, 1,
	    false },
};

TEST_LOOP(test_take, 0, 5)
{
	struct life l = begin();
	struct operation o = take(VERSION, takes[_i].n_dead);
	const struct outcome *out;

	life_put(&l, takes[_i].item);
	out = life_expect(&l, &o, "", takes[_i].done ? OUTCOME_DONE :
	    OUTCOME_CONFLICT);
	life_is(&l, takes[_i].done ? MINE "," KEPT : takes[_i].item);
	ck_assert_uint_eq(out->lock.contents.n_attributes, 1);
	ck_assert_uint_eq(out->lock.contents.data.length, 2);

	/* As the older clients do, where they are asked to. */
	l.table.keep_attributes = false;
	life_put(&l, takes[_i].item);
	out = life_expect(&l, &o, "", takes[_i].done ? OUTCOME_DONE :
	    OUTCOME_CONFLICT);
	life_is(&l, takes[_i].done ? MINE : takes[_i].item);
	if (takes[_i].done) {
		ck_assert(out->lock.contents.n_attributes == 0);
		ck_assert_str_eq(out->lock.version, UUID "00000000");
		ck_assert_uint_eq(out->lock.n_holders, 1);
	}
	life_done(&l);
}

/* Renewals: of ours, from before, that is not given back. */
static const struct {
	const char *item;
	bool done;
} renewals[] = {
	{ OWN("00000000") "," KEPT, true },
	{ OWN("00000004") "," KEPT, true },
	{ OWN("00000005") "," KEPT, true },
	{ OWN("00000007") "," KEPT, false },
	{ OWN("00000005") "," RELEASED "," KEPT, false },
	{ THEIRS "," KEPT, false },
};

TEST_LOOP(test_refresh, 0, 6)
{
	struct life l = begin();
	struct operation o = renew(OPERATION_REFRESH, 5);
	const struct outcome *out;

	life_put(&l, renewals[_i].item);
	out = life_expect(&l, &o, "", renewals[_i].done ? OUTCOME_DONE :
	    OUTCOME_CONFLICT);
	life_is(&l, renewals[_i].done ? OWN("00000006") "," KEPT :
	    renewals[_i].item);
	if (renewals[_i].done)
		ck_assert_uint_eq(out->lock.beat, 6);
	life_done(&l);
}

/* Not twice with one number, though no other client has it. */
TEST(test_refresh_again)
{
	static const char item[] = S("ownerName", "us") ","
	    S("leaseDuration", "5") ","
	    S("recordVersionNumber", UUID "00000006");
	struct life l = begin();
	struct operation o = renew(OPERATION_REFRESH, 5);

	life_put(&l, item);
	life_expect(&l, &o, "", OUTCOME_DONE);
	life_is(&l, item);
	life_done(&l);
}

static const struct attribute attributes[] = {
	{ { "stage", 5 }, { "two", 3 }, false },
	{ { "size", 4 }, { "{\"N\":\"7\"}", 9 }, true },
};

TEST_LOOP(test_update, 0, 6)
{
	struct life l = begin();
	struct operation o = renew(OPERATION_UPDATE, 5);
	const struct contents *c;

	o.contents = (struct contents){ { "new", 3 }, attributes, 2 };
	life_put(&l, renewals[_i].item);
	c = &life_expect(&l, &o, "", renewals[_i].done ? OUTCOME_DONE :
	    OUTCOME_CONFLICT)->lock.contents;
	life_is(&l, renewals[_i].done ? OWN("00000006") ","
	    B("data", "bmV3") "," S("stage", "two") "," N("size", "7") :
	    renewals[_i].item);
	if (renewals[_i].done) {
		ck_assert(contents_are_equal(c, &o.contents));
		ck_assert_uint_eq(l.outcome.lock.beat, 6);
		/* Exactly the given contents: none. */
		o.contents = (struct contents){ { NULL, 0 }, NULL, 0 };
		o.beat = 6;
		life_expect(&l, &o, "", OUTCOME_DONE);
		life_is(&l, OWN("00000007"));
	}
	life_done(&l);
}

static const struct {
	const char *item;
	bool done;
} releases[] = {
	{ OWN("00000000") "," KEPT, true },
	{ OWN("ffffffff") "," KEPT, true },
	{ S("ownerName", "us") "," S("leaseDuration", "20000") ","
	    S("recordVersionNumber", "11112222-3333-4444-8555-666700000000"),
	    false },
	{ S("ownerName", "us") "," S("leaseDuration", "20000") ","
	    S("recordVersionNumber", "11112222-3333-4444-8555-6665ffffffff"),
	    false },
	{ THEIRS, false },
};

TEST_LOOP(test_release, 0, 5)
{
	struct life l = begin();
	struct operation o = life_make(OPERATION_RELEASE);
	const struct outcome *out;

	life_put(&l, releases[_i].item);
	out = life_expect(&l, &o, "", releases[_i].done ? OUTCOME_DONE :
	    OUTCOME_CONFLICT);
	ck_assert(out->lock.exists != releases[_i].done);
	life_is(&l, releases[_i].done ? "" : releases[_i].item);

	for (int i = 0; i < 2; i++) {
		char kept[1024];

		o.keeps_contents = i == 0;
		l.table.keep_released = i == 1;
		life_put(&l, releases[_i].item);
		(void)snprintf(kept, sizeof(kept), "%s%s", releases[_i].item,
		    releases[_i].done ? "," RELEASED : "");
		out = life_expect(&l, &o, "", releases[_i].done ?
		    OUTCOME_DONE : OUTCOME_CONFLICT);
		life_is(&l, kept);
		if (releases[_i].done)
			ck_assert(out->lock.exists &&
			    out->lock.n_holders == 0 &&
			    out->lock.contents.data.length == 2);
	}
	life_done(&l);
}

TEST(test_break)
{
	struct life l = begin();
	struct operation o = life_make(OPERATION_BREAK);
	const struct outcome *out;

	o.version = "8d524f11-b878-4be1-acdd-8c23f85d5e6d";
	life_put(&l, THEIRS "," KEPT);
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	o.keeps_contents = true;
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	life_is(&l, THEIRS "," KEPT);

	/* What stays has another version: its holder must not renew it. */
	o.version = VERSION;
	out = life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert(out->lock.exists && out->lock.n_holders == 0);
	ck_assert_str_ne(out->lock.version, VERSION);
	ck_assert(strstr(life_item(&l), KEPT) == NULL ||
	    strstr(life_item(&l), RELEASED) != NULL);
	o.keeps_contents = false;
	life_put(&l, THEIRS);
	life_expect(&l, &o, "", OUTCOME_DONE);
	life_is(&l, "");
	life_done(&l);
}

/* ---- lost answers ------------------------------------------------------ */

TEST_LOOP(test_lost_answers, 0, LIFE_NETS)
{
	static const struct contents contents = {
		{ "new", 3 }, attributes, 2,
	};
	const struct life_cycle cycle = {
		.dead = THEIRS, .free = THEIRS "," RELEASED, .takes = true,
		.keeps = true, .contents = &contents,
	};
	struct life l = begin();

	life_cycle(&l, &cycle, life_nets[_i]);
	l.table.go_lease = true;
	l.table.keep_attributes = false;
	life_remove(&l);
	life_cycle(&l, &cycle, life_nets[_i]);
	life_done(&l);
}

/* Another client's write meanwhile is a conflict nevertheless. */
TEST(test_loss_is_no_excuse)
{
	struct life l = begin();
	struct operation o = life_make(OPERATION_ACQUIRE);

	life_put(&l, THEIRS);
	life_expect(&l, &o, "a", OUTCOME_CONFLICT);
	life_expect(&l, &o, "as", OUTCOME_CONFLICT);
	o = renew(OPERATION_REFRESH, 3);
	life_expect(&l, &o, "a", OUTCOME_CONFLICT);
	life_put(&l, OWN("00000009"));
	life_expect(&l, &o, "ha", OUTCOME_CONFLICT);
	o = life_make(OPERATION_RELEASE);
	life_put(&l, THEIRS);
	/* Our hold is gone, as it was to be. */
	life_expect(&l, &o, "a", OUTCOME_DONE);
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	life_is(&l, THEIRS);
	life_done(&l);
}

/* A renewal counts from the send of the attempt that is in the record. */
TEST(test_whose_renewal)
{
	struct life l = begin();
	struct operation o = renew(OPERATION_REFRESH, 3);
	uint64_t start = l.now_ms;

	life_put(&l, OWN("00000003"));
	life_expect(&l, &o, "h", OUTCOME_DONE);
	life_is(&l, OWN("00000005"));
	ck_assert_uint_eq(l.outcome.sent_ms, start + STEP);
	ck_assert(l.outcome.unanswered);
	ck_assert(!life_land(&l, 0));	/* an earlier one never follows */
	life_is(&l, OWN("00000005"));

	/* The look after "not valid" shows the first. */
	start = l.now_ms;
	o.beat = 5;
	life_expect(&l, &o, "ah", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, start + 2 * STEP);
	life_is(&l, OWN("00000008"));
	life_done(&l);
}

TEST(test_late_copies)
{
	struct life l = begin();
	struct operation acquire = life_make(OPERATION_ACQUIRE);
	struct operation refresh = renew(OPERATION_REFRESH, 0);
	struct operation update = renew(OPERATION_UPDATE, 8);
	struct operation release = life_make(OPERATION_RELEASE);

	release.keeps_contents = true;
	life_expect(&l, &acquire, "h", OUTCOME_DONE);
	life_expect(&l, &refresh, "h", OUTCOME_DONE);
	update.contents.data = (struct key){ "new", 3 };
	life_expect(&l, &update, "h", OUTCOME_DONE);
	for (size_t i = 0; i < 3; i++)
		ck_assert(!life_land(&l, i));
	life_expect(&l, &release, "h", OUTCOME_DONE);
	for (size_t i = 0; i < 3; i++)
		ck_assert(!life_land(&l, i));
	ck_assert(strstr(life_item(&l), RELEASED) != NULL);
	ck_assert(life_land(&l, 3));	/* it is free already */

	/* Another client came: its record is not released. */
	life_put(&l, THEIRS);
	for (size_t i = 0; i < 4; i++)
		ck_assert(!life_land(&l, i));
	life_is(&l, THEIRS);
	life_done(&l);
}

TEST(test_give_up)
{
	struct life l = begin();
	struct operation o = renew(OPERATION_REFRESH, 3);

	life_put(&l, OWN("00000003"));
	life_expect(&l, &o, "a!", OUTCOME_UNKNOWN);
	ck_assert(l.outcome.unanswered);
	life_expect(&l, &o, "t!", OUTCOME_REFUSED);
	ck_assert(!l.outcome.unanswered);
	life_done(&l);
}

/* ---- records that are not in the format -------------------------------- */

static const struct {
	const char *item, *attribute, *words;
} bad[] = {
	{ "", "ownerName", "a text (S)" },
	{ S("leaseDuration", "5") "," S("recordVersionNumber", VERSION),
	    "ownerName", "a text (S)" },
	{ S("ownerName", "x") "," S("recordVersionNumber", VERSION),
	    "leaseDuration", "a text (S)" },
	{ S("ownerName", "x") "," S("leaseDuration", "5"),
	    "recordVersionNumber", "a text (S)" },
	{ N("ownerName", "5") "," S("leaseDuration", "5") ","
	    S("recordVersionNumber", VERSION), "ownerName", "a text (S)" },
	{ S("ownerName", "x") "," N("leaseDuration", "5") ","
	    S("recordVersionNumber", VERSION), "leaseDuration", "text (S)" },
	{ S("ownerName", "x") "," S("leaseDuration", "5") ","
	    B("recordVersionNumber", "AAAA"), "recordVersionNumber",
	    "a text (S)" },
	{ JAVA("0", VERSION), "leaseDuration", "1 ms to 366 days" },
	{ JAVA("-5", VERSION), "leaseDuration", "1 ms to 366 days" },
	{ JAVA("1.5", VERSION), "leaseDuration", "1 ms to 366 days" },
	{ JAVA("31622400001", VERSION), "leaseDuration", "1 ms to" },
	{ JAVA("", VERSION), "leaseDuration", "1 ms to 366 days" },
	{ JAVA("20 s", VERSION), "leaseDuration", "such as" },
	{ JAVA("0s", VERSION), "leaseDuration", "1 ms to 366 days" },
	{ JAVA("-20s", VERSION), "leaseDuration", "1 ms to 366 days" },
	{ JAVA("8785h0m0s", VERSION), "leaseDuration", "1 ms to 366 days" },
	{ JAVA("3000", "no-uuid"), "recordVersionNumber", "a UUID (S)" },
	{ JAVA("3000", VERSION "0"), "recordVersionNumber", "a UUID (S)" },
	{ JAVA("3000", VERSION "\\u0000"), "recordVersionNumber", "text (S)" },
	{ JAVA("3s", "any\\u0000"), "recordVersionNumber", "a text (S)" },
	{ JAVA("3000\\u00000", VERSION), "leaseDuration", "a text (S)" },
	{ JAVA("3s", ""), "recordVersionNumber", "not empty" },
	{ THEIRS "," S("isReleased", "0"), "isReleased", "\"1\"" },
	{ THEIRS "," N("isReleased", "1"), "isReleased", "\"1\"" },
	{ THEIRS "," S("data", "x"), "data", "bytes (B)" },
	{ THEIRS "," S("a:b", "x"), "a:b", "without colons" },
	/* Of another format. */
	{ S("owner_name", "x") "," N("lease_duration", "3"), "ownerName",
	    "a text (S)" },
};

TEST_ROWS(test_bad_records, bad)
{
	struct life l = begin();

	life_is_bad(&l, bad[_i].item, bad[_i].attribute, bad[_i].words);
	life_done(&l);
}

TEST(test_too_many_attributes)
{
	struct life l = begin();
	char item[4096] = THEIRS;

	for (int i = 0; i < 33; i++) {
		size_t n = strlen(item);

		(void)snprintf(item + n, sizeof(item) - n, ",'a%d':{'N':'1'}",
		    i);
	}
	life_is_bad(&l, item, "a32", "at most 32 attributes");
	life_done(&l);
}

/* In a record: rounded up to the next millisecond, for all kinds. */
static const struct {
	const char *lease, *version;
	uint64_t ms;
} leases[] = {
	{ "3000", VERSION, 3000 }, { "1", VERSION, 1 },
	{ "31622400000", VERSION, 31622400000 },
	{ "8784h0m0s", VERSION, 31622400000 },
	{ "3s", "1795219033516770613:W3IDCXUSC23X372YR5TW5CNU", 3000 },
	{ "1m0s", "x", 60000 }, { "1\xc2\xb5s", "x", 1 },
	{ "1.0000001s", "x", 1001 }, { "20s", VERSION, 20000 },
	{ "3000", "8D524F11-B878-4BE1-ACDD-8C23F85D5E6C", 3000 },
};

TEST_ROWS(test_leases_read, leases)
{
	struct life l = begin();
	struct operation o = life_make(OPERATION_READ);
	const struct lock_record *r = &l.outcome.lock;
	char item[512];
	struct ident first;

	(void)snprintf(item, sizeof(item), JAVA("%s", "%s"),
	    leases[_i].lease, leases[_i].version);
	life_put(&l, item);
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(r->holders[0].lease_ms, leases[_i].ms);
	ck_assert_str_eq(r->version, leases[_i].version);
	ck_assert_uint_eq(r->beat, strlen(leases[_i].version) == 36 ?
	    0xf85d5e6c : 0);
	/* Another version is another hold, or another beat of one. */
	first = r->holders[0].grant;
	(void)snprintf(item, sizeof(item), JAVA("%s", "%s"), "1s", "other");
	life_put(&l, item);
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert(!ident_equal(r->holders[0].grant, first));
	/* Taken with the text as it was. */
	o = life_make(OPERATION_ACQUIRE);
	o.version = "other";
	o.dead = &you;
	o.n_dead = 1;
	l.table.go_lease = true;
	o.me.lease_ms = 61500;
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert(strstr(life_item(&l), S("leaseDuration", "1m1.5s")));
	ck_assert_uint_eq(r->holders[0].lease_ms, 61500);
	ck_assert(ident_equal(r->holders[0].grant, me.grant));
	life_done(&l);
}
