/*
 * The record formats of dynamodb-lock-client for JavaScript.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "ddblock.h"
#include "dialect_life.h"
#include "test.h"

#define THEIR_GUID "vk3EOPkCGugLXu7dk4CeI8oTnDVTvWrWS1aifvfbKEDz6YET9zEPxxk0" \
	"Hby18FtJyqCXMy3l0MdYlKt3kYGe8A=="
#define OTHER_GUID "vQLPVd/6zGgahu4Qq7N/LzOgwtvUbwVmpac3NQnw3SMKMGt32v/YDI9O" \
	"3wzYZssnkzoFPMRo/VM9qR7vhXcHzQ=="
#define OPEN(owner, guid, lease, token) S("owner", owner) "," B("guid", guid)  \
	"," N("leaseDurationMs", lease) "," N("fencingToken", token)
#define THEIRS OPEN("js", THEIR_GUID, "3000", "7")
#define FREED OPEN("js", THEIR_GUID, "1", "7")
#define CLOSED S("owner", "js") "," B("guid", THEIR_GUID)
#define MORE S("more", "x")
#define TIME(ms) N("lockAcquiredTimeUnixMs", ms)

static const struct dialect_table table = {
	.table = "jslock", .key_attribute = "id", .host = "web-1",
	.keep_attributes = true,
};

static struct life
begin(bool closed)
{
	struct life l;

	life_init(&l, closed ? &dialect_js_fail_closed :
	    &dialect_js_fail_open, &table);
	return l;
}

/* A guid of ours: its required beginning; the rest is as written with the
 * acquire. */
static void
own(struct life *l, uint64_t grant, uint64_t beat, char text[96])
{
	struct operation o = life_make(OPERATION_ACQUIRE);
	unsigned char bytes[66];
	struct buffer b;
	size_t n;

	life_remove(l);
	o.me.grant.high = grant;
	life_expect(l, &o, "", OUTCOME_DONE);
	ck_assert(base64_read(l->outcome.lock.version,
	    strlen(l->outcome.lock.version), bytes, &n) && n == 64);
	for (int i = 0; i < 8; i++) {
		ck_assert_uint_eq(bytes[i], grant >> 8 * (7 - i) & 0xff);
		ck_assert_uint_eq(bytes[8 + i],
		    me.grant.low >> 8 * (7 - i) & 0xff);
		ck_assert_uint_eq(bytes[16 + i], 0);
		bytes[16 + i] = (unsigned char)(beat >> 8 * (7 - i));
	}
	buffer_init(&b, 96);
	base64_append(&b, bytes, 64);
	memcpy(text, b.data, b.length + 1);
	buffer_done(&b);
	life_remove(l);
}

/* A record of ours, of @token. */
static const char *
mine(struct life *l, uint64_t grant, uint64_t beat, const char *lease,
    const char *token)
{
	static char item[512];
	char guid[96];

	own(l, grant, beat, guid);
	(void)snprintf(item, sizeof(item), S("owner", "us") ","
	    B("guid", "%s"), guid);
	if (lease != NULL)
		(void)snprintf(item + strlen(item),
		    sizeof(item) - strlen(item), ","
		    N("leaseDurationMs", "%s") "," N("fencingToken", "%s"),
		    lease, token);
	return item;
}

TEST(test_acquire)
{
	struct life l = begin(false);
	struct operation o = life_make(OPERATION_ACQUIRE);
	const struct lock_record *r;
	char item[512];

	r = &life_expect(&l, &o, "", OUTCOME_DONE)->lock;
	ck_assert_uint_eq(r->token, 1);
	ck_assert_uint_eq(r->beat, 0);
	ck_assert_uint_eq(r->holders[0].lease_ms, 20000);
	ck_assert(ident_equal(r->holders[0].session, me.grant));
	ck_assert(!r->holders[0].fail_closed);
	(void)snprintf(item, sizeof(item), "%s",
	    mine(&l, me.grant.high, 0, "20000", "1"));
	life_expect(&l, &o, "", OUTCOME_DONE);
	life_is(&l, item);
	life_done(&l);
}

/* Without having seen it: absent, or given back and in the format. */
static const struct {
	const char *item;
	enum outcome_kind outcome;
} unseen[] = {
	{ FREED "," MORE, OUTCOME_DONE },
	{ OPEN("js", THEIR_GUID, "2", "7"), OUTCOME_CONFLICT },
	{ THEIRS, OUTCOME_CONFLICT },
	{ OPEN("js", THEIR_GUID, "1", "9007199254740990"), OUTCOME_DONE },
	{ OPEN("js", THEIR_GUID, "1", "9007199254740991"), OUTCOME_REFUSED },
	{ OPEN("js", THEIR_GUID, "0", "7"), OUTCOME_REFUSED },
	{ OPEN("js", THEIR_GUID, "-1", "7"), OUTCOME_REFUSED },
	{ OPEN("js", "AAAA", "1", "7"), OUTCOME_REFUSED },
	{ OPEN("js", THEIR_GUID, "1", "-7"), OUTCOME_REFUSED },
	{ B("guid", THEIR_GUID) "," N("leaseDurationMs", "1") ","
	    N("fencingToken", "7"), OUTCOME_REFUSED },
	{ S("owner", "js") "," N("leaseDurationMs", "1") ","
	    N("fencingToken", "7"), OUTCOME_REFUSED },
	/* As many characters as bytes. */
	{ S("owner", "js") "," S("guid", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") "," N("leaseDurationMs", "1")
	    "," N("fencingToken", "7"), OUTCOME_REFUSED },
	{ S("owner", "js") "," B("guid", THEIR_GUID) ","
	    N("leaseDurationMs", "1"), OUTCOME_REFUSED },
	{ S("owner", "js") "," B("guid", THEIR_GUID) ","
	    S("leaseDurationMs", "1") "," N("fencingToken", "7"),
	    OUTCOME_REFUSED },
};

TEST_ROWS(test_acquire_unseen, unseen)
{
	struct life l = begin(false);
	struct operation o = life_make(OPERATION_ACQUIRE);
	char before[sizeof(l.text)];

	life_put(&l, unseen[_i].item);
	memcpy(before, life_item(&l), sizeof(before));
	life_expect(&l, &o, "", unseen[_i].outcome);
	if (unseen[_i].outcome != OUTCOME_DONE)
		ck_assert_str_eq(life_item(&l), before);
	else
		ck_assert_uint_eq(l.outcome.lock.token, _i == 0 ? 8 :
		    TOKEN_MAX);
	if (unseen[_i].outcome == OUTCOME_REFUSED)
		ck_assert_int_eq(l.outcome.code, DDBLOCK_E_BAD_RECORD);
	if (_i == 0)
		ck_assert(strstr(life_item(&l), MORE) != NULL);
	life_done(&l);
}

/* Each term: the guid, and the token. */
TEST(test_take)
{
	struct life l = begin(false);
	struct operation o = life_make(OPERATION_ACQUIRE);

	o.version = THEIR_GUID;
	o.token_seen = 7;
	o.dead = &you;
	o.n_dead = 1;
	life_put(&l, OPEN("js", OTHER_GUID, "3000", "7"));
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	life_put(&l, OPEN("js", THEIR_GUID, "3000", "8"));
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	life_is(&l, OPEN("js", THEIR_GUID, "3000", "8"));
	life_put(&l, THEIRS "," MORE "," TIME("5000"));
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.lock.token, 8);
	ck_assert(strstr(life_item(&l), MORE) != NULL);
	ck_assert(strstr(life_item(&l), "UnixMs") == NULL);
	l.table.keep_attributes = false;
	life_put(&l, THEIRS "," MORE);
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.lock.token, 8);
	ck_assert(strstr(life_item(&l), MORE) == NULL);
	o.token_seen = TOKEN_MAX;
	life_refuses(&l, &o, DDBLOCK_E_BAD_RECORD, "table jslock, item \"k\", "
	    "attribute \"fencingToken\"");
	life_done(&l);
}

/* Some of those clients trust the time: it goes on with the renewals. */
TEST(test_local_time)
{
	struct life l = begin(false);
	struct operation o = life_make(OPERATION_ACQUIRE);

	l.table.local_time = true;
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert(strstr(life_item(&l), TIME("1800000000000")) != NULL);
	ck_assert_uint_eq(l.outcome.lock.acquired_at_s, 1800000000);
	l.now_ms += 5000;
	o = life_make(OPERATION_REFRESH);
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert(strstr(life_item(&l), TIME("1800000005000")) != NULL);
	l.now_ms += 5000;
	o = life_make(OPERATION_EXTEND);
	o.beat = 1;
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert(strstr(life_item(&l), TIME("1800000010000")) != NULL);
	/* A lease counts for clients that trust it as it does for us. */
	o = life_make(OPERATION_REFRESH);
	o.beat = 3;
	l.now_ms = BOOT + 30000;
	life_expect(&l, &o, "tr", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, BOOT + 32000);
	ck_assert(strstr(life_item(&l), TIME("1800000032000")) != NULL);
	life_remove(&l);
	o = life_make(OPERATION_ACQUIRE);
	life_expect(&l, &o, "t", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.sent_ms, BOOT + 33000);
	ck_assert(strstr(life_item(&l), TIME("1800000033000")) != NULL);
	/* Nothing is judged by it. */
	life_put(&l, THEIRS "," S("lockAcquiredTimeUnixMs", "soon"));
	o = life_make(OPERATION_READ);
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.lock.acquired_at_s, 0);
	ck_assert_uint_eq(l.outcome.lock.n_holders, 1);
	life_done(&l);
}

/* Ours, by any renewal before this one. */
static const struct {
	uint64_t add, beat;
	bool renews, releases;
} holds[] = {
	{ 0, 0, true, true },
	{ 0, 5, true, true },
	{ 0, 7, false, true },
	{ 0, UINT64_MAX, false, true },
	{ 1, 0, false, false },
	{ (uint64_t)-1, UINT64_MAX, false, false },
};

TEST_ROWS(test_ours, holds)
{
	const struct {
		enum operation_kind kind;
		bool closed;
	} acts[] = {
		{ OPERATION_REFRESH, false }, { OPERATION_EXTEND, false },
		{ OPERATION_RELEASE, false }, { OPERATION_REFRESH, true },
		{ OPERATION_RELEASE, true },
	};

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		bool release = acts[i].kind == OPERATION_RELEASE;
		bool done = release ? holds[_i].releases : holds[_i].renews;
		struct life l = begin(acts[i].closed);
		struct operation o = life_make(acts[i].kind);
		const struct lock_record *r = &l.outcome.lock;
		char item[512], before[512];

		(void)snprintf(item, sizeof(item), "%s", mine(&l,
		    me.grant.high + holds[_i].add, holds[_i].beat,
		    acts[i].closed ? NULL : "3000", "7"));
		life_put(&l, item);
		(void)snprintf(before, sizeof(before), "%s", life_item(&l));
		o.beat = 5;
		o.token_seen = 7;
		o.tokens = 3;
		life_expect(&l, &o, "", done ? OUTCOME_DONE :
		    OUTCOME_CONFLICT);
		if (!done) {
			ck_assert_str_eq(life_item(&l), before);
		} else if (!release) {
			ck_assert_uint_eq(r->beat, 6);
			ck_assert(ident_equal(r->holders[0].grant, me.grant));
			ck_assert(r->holders[0].fail_closed ==
			    acts[i].closed);
			ck_assert_uint_eq(r->token, acts[i].closed ? 0 :
			    acts[i].kind == OPERATION_EXTEND ? 10 : 7);
		} else {
			ck_assert(r->n_holders == 0);
			ck_assert(r->exists != acts[i].closed);
			ck_assert_uint_eq(r->token, acts[i].closed ? 0 : 7);
		}
		life_done(&l);
	}
}

TEST(test_extend_has_an_end)
{
	struct life l = begin(false);
	struct operation o = life_make(OPERATION_EXTEND);
	char item[512];

	(void)snprintf(item, sizeof(item), "%s",
	    mine(&l, me.grant.high, 0, "3000", "9007199254740990"));
	life_put(&l, item);
	o.tokens = 2;
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	o.token_seen = TOKEN_MAX - 1;
	life_refuses(&l, &o, DDBLOCK_E_BAD_RECORD, "fencingToken");
	o.tokens = 1;
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.lock.token, TOKEN_MAX);
	life_done(&l);
}

/* It is to be that high, however often it lands; and never lower. */
TEST(test_extend_once)
{
	struct life l = begin(false);
	struct operation o = life_make(OPERATION_EXTEND);

	life_put(&l, mine(&l, me.grant.high, 0, "3000", "7"));
	o.token_seen = 7;
	o.tokens = UINT64_C(1) << 50;
	life_expect(&l, &o, "aaa", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.lock.token, 7 + o.tokens);
	ck_assert_uint_eq(l.outcome.lock.beat, 4);
	o.beat = 4;
	o.tokens--;
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	ck_assert_uint_eq(l.outcome.lock.token, 8 + o.tokens);
	life_done(&l);
}

TEST(test_break)
{
	for (int closed = 0; closed < 2; closed++) {
		struct life l = begin(closed == 1);
		struct operation o = life_make(OPERATION_BREAK);

		life_put(&l, closed ? CLOSED : THEIRS);
		o.version = OTHER_GUID;
		life_expect(&l, &o, "", OUTCOME_CONFLICT);
		life_is(&l, closed ? CLOSED : THEIRS);
		o.version = THEIR_GUID;
		life_expect(&l, &o, "", OUTCOME_DONE);
		ck_assert_uint_eq(l.outcome.lock.n_holders, 0);
		/* Its holder must not renew it. */
		ck_assert(strstr(life_item(&l), THEIR_GUID) == NULL);
		ck_assert(l.outcome.lock.exists == (closed == 0));
		ck_assert_uint_eq(l.outcome.lock.token, closed ? 0 : 7);
		life_done(&l);
	}
}

TEST_LOOP(test_lost_answers, 0, LIFE_NETS)
{
	static const struct life_cycle open = {
		.dead = THEIRS, .free = FREED, .takes = true, .extends = true,
	};
	static const struct life_cycle closed = { .dead = CLOSED };
	struct life l = begin(false);

	life_cycle(&l, &open, life_nets[_i]);
	l.table.keep_attributes = false;
	l.table.local_time = true;
	life_remove(&l);
	life_cycle(&l, &open, life_nets[_i]);
	life_done(&l);
	l = begin(true);
	life_cycle(&l, &closed, life_nets[_i]);
	life_done(&l);
}

/* A renewal that lands late does not renew a released hold. */
TEST(test_late_copies)
{
	for (int closed = 0; closed < 2; closed++) {
		struct life l = begin(closed == 1);
		struct operation o = life_make(OPERATION_ACQUIRE);

		life_expect(&l, &o, "h", OUTCOME_DONE);
		o = life_make(OPERATION_REFRESH);
		life_expect(&l, &o, "h", OUTCOME_DONE);
		ck_assert_uint_eq(l.outcome.lock.beat, 2);
		ck_assert(!life_land(&l, 0));
		ck_assert(!life_land(&l, 1));
		o = life_make(OPERATION_RELEASE);
		life_expect(&l, &o, "", OUTCOME_DONE);
		ck_assert(!life_land(&l, 1));
		o = life_make(OPERATION_READ);
		life_expect(&l, &o, "", OUTCOME_DONE);
		ck_assert_uint_eq(l.outcome.lock.n_holders, 0);
		life_done(&l);
	}
}

static const struct {
	bool closed;
	const char *item, *attribute, *words;
} bad[] = {
	{ false, "", "owner", "a text (S)" },
	{ false, N("owner", "1") "," B("guid", THEIR_GUID) ","
	    N("leaseDurationMs", "3000") "," N("fencingToken", "1"),
	    "owner", "a text (S)" },
	{ false, OPEN("js", "AAAA", "3000", "1"), "guid", "64 bytes" },
	{ false, OPEN("js", "AAAA" THEIR_GUID, "3000", "1"), "guid",
	    "64 bytes" },
	{ false, S("owner", "js") "," S("guid", "x") ","
	    N("leaseDurationMs", "3000") "," N("fencingToken", "1"), "guid",
	    "64 bytes" },
	{ false, OPEN("js", THEIR_GUID, "0", "1"), "leaseDurationMs",
	    "366 days" },
	{ false, OPEN("js", THEIR_GUID, "-5", "1"), "leaseDurationMs",
	    "whole" },
	{ false, OPEN("js", THEIR_GUID, "1.5", "1"), "leaseDurationMs",
	    "whole" },
	{ false, OPEN("js", THEIR_GUID, "31622400001", "1"),
	    "leaseDurationMs", "366 days" },
	{ false, OPEN("js", THEIR_GUID, "3000", "9007199254740992"),
	    "fencingToken", "2^53" },
	{ false, OPEN("js", THEIR_GUID, "3000", "1.5"), "fencingToken",
	    "whole" },
	{ false, S("owner", "js") "," B("guid", THEIR_GUID) ","
	    N("leaseDurationMs", "3000"), "fencingToken", "whole" },
	/* Of the other format. */
	{ false, CLOSED, "leaseDurationMs", "milliseconds" },
	{ true, THEIRS, "leaseDurationMs", "js-fail-open" },
	{ true, S("owner", "js"), "guid", "64 bytes" },
	{ true, B("guid", THEIR_GUID), "owner", "a text (S)" },
};

TEST_ROWS(test_bad_records, bad)
{
	struct life l = begin(bad[_i].closed);

	life_is_bad(&l, bad[_i].item, bad[_i].attribute, bad[_i].words);
	life_done(&l);
}

TEST(test_refused)
{
	struct life l = begin(false);
	struct operation o = life_make(OPERATION_ACQUIRE);

	o.me.lease_ms = 1;	/* that is released */
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "lease");
	o = life_make(OPERATION_ACQUIRE);
	o.me.fail_closed = true;
	life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED, "js-fail-open has no");
	o = life_make(OPERATION_UPDATE);
	life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED, "attributes");
	life_done(&l);

	l = begin(true);
	o = life_make(OPERATION_EXTEND);
	life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED, "fencing tokens");
	life_put(&l, CLOSED);
	o = life_make(OPERATION_ACQUIRE);
	o.version = THEIR_GUID;
	o.dead = &you;
	o.n_dead = 1;
	life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED, "nobody takes");
	o.version = NULL;
	o.n_dead = 0;
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	ck_assert(l.outcome.lock.holders[0].fail_closed);
	life_is(&l, CLOSED);
	ck_assert(!dialect_js_fail_closed.key_attribute_ok("guid"));
	ck_assert(!dialect_js_fail_open.key_attribute_ok("leaseDurationMs"));
	ck_assert(dialect_js_fail_open.key_attribute_ok("id"));
	ck_assert(dialect_js_fail_closed.life == LOCK_LIFE_NEVER);
	ck_assert(dialect_js_fail_open.host_clock);
	life_done(&l);
}
