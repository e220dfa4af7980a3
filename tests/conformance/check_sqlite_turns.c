/*
 * The embedded store serves users in turn: however much one has asked, what
 * another asks is in the worker's next transaction, and its outcome is told
 * after a turn of the others'.
 */
#include <event2/event.h>
#include <sched.h>
#include <stdio.h>

#include "common/clock.h"
#include "conformance.h"
#include "sqlite_fixture.h"
#include "sqlite_shim.h"
#include "store/sqlite_batch.h"
#include "store/sqlite_job.h"
#include "test.h"

#define MANY 10000
#define LONG_MS 600000
#define GREEDY 1000		/* users */
#define OTHER 1001

static struct event_base *base;
static struct store *store;
static struct operation many[MANY], first, last;
static unsigned n_many;		/* outcomes of the many */
static enum outcome_kind last_kind;
static unsigned n_before_last;

static void
on_outcome(void *arg, struct operation *o, const struct outcome *outcome)
{
	(void)arg;
	if (o == &last) {
		last_kind = outcome->kind;
		n_before_last = n_many;
	}
	n_many += o >= many && o < many + MANY;
	/* It is told of. */
	o->kind = 0;
}

static void
submit(struct operation *o, enum operation_kind kind, const char *key,
    uint32_t user)
{
	*o = case_operation(kind, case_key(key));
	o->user = user;
	o->me = case_holder();
	o->tokens = 1;
	o->deadline_ms = o->submitted_ms + LONG_MS;
	store_submit(store, o);
}

static void
wait_for(const struct operation *o)
{
	while (o->kind != 0)
		ck_assert_int_ge(event_base_loop(base, EVLOOP_ONCE), 0);
}

/* Without the loop, so that no outcome is told. */
static void
wait_for_syncs(unsigned n)
{
	while (sqlite_shim_syncs() < n)
		(void)sched_yield();
}

/* The worker is in a transaction that hangs, with the log's head written. */
static void
setup(void)
{
	base = event_base_new();
	ck_assert_ptr_nonnull(base);
	store = sqlite_fixture_open(base, on_outcome, NULL);
	submit(&first, OPERATION_ACQUIRE, "first", GREEDY);
	wait_for(&first);
	sqlite_shim_hang(true);
	submit(&first, OPERATION_ACQUIRE, "hangs", GREEDY);
	while (!sqlite_shim_hangs())
		(void)sched_yield();
	n_many = 0;
}

static void
teardown(void)
{
	sqlite_fixture_close(store);
	event_base_free(base);
}

TEST_FIXTURE(setup, teardown)

/* One that comes after ten thousand is in the next transaction, and all of
 * them are carried out. */
TEST(test_after_ten_thousand)
{
	for (size_t i = 0; i < MANY; i++)
		submit(&many[i], OPERATION_READ, "many", GREEDY);
	submit(&last, OPERATION_ACQUIRE, "last", OTHER);
	sqlite_shim_hang(false);
	wait_for(&last);
	ck_assert_int_eq(last_kind, OUTCOME_DONE);
	ck_assert_uint_le(n_before_last, SQLITE_JOB_TURN);
	for (size_t i = 0; i < MANY; i++)
		wait_for(&many[i]);
	ck_assert_uint_eq(n_many, MANY);
}

/* One that was carried out after many others, of which none has been told yet,
 * is told after a turn of those. */
TEST(test_told_in_turn)
{
	unsigned syncs = sqlite_shim_syncs();
	const unsigned n = SQLITE_BATCH_MAX / 4;	/* one transaction */
	struct operation later;

	for (size_t i = 0; i < n; i++)
		submit(&many[i], OPERATION_ACQUIRE, "many", GREEDY);
	sqlite_shim_hang(false);
	wait_for_syncs(syncs + 2);
	submit(&last, OPERATION_ACQUIRE, "last", OTHER);
	wait_for_syncs(syncs + 3);
	/* When this one is flushed, the one before has been posted. */
	submit(&later, OPERATION_ACQUIRE, "later", OTHER);
	wait_for_syncs(syncs + 4);
	wait_for(&last);
	ck_assert_uint_le(n_before_last, SQLITE_JOB_TURN);
	wait_for(&later);
	for (size_t i = 0; i < n; i++)
		wait_for(&many[i]);
}

/* How many transactions it takes to carry out as many writes of one user's as
 * fit into one. */
static unsigned
transactions_of_one(void)
{
	static char keys[SQLITE_BATCH_MAX][16];
	unsigned syncs;

	for (size_t i = 0; i < SQLITE_BATCH_MAX; i++) {
		(void)snprintf(keys[i], sizeof(keys[i]), "many/%zu", i);
		submit(&many[i], OPERATION_ACQUIRE, keys[i], GREEDY);
	}
	syncs = sqlite_shim_syncs();
	sqlite_shim_hang(false);
	for (size_t i = 0; i < SQLITE_BATCH_MAX; i++)
		wait_for(&many[i]);
	return sqlite_shim_syncs() - syncs;
}

TEST(test_alone)
{
	/* The one that hung, too. */
	ck_assert_uint_le(transactions_of_one(), 3);
}

/* Where another user asks, too, he waits for no more than a part of them. */
TEST(test_not_alone)
{
	submit(&last, OPERATION_ACQUIRE, "last", OTHER);
	ck_assert_uint_ge(transactions_of_one(),
	    SQLITE_BATCH_MAX / SQLITE_BATCH_SHARED_MAX);
	wait_for(&last);
}

int
main(void)
{
	sqlite_shim_install();
	return test_main(__FILE__);
}
