/*
 * The record format of dlock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "ddblock.h"
#include "dialect_life.h"
#include "test.h"

#define SKEW 10000
#define NAME "11112222333344448555666600000000"
#define OWN(until) S("owner", "us-" NAME) "," N("until", until)
#define MINE OWN("1800000020000")
#define THEM S("owner", "w8347-1795219011008264509")
#define OVER "1799999990000"		/* by just the skew */
#define THEIRS(until) THEM "," N("until", until)
#define TOKEN(b) "," B("fencingToken", b)
#define MORE "," S("more", "x")

static struct life
begin(bool fencing)
{
	const struct dialect_table table = {
		.table = "dlock", .key_attribute = "key", .host = "web-1",
		.keep_attributes = true, .fencing = fencing, .skew_ms = SKEW,
	};
	struct life l;

	life_init(&l, &dialect_dlock, &table);
	return l;
}

/* An acquire of the present record, which is put there first. */
static struct operation
take(struct life *l, const char *item, char version[512])
{
	struct operation o = life_make(OPERATION_READ);

	life_put(l, item);
	(void)snprintf(version, 512, "%s", life_expect(l, &o, "",
	    OUTCOME_DONE)->lock.version);
	o = life_make(OPERATION_ACQUIRE);
	o.version = version;
	o.n_dead = l->outcome.lock.n_holders;
	o.dead = &you;
	return o;
}

TEST_LOOP(test_acquire, 0, 2)
{
	struct life l = begin(_i == 1);
	struct operation o = life_make(OPERATION_ACQUIRE);
	const struct lock_record *r;

	r = &life_expect(&l, &o, "", OUTCOME_DONE)->lock;
	life_is(&l, _i == 1 ? MINE TOKEN("AQ==") : MINE);
	ck_assert_str_eq(r->owner, "us");
	ck_assert(ident_equal(r->holders[0].session, me.grant));
	ck_assert(ident_equal(r->holders[0].grant, me.grant));
	ck_assert_uint_eq(r->beat, WALL + 20000);
	ck_assert_uint_eq(r->ends_in_ms, 20000 + SKEW);
	ck_assert_uint_eq(r->holders[0].lease_ms, 20000 + SKEW);
	ck_assert_uint_eq(r->token, _i == 1 ? 1 : 0);
	ck_assert_str_eq(r->version, _i == 1 ? "1800000020000:01:us-" NAME :
	    "1800000020000::us-" NAME);
	life_done(&l);
}

/* Unseen: a record that is over for every clock, and in the format. */
static const struct {
	const char *item;
	enum outcome_kind plain, fencing;
} unseen[] = {
	{ THEIRS(OVER) MORE, OUTCOME_DONE, OUTCOME_CONFLICT },
	{ THEIRS("1799999990001") MORE, OUTCOME_CONFLICT, OUTCOME_CONFLICT },
	{ THEIRS("1000"), OUTCOME_DONE, OUTCOME_CONFLICT },
	{ THEIRS("-1000"), OUTCOME_REFUSED, OUTCOME_REFUSED },
	{ N("owner", "1") "," N("until", "1000"), OUTCOME_REFUSED,
	    OUTCOME_REFUSED },
	{ THEM "," S("until", "1000"), OUTCOME_REFUSED, OUTCOME_REFUSED },
};

TEST_ROWS(test_acquire_unseen, unseen)
{
	for (int fencing = 0; fencing < 2; fencing++) {
		enum outcome_kind kind = fencing ? unseen[_i].fencing :
		    unseen[_i].plain;
		struct life l = begin(fencing == 1);
		struct operation o = life_make(OPERATION_ACQUIRE);

		life_put(&l, unseen[_i].item);
		life_expect(&l, &o, "", kind);
		life_is(&l, kind != OUTCOME_DONE ? unseen[_i].item :
		    _i == 0 ? MINE MORE : MINE);
		life_done(&l);
	}
}

/* Each term: the owner, the time, the token, and that it is over. */
static const struct {
	bool fencing;
	const char *seen, *there;
	bool done;
	const char *token;
} takes[] = {
	{ false, THEIRS(OVER), THEIRS(OVER), true, "" },
	{ false, THEIRS("1799999990001"), THEIRS("1799999990001"), false,
	    NULL },
	{ false, THEIRS(OVER), THEIRS("1799999980000"), false, NULL },
	{ false, THEIRS(OVER), S("owner", "x") "," N("until", OVER), false,
	    NULL },
	{ true, THEIRS(OVER) TOKEN("CA=="), THEIRS(OVER) TOKEN("CA=="), true,
	    TOKEN("CQ==") },
	{ true, THEIRS(OVER) TOKEN("CA=="), THEIRS(OVER) TOKEN("EA=="),
	    false, NULL },
	{ true, THEIRS(OVER) TOKEN("CA=="), THEIRS("5") TOKEN("CA=="),
	    false, NULL },
	{ true, THEIRS(OVER) TOKEN("CA=="), S("owner", "x") ","
	    N("until", OVER) TOKEN("CA=="), false, NULL },
	{ true, THEIRS("1799999990001") TOKEN("CA=="),
	    THEIRS("1799999990001") TOKEN("CA=="), false, NULL },
	{ true, THEIRS("1000") TOKEN("/w=="), THEIRS("1000") TOKEN("/w=="),
	    true, TOKEN("AQA=") },
	{ true, THEIRS("1000") TOKEN("AP8="), THEIRS("1000") TOKEN("AP8="),
	    true, TOKEN("AQA=") },
	/* Without a token, it begins. */
	{ true, THEIRS(OVER), THEIRS(OVER), true, TOKEN("AQ==") },
	{ true, THEIRS(OVER), THEIRS(OVER) TOKEN("AQ=="), false, NULL },
	{ true, THEIRS("1799999990001"), THEIRS("1799999990001"), false,
	    NULL },
};

TEST_ROWS(test_take, takes)
{
	for (int drop = 0; drop < 2; drop++) {
		struct life l = begin(takes[_i].fencing);
		char there[512], result[512], version[512];
		struct operation o = take(&l, takes[_i].seen, version);

		l.table.keep_attributes = drop == 0;
		(void)snprintf(there, sizeof(there), "%s%s", takes[_i].there,
		    MORE);
		life_put(&l, there);
		(void)snprintf(result, sizeof(result), "%s%s%s", MINE,
		    takes[_i].done ? takes[_i].token : "",
		    drop == 0 ? MORE : "");
		life_expect(&l, &o, "", takes[_i].done ? OUTCOME_DONE :
		    OUTCOME_CONFLICT);
		life_is(&l, takes[_i].done ? result : there);
		life_done(&l);
	}
}

/* Ours, forward only, and not after the release. */
static const struct {
	const char *item;
	bool renews, releases;
} holds[] = {
	{ OWN("1800000015000") TOKEN("CA=="), true, true },
	{ OWN("1800000019999") TOKEN("CA=="), true, true },
	{ OWN("1800000020001") TOKEN("CA=="), false, true },
	{ OWN("1000") TOKEN("CA=="), false, true },
	{ OWN("1001") TOKEN("CA=="), true, true },
	{ S("owner", "other-" NAME) "," N("until", "1800000015000")
	    TOKEN("CA=="), true, true },
	{ S("owner", "us-11112222333344448555666600000001") ","
	    N("until", "1800000015000") TOKEN("CA=="), false, false },
	{ THEIRS("1800000015000") TOKEN("CA=="), false, false },
};

TEST_ROWS(test_ours, holds)
{
	for (int fencing = 0; fencing < 2; fencing++) {
		struct life l = begin(fencing == 1);
		struct operation o = life_make(OPERATION_REFRESH);
		char item[512];

		life_put(&l, holds[_i].item);
		life_expect(&l, &o, "", holds[_i].renews ? OUTCOME_DONE :
		    OUTCOME_CONFLICT);
		(void)snprintf(item, sizeof(item), _i == 5 ?
		    S("owner", "other-" NAME) "," N("until", "1800000020000")
		    TOKEN("CA==") : MINE TOKEN("CA=="));
		life_is(&l, holds[_i].renews ? item : holds[_i].item);
		life_put(&l, holds[_i].item);
		o = life_make(OPERATION_RELEASE);
		life_expect(&l, &o, "", holds[_i].releases ? OUTCOME_DONE :
		    OUTCOME_CONFLICT);
		if (!holds[_i].releases)
			life_is(&l, holds[_i].item);
		else if (fencing == 0)
			life_is(&l, "");
		else
			ck_assert(strstr(life_item(&l), N("until", "1000"))
			    != NULL && strstr(life_item(&l),
			    B("fencingToken", "CA==")) != NULL &&
			    l.outcome.lock.token == 8 &&
			    l.outcome.lock.n_holders == 0);
		life_done(&l);
	}
}

TEST(test_extend)
{
	struct life l = begin(true);
	struct operation o = life_make(OPERATION_EXTEND);

	o.tokens = 3;
	o.token_seen = 0x1ff;
	life_put(&l, OWN("1800000015000") TOKEN("AgA="));
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	life_put(&l, OWN("1800000015000") TOKEN("Af8="));
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.lock.token, 0x202);
	life_is(&l, MINE TOKEN("AgI="));
	life_put(&l, THEIRS("1800000015000") TOKEN("Af8="));
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	life_put(&l, OWN("1000") TOKEN("Af8="));
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	life_put(&l, OWN("1800000020000") TOKEN("Af8="));
	o.beat = WALL + 20000;	/* the clock was put back: forward all the
				 * same */
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.lock.beat, WALL + 20001);
	o.token_seen = TOKEN_MAX;
	life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "not seen");
	l.table.fencing = false;
	life_refuses(&l, &o, DDBLOCK_E_UNSUPPORTED, "fencing");
	life_done(&l);
}

TEST(test_break)
{
	static const char *const others[] = {
		THEIRS("1800000015001") TOKEN("CA=="),
		S("owner", "x") "," N("until", "1800000015000")
		    TOKEN("CA=="),
		THEIRS("1800000015000") TOKEN("CQ=="),
		THEIRS("1800000015000"),
	};

	for (int fencing = 0; fencing < 2; fencing++) {
		struct life l = begin(fencing == 1);
		char version[512];
		struct operation o = take(&l, THEIRS("1800000015000")
		    TOKEN("CA=="), version);

		o.kind = OPERATION_BREAK;
		for (size_t i = 0; i < (fencing ? 4u : 2u); i++) {
			life_put(&l, others[i]);
			life_expect(&l, &o, "", OUTCOME_CONFLICT);
			life_is(&l, others[i]);
		}
		life_put(&l, THEIRS("1800000015000") TOKEN("CA=="));
		life_expect(&l, &o, "", OUTCOME_DONE);
		life_is(&l, fencing ? THEIRS("1000") TOKEN("CA==") : "");
		life_done(&l);
	}
}

TEST_LOOP(test_lost_answers, 0, LIFE_NETS)
{
	struct life_cycle cycle = {
		.dead = THEIRS("5000") TOKEN("CA=="), .takes = true,
		.free = THEIRS("1000") TOKEN("CA=="),
	};

	for (int fencing = 0; fencing < 2; fencing++) {
		struct life l = begin(fencing == 1);

		cycle.extends = fencing == 1;
		life_cycle(&l, &cycle, life_nets[_i]);
		l.table.keep_attributes = false;
		life_remove(&l);
		life_cycle(&l, &cycle, life_nets[_i]);
		life_done(&l);
	}
}

/* A record never says that a hold ends before its holder believes that: the
 * time of each attempt is that of its send. */
TEST_LOOP(test_time_of_attempts, 0, 2)
{
	struct life l = begin(_i == 1);
	struct operation o = life_make(OPERATION_ACQUIRE);
	const struct outcome *out;
	uint64_t start = l.now_ms;

	out = life_expect(&l, &o, "tt", OUTCOME_DONE);
	ck_assert_uint_eq(out->sent_ms, start + 2 * STEP);
	ck_assert_uint_eq(out->lock.beat, WALL + 2 * STEP + 20000);
	start = l.now_ms;
	o = life_make(OPERATION_REFRESH);
	o.beat = out->lock.beat;
	l.now_ms += 5000;
	out = life_expect(&l, &o, "tas", OUTCOME_DONE);
	/* That of the second, or of the third: each with its own. */
	ck_assert_uint_eq(out->lock.beat - 20000 - WALL,
	    out->sent_ms - BOOT);
	start = l.now_ms;
	o.beat = out->lock.beat;
	out = life_expect(&l, &o, "h", OUTCOME_DONE);
	ck_assert_uint_eq(out->sent_ms, start + STEP);
	ck_assert_uint_eq(out->lock.beat, WALL + start + STEP - BOOT + 20000);
	ck_assert(!life_land(&l, 0));
	o = life_make(OPERATION_RELEASE);
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert(!life_land(&l, 0));	/* not after the release */
	life_done(&l);
}

/* A hold's end is seen with the clock of the attempt. */
TEST(test_ends)
{
	struct life l = begin(false);
	struct operation o = life_make(OPERATION_READ);
	const struct lock_record *r;

	life_put(&l, THEIRS(OVER));
	r = &life_expect(&l, &o, "", OUTCOME_DONE)->lock;
	ck_assert_uint_eq(r->ends_in_ms, 0);
	ck_assert_uint_eq(r->holders[0].lease_ms, 1);
	ck_assert_str_eq(r->owner, "w8347-1795219011008264509");
	life_put(&l, THEIRS("1800000001000"));
	r = &life_expect(&l, &o, "r", OUTCOME_DONE)->lock;
	ck_assert_uint_eq(r->ends_in_ms, 1000 + SKEW - STEP);
	life_put(&l, THEIRS("1000"));
	r = &life_expect(&l, &o, "", OUTCOME_DONE)->lock;
	ck_assert(r->exists && r->n_holders == 0);
	life_done(&l);
}

/* Bytes, and the number that they are. */
static const struct {
	const char *bytes, *digits;
	uint64_t token;
} tokens[] = {
	{ "AA==", NULL, 0 },
	{ "AAE=", NULL, 1 },
	{ "H////////w==", NULL, TOKEN_MAX },
	{ "IAAAAAAAAA==", "9007199254740992", TOKEN_MAX },
	{ "AQAAAAAAAAAA", "18446744073709551616", TOKEN_MAX },
	/* Zeros within. */
	{ "AzsuPJ/QgDzoAAAA",
	    "1000000000000000000000000000", TOKEN_MAX },
	{ "AzsuPJHvyYlAnAAB",
	    "999999999000000000000000001", TOKEN_MAX },
};

TEST_ROWS(test_tokens, tokens)
{
	struct life l = begin(true);
	struct operation o = life_make(OPERATION_READ);
	char item[512];

	(void)snprintf(item, sizeof(item), THEIRS("5000")
	    TOKEN("%s"), tokens[_i].bytes);
	life_put(&l, item);
	life_expect(&l, &o, "", OUTCOME_DONE);
	ck_assert_uint_eq(l.outcome.lock.token, tokens[_i].token);
	if (tokens[_i].digits == NULL)
		ck_assert(l.outcome.lock.token_text == NULL);
	else
		ck_assert_str_eq(l.outcome.lock.token_text,
		    tokens[_i].digits);
	life_done(&l);
}

/* As many bytes as there may be, and what comes after them. */
TEST(test_longest_token)
{
	const size_t n = 1024;
	unsigned char *bytes = calloc(1, n + 1);
	struct life l = begin(true);
	struct operation o = life_make(OPERATION_READ);
	struct buffer item;

	ck_assert(bytes != NULL);
	bytes[0] = 1;		/* 2^8184, and then 2^8192 */
	for (size_t more = 0; more < 2; more++) {
		buffer_init(&item, 100000);
		ck_assert_int_eq(buffer_append_text(&item, THEIRS("5000")
		    ",'fencingToken':{'B':'"), 0);
		base64_append(&item, bytes, n + more);
		ck_assert_int_eq(buffer_append_text(&item, "'}"), 0);
		life_put(&l, item.data);
		buffer_done(&item);
		life_run(&l, &o, "");
		if (more == 0) {
			ck_assert_int_eq(l.outcome.kind, OUTCOME_DONE);
			ck_assert_uint_eq(strlen(l.outcome.lock.token_text),
			    2464);
			ck_assert_int_eq(strncmp(l.outcome.lock.token_text,
			    "4", 1), 0);
		} else {
			ck_assert_int_eq(l.outcome.code,
			    DDBLOCK_E_BAD_RECORD);
			ck_assert(strstr(l.outcome.text, "1024 bytes"));
		}
	}
	free(bytes);
	life_done(&l);
}

static const struct {
	const char *item, *attribute, *words;
} bad[] = {
	{ "", "owner", "a text (S)" },
	{ N("until", "5000"), "owner", "a text (S)" },
	{ N("owner", "1") "," N("until", "5000"), "owner", "a text (S)" },
	{ THEM, "until", "whole milliseconds" },
	{ THEM "," S("until", "5000"), "until", "whole milliseconds" },
	{ THEIRS("-1"), "until", "whole milliseconds" },
	{ THEIRS("1.5"), "until", "whole milliseconds" },
	{ THEIRS("1831622400001"), "until", "366 days" },
	{ THEIRS("5000") "," N("fencingToken", "1"), "fencingToken",
	    "bytes (B)" },
	{ THEIRS("5000") TOKEN(""), "fencingToken", "1 to 1024 bytes" },
	{ S("owner", "a\\u0000b") "," N("until", "5000"), "owner", "text" },
	/* Of another format. */
	{ S("owner", "js") "," N("leaseDurationMs", "3"), "until", "time" },
};

TEST_ROWS(test_bad_records, bad)
{
	struct life l = begin(true);

	life_is_bad(&l, bad[_i].item, bad[_i].attribute, bad[_i].words);
	life_done(&l);
}

TEST(test_odd_versions)
{
	static const char *const versions[] = {
		"", "5", "5:", "x::o", "-5::o", "5:0:o", "5:0G:o", "5.5::o",
	};
	struct life l = begin(true);
	struct operation o = life_make(OPERATION_ACQUIRE);

	for (size_t i = 0; i < sizeof(versions) / sizeof(char *); i++) {
		o.version = versions[i];
		life_refuses(&l, &o, DDBLOCK_E_BAD_REQUEST, "not seen");
	}
	/* An owner may have colons. */
	life_put(&l, S("owner", "a:b:c") "," N("until", "5000"));
	o.version = "5000::a:b:c";
	life_expect(&l, &o, "", OUTCOME_DONE);
	life_done(&l);
}
