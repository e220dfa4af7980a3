/*
 * The embedded store across kills, years, clocks set back and damaged pages.
 */
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance.h"
#include "ddblock.h"
#include "sqlite_fixture.h"
#include "store/sqlite_batch.h"
#include "store/sqlite_file.h"
#include "store/sqlite_records.h"
#include "test.h"

#define DAY_S (UINT64_C(24) * 3600)
#define NOW_S UINT64_C(1800000000)
#define WEEK_S (7 * DAY_S)

/* The file without worker and loop, at a wall clock of our own. */
static struct sqlite_file file;
static struct sqlite_records records;
static struct freelist free_jobs;

static void
test_open(uint64_t wall_s)
{
	char text[512];

	ck_assert_msg(sqlite_file_open(sqlite_fixture_path(), false, wall_s,
	    &file, text, sizeof(text)) == 0, "%s", text);
	ck_assert_int_eq(sqlite_records_init(&records, file.db, "web-1",
	    WEEK_S, file.token_floor), 0);
}

static void
test_close(void)
{
	sqlite_records_done(&records);
	sqlite_file_close(&file);
}

static void
test_setup(void)
{
	(void)sqlite_fixture_make();
	test_open(NOW_S);
}

static void
test_teardown(void)
{
	test_close();
	sqlite_fixture_remove();
	freelist_done(&free_jobs);
}

/* Carry out at @wall_s; the caller frees the job. */
static struct sqlite_job *
test_job(struct operation *o, uint64_t wall_s)
{
	struct sqlite_job *j = sqlite_job_new(&free_jobs, o);

	ck_assert_ptr_nonnull(j);
	j->wall_s = wall_s;
	j->sent_ms = 1000;
	sqlite_batch_run(&records, file.path, &j, 1);
	return j;
}

/* The token of a grant at @wall_s; the lock is free again afterwards. */
static uint64_t
test_grant(struct key key, uint64_t wall_s)
{
	struct holder me = case_holder();
	struct operation o = case_operation(OPERATION_ACQUIRE, key);
	struct sqlite_job *j;
	uint64_t token;

	o.me = me;
	o.tokens = 3;
	j = test_job(&o, wall_s);
	ck_assert_int_eq((int)j->outcome.kind, OUTCOME_DONE);
	token = j->outcome.lock.token;
	sqlite_job_free(&free_jobs, j);
	o = case_operation(OPERATION_RELEASE, key);
	o.holders = &me;
	o.n_holders = 1;
	j = test_job(&o, wall_s);
	ck_assert_int_eq((int)j->outcome.kind, OUTCOME_DONE);
	sqlite_job_free(&free_jobs, j);
	return token;
}

static bool
test_exists(struct key key)
{
	struct operation o = case_operation(OPERATION_READ, key);
	struct sqlite_job *j = test_job(&o, NOW_S);
	bool exists = j->outcome.lock.exists;

	ck_assert_int_eq((int)j->outcome.kind, OUTCOME_DONE);
	sqlite_job_free(&free_jobs, j);
	return exists;
}

static bool
test_session(enum operation_kind kind, struct ident id, uint64_t wall_s)
{
	struct operation o = case_operation(kind, (struct key){ 0 });
	struct sqlite_job *j;
	bool exists;

	o.session = id;
	o.lease_ms = 20000;
	j = test_job(&o, wall_s);
	ck_assert_int_eq((int)j->outcome.kind, OUTCOME_DONE);
	exists = j->outcome.session.exists;
	sqlite_job_free(&free_jobs, j);
	return exists;
}

/* A record is cleaned up, the clock is set back: tokens rise all the same. */
START_TEST(test_tokens_after_cleaning)
{
	struct key key = case_key("token");
	struct key other = case_key("other");
	uint64_t first = test_grant(key, NOW_S + 100 * DAY_S);
	uint64_t second;

	ck_assert_int_eq(sqlite_records_sweep(&records, NOW_S), 0);
	ck_assert(test_exists(key));
	ck_assert_int_eq(sqlite_records_sweep(&records,
	    NOW_S + 108 * DAY_S), 0);
	ck_assert(!test_exists(key));
	second = test_grant(key, NOW_S);
	ck_assert_uint_gt(second, first);
	ck_assert_uint_eq(test_grant(key, NOW_S), second + 3);

	/* Also in the next life. */
	ck_assert_int_eq(sqlite_records_sweep(&records,
	    NOW_S + 200 * DAY_S), 0);
	ck_assert(!test_exists(key));
	test_close();
	test_open(NOW_S);
	ck_assert_uint_gt(test_grant(key, NOW_S), second + 3);
	ck_assert_uint_gt(test_grant(other, NOW_S), second + 3);
}
END_TEST

START_TEST(test_tokens_of_other_clocks)
{
	uint64_t token = test_grant(case_key("1970"), 5);

	ck_assert_uint_eq(token, (UINT64_C(5) << 20) + 3);
	token = test_grant(case_key("never"), UINT64_MAX / 4);
	ck_assert_uint_lt(token, TOKEN_MAX);
	ck_assert_uint_gt(test_grant(case_key("never"), 5), token);
}
END_TEST

static void
test_set_token(const char *hex_key, uint64_t token)
{
	char sql[128];

	(void)snprintf(sql, sizeof(sql), "UPDATE lock SET token = %" PRIu64
	    " WHERE key = x'%s'", token, hex_key);
	ck_assert_int_eq(sqlite_file_run(file.db, sql), 0);
}

/* Refused with the lock's name, and the row is as it was. */
static void
test_no_room(struct operation *o, uint64_t token)
{
	struct sqlite_job *j = test_job(o, NOW_S);

	ck_assert_int_eq((int)j->outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(j->outcome.code, DDBLOCK_E_BAD_RECORD);
	ck_assert_ptr_nonnull(strstr(j->outcome.text, "lock \"high\""));
	sqlite_job_free(&free_jobs, j);
	o->kind = OPERATION_READ;
	j = test_job(o, NOW_S);
	ck_assert_uint_eq(j->outcome.lock.token, token);
	sqlite_job_free(&free_jobs, j);
}

/*
 * A token set by hand: the store serves up to the last token, never beyond, and
 * other locks lose no token, however often it is cleaned up.
 */
START_TEST(test_last_tokens)
{
	struct key key = { "high", 4 };
	struct operation o = case_operation(OPERATION_ACQUIRE, key);
	uint64_t token;

	(void)test_grant(key, NOW_S);
	token = test_grant(case_key("low"), NOW_S);
	test_set_token("68696768", TOKEN_MAX - 8);
	o.me = case_holder();
	o.tokens = 9;
	test_no_room(&o, TOKEN_MAX - 8);
	o.kind = OPERATION_ACQUIRE;
	o.tokens = 4;
	sqlite_job_free(&free_jobs, test_job(&o, NOW_S));
	o.kind = OPERATION_EXTEND;
	o.token_seen = TOKEN_MAX - 4;
	o.tokens = 5;
	test_no_room(&o, TOKEN_MAX - 4);
	o.kind = OPERATION_RELEASE;
	o.holders = &o.me;
	o.n_holders = 1;
	sqlite_job_free(&free_jobs, test_job(&o, NOW_S));
	test_set_token("68696768", TOKEN_MAX);
	ck_assert_int_eq(sqlite_records_sweep(&records, NOW_S + 8 * DAY_S),
	    0);
	ck_assert(!test_exists(case_key("low")));
	ck_assert(test_exists(key));
	ck_assert_uint_eq(test_grant(case_key("low"), NOW_S), token + 3);
}
END_TEST

/* A held lock is never cleaned up, however old it is. */
START_TEST(test_held_stays)
{
	struct key key = case_key("held");
	struct operation o = case_operation(OPERATION_ACQUIRE, key);

	o.me = case_holder();
	o.tokens = 1;
	sqlite_job_free(&free_jobs, test_job(&o, NOW_S));
	ck_assert_int_eq(sqlite_records_sweep(&records,
	    NOW_S + 10000 * DAY_S), 0);
	ck_assert(test_exists(key));
}
END_TEST

/* Step by step through more rows than one step looks at. */
START_TEST(test_cleaning_goes_round)
{
	enum { N = 1200 };
	char text[24];
	size_t left = 0;

	ck_assert_int_eq(sqlite_records_begin(&records, true), 0);
	for (int i = 0; i < N; i++) {
		struct operation o;
		struct sqlite_job *j;
		struct holder me = case_holder();

		(void)snprintf(text, sizeof(text), "round %d", i);
		o = case_operation(OPERATION_ACQUIRE, case_key(text));
		o.me = me;
		o.tokens = 1;
		j = sqlite_job_new(&free_jobs, &o);
		j->wall_s = NOW_S;
		ck_assert_int_eq(sqlite_records_run(&records, j), 0);
		sqlite_job_free(&free_jobs, j);
		o = case_operation(OPERATION_RELEASE, case_key(text));
		o.holders = &me;
		o.n_holders = 1;
		j = sqlite_job_new(&free_jobs, &o);
		j->wall_s = NOW_S;
		ck_assert_int_eq(sqlite_records_run(&records, j), 0);
		sqlite_job_free(&free_jobs, j);
	}
	ck_assert_int_eq(sqlite_records_commit(&records), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(sqlite_records_sweep(&records,
		    NOW_S + 8 * DAY_S), 0);
	for (int i = 0; i < N; i++) {
		(void)snprintf(text, sizeof(text), "round %d", i);
		left += test_exists(case_key(text));
	}
	ck_assert_uint_eq(left, 0);
	/* And from the start again. */
	(void)test_grant(case_key("again"), NOW_S);
	ck_assert_int_eq(sqlite_records_sweep(&records, NOW_S + 8 * DAY_S),
	    0);
	ck_assert(!test_exists(case_key("again")));
}
END_TEST

/* A jump of the clock costs no session that lives; the dead go. */
START_TEST(test_sessions)
{
	struct ident alive = case_ident();
	struct ident dead = case_ident();
	struct ident idle = case_ident();

	(void)test_session(OPERATION_SESSION_OPEN, alive, NOW_S);
	(void)test_session(OPERATION_SESSION_OPEN, idle, NOW_S);
	(void)test_session(OPERATION_SESSION_OPEN, dead, NOW_S);
	(void)test_session(OPERATION_SESSION_CLOSE, dead, NOW_S);
	ck_assert_int_eq(sqlite_records_sweep(&records, NOW_S + DAY_S), 0);
	ck_assert(test_session(OPERATION_SESSION_READ, dead, NOW_S));
	ck_assert_int_eq(sqlite_records_sweep(&records, NOW_S + 8 * DAY_S),
	    0);
	ck_assert(!test_session(OPERATION_SESSION_READ, dead, NOW_S));
	ck_assert(test_session(OPERATION_SESSION_READ, alive, NOW_S));
	(void)test_session(OPERATION_SESSION_BEAT, alive, NOW_S + 8 * DAY_S);
	/* At the next start there is none that lives. */
	test_close();
	test_open(NOW_S + 9 * DAY_S);
	ck_assert(test_session(OPERATION_SESSION_READ, alive, NOW_S));
	ck_assert(!test_session(OPERATION_SESSION_READ, idle, NOW_S));
}
END_TEST

/* One page is damaged: requests that need it are refused, the others served. */
START_TEST(test_damaged_page)
{
	enum { N = 400 };
	static struct sqlite_job *jobs[N];
	static struct operation o[N];
	static char names[N][IDENT_TEXT_LENGTH + 1];
	size_t served = 0;
	size_t refused = 0;
	char bytes[4096];
	int fd;

	for (size_t i = 0; i < N; i++) {
		/* In order, so that it is always the same page. */
		(void)snprintf(names[i], sizeof(names[i]), "%0*zu",
		    IDENT_TEXT_LENGTH, i);
		(void)test_grant((struct key){ names[i], IDENT_TEXT_LENGTH },
		    NOW_S);
	}
	test_close();
	memset(bytes, 0xa5, sizeof(bytes));
	fd = open(sqlite_fixture_path(), O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, sizeof(bytes), 4096 * 12), 4096);
	ck_assert_int_eq(close(fd), 0);
	test_open(NOW_S);
	for (size_t i = 0; i < N; i++) {
		struct key key = { names[i], IDENT_TEXT_LENGTH };

		o[i] = case_operation(OPERATION_ACQUIRE, key);
		o[i].me = case_holder();
		o[i].tokens = 1;
		jobs[i] = sqlite_job_new(&free_jobs, &o[i]);
		jobs[i]->wall_s = NOW_S;
	}
	sqlite_batch_run(&records, file.path, jobs, N);
	for (size_t i = 0; i < N; i++) {
		const struct outcome *out = &jobs[i]->outcome;

		served += out->kind == OUTCOME_DONE;
		if (out->kind == OUTCOME_REFUSED) {
			ck_assert_int_eq(out->code, DDBLOCK_E_STORE_BROKEN);
			ck_assert_ptr_nonnull(strstr(out->text, "damaged"));
			refused++;
		}
		sqlite_job_free(&free_jobs, jobs[i]);
	}
	ck_assert_uint_eq(served + refused, N);
	ck_assert_uint_gt(served, N / 2);
	ck_assert_uint_gt(refused, 0);

	jobs[0] = sqlite_job_new(&free_jobs, NULL);
	sqlite_batch_check(&records, file.path, jobs[0]);
	ck_assert_int_eq(jobs[0]->outcome.code, DDBLOCK_E_STORE_BROKEN);
	sqlite_job_free(&free_jobs, jobs[0]);
}
END_TEST

/* A record that makes no sense refuses its own lock only. */
START_TEST(test_bad_record)
{
	struct key key = { "bad", 3 };
	struct operation o = case_operation(OPERATION_READ, key);
	struct sqlite_job *j;

	(void)test_grant(key, NOW_S);
	(void)test_grant((struct key){ "good", 4 }, NOW_S);
	ck_assert_int_eq(sqlite_file_run(file.db,
	    "UPDATE lock SET holders = x'0102' WHERE key = x'626164'"), 0);
	j = test_job(&o, NOW_S);
	ck_assert_int_eq((int)j->outcome.kind, OUTCOME_REFUSED);
	ck_assert_int_eq(j->outcome.code, DDBLOCK_E_BAD_RECORD);
	sqlite_job_free(&free_jobs, j);
	ck_assert_int_eq(sqlite_file_run(file.db,
	    "UPDATE lock SET holders = NULL, token = 'many'"
	    " WHERE key = x'626164'"), 0);
	j = test_job(&o, NOW_S);
	ck_assert_int_eq(j->outcome.code, DDBLOCK_E_BAD_RECORD);
	sqlite_job_free(&free_jobs, j);
	o = case_operation(OPERATION_SCAN, (struct key){ 0 });
	j = test_job(&o, NOW_S);
	ck_assert_int_eq((int)j->outcome.kind, OUTCOME_DONE);
	ck_assert_uint_eq(j->outcome.n_rows, 1);
	ck_assert_int_eq(memcmp(j->outcome.rows[0].key.bytes, "good", 4), 0);
	sqlite_job_free(&free_jobs, j);
}
END_TEST

static TCase *
test_records_cases(void)
{
	TCase *t = tcase_create("records");

	tcase_add_checked_fixture(t, test_setup, test_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_tokens_after_cleaning);
	tcase_add_test(t, test_tokens_of_other_clocks);
	tcase_add_test(t, test_last_tokens);
	tcase_add_test(t, test_held_stays);
	tcase_add_test(t, test_cleaning_goes_round);
	tcase_add_test(t, test_sessions);
	tcase_add_test(t, test_damaged_page);
	tcase_add_test(t, test_bad_record);
	return t;
}

/*
 * A store in a process that kills itself, without closing anything, as soon as
 * it is granted the lock; then a new one on the same file.
 */
static struct holder killed_holder;

static void
test_kill_self(void *arg, struct operation *o, const struct outcome *outcome)
{
	(void)arg;
	(void)o;
	if (outcome->kind == OUTCOME_DONE)
		(void)kill(getpid(), SIGKILL);
	_exit(1);
}

static struct store *
test_open_after_kill(struct event_base *base, store_outcome_fn outcome,
    void *arg)
{
	struct operation o =
	    case_operation(OPERATION_ACQUIRE, case_key("killed"));
	struct store *store;
	char text[512];
	int status;
	pid_t pid;

	(void)sqlite_fixture_make();
	killed_holder = case_holder();
	pid = fork();
	if (pid == 0) {
		base = event_base_new();
		if (base == NULL || sqlite_fixture_try(base, test_kill_self,
		    NULL, &store, text) < 0)
			_exit(1);
		o.me = killed_holder;
		o.tokens = 7;
		store_submit(store, &o);
		(void)event_base_dispatch(base);
		_exit(1);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	if (sqlite_fixture_try(base, outcome, arg, &store, text) < 0)
		ck_abort_msg("%s", text);
	return store;
}

START_TEST(test_killed)
{
	struct key key = case_key("killed");
	struct holder me = case_holder();
	struct seen *s = case_read(key);
	uint64_t token = s->lock.record.token;

	case_done(s);
	ck_assert(case_holds(&s->lock, &killed_holder));
	case_conflict(case_acquire(key, &me, 1));
	s = case_done(case_take(key, &me, &killed_holder, 1, token));
	ck_assert_uint_eq(s->lock.record.token, token + 1);
}
END_TEST

int
main(void)
{
	static const struct conformance_target target = {
		.name = "sqlite_life",
		.host = "web-1",
		.binary_keys = true,
		.open = test_open_after_kill,
		.close = sqlite_fixture_close,
	};
	Suite *suite = conformance_empty(&target);
	TCase *killed = tcase_create("killed");

	suite_add_tcase(suite, test_records_cases());
	tcase_add_test(killed, test_killed);
	conformance_add(suite, killed);
	return suite_end(suite);
}
