/*
 * The embedded store's file: a file that cannot be served is refused with a
 * helpful text, and grants survive.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance.h"
#include "ddblock.h"
#include "sqlite_fixture.h"
#include "store/sqlite_file.h"
#include "store/store_sqlite.h"
#include "test.h"

#define NOBODY 65534

static struct event_base *base;

static int
test_try(const char *path, bool must_exist, struct store **ret, char *text)
{
	struct store_sqlite_config config = {
		.namespace_name = "default",
		.path = path,
		.host = "web-1",
		.must_exist = must_exist,
	};

	return store_sqlite_new(base, &config, NULL, NULL, ret, text, 512);
}

/* Opening fails with @code, and the text says all of these. */
static void
test_refused(const char *path, int code, const char *what, const char *advice)
{
	struct store *store = NULL;
	char text[512] = "";
	int r = test_try(path, false, &store, text);

	ck_assert_msg(r == code, "%d: %s", r, text);
	ck_assert_ptr_null(store);
	ck_assert_msg(strstr(text, "namespace default: ") == text, "%s", text);
	ck_assert_msg(strstr(text, what) != NULL, "%s", text);
	ck_assert_msg(strstr(text, advice) != NULL, "%s", text);
}

static void
test_served(void)
{
	struct store *store;
	char text[512] = "";

	ck_assert_msg(test_try(sqlite_fixture_path(), false, &store, text) == 0,
	    "%s", text);
	store_free(store);
}

static void
test_write(const char *path, const void *bytes, size_t length, off_t at)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, length, at), (ssize_t)length);
	ck_assert_int_eq(close(fd), 0);
}

/* Let SQLite itself do something to the file. */
static void
test_sql(const char *sql)
{
	sqlite3 *db;

	ck_assert_int_eq(sqlite3_open(sqlite_fixture_path(), &db), SQLITE_OK);
	ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK,
	    "%s", sqlite3_errmsg(db));
	ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

static void
test_setup(void)
{
	base = event_base_new();
	ck_assert_ptr_nonnull(base);
	(void)sqlite_fixture_make();
}

static void
test_teardown(void)
{
	sqlite_fixture_remove();
	event_base_free(base);
}

TEST_FIXTURE(test_setup, test_teardown)

TEST(test_new)
{
	struct stat st;

	test_served();
	ck_assert_int_eq(stat(sqlite_fixture_path(), &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	test_served();
}

/* An empty file is as good as none: a crash may have left it. */
TEST(test_empty)
{
	test_write(sqlite_fixture_path(), "", 0, 0);
	test_served();
}

TEST(test_must_exist)
{
	struct store *store;
	char text[512];

	ck_assert_int_eq(test_try(sqlite_fixture_path(), true, &store, text),
	    DDBLOCK_E_NO_TABLE);
	ck_assert_ptr_nonnull(strstr(text, "there is no database"));
	ck_assert_int_lt(access(sqlite_fixture_path(), F_OK), 0);
	test_write(sqlite_fixture_path(), "", 0, 0);
	ck_assert_int_eq(test_try(sqlite_fixture_path(), true, &store, text),
	    DDBLOCK_E_NO_TABLE);
	test_served();
	ck_assert_int_eq(test_try(sqlite_fixture_path(), true, &store, text),
	    0);
	store_free(store);
}

TEST(test_no_directory)
{
	test_refused("/nonexistent/ddblockd/locks.db", DDBLOCK_E_NO_TABLE,
	    "the directory /nonexistent/ddblockd", "create it");
	test_write(sqlite_fixture_path(), "x", 1, 0);
	test_refused("/dev/null/locks.db", DDBLOCK_E_NO_TABLE,
	    "the directory /dev/null", "create it");
}

TEST(test_not_a_file)
{
	test_refused("/", DDBLOCK_E_WRONG_TABLE, "is not a file",
	    "name a file");
}

TEST(test_not_a_database)
{
	char bytes[8192];

	memset(bytes, 'x', sizeof(bytes));
	test_write(sqlite_fixture_path(), bytes, sizeof(bytes), 0);
	test_refused(sqlite_fixture_path(), DDBLOCK_E_STORE_BROKEN,
	    "is not an SQLite database", "move it away");
}

TEST(test_damaged)
{
	char bytes[4096];

	test_served();
	memset(bytes, 0xa5, sizeof(bytes));
	/* The header stays, the schema goes. */
	test_write(sqlite_fixture_path(), bytes, sizeof(bytes) - 100, 100);
	test_refused(sqlite_fixture_path(), DDBLOCK_E_STORE_BROKEN,
	    "is damaged", "restore");
}

TEST(test_cut_off)
{
	test_served();
	ck_assert_int_eq(truncate(sqlite_fixture_path(), 5000), 0);
	test_refused(sqlite_fixture_path(), DDBLOCK_E_STORE_BROKEN,
	    "is damaged", "restore");
}

/* Ours by its number, but without our tables. */
TEST(test_without_tables)
{
	test_sql("PRAGMA application_id = 1684302955; "
	    "PRAGMA user_version = 1; CREATE TABLE other(x);");
	test_refused(sqlite_fixture_path(), DDBLOCK_E_STORE_BROKEN,
	    "is damaged", "restore");
}

TEST(test_foreign)
{
	test_sql("PRAGMA application_id = 77; CREATE TABLE notes(x);");
	test_refused(sqlite_fixture_path(), DDBLOCK_E_WRONG_TABLE,
	    "another program", "name another file");
	test_sql("PRAGMA application_id = 0;");
	test_refused(sqlite_fixture_path(), DDBLOCK_E_WRONG_TABLE,
	    "another program", "name another file");
}

TEST(test_newer)
{
	test_served();
	test_sql("PRAGMA user_version = 2;");
	test_refused(sqlite_fixture_path(), DDBLOCK_E_WRONG_TABLE,
	    "newer ddblockd (version 2", "install");
}

/* In a process without root's rights, run @test; its failures are ours. */
static void
test_as_nobody(void (*test)(void))
{
	char directory[256];
	char *slash;
	pid_t pid;
	int status;

	if (geteuid() != 0) {
		test();
		return;
	}
	(void)snprintf(directory, sizeof(directory), "%s",
	    sqlite_fixture_path());
	slash = strrchr(directory, '/');
	*slash = '\0';
	ck_assert_int_eq(chown(directory, NOBODY, NOBODY), 0);
	if (access(sqlite_fixture_path(), F_OK) == 0)
		ck_assert_int_eq(chown(sqlite_fixture_path(), NOBODY, NOBODY),
		    0);
	pid = fork();
	if (pid == 0) {
		if (setgid(NOBODY) == 0 && setuid(NOBODY) == 0)
			test();
		else
			ck_abort_msg("setuid: %s", strerror(errno));
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void
test_refused_read_only(void)
{
	ck_assert_int_eq(chmod(sqlite_fixture_path(), 0400), 0);
	test_refused(sqlite_fixture_path(), DDBLOCK_E_STORE_BROKEN,
	    "is read-only", "make the file and its directory writable");
}

TEST(test_read_only)
{
	char lock[300];

	test_served();
	/* Left by another user. */
	(void)snprintf(lock, sizeof(lock), "%s.lock", sqlite_fixture_path());
	ck_assert_int_eq(unlink(lock), 0);
	test_as_nobody(test_refused_read_only);
}

static void
test_refused_rights(void)
{
	ck_assert_int_eq(chmod(sqlite_fixture_path(), 0), 0);
	test_refused(sqlite_fixture_path(), DDBLOCK_E_DENIED,
	    "cannot be opened",
	    "rights");
}

TEST(test_no_rights)
{
	char lock[300];

	test_served();
	(void)snprintf(lock, sizeof(lock), "%s.lock", sqlite_fixture_path());
	ck_assert_int_eq(unlink(lock), 0);
	test_as_nobody(test_refused_rights);
}

static void
test_refused_directory(void)
{
	test_refused("/usr/locks.db", DDBLOCK_E_DENIED, "/usr/locks.db",
	    "right to write");
}

TEST(test_no_rights_there)
{
	test_as_nobody(test_refused_directory);
}

TEST(test_second_in_process)
{
	struct store *store;
	char text[512];
	char pid[32];

	ck_assert_int_eq(test_try(sqlite_fixture_path(), false, &store, text),
	    0);
	(void)snprintf(pid, sizeof(pid), "(process %ld)", (long)getpid());
	test_refused(sqlite_fixture_path(), DDBLOCK_E_DENIED, pid,
	    "served by another ddblockd");
	store_free(store);
	test_served();
}

TEST(test_second_process)
{
	struct store *store;
	char text[512];
	char pid_text[32];
	char byte;
	int ready[2];
	int status;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (test_try(sqlite_fixture_path(), false, &store, text) < 0 ||
		    write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	(void)snprintf(pid_text, sizeof(pid_text), "(process %ld)",
	    (long)pid);
	test_refused(sqlite_fixture_path(), DDBLOCK_E_DENIED, pid_text,
	    "served by another ddblockd");
	/* A holder that was killed holds nothing. */
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	test_served();
}

/* Another program of SQLite has it open. */
TEST(test_in_use)
{
	sqlite3 *db;

	test_served();
	ck_assert_int_eq(sqlite3_open(sqlite_fixture_path(), &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, "BEGIN; SELECT * FROM lock", NULL,
	    NULL, NULL), SQLITE_OK);
	test_refused(sqlite_fixture_path(), DDBLOCK_E_DENIED,
	    "in use by another program", "end that");
	ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
	test_served();
}

TEST(test_full_at_start)
{
	struct rlimit limit;

	test_write(sqlite_fixture_path(), "", 0, 0);
	ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = 4096 * 3;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	test_refused(sqlite_fixture_path(), DDBLOCK_E_STORE_FULL, "no room",
	    "make room");
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	test_served();
}

int
main(void)
{
	return test_main(__FILE__);
}
