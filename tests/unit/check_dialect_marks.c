/*
 * Marks: an observer of a record adds its mark, and the writes that remove it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "dialect_life.h"
#include "test.h"

#define UUID "be1eade1-ee97-468e-a1bf-f21c994fc88c"
#define A16 "AAAAAAAAAAAAAAAA"
#define GUID A16 A16 A16 A16 A16 "AAAAAA=="
#define ONE "00000000000000010000000000000002"
#define TWO "00000000000000030000000000000004"
#define MARKS(elements) "'ddblockd_marks':{'SS':[" elements "]}"

static const struct ident one = { 1, 2 };

/* A record of another client in each format that has marks. */
static const struct {
	const struct dialect *dialect;
	const char *record;
	const char *version;
} formats[] = {
	{ &dialect_awslabs, S("leaseDuration", "3000") ","
	    S("ownerName", "them") "," S("recordVersionNumber", UUID), UUID },
	{ &dialect_python, N("expiry_time", "1795222067") ","
	    N("lease_duration", "3") "," S("owner_name", "them") ","
	    S("record_version_number", UUID), UUID },
	{ &dialect_js_fail_open, N("fencingToken", "7") "," B("guid", GUID) ","
	    N("leaseDurationMs", "3000") "," S("owner", "them"), GUID },
};

static const struct dialect_table table = {
	.table = "locks", .key_attribute = "key", .host = "web-1",
	.keep_attributes = true, .keep_released = true,
};

/* So many elements that say nothing, in quotes and behind commas. */
static const char *
others(unsigned n)
{
	static char text[2048];
	size_t at = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
		    ",'%032x'", 100 + i);
	return text;
}

/* Their record with these marks: the version, if @current, and others. */
static void
put(struct life *l, int format, bool current, const char *elements)
{
	char item[4096];

	(void)snprintf(item, sizeof(item), "%s," MARKS("'%s'%s"),
	    formats[format].record, current ? formats[format].version : "old",
	    elements);
	life_put(l, item);
}

static struct life
begin(int format)
{
	struct life l;

	life_init(&l, formats[format].dialect, &table);
	life_put(&l, formats[format].record);
	return l;
}

static struct operation
mark(int format, enum mark_form form)
{
	struct operation o = life_make(OPERATION_MARK);

	o.version = formats[format].version;
	o.mark = one;
	o.mark_form = form;
	return o;
}

TEST_LOOP(test_first, 0, 3)
{
	struct life l = begin(_i);
	struct operation o = mark(_i, MARK_FIRST);
	const struct lock_record *r;

	r = &life_expect(&l, &o, "", OUTCOME_DONE)->lock;
	ck_assert_uint_eq(r->n_marks, 1);
	ck_assert(ident_equal(r->marks[0], one));
	ck_assert_str_eq(r->version, formats[_i].version);
	ck_assert_uint_eq(r->contents.n_attributes, 0);
	/* Another host was faster. */
	put(&l, _i, true, ",'" TWO "'");
	r = &life_expect(&l, &o, "", OUTCOME_CONFLICT)->lock;
	ck_assert_uint_eq(r->n_marks, 1);
	/* Marks of another version do not count, and are removed. */
	put(&l, _i, false, ",'" TWO "'");
	r = &life_expect(&l, &o, "", OUTCOME_DONE)->lock;
	ck_assert_uint_eq(r->n_marks, 1);
	ck_assert(ident_equal(r->marks[0], one));
	o.version = formats[_i].dialect == &dialect_js_fail_open ?
	    "B" A16 A16 A16 A16 A16 "AAAAA==" :
	    "00000000-0000-4000-8000-000000000000";
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	life_done(&l);
}

TEST_LOOP(test_beside, 0, 3)
{
	struct life l = begin(_i);
	struct operation o = mark(_i, MARK_BESIDE);

	life_expect(&l, &o, "", OUTCOME_CONFLICT);	/* it has none */
	put(&l, _i, false, ",'" TWO "'");
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	put(&l, _i, true, others(MARKS_MAX - 1));
	ck_assert_uint_eq(life_expect(&l, &o, "", OUTCOME_DONE)->lock.n_marks,
	    MARKS_MAX);
	put(&l, _i, true, others(MARKS_MAX));
	ck_assert_uint_eq(life_expect(&l, &o, "", OUTCOME_CONFLICT)->
	    lock.n_marks, MARKS_MAX);
	life_done(&l);
}

TEST_LOOP(test_instead, 0, 3)
{
	struct life l = begin(_i);
	struct operation o = mark(_i, MARK_INSTEAD);

	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	put(&l, _i, true, others(MARKS_MAX - 1));
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	put(&l, _i, false, others(MARKS_MAX));
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	put(&l, _i, true, others(MARKS_MAX));
	ck_assert_uint_eq(life_expect(&l, &o, "", OUTCOME_DONE)->lock.n_marks,
	    1);
	life_done(&l);
}

/* More than any daemon puts there, by another program: the version counts
 * wherever it stands, as it does for the endpoint. */
TEST_LOOP(test_crowd, 0, 3)
{
	struct life l = begin(_i);
	struct operation o = mark(_i, MARK_FIRST);
	size_t size = 3000 * sizeof(",'" ONE "'"), at;
	char *item = malloc(size);

	ck_assert_ptr_nonnull(item);
	at = (size_t)snprintf(item, size, "%s,'ddblockd_marks':{'SS':[",
	    formats[_i].record);
	for (unsigned i = 0; i < 2500; i++)
		at += (size_t)snprintf(item + at, size - at, "'%032x',", i);
	(void)snprintf(item + at, size - at, "'%s']}", formats[_i].version);
	life_put(&l, item);
	ck_assert_uint_eq(life_expect(&l, &o, "", OUTCOME_CONFLICT)->
	    lock.n_marks, 2500);
	free(item);
	life_done(&l);
}

TEST_LOOP(test_takeover, 0, 3)
{
	struct operation o = life_make(OPERATION_ACQUIRE);
	struct life l = begin(_i);

	o.version = formats[_i].version;
	o.dead = &you;
	o.n_dead = 1;
	o.token_seen = 7;
	o.mark = one;
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	put(&l, _i, true, ",'" TWO "'");
	life_expect(&l, &o, "", OUTCOME_CONFLICT);
	put(&l, _i, true, ",'" ONE "','" TWO "'");
	ck_assert_uint_eq(life_expect(&l, &o, "", OUTCOME_DONE)->lock.n_marks,
	    0);
	ck_assert_ptr_eq(strstr(life_item(&l), "ddblockd_marks"), NULL);
	life_done(&l);
}

/* Add marks to the present record. */
static void
add(struct life *l)
{
	char item[4096];

	(void)snprintf(item, sizeof(item), "%s," MARKS("'" ONE "'"),
	    life_item(l));
	life_put(l, item);
}

TEST_LOOP(test_ours_wipe_it, 0, 3)
{
	static const enum operation_kind kinds[] = {
		OPERATION_REFRESH, OPERATION_RELEASE, OPERATION_ACQUIRE,
	};
	struct operation o = life_make(OPERATION_ACQUIRE);
	struct life l = begin(_i);
	const struct lock_record *r;
	char version[256];

	life_remove(&l);
	life_expect(&l, &o, "", OUTCOME_DONE);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (life_item(&l)[0] == '\0')
			continue;	/* the release deleted it */
		add(&l);
		o = life_make(OPERATION_READ);
		r = &life_expect(&l, &o, "", OUTCOME_DONE)->lock;
		(void)snprintf(version, sizeof(version), "%s", r->version);
		o = life_make(kinds[i]);
		o.version = kinds[i] == OPERATION_ACQUIRE ? version : NULL;
		o.token_seen = r->token;
		life_expect(&l, &o, "", OUTCOME_DONE);
		ck_assert_ptr_eq(strstr(life_item(&l), "ddblockd_marks"),
		    NULL);
	}
	life_done(&l);
}

/* What may yet land is not sent again: it would be the same mark. */
TEST_LOOP(test_lost, 0, 3)
{
	struct life l = begin(_i);
	struct operation o = mark(_i, MARK_FIRST);

	life_expect(&l, &o, "a", OUTCOME_UNKNOWN);
	ck_assert_uint_eq(l.n_requests, 1);
	life_put(&l, formats[_i].record);
	life_expect(&l, &o, "t.", OUTCOME_DONE);
	ck_assert_uint_eq(l.n_requests, 2);
	life_done(&l);
}

TEST_LOOP(test_bad, 0, 3)
{
	static const char *const bad[] = {
		S("ddblockd_marks", "x"), N("ddblockd_marks", "1"),
	};
	struct life l = begin(_i);
	char item[4096];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		(void)snprintf(item, sizeof(item), "%s,%s",
		    formats[_i].record, bad[i]);
		life_is_bad(&l, item, "ddblockd_marks", "SS");
	}
	life_done(&l);
}

TEST_LOOP(test_others_have_none, 0, 3)
{
	static const struct dialect *const none[] = {
		&dialect_js_fail_closed, &dialect_dlock, &dialect_native,
	};
	struct operation o = mark(0, MARK_FIRST);
	struct life l;

	life_init(&l, none[_i], &table);
	life_refuses(&l, &o, _i == 2 ? DDBLOCK_E_BAD_REQUEST :
	    DDBLOCK_E_UNSUPPORTED, "");
	life_done(&l);
}
