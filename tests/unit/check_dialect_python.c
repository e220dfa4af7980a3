/*
 * The record format of python_dynamodb_lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "dialect_life.h"
#include "test.h"

#define UUID "11112222-3333-4444-8555-6666"
#define LOCK(owner, lease, version, expiry) S("owner_name", owner) ","         \
	N("lease_duration", lease) "," S("record_version_number", version)     \
	"," N("expiry_time", expiry)
/* The table says an hour and a half. */
#define OWN(beat) LOCK("us", "20", UUID beat, "1800005400")
#define THEIRS_VERSION "be1eade1-ee97-468e-a1bf-f21c994fc88c"
#define THEIRS LOCK("them", "3", THEIRS_VERSION, "1795222067")
#define MORE N("more", "42")

static const struct dialect_table table = {
	.table = "plock", .key_attribute = "lock_key",
	.sort_attribute = "sort_key", .host = "web-1", .expiry_s = 5400,
	.keep_attributes = true,
};

static struct life
begin(void)
{
	struct life l;

	life_init(&l, &dialect_python, &table);
	return l;
}

TEST(test_acquire)
{
	struct life l = begin();
	struct operation o = life_make(OPERATION_ACQUIRE);
	const struct lock_record *r;

	r = &life_expect(&l, &o, "", OUTCOME_DONE)->lock;
	life_is(&l, OWN("00000000"));
	ck_assert(ident_equal(r->holders[0].session, me.grant));
	ck_assert_uint_eq(r->holders[0].lease_ms, 20000);
	ck_assert_str_eq(r->owner, "us");
	ck_assert_str_eq(r->version, UUID "00000000");
	ck_assert_uint_eq(r->ttl_s, 1800005400);

	life_put(&l, THEIRS "," MORE);
	r = &life_expect(&l, &o, "", OUTCOME_CONFLICT)->lock;
	ck_assert_str_eq(r->owner, "them");
	ck_assert_uint_eq(r->holders[0].lease_ms, 3000);
	ck_assert_uint_eq(r->beat, 0x994fc88c);
	ck_assert_uint_eq(r->contents.n_attributes, 1);

	o.version = "be1eade1-ee97-468e-a1bf-f21c994fc88d";
	o.dead = &you;
	o.n_dead = 1;
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	life_is(&l, THEIRS "," MORE);
	o.version = "be1eade1-ee97-468e-a1bf-f21c994fc88b";
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	life_is(&l, THEIRS "," MORE);
	o.version = THEIRS_VERSION;
	life_expect(&l, &o, "", OUTCOME_DONE);
	life_is(&l, OWN("00000000") "," MORE);
	life_put(&l, THEIRS "," MORE);
	l.table.keep_attributes = false;
	life_expect(&l, &o, "", OUTCOME_DONE);
	life_is(&l, OWN("00000000"));
	life_done(&l);
}

static const struct {
	const char *item;
	bool renews, releases;
} holds[] = {
	{ OWN("00000000") "," MORE, true, true },
	{ OWN("00000005") "," MORE, true, true },
	{ OWN("00000007") "," MORE, false, true },
	{ OWN("ffffffff") "," MORE, false, true },
	{ LOCK("us", "20", "11112222-3333-4444-8555-666700000000", "5"),
	    false, false },
	{ LOCK("us", "20", "11112222-3333-4444-8555-6665ffffffff", "5"),
	    false, false },
	{ THEIRS "," MORE, false, false },
};

TEST_LOOP(test_ours, 0, 7)
{
	static const struct attribute attributes[] = {
		{ { "stage", 5 }, { "two", 3 }, false },
		{ { "size", 4 }, { "{\"N\":\"7\"}", 9 }, true },
	};
	struct life l = begin();
	struct operation o = life_make(OPERATION_REFRESH);
	enum outcome_kind renews = holds[_i].renews ? OUTCOME_DONE :
	    OUTCOME_CONFLICT;

	o.beat = 5;
	life_put(&l, holds[_i].item);
	life_expect(&l, &o, "", renews);
	life_is(&l, holds[_i].renews ? OWN("00000006") "," MORE :
	    holds[_i].item);
	life_put(&l, holds[_i].item);
	o.kind = OPERATION_UPDATE;
	o.contents = (struct contents){ { NULL, 0 }, attributes, 2 };
	life_expect(&l, &o, "", renews);
	life_is(&l, holds[_i].renews ? OWN("00000006") ","
	    S("stage", "two") "," N("size", "7") : holds[_i].item);
	life_put(&l, holds[_i].item);
	o = life_make(OPERATION_RELEASE);
	o.keeps_contents = true;		/* it cannot */
	life_expect(&l, &o, "", holds[_i].releases ? OUTCOME_DONE :
	    OUTCOME_CONFLICT);
	life_is(&l, holds[_i].releases ? "" : holds[_i].item);
	life_done(&l);
}

TEST(test_break)
{
	struct life l = begin();
	struct operation o = life_make(OPERATION_BREAK);

	life_put(&l, THEIRS);
	o.version = "be1eade1-ee97-468e-a1bf-f21c994fc88d";
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	life_is(&l, THEIRS);
	o.version = THEIRS_VERSION;
	life_expect(&l, &o, "", OUTCOME_DONE);
	life_is(&l, "");
	life_done(&l);
}

TEST_LOOP(test_lost_answers, 0, LIFE_NETS)
{
	static const struct attribute attribute = {
		{ "stage", 5 }, { "two", 3 }, false,
	};
	static const struct contents contents = {
		{ NULL, 0 }, &attribute, 1,
	};
	const struct life_cycle cycle = {
		.dead = THEIRS, .takes = true, .contents = &contents,
	};
	struct life l = begin();

	life_cycle(&l, &cycle, life_nets[_i]);
	life_done(&l);
}

TEST(test_late_copies)
{
	struct life l = begin();
	struct operation o = life_make(OPERATION_ACQUIRE);

	life_expect(&l, &o, "h", OUTCOME_DONE);
	o = life_make(OPERATION_REFRESH);
	life_expect(&l, &o, "h", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.lock.beat, 2);
	ck_assert_uint_eq(l.outcome.sent_ms, l.now_ms);
	for (size_t i = 0; i < 2; i++)
		ck_assert(!life_land(&l, i));
	o = life_make(OPERATION_RELEASE);
	life_expect(&l, &o, "h", OUTCOME_DONE);
	ck_assert(!life_land(&l, 1));	/* a renewal makes no item */
	ck_assert(!life_land(&l, 2));
	life_is(&l, "");
	life_done(&l);
}

/* Seconds, rounded up to milliseconds, and how we write ours. */
static const struct {
	const char *seconds;
	uint64_t ms;
	const char *written;
} leases[] = {
	{ "20", 20000, "20" }, { "0.7", 700, "0.7" }, { "1.5", 1500, "1.5" },
	{ "0.001", 1, "0.001" }, { "0.0001", 1, "0.001" },
	{ "2.9999", 3000, "3" }, { "1.0501", 1051, "1.051" },
	{ "31622400", 31622400000, "31622400" },
};

TEST_LOOP(test_leases, 0, 8)
{
	struct life l = begin();
	struct operation o = life_make(OPERATION_READ);
	char item[512];

	(void)snprintf(item, sizeof(item), LOCK("them", "%s", THEIRS_VERSION,
	    "5"), leases[_i].seconds);
	life_put(&l, item);
	ck_assert_uint_eq(life_expect(&l, &o, "", OUTCOME_DONE)->
	    lock.holders[0].lease_ms, leases[_i].ms);
	life_remove(&l);
	o = life_make(OPERATION_ACQUIRE);
	o.me.lease_ms = leases[_i].ms;
	life_expect(&l, &o, "", OUTCOME_DONE);
	(void)snprintf(item, sizeof(item), "'lease_duration':{'N':'%s'}",
	    leases[_i].written);
	ck_assert(strstr(life_item(&l), item) != NULL);
	life_done(&l);
}

static const struct {
	const char *item, *attribute, *words;
} bad[] = {
	{ "", "owner_name", "a text (S)" },
	{ N("owner_name", "1") "," N("lease_duration", "3") ","
	    S("record_version_number", THEIRS_VERSION) ","
	    N("expiry_time", "5"), "owner_name", "a text (S)" },
	{ S("owner_name", "x") "," S("record_version_number", THEIRS_VERSION)
	    "," N("expiry_time", "5"), "lease_duration", "seconds" },
	{ S("owner_name", "x") "," N("lease_duration", "3") ","
	    S("record_version_number", THEIRS_VERSION), "expiry_time",
	    "time" },
	{ S("owner_name", "x") "," N("lease_duration", "3") ","
	    N("expiry_time", "5"), "record_version_number", "UUID" },
	{ LOCK("x", "0", THEIRS_VERSION, "5"), "lease_duration", "seconds" },
	{ LOCK("x", "-3", THEIRS_VERSION, "5"), "lease_duration", "seconds" },
	{ LOCK("x", "31622400.0001", THEIRS_VERSION, "5"), "lease_duration",
	    "366 days" },
	{ LOCK("x", "31622401", THEIRS_VERSION, "5"), "lease_duration",
	    "366 days" },
	{ LOCK("x", "3", "be1eade1-ee97-468e-a1bf-f21c994fc88", "5"),
	    "record_version_number", "UUID" },
	{ LOCK("x", "3", "be1eade1-ee97-468e-a1bf-f21c994fc88g", "5"),
	    "record_version_number", "UUID" },
	{ LOCK("x", "3", "be1eade1ee97-468e-a1bf-f21c994fc88c0", "5"),
	    "record_version_number", "UUID" },
	{ LOCK("x", "3", THEIRS_VERSION, "5.5"), "expiry_time", "whole" },
	{ LOCK("x", "3", THEIRS_VERSION, "-1"), "expiry_time", "whole" },
	/* Of another format. */
	{ S("ownerName", "x") "," S("leaseDuration", "3") ","
	    S("recordVersionNumber", THEIRS_VERSION), "owner_name", "text" },
};

TEST_LOOP(test_bad_records, 0, 15)
{
	struct life l = begin();

	life_is_bad(&l, bad[_i].item, bad[_i].attribute, bad[_i].words);
	life_done(&l);
}

TEST(test_refused)
{
	static const struct attribute clash = {
		{ "owner_name", 10 }, { "x", 1 }, false,
	};
	struct life l = begin();
	struct operation o = life_make(OPERATION_UPDATE);

	o.contents.data = (struct key){ "x", 1 };
	life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED,
	    "the record format python has no place for data");
	o.contents = (struct contents){ { NULL, 0 }, &clash, 1 };
	life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED, "of that name itself");
	o = life_make(OPERATION_EXTEND);
	life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED, "no fencing tokens");
	ck_assert(!dialect_python.key_attribute_ok("owner_name"));
	ck_assert(dialect_python.key_attribute_ok("lock_key"));
	life_done(&l);
}

/* The attribute for TTL has a name of its own in most tables. */
TEST(test_names)
{
	static const struct dialect_name renamed[] = {
		{ "owner_name", "who" },
	};
	struct dialect_table t = table;
	struct operation o = life_make(OPERATION_ACQUIRE);
	struct life l;

	t.ttl_attribute = "ttl";
	t.renamed = renamed;
	t.n_renamed = 1;
	t.expiry_s = 0;
	life_init(&l, &dialect_python, &t);
	life_expect(&l, &o, "", OUTCOME_DONE);
	life_is(&l, S("who", "us") "," N("lease_duration", "20") ","
	    S("record_version_number", UUID "00000000") ","
	    N("ttl", "1800003600"));
	life_is_bad(&l, S("who", "x") "," N("lease_duration", "3") ","
	    S("record_version_number", THEIRS_VERSION), "ttl", "time");
	life_done(&l);
}
