/*
 * ddblock top: what is kept of many rows, and what is counted and compared.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/top/best.h"
#include "cli/top/model.h"
#include "cli/top/row.h"
#include "cli/top/tally.h"
#include "test.h"

static const uint64_t random_bits[2] = { 17, 4711 };

/* ---- rows and the best of them -------------------------------------- */

static struct row
hold(const char *key, uint64_t id, uint64_t token, uint64_t held_ms)
{
	struct row r;

	row_init(&r);
	r.ns = "default";
	r.key = key;
	r.id = id;
	r.token = token;
	r.held_ms = held_ms;
	r.who = "worker";
	r.state = "held";
	return r;
}

static struct row
wait_for(const char *key, uint64_t waited_ms)
{
	struct row r;

	row_init(&r);
	r.ns = "default";
	r.key = key;
	r.who = "waiter";
	r.holder = "web-3/cron:7";
	r.waited_ms = waited_ms;
	return r;
}

/* In whichever order 5,000 rows come, the first 500 of them stay, in order. */
static const uint64_t strides[] = { 1, 4999, 1237 };

TEST_ROWS(test_best_of_many, strides)
{
	struct best b;

	best_init(&b, COLUMN_HELD);
	for (uint64_t i = 0; i < 5000; i++) {
		struct row r = hold("k", i, 0, i * strides[_i] % 5000);

		(void)best_offer(&b, &r);
		ck_assert_uint_le(b.n, 2 * BEST_KEPT);
	}
	best_settle(&b);
	ck_assert(b.cut && !b.failed);
	ck_assert_uint_eq(b.n, BEST_KEPT);
	for (size_t i = 0; i < b.n; i++)
		ck_assert_uint_eq(b.rows[i].held_ms, 4999 - i);
	b.reversed = true;
	best_settle(&b);
	ck_assert_uint_eq(b.rows[0].held_ms, 4500);
	best_done(&b);
}

TEST(test_order_of_rows)
{
	struct row a = hold("a", 1, 0, 5), b = hold("b", 2, 0, 5);

	ck_assert_int_lt(row_order(&a, &b, COLUMN_HELD), 0);
	ck_assert_int_lt(row_order(&a, &b, COLUMN_KEY), 0);
	/* Times are rounded: of two holds the first is older. */
	ck_assert_int_gt(row_order(&b, &a, COLUMN_HELD), 0);
	b.waiters = 3;
	ck_assert_int_lt(row_order(&a, &b, COLUMN_HELD), 0);
	b.held_ms = 6;
	ck_assert_int_gt(row_order(&a, &b, COLUMN_HELD), 0);
	/* What ends first is first; what does not end is last. */
	b.has_left = true;
	b.left_ms = 900;
	ck_assert_int_gt(row_order(&a, &b, COLUMN_LEFT), 0);
	a.has_left = true;
	a.left_ms = 800;
	ck_assert_int_lt(row_order(&a, &b, COLUMN_LEFT), 0);
}

TEST(test_what_a_filter_finds)
{
	struct row r = hold("Jobs/Nightly", 1, 0, 0);

	r.pid = 4711;
	r.holder = "web-3";
	ck_assert(row_matches(&r, ""));
	ck_assert(row_matches(&r, "jobs/n"));
	ck_assert(row_matches(&r, "WORKER"));
	r.user = "www-data";
	ck_assert(row_matches(&r, "web"));
	ck_assert(row_matches(&r, "www-"));
	ck_assert(row_matches(&r, "4711"));
	ck_assert(!row_matches(&r, "471"));
	ck_assert(!row_matches(&r, "other"));
}

/* However many locks there are, the table has its bound, and says so. */
TEST(test_tally_is_bounded)
{
	struct tally t = { .size = 0 };
	struct tally_entry *e;

	for (uint64_t i = 1; i <= TALLY_MAX; i++) {
		e = tally_add(&t, i * 0x9e3779b97f4a7c15);
		ck_assert_ptr_nonnull(e);
		e->token = i;
	}
	ck_assert(!t.full);
	ck_assert_ptr_null(tally_add(&t, 5));
	ck_assert(t.full);
	for (uint64_t i = 1; i <= TALLY_MAX; i += 1000) {
		e = tally_find(&t, i * 0x9e3779b97f4a7c15);
		ck_assert_ptr_nonnull(e);
		ck_assert_uint_eq(e->token, i);
	}
	tally_clear(&t);
	ck_assert_ptr_null(tally_find(&t, 0x9e3779b97f4a7c15));
	ck_assert_ptr_nonnull(tally_add(&t, 5));
	tally_done(&t);
}

/* ---- the status ----------------------------------------------------- */

static void
status(struct model *m, uint64_t pid, uint64_t uptime_ms, uint64_t granted,
    uint64_t requests)
{
	struct model_namespace ns = { .name = "default", .state = "ok",
		.counts = true, .granted = granted, .requests = requests };
	struct model_daemon daemon = { .pid = pid, .uptime_ms = uptime_ms };

	model_begin_status(m);
	model_namespace(m, &ns);
	model_status(m, &daemon, 1000 + uptime_ms);
	ck_assert_uint_eq(m->n_namespaces, 1);
}

TEST(test_rates_of_one_daemon)
{
	static struct model m;
	const struct model_namespace *ns = &m.namespaces[0];

	ck_assert_int_eq(model_init(&m, random_bits), 0);
	status(&m, 7, 10000, 500, 90);
	ck_assert(!ns->grants.known && !ns->asked.known);
	status(&m, 7, 12000, 600, 93);
	ck_assert(ns->grants.known && ns->grants.per_s == 50);
	ck_assert(ns->asked.known && ns->asked.per_s == 1.5);
	/* Another one counts from 0; and so may one with the same pid. */
	status(&m, 8, 13000, 700, 99);
	ck_assert(!ns->grants.known);
	status(&m, 8, 14000, 750, 99);
	ck_assert(ns->grants.per_s == 50);
	status(&m, 8, 10, 800, 99);
	ck_assert(!ns->grants.known);
	model_done(&m);
}

/* ---- looks ---------------------------------------------------------- */

static void
look(struct model *m, uint64_t now_ms, const struct row *waits,
    size_t n_waits, const struct row *holds, size_t n_holds)
{
	model_begin(m, now_ms);
	for (size_t i = 0; i < n_waits; i++) {
		struct row r = waits[i];

		model_wait(m, &r);
	}
	for (size_t i = 0; i < n_holds; i++) {
		struct row r = holds[i];

		model_hold(m, &r);
	}
	model_end(m, now_ms + 3, 1000000, false);
}

/* The lock with the most waiters is first, whether it is held here or not. */
TEST(test_waiters_of_locks)
{
	const struct row waits[] = { wait_for("far", 10), wait_for("near", 90),
		wait_for("far", 30), wait_for("far", 20) };
	const struct row holds[] = { hold("idle", 1, 1, 500),
		hold("near", 2, 1, 100) };
	static struct model m;
	const struct best *keys = &m.shown[LIST_KEYS];

	ck_assert_int_eq(model_init(&m, random_bits), 0);
	look(&m, 100, waits, 4, holds, 2);
	ck_assert_uint_eq(keys->n, 3);
	ck_assert_str_eq(keys->rows[0].key, "far");
	ck_assert_uint_eq(keys->rows[0].waiters, 3);
	ck_assert_uint_eq(keys->rows[0].waited_ms, 30);
	ck_assert_str_eq(keys->rows[0].who, "web-3/cron:7");
	ck_assert(!keys->rows[0].is_held);
	ck_assert_str_eq(keys->rows[1].key, "near");
	ck_assert_uint_eq(keys->rows[1].waiters, 1);
	ck_assert_uint_eq(keys->rows[1].held_ms, 100);
	ck_assert_str_eq(keys->rows[1].who, "worker");
	ck_assert_str_eq(keys->rows[2].key, "idle");
	ck_assert_str_eq(m.shown[LIST_HOLDS].rows[0].key, "idle");
	ck_assert_uint_eq(m.shown[LIST_WAITS].rows[0].waited_ms, 90);
	ck_assert_uint_eq(m.n_holds, 2);
	ck_assert_uint_eq(m.n_waits, 4);
	ck_assert_uint_eq(m.took_ms, 3);
	/* Another order, of what is there. */
	model_sort(&m, LIST_KEYS, COLUMN_KEY, true);
	ck_assert_str_eq(keys->rows[0].key, "near");
	model_done(&m);
}

/* A lock whose first waiter comes early and last one late is not overlooked
 * among thousands: its row may have been dropped in between. */
TEST(test_busy_lock_among_thousands)
{
	static struct model m;
	static char names[4000][8];
	struct row r;

	ck_assert_int_eq(model_init(&m, random_bits), 0);
	model_begin(&m, 100);
	for (int i = 0; i < 4000; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "k%d", i);
		for (int k = 0; k < 2 && i > 0; k++) {
			r = wait_for(names[i], 5000);
			model_wait(&m, &r);
		}
		if (i % 1333 != 0)
			continue;
		r = wait_for("busy", 1);
		model_wait(&m, &r);
	}
	ck_assert_uint_eq(m.waits_coming, 2 * 3999 + 4);
	model_end(&m, 110, 1000, false);
	ck_assert_str_eq(m.shown[LIST_KEYS].rows[0].key, "busy");
	ck_assert_uint_eq(m.shown[LIST_KEYS].rows[0].waiters, 4);
	ck_assert_uint_eq(m.shown[LIST_KEYS].n, BEST_KEPT);
	model_done(&m);
}

static struct rate
grants_of(const struct model *m, const char *key)
{
	const struct best *keys = &m->shown[LIST_KEYS];

	for (size_t i = 0; i < keys->n; i++) {
		if (strcmp(keys->rows[i].key, key) == 0)
			return model_grants(m, &keys->rows[i]);
	}
	ck_abort_msg("no row of %s", key);
	return (struct rate){ .known = false };
}

/* Tokens tell how often a lock was granted; but not more often than holds were
 * numbered meanwhile. */
TEST(test_grants_of_locks)
{
	const struct row first[] = { hold("busy", 1, 100, 5),
		hold("far", 2, 100, 5), hold("still", 3, 100, 5) };
	const struct row then[] = { hold("busy", 43, 140, 1),
		hold("far", 44, 5000000, 1), hold("still", 3, 100, 5),
		hold("new", 45, 1, 1) };
	static struct model m;

	ck_assert_int_eq(model_init(&m, random_bits), 0);
	status(&m, 7, 1000, 3, 0);
	look(&m, 2000, NULL, 0, first, 3);
	ck_assert(!grants_of(&m, "busy").known);
	status(&m, 7, 2000, 45, 0);
	look(&m, 6000, NULL, 0, then, 4);
	ck_assert(grants_of(&m, "busy").per_s == 10);
	ck_assert(grants_of(&m, "far").per_s == 0.25);
	ck_assert(grants_of(&m, "new").per_s == 0.25);
	ck_assert(grants_of(&m, "still").per_s == 0);
	/* Of another daemon nothing is known yet. */
	status(&m, 8, 10, 4, 0);
	look(&m, 7000, NULL, 0, first, 3);
	ck_assert(!grants_of(&m, "busy").known);
	model_done(&m);
}

/* The filter is for the rows; what others wait for is counted all the same. */
TEST(test_filter_of_looks)
{
	const struct row waits[] = { wait_for("jobs/a", 1),
		wait_for("other", 2) };
	const struct row holds[] = { hold("jobs/a", 1, 1, 1),
		hold("other", 2, 1, 1) };
	static struct model m;

	ck_assert_int_eq(model_init(&m, random_bits), 0);
	(void)snprintf(m.filter, sizeof(m.filter), "jobs");
	look(&m, 100, waits, 2, holds, 2);
	for (int i = 0; i < LISTS; i++) {
		ck_assert_uint_eq(m.shown[i].n, 1);
		ck_assert_str_eq(m.shown[i].rows[0].key, "jobs/a");
	}
	ck_assert_uint_eq(m.shown[LIST_HOLDS].rows[0].waiters, 1);
	ck_assert_uint_eq(m.n_holds, 2);
	model_done(&m);
}

/* Until a look is over, the lists are those of the one before. */
TEST(test_half_a_look)
{
	const struct row holds[] = { hold("a", 1, 1, 1) };
	struct row r = hold("b", 2, 1, 1);
	static struct model m;

	ck_assert_int_eq(model_init(&m, random_bits), 0);
	look(&m, 100, NULL, 0, holds, 1);
	model_begin(&m, 200);
	model_hold(&m, &r);
	ck_assert_uint_eq(m.shown[LIST_HOLDS].n, 1);
	ck_assert_str_eq(m.shown[LIST_HOLDS].rows[0].key, "a");
	ck_assert_uint_eq(m.n_holds, 1);
	model_done(&m);
}

/* Two locks of one key have two rows. */
TEST(test_sort_values)
{
	struct row holds[] = { hold("a", 1, 1, 1), hold("a", 2, 1, 1) };
	static struct model m;

	holds[1].sort = "7";
	ck_assert_int_eq(model_init(&m, random_bits), 0);
	look(&m, 100, NULL, 0, holds, 2);
	ck_assert_uint_eq(m.shown[LIST_KEYS].n, 2);
	/* Two that share one lock have one. */
	holds[1].sort = "";
	look(&m, 200, NULL, 0, holds, 2);
	ck_assert_uint_eq(m.shown[LIST_KEYS].n, 1);
	ck_assert_uint_eq(m.shown[LIST_KEYS].rows[0].holders, 2);
	model_done(&m);
}
