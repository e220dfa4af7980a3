/*
 * The embedded store's file.
 *
 * WAL with synchronous=FULL: a commit is one append and one fdatasync, and
 * what was granted survives a power failure. SQLite's locking_mode=EXCLUSIVE
 * saves two lock calls per transaction and keeps any other program out, which
 * the rules of the locks need anyway.
 */
#include "store/sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ddblock.h"
#include "store/sqlite_lock.h"

#define SQLITE_FILE_BUSY_MS 500

/* What a file of an earlier daemon lacks, and that one does without. */
#define SQLITE_FILE_RAN " ran INTEGER NOT NULL DEFAULT 0"
#define SQLITE_FILE_RAN_BEFORE " ran_before INTEGER"
static const char sqlite_file_lacks_ran[] =
    "SELECT count(*) = 0 FROM pragma_table_info('lock') WHERE name = 'ran'";
static const char sqlite_file_add_ran[] =
    "BEGIN IMMEDIATE;"
    "ALTER TABLE lock ADD COLUMN" SQLITE_FILE_RAN ";"
    "ALTER TABLE lock ADD COLUMN" SQLITE_FILE_RAN_BEFORE ";"
    "COMMIT;";

static const char sqlite_file_schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE lock("
    " key BLOB NOT NULL PRIMARY KEY, mode INTEGER NOT NULL,"
    " token INTEGER NOT NULL, max INTEGER NOT NULL, holders BLOB,"
    " owner TEXT, acquired_at INTEGER NOT NULL, broken_by TEXT,"
    " xwait BLOB, swait BLOB, ttl INTEGER NOT NULL,"
    " sequence INTEGER NOT NULL, random INTEGER NOT NULL,"
    SQLITE_FILE_RAN ", " SQLITE_FILE_RAN_BEFORE ") WITHOUT ROWID;"
    "CREATE TABLE contents("
    " key BLOB NOT NULL PRIMARY KEY, data BLOB NOT NULL,"
    " attributes BLOB NOT NULL);"
    "CREATE TABLE session("
    " id BLOB NOT NULL PRIMARY KEY, beat INTEGER NOT NULL,"
    " lease_ms INTEGER NOT NULL, host TEXT, dead TEXT,"
    " ttl INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE meta("
    " name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL)"
    " WITHOUT ROWID;"
    "INSERT INTO meta VALUES('token_floor', 0), ('opened_at', 0);"
    "PRAGMA application_id = 1684302955;"
    "PRAGMA user_version = 1;"
    "COMMIT;";

_Static_assert(SQLITE_FILE_APPLICATION_ID == 1684302955,
    "the schema's application_id");
_Static_assert(SQLITE_FILE_VERSION == 1, "the schema's user_version");

static const char sqlite_file_settings[] =
    "PRAGMA synchronous = FULL;"
    "PRAGMA wal_autocheckpoint = 0;"
    "PRAGMA journal_size_limit = 16777216;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA trusted_schema = OFF;";

int
sqlite_file_run(struct sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int
sqlite_file_number(struct sqlite3 *db, const char *sql, int64_t *ret)
{
	sqlite3_stmt *s;
	int64_t number = 0;
	int rc;

	rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	if (rc != SQLITE_OK)
		return rc;
	if (sqlite3_step(s) == SQLITE_ROW)
		number = sqlite3_column_int64(s, 0);
	rc = sqlite3_finalize(s);
	if (rc == SQLITE_OK)
		*ret = number;
	return rc;
}

/*
 * The errno of the last failed call on the database or on its log. What
 * sqlite3_system_errno() says may be of a later call that went well.
 */
static int
sqlite_file_errno(struct sqlite3 *db, bool of_log)
{
	sqlite3_file *file = NULL;
	int error = 0;

	(void)sqlite3_file_control(db, "main", of_log ?
	    SQLITE_FCNTL_JOURNAL_POINTER : SQLITE_FCNTL_FILE_POINTER, &file);
	if (file != NULL && file->pMethods != NULL)
		(void)file->pMethods->xFileControl(file,
		    SQLITE_FCNTL_LAST_ERRNO, &error);
	return error;
}

static bool
sqlite_file_is_no_room(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

static bool
sqlite_file_no_room(struct sqlite3 *db, int rc)
{
	switch (rc) {
	case SQLITE_FULL:
		return true;
	case SQLITE_IOERR_WRITE:
	case SQLITE_IOERR_FSYNC:
	case SQLITE_IOERR_TRUNCATE:
		return sqlite_file_is_no_room(sqlite_file_errno(db, true)) ||
		    sqlite_file_is_no_room(sqlite_file_errno(db, false));
	default:
		return false;
	}
}

int
sqlite_file_explain(struct sqlite3 *db, int rc, const char *path, char *text,
    size_t text_size)
{
	const char *message = sqlite3_errmsg(db);

	if (sqlite_file_no_room(db, rc)) {
		(void)snprintf(text, text_size, "%s: the disk has no room "
		    "left; make room, the daemon goes on by itself", path);
		return DDBLOCK_E_STORE_FULL;
	}
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		(void)snprintf(text, text_size, "%s: out of memory", path);
		return DDBLOCK_E_NOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		(void)snprintf(text, text_size, "%s is in use by another "
		    "program; end that program's access", path);
		return DDBLOCK_E_DENIED;
	case SQLITE_NOTADB:
		(void)snprintf(text, text_size, "%s is not an SQLite "
		    "database; move it away, or name another file", path);
		return DDBLOCK_E_STORE_BROKEN;
	case SQLITE_READONLY:
		(void)snprintf(text, text_size, "%s is read-only; make the "
		    "file and its directory writable", path);
		return DDBLOCK_E_STORE_BROKEN;
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
	case SQLITE_AUTH:
		(void)snprintf(text, text_size, "%s cannot be opened (%s); "
		    "see to the rights of the file and its directory", path,
		    message);
		return DDBLOCK_E_DENIED;
	case SQLITE_IOERR:
		(void)snprintf(text, text_size, "%s: reading or writing "
		    "failed (%s); the disk may be failing", path, message);
		return DDBLOCK_E_STORE_BROKEN;
	default:
		(void)snprintf(text, text_size, "%s is damaged (%s); stop the "
		    "daemon, keep a copy and restore the file, or move it away "
		    "to start again", path, message);
		return DDBLOCK_E_STORE_BROKEN;
	}
}

/* The directory must be there: creating it would hide a mistyped path. */
static int
sqlite_file_check_directory(const char *path, char *directory, size_t size,
    char *text, size_t text_size)
{
	char copy[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return sqlite_lock_explain(path, "use that name", ENAMETOOLONG,
		    text, text_size);
	(void)snprintf(directory, size, "%s", dirname(copy));
	if (stat(directory, &st) < 0 && errno != ENOENT && errno != ENOTDIR)
		return sqlite_lock_explain(directory, "look at it", errno,
		    text, text_size);
	if (stat(directory, &st) < 0 || !S_ISDIR(st.st_mode)) {
		(void)snprintf(text, text_size, "the directory %s for the "
		    "database does not exist; create it, owned by the "
		    "daemon's user, or name another file", directory);
		return DDBLOCK_E_NO_TABLE;
	}
	return 0;
}

/* Make an empty file of mode 0600, and its name durable: tokens hang on it. */
static int
sqlite_file_create(const char *path, const char *directory, char *text,
    size_t text_size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r = 0;

	if (fd < 0)
		return sqlite_lock_explain(path, "create it", errno, text,
		    text_size);
	(void)close(fd);
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		r = sqlite_lock_explain(directory, "write it to the disk",
		    errno, text, text_size);
	if (fd >= 0)
		(void)close(fd);
	return r;
}

static int
sqlite_file_find(const char *path, bool must_exist, bool *ret_create,
    char *text, size_t text_size)
{
	struct stat st;

	if (stat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode)) {
			(void)snprintf(text, text_size, "%s is not a file; "
			    "name a file for the database", path);
			return DDBLOCK_E_WRONG_TABLE;
		}
		*ret_create = false;
		return 0;
	}
	if (errno != ENOENT)
		return sqlite_lock_explain(path, "look at it", errno, text,
		    text_size);
	if (must_exist) {
		(void)snprintf(text, text_size, "there is no database %s; "
		    "ddblockd creates it when it starts", path);
		return DDBLOCK_E_NO_TABLE;
	}
	*ret_create = true;
	return 0;
}

static int
sqlite_file_fail(struct sqlite_file *f, int rc, char *text, size_t text_size)
{
	return sqlite_file_explain(f->db, rc, f->path, text, text_size);
}

/* Is it ours, and of a version that we know? An empty one belongs to no daemon
 * yet. */
static int
sqlite_file_identify(struct sqlite_file *f, bool *ret_empty, char *text,
    size_t text_size)
{
	int64_t id = 0;
	int64_t version = 0;
	int64_t tables = 0;
	int rc;

	rc = sqlite_file_number(f->db, "PRAGMA application_id", &id);
	if (rc == SQLITE_OK)
		rc = sqlite_file_number(f->db, "PRAGMA user_version",
		    &version);
	if (rc == SQLITE_OK)
		rc = sqlite_file_number(f->db,
		    "SELECT count(*) FROM sqlite_master", &tables);
	if (rc != SQLITE_OK)
		return sqlite_file_fail(f, rc, text, text_size);
	*ret_empty = id == 0 && version == 0 && tables == 0;
	if (*ret_empty)
		return 0;
	if (id != SQLITE_FILE_APPLICATION_ID) {
		(void)snprintf(text, text_size, "%s is a database of another "
		    "program (application_id %" PRId64 "); name another file",
		    f->path, id);
		return DDBLOCK_E_WRONG_TABLE;
	}
	if (version > SQLITE_FILE_VERSION) {
		(void)snprintf(text, text_size, "%s was written by a newer "
		    "ddblockd (version %" PRId64 ", this one knows %d); "
		    "install that one again, or name another file", f->path,
		    version, SQLITE_FILE_VERSION);
		return DDBLOCK_E_WRONG_TABLE;
	}
	return 0;
}

/*
 * Sessions without a beat for as long as free locks are kept. Only now: at this
 * moment every session in the file is of an earlier life, so a jump of the
 * clock cannot cost us one that lives.
 */
static int
sqlite_file_write_once(struct sqlite_file *f, uint64_t wall_s)
{
	char sql[256];

	(void)snprintf(sql, sizeof(sql),
	    "BEGIN IMMEDIATE;"
	    "DELETE FROM session WHERE ttl < %" PRIu64 ";"
	    "UPDATE meta SET value = %" PRIu64 " WHERE name = 'opened_at';"
	    "COMMIT;",
	    wall_s, wall_s);
	return sqlite_file_run(f->db, sql);
}

static int
sqlite_file_complete(struct sqlite3 *db)
{
	int64_t lacks = 0;
	int rc = sqlite_file_number(db, sqlite_file_lacks_ran, &lacks);

	return rc != SQLITE_OK || lacks == 0 ? rc :
	    sqlite_file_run(db, sqlite_file_add_ran);
}

static int
sqlite_file_prepare(struct sqlite_file *f, bool must_exist, uint64_t wall_s,
    char *text, size_t text_size)
{
	int64_t floor = 0;
	bool empty = false;
	int rc;
	int r;

	/* SQLite opens for reading what it cannot open for writing. */
	rc = SQLITE_READONLY;
	if (sqlite3_db_readonly(f->db, "main") != 1)
		rc = sqlite_file_run(f->db,
		    "PRAGMA locking_mode = EXCLUSIVE");
	if (rc != SQLITE_OK)
		return sqlite_file_fail(f, rc, text, text_size);
	r = sqlite_file_identify(f, &empty, text, text_size);
	if (r < 0)
		return r;
	if (empty && must_exist) {
		(void)snprintf(text, text_size, "the database %s is empty; "
		    "ddblockd fills it when it starts", f->path);
		return DDBLOCK_E_NO_TABLE;
	}
	rc = sqlite_file_run(f->db, "PRAGMA journal_mode = WAL");
	if (rc == SQLITE_OK)
		rc = sqlite_file_run(f->db, sqlite_file_settings);
	if (rc == SQLITE_OK && empty)
		rc = sqlite_file_run(f->db, sqlite_file_schema);
	if (rc == SQLITE_OK)
		rc = sqlite_file_complete(f->db);
	if (rc == SQLITE_OK)
		rc = sqlite_file_write_once(f, wall_s);
	if (rc == SQLITE_OK)
		rc = sqlite_file_number(f->db,
		    "SELECT value FROM meta WHERE name = 'token_floor'",
		    &floor);
	if (rc != SQLITE_OK)
		return sqlite_file_fail(f, rc, text, text_size);
	f->token_floor = floor > 0 ? (uint64_t)floor : 0;
	return 0;
}

static int
sqlite_file_start(struct sqlite_file *f, bool must_exist, uint64_t wall_s,
    char *text, size_t text_size)
{
	char directory[PATH_MAX];
	bool create = false;
	int rc;
	int r;

	r = sqlite_file_check_directory(f->path, directory, sizeof(directory),
	    text, text_size);
	if (r == 0)
		r = sqlite_file_find(f->path, must_exist, &create, text,
		    text_size);
	if (r == 0)
		r = sqlite_lock_take(f->path, &f->lock_fd, text, text_size);
	if (r == 0 && create)
		r = sqlite_file_create(f->path, directory, text, text_size);
	if (r < 0)
		return r;
	rc = sqlite3_open_v2(f->path, &f->db,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (f->db == NULL) {
		(void)snprintf(text, text_size, "%s: out of memory", f->path);
		return DDBLOCK_E_NOMEM;
	}
	(void)sqlite3_extended_result_codes(f->db, 1);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(f->db, SQLITE_FILE_BUSY_MS);
	if (rc != SQLITE_OK)
		return sqlite_file_fail(f, rc, text, text_size);
	return sqlite_file_prepare(f, must_exist, wall_s, text, text_size);
}

int
sqlite_file_open(const char *path, bool must_exist, uint64_t wall_s,
    struct sqlite_file *ret, char *text, size_t text_size)
{
	struct sqlite_file f = { .lock_fd = -1 };
	int r;

	f.path = strdup(path);
	if (f.path == NULL)
		return DDBLOCK_E_NOMEM;
	r = sqlite_file_start(&f, must_exist, wall_s, text, text_size);
	if (r < 0) {
		sqlite_file_close(&f);
		return r;
	}
	*ret = f;
	return 0;
}

void
sqlite_file_close(struct sqlite_file *f)
{
	if (f->path == NULL)
		return;
	(void)sqlite3_close_v2(f->db);
	if (f->lock_fd >= 0)
		(void)close(f->lock_fd);
	free(f->path);
	*f = (struct sqlite_file){ .lock_fd = -1 };
}
