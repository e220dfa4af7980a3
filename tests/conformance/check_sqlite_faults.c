/*
 * The embedded store on a disk that hangs, is full, or fails.
 */
#include <event2/event.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "conformance.h"
#include "ddblock.h"
#include "sqlite_fixture.h"
#include "sqlite_shim.h"
#include "store/sqlite_batch.h"
#include "test.h"

#define SHORT_MS 50
#define TAKEN_MS 3000	/* the worker gets to it, however busy the machine */
#define LIMIT_BYTES (512 * 1024)

static struct operation
test_acquire_of(struct key key, uint64_t wait_ms)
{
	struct operation o = case_operation(OPERATION_ACQUIRE, key);

	o.me = case_holder();
	o.tokens = 1;
	o.deadline_ms = clock_boot_ms() + wait_ms;
	return o;
}

static void
test_wait_for_hang(void)
{
	while (!sqlite_shim_hangs())
		case_turn();
}

/*
 * The loop lives while the disk hangs: outcomes come at their deadlines. A
 * write that the disk has seen is in doubt; a write that it has not seen will
 * never happen.
 */
TEST(test_hang)
{
	struct key taken_key = case_key("taken");
	struct key queued_key = case_key("queued");
	struct operation taken = test_acquire_of(taken_key, TAKEN_MS);
	struct operation queued;
	struct operation reading;
	struct holder me = taken.me;
	struct seen *s[3];

	sqlite_shim_hang(true);
	s[0] = case_submit(&taken);
	test_wait_for_hang();
	queued = test_acquire_of(queued_key, SHORT_MS);
	reading = case_operation(OPERATION_READ, queued_key);
	reading.deadline_ms = clock_boot_ms() + SHORT_MS;
	s[1] = case_submit(&queued);
	s[2] = case_submit(&reading);
	case_wait();
	ck_assert(sqlite_shim_hangs());

	case_is_kind(s[0], OUTCOME_UNKNOWN, __FILE__, __LINE__);
	ck_assert_int_eq(s[0]->code, DDBLOCK_E_UNREACHABLE);
	ck_assert(s[0]->unanswered);
	case_is_kind(s[1], OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_int_eq(s[1]->code, DDBLOCK_E_UNREACHABLE);
	ck_assert(!s[1]->unanswered);
	ck_assert_int_eq(s[2]->code, DDBLOCK_E_UNREACHABLE);
	ck_assert(!s[2]->unanswered);

	/* The operations are ours again: nothing of them may be used. */
	memset(&taken, 0xff, sizeof(taken));
	memset(&queued, 0xff, sizeof(queued));
	sqlite_shim_hang(false);
	ck_assert(case_holds(&case_read(taken_key)->lock, &me));
	ck_assert(!case_read(queued_key)->lock.record.exists);
}

/* Thousands in the queue, and each gets its outcome at its deadline. */
TEST(test_hang_many)
{
	enum { N = 2000 };
	static struct operation o[N];
	static struct seen *s[N];
	struct operation first = test_acquire_of(case_key("first"), TAKEN_MS);

	sqlite_shim_hang(true);
	(void)case_submit(&first);
	test_wait_for_hang();
	for (size_t i = 0; i < N; i++) {
		/* Not in order. */
		o[i] = test_acquire_of(case_key("many"), i % 7 * 10);
		s[i] = case_submit(&o[i]);
	}
	case_wait();
	for (size_t i = 0; i < N; i++)
		case_is_kind(s[i], OUTCOME_REFUSED, __FILE__, __LINE__);
	sqlite_shim_hang(false);
	ck_assert(!case_read(case_key("many"))->lock.record.exists);
}

/* Sessions do not wait behind locks: they go with the next transaction. */
TEST(test_session_first)
{
	enum { N = 1500 };
	static struct operation o[N];
	static struct seen *s[N];
	struct operation read;
	struct ident id = case_ident();
	struct seen *seen;
	size_t before = 0;

	case_done(case_session(OPERATION_SESSION_OPEN, id, 0));
	sqlite_shim_hang(true);
	o[0] = test_acquire_of(case_key("first"), 60000);
	s[0] = case_submit(&o[0]);
	test_wait_for_hang();
	for (size_t i = 1; i < N; i++) {
		o[i] = test_acquire_of(case_key("many"), 60000);
		s[i] = case_submit(&o[i]);
	}
	read = case_operation(OPERATION_SESSION_READ, (struct key){ 0 });
	read.session = id;
	seen = case_submit(&read);
	sqlite_shim_hang(false);
	while (seen->kind == 0)
		case_turn();
	case_wait();
	case_done(seen);
	for (size_t i = 0; i < N; i++)
		before += s[i]->answered_ms < seen->answered_ms;
	ck_assert_uint_le(before, SQLITE_BATCH_MAX);
}

/* The end of the daemon does not hang with the disk. */
TEST(test_hang_at_end)
{
	struct event_base *base = event_base_new();
	struct operation o = test_acquire_of(case_key("end"), 60000);
	struct store *store;
	char text[512];

	sqlite_shim_hang(true);
	(void)case_submit(&o);
	test_wait_for_hang();
	/* As the fixture will: it returns although the disk hangs. */
	store_free(case_store());
	ck_assert(sqlite_shim_hangs());
	/* Until the disk is back, the file is still served. */
	ck_assert_int_eq(sqlite_fixture_try(base, NULL, NULL, &store, text),
	    DDBLOCK_E_DENIED);
	sqlite_shim_hang(false);
	while (sqlite_fixture_try(base, NULL, NULL, &store, text) < 0) {
		struct timeval tick = { .tv_usec = 1000 };

		ck_assert_int_eq(event_base_loopexit(base, &tick), 0);
		ck_assert_int_ge(event_base_loop(base, 0), 0);
	}
	store_free(store);
	event_base_free(base);
	sqlite_fixture_remove();
}

/* No room: refused for certain, reads go on, and so does all with room. */
TEST(test_full)
{
	struct key key = case_key("full");
	struct key held_key = case_key("held");
	struct holder me = case_holder();
	struct seen *s;

	case_done(case_acquire(held_key, &me, 1));
	sqlite_shim_fail_write(SQLITE_FULL);
	s = case_acquire(key, &me, 1);
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_int_eq(s->code, DDBLOCK_E_STORE_FULL);
	ck_assert_ptr_nonnull(strstr(s->text, "make room"));
	ck_assert(!s->unanswered);
	s = case_release(held_key, &me);
	ck_assert_int_eq(s->code, DDBLOCK_E_STORE_FULL);
	ck_assert(case_holds(&case_read(held_key)->lock, &me));
	ck_assert(!case_read(key)->lock.record.exists);
	sqlite_shim_fail_write(SQLITE_OK);
	case_done(case_acquire(key, &me, 1));
	case_done(case_release(held_key, &me));
}

/* One transaction for many fails: the reads among them are answered. */
TEST(test_full_batch)
{
	struct key key = case_key("batch");
	struct holder me = case_holder();
	struct operation o[4];
	struct operation first = test_acquire_of(case_key("first"), 60000);
	struct seen *s[4];

	case_done(case_acquire(key, &me, 1));
	sqlite_shim_hang(true);
	(void)case_submit(&first);
	test_wait_for_hang();
	o[0] = case_operation(OPERATION_READ, key);
	o[1] = case_operation(OPERATION_RELEASE, key);
	o[1].holders = &me;
	o[1].n_holders = 1;
	o[2] = case_operation(OPERATION_READ, key);
	o[3] = test_acquire_of(key, 60000);
	for (size_t i = 0; i < 4; i++)
		s[i] = case_submit(&o[i]);
	sqlite_shim_fail_write(SQLITE_FULL);
	sqlite_shim_hang(false);
	case_wait();
	case_done(s[0]);
	ck_assert_int_eq(s[1]->code, DDBLOCK_E_STORE_FULL);
	/* Neither saw the release that was rolled back. */
	case_done(s[2]);
	ck_assert(case_holds(&s[2]->lock, &me));
	case_conflict(s[3]);
	sqlite_shim_fail_write(SQLITE_OK);
	ck_assert(case_holds(&case_read(key)->lock, &me));
}

/* The real thing, as far as a process can have it to itself. */
TEST(test_full_limit)
{
	enum { MANY = 20000 };
	struct rlimit limit = { LIMIT_BYTES, RLIM_INFINITY };
	struct holder me = case_holder();
	struct key key = case_key("limit");
	struct seen *s = NULL;
	char text[24];
	int n = 0;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = LIMIT_BYTES;
	ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	case_done(case_acquire(key, &me, 1));
	do {
		(void)snprintf(text, sizeof(text), "limit %d", n);
		s = case_acquire(case_key(text), &me, 1);
	} while (s->kind == OUTCOME_DONE && ++n < MANY);
	case_is_kind(s, OUTCOME_REFUSED, __FILE__, __LINE__);
	ck_assert_msg(s->code == DDBLOCK_E_STORE_FULL, "%s", s->text);
	ck_assert_int_gt(n, 100);
	ck_assert(case_holds(&case_read(key)->lock, &me));

	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	case_done(case_acquire(case_key(text), &me, 1));
	case_done(case_release(key, &me));
}

/* A flush that fails: the state after a crash is not known. */
TEST(test_flush_fails)
{
	struct key key = case_key("flush");
	struct holder me = case_holder();
	struct seen *s;

	sqlite_shim_fail_sync(SQLITE_IOERR_FSYNC);
	s = case_acquire(key, &me, 1);
	case_is_kind(s, OUTCOME_UNKNOWN, __FILE__, __LINE__);
	ck_assert_int_eq(s->code, DDBLOCK_E_STORE_BROKEN);
	ck_assert(s->unanswered);
	case_done(case_read(key));
	sqlite_shim_fail_sync(SQLITE_OK);
	ck_assert(!case_read(key)->lock.record.exists);
	case_done(case_acquire(key, &me, 1));
}

/* ---- each kind of write, on a disk that takes none ---------------------- */

/* A lock, and the write that is next for it. */
struct next {
	struct key key;
	struct holder a, b;
	struct holder both[2];
	struct multi multi;
	struct operation operation;
};

static void
next_share(struct next *n, uint64_t limit)
{
	case_done(case_share(n->key, &n->a, limit));
	n->operation = test_acquire_of(n->key, TAKEN_MS);
	n->operation.me = n->b;
	n->operation.mode = LOCK_MODE_SHARED;
	n->operation.limit = limit;
}

static void
next_joins(struct next *n)
{
	next_share(n, 0);
}

static void
next_joins_within_a_limit(struct next *n)
{
	next_share(n, 2);
}

/* A place of a semaphore's, one of two. */
static void
next_leaves(struct next *n)
{
	case_done(case_share(n->key, &n->a, 2));
	case_done(case_share(n->key, &n->b, 2));
	n->operation = case_operation(OPERATION_RELEASE, n->key);
	n->operation.holders = &n->a;
	n->operation.n_holders = 1;
}

static void
next_leaves_with_another(struct next *n)
{
	next_leaves(n);
	n->operation.holders = n->both;
	n->operation.n_holders = 2;
}

static void
next_takes_over(struct next *n)
{
	case_done(case_share(n->key, &n->a, 0));
	n->operation = test_acquire_of(n->key, TAKEN_MS);
	n->operation.me = n->b;
	n->operation.dead = &n->a;
	n->operation.n_dead = 1;
	n->operation.token_seen = case_read(n->key)->lock.record.token;
}

static void
next_is_downgraded(struct next *n)
{
	struct seen *s = case_acquire(n->key, &n->a, 1);

	n->operation = test_acquire_of(n->key, TAKEN_MS);
	n->operation.mode = LOCK_MODE_SHARED;
	n->operation.me = n->b;
	n->operation.dead = &n->a;
	n->operation.n_dead = 1;
	n->operation.token_seen = s->lock.record.token;
}

static void
next_keeps_something(struct next *n)
{
	case_done(case_acquire(n->key, &n->a, 1));
	n->operation = case_operation(OPERATION_UPDATE, n->key);
	n->operation.me = n->a;
	n->operation.contents.data = (struct key){ "kept", 4 };
	n->operation.revision = (struct revision){ 1, 1 };
}

static void
next_is_broken(struct next *n)
{
	next_leaves(n);
	n->operation = case_operation(OPERATION_BREAK, n->key);
	n->operation.token_seen = case_read(n->key)->lock.record.token;
	n->operation.owner = "web-1/root:1";
}

/* The lock and another, as one. */
static void
next_is_multi(struct next *n)
{
	struct key keys[2] = { n->key, case_key("another") };

	multi_init(&n->multi, keys, 2);
	n->operation = n->multi.whole;
}

static const struct {
	void (*prepare)(struct next *);
	size_t n_holders;	/* when it is done */
} nexts[] = {
	{ next_joins, 2 },
	{ next_joins_within_a_limit, 2 },
	{ next_leaves, 1 },
	{ next_leaves_with_another, 0 },
	{ next_takes_over, 1 },
	{ next_is_downgraded, 1 },
	{ next_keeps_something, 1 },
	{ next_is_broken, 0 },
	{ next_is_multi, 1 },
};
#define NEXTS (sizeof(nexts) / sizeof(nexts[0]))

static void
next_init(struct next *n, size_t which)
{
	*n = (struct next){ .key = case_key("next"), .a = case_holder(),
		.b = case_holder() };
	n->both[0] = n->a;
	n->both[1] = n->b;
	nexts[which].prepare(n);
}

/* Nothing of it is there; and then, with a disk that is well, all of it. */
static void
next_is_possible(struct next *n, size_t which, const struct seen *before)
{
	const struct seen *s = case_read_contents(n->key);

	case_same(&before->lock, &s->lock);
	ck_assert_uint_eq(s->contents->data.length, 0);
	n->operation.deadline_ms = clock_boot_ms() + TAKEN_MS;
	case_done(case_do(&n->operation));
	s = case_read_contents(n->key);
	ck_assert_uint_eq(s->lock.record.n_holders, nexts[which].n_holders);
	ck_assert_uint_eq(s->contents->data.length,
	    n->operation.kind == OPERATION_UPDATE ? 4 : 0);
}

/* It fails with the known reason, and was not done. */
static void
next_fails(size_t which, void (*disk)(int), int fault, enum outcome_kind kind,
    int code)
{
	const struct seen *before;
	struct seen *s;
	struct next n;

	next_init(&n, which);
	before = case_read_contents(n.key);
	disk(fault);
	s = case_do(&n.operation);
	case_is_kind(s, kind, __FILE__, __LINE__);
	ck_assert_int_eq(s->code, code);
	ck_assert_int_eq(s->unanswered, kind == OUTCOME_UNKNOWN);
	disk(SQLITE_OK);
	next_is_possible(&n, which, before);
}

/* It is refused, for certain. */
TEST_LOOP(test_full_each, 0, NEXTS)
{
	next_fails((size_t)_i, sqlite_shim_fail_write, SQLITE_FULL,
	    OUTCOME_REFUSED, DDBLOCK_E_STORE_FULL);
}

/* The state after a crash is not known. */
TEST_LOOP(test_flush_fails_each, 0, NEXTS)
{
	next_fails((size_t)_i, sqlite_shim_fail_sync, SQLITE_IOERR_FSYNC,
	    OUTCOME_UNKNOWN, DDBLOCK_E_STORE_BROKEN);
}

/* Many at once share a flush. */
TEST(test_shared_flush)
{
	enum { N = 60 };
	static struct operation o[N];
	static struct seen *s[N];
	unsigned syncs;
	char text[24];

	syncs = sqlite_shim_syncs();
	sqlite_shim_hang(true);
	for (size_t i = 0; i < N; i++) {
		(void)snprintf(text, sizeof(text), "shared %zu", i % 30);
		o[i] = test_acquire_of(case_key(text), 60000);
		s[i] = case_submit(&o[i]);
		if (i == 0)
			test_wait_for_hang();
	}
	sqlite_shim_hang(false);
	case_wait();
	for (size_t i = 0; i < N; i++)
		case_is_kind(s[i], i < 30 ? OUTCOME_DONE : OUTCOME_CONFLICT,
		    __FILE__, __LINE__);
	/* One for the first, one for all others, one if a log was begun. */
	ck_assert_uint_le(sqlite_shim_syncs() - syncs, 3);
}

static void
test_table_done(void *arg, int code, const char *text)
{
	int *ret = arg;

	(void)text;
	*ret = code;
}

TEST(test_check_table)
{
	int code = 1;

	store_check_table(case_store(), test_table_done, &code);
	ck_assert_int_eq(code, 1);
	while (code == 1)
		case_turn();
	ck_assert_int_eq(code, 0);
	/* The disk hangs: an answer comes all the same. */
	code = 1;
	store_init_table(case_store(), test_table_done, &code);
	while (code == 1)
		case_turn();
	ck_assert_int_eq(code, 0);
}

TEST(test_status)
{
	struct store_status status;
	struct holder me = case_holder();

	case_done(case_acquire(case_key("status"), &me, 1));
	store_view_status(case_store(), &status);
	ck_assert_str_eq(status.kind, "sqlite");
	ck_assert_str_eq(status.scope, "host");
	ck_assert_str_eq(status.where, sqlite_fixture_path());
	ck_assert_uint_eq(status.requests, 1);
	ck_assert_uint_eq(status.in_flight, 0);
	ck_assert_int_eq(status.last_error, 0);
	sqlite_shim_fail_write(SQLITE_FULL);
	(void)case_acquire(case_key("more"), &me, 1);
	sqlite_shim_fail_write(SQLITE_OK);
	store_view_status(case_store(), &status);
	ck_assert_int_eq(status.last_error, DDBLOCK_E_STORE_FULL);
	ck_assert_ptr_nonnull(strstr(status.last_text, "room"));
}

static void
test_close(struct store *store)
{
	static bool closed;

	/* test_hang_at_end has freed its store. */
	if (access(sqlite_fixture_path(), F_OK) < 0 || closed)
		return;
	closed = true;
	sqlite_fixture_close(store);
}

int
main(void)
{
	static const struct conformance_target target = {
		.name = "sqlite_faults",
		.host = "web-1",
		.binary_keys = true,
		.open = sqlite_fixture_open,
		.close = test_close,
	};

	sqlite_shim_install();
	return conformance_main(&target, false, __FILE__);
}
