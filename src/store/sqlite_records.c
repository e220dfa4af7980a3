/*
 * Records of the embedded store as rows.
 *
 * A fencing token never goes back, although the records of free locks are
 * cleaned up in the end: the cleaning raises the floor under all new tokens
 * to the highest token it deletes, in the same transaction. So granting a
 * lock writes one row and nothing else.
 */
#include "store/sqlite_records.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "core/apply.h"
#include "store/sqlite_sessions.h"
#include "store/sqlite_rows.h"

#define RECORDS_KEY_SHOWN 80	/* bytes of a key in a message */
#define RECORDS_ROW "a row of this version"
#define RECORDS_ROOM "a token that leaves room for more below 2^53"

static const char *const sqlite_records_sql[STATEMENTS] = {
	[STATEMENT_BEGIN] = "BEGIN",
	[STATEMENT_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	[STATEMENT_COMMIT] = "COMMIT",
	[STATEMENT_ROLLBACK] = "ROLLBACK",
	[STATEMENT_LOCK_GET] =
	    "SELECT " SQLITE_ROWS_LOCK " FROM lock WHERE key = ?1",
	[STATEMENT_LOCK_PUT] =
	    "REPLACE INTO lock(" SQLITE_ROWS_LOCK ")"
	    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
	    " ?12, ?13, ?14, ?15)",
	/* One lower bound, which the index is entered by: of two, SQLite takes
	 * one, and reads all rows up to the other. */
	[STATEMENT_LOCK_SCAN] =
	    "SELECT " SQLITE_ROWS_LOCK " FROM lock"
	    " WHERE key >= ?1 AND key <> ?2 ORDER BY key",
	[STATEMENT_LOCK_SWEEP] =
	    "SELECT key, token, holders IS NULL AND ttl > 0 AND ttl < ?2"
	    " FROM lock WHERE key > ?1 ORDER BY key LIMIT ?3",
	[STATEMENT_LOCK_PURGE] = "DELETE FROM lock WHERE key = ?1",
	[STATEMENT_CONTENTS_GET] =
	    "SELECT " SQLITE_ROWS_CONTENTS " FROM contents WHERE key = ?1",
	[STATEMENT_CONTENTS_PUT] =
	    "REPLACE INTO contents(" SQLITE_ROWS_CONTENTS ")"
	    " VALUES(?1, ?2, ?3)",
	[STATEMENT_CONTENTS_PURGE] = "DELETE FROM contents WHERE key = ?1",
	[STATEMENT_FLOOR_PUT] =
	    "UPDATE meta SET value = ?1 WHERE name = 'token_floor'",
	[STATEMENT_SESSION_GET] =
	    "SELECT " SQLITE_ROWS_SESSION " FROM session WHERE id = ?1",
	[STATEMENT_SESSION_PUT] =
	    "REPLACE INTO session(" SQLITE_ROWS_SESSION ")"
	    " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	/* A live one is cleaned up when the file is opened (sqlite_file.c). */
	[STATEMENT_SESSION_PURGE] =
	    "DELETE FROM session WHERE ttl < ?1 AND dead IS NOT NULL",
};

int
sqlite_records_init(struct sqlite_records *r, sqlite3 *db, const char *host,
    uint64_t retention_s, uint64_t token_floor)
{
	int rc = SQLITE_OK;

	*r = (struct sqlite_records){
		.db = db,
		.retention_s = retention_s,
		.token_floor = token_floor,
	};
	if (host != NULL) {
		r->host = strdup(host);
		if (r->host == NULL)
			return SQLITE_NOMEM;
	}
	for (int i = 0; i < STATEMENTS && rc == SQLITE_OK; i++)
		rc = sqlite3_prepare_v3(db, sqlite_records_sql[i], -1,
		    SQLITE_PREPARE_PERSISTENT, &r->statements[i], NULL);
	return rc;
}

void
sqlite_records_done(struct sqlite_records *r)
{
	for (int i = 0; i < STATEMENTS; i++)
		(void)sqlite3_finalize(r->statements[i]);
	free(r->host);
	free(r->sweep_key);
	*r = (struct sqlite_records){ 0 };
}

int
sqlite_records_step(struct sqlite_records *r, enum sqlite_statement which)
{
	sqlite3_stmt *s = r->statements[which];
	int rc = sqlite3_step(s);

	(void)sqlite3_reset(s);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

int
sqlite_records_begin(struct sqlite_records *r, bool write)
{
	return sqlite_records_step(r,
	    write ? STATEMENT_BEGIN_WRITE : STATEMENT_BEGIN);
}

int
sqlite_records_commit(struct sqlite_records *r)
{
	return sqlite_records_step(r, STATEMENT_COMMIT);
}

void
sqlite_records_rollback(struct sqlite_records *r)
{
	/* After some errors SQLite has rolled back already. */
	if (sqlite3_get_autocommit(r->db) == 0)
		(void)sqlite_records_step(r, STATEMENT_ROLLBACK);
}

/* The job fails by itself; the transaction goes on. */
static int
sqlite_records_refuse(struct sqlite_job *j, int code)
{
	sqlite_job_fail(j, OUTCOME_REFUSED, code, error_text(code));
	return SQLITE_OK;
}

/* Which row is to blame, and for what. */
static void
sqlite_records_describe(struct sqlite_records *r, struct key key,
    const char *expected, char text[OUTCOME_TEXT_MAX])
{
	char shown[RECORDS_KEY_SHOWN + 1];
	size_t n = key.length < RECORDS_KEY_SHOWN ?
	    key.length : RECORDS_KEY_SHOWN;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)key.bytes[i];

		shown[i] = c >= 0x20 && c < 0x7f ? key.bytes[i] : '?';
	}
	shown[n] = '\0';
	(void)snprintf(text, OUTCOME_TEXT_MAX,
	    "%.100s, lock \"%s\"%s: expected %s",
	    sqlite3_db_filename(r->db, "main"), shown,
	    n < key.length ? "..." : "", expected);
}

/* The same with the lock's name, where its row is to blame. */
static int
sqlite_records_refuse_lock(struct sqlite_records *r, struct sqlite_job *j,
    int code, const char *expected)
{
	char text[OUTCOME_TEXT_MAX];

	if (code != DDBLOCK_E_BAD_RECORD)
		return sqlite_records_refuse(j, code);
	sqlite_records_describe(r, j->ask.key, expected, text);
	sqlite_job_fail(j, OUTCOME_REFUSED, code, text);
	return SQLITE_OK;
}

static int
sqlite_records_get_lock(struct sqlite_records *r, struct sqlite_job *j,
    struct key key, struct lock_record *ret, int *ret_code)
{
	sqlite3_stmt *s = r->statements[STATEMENT_LOCK_GET];
	int rc;

	*ret = (struct lock_record){ 0 };
	*ret_code = 0;
	(void)sqlite_rows_bind_bytes(s, 1, key.bytes, key.length);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		*ret_code = sqlite_rows_read_lock(s, &j->arena, ret);
		rc = SQLITE_DONE;
	}
	(void)sqlite3_reset(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* What clients keep in the lock, whose row says whether they ever did. */
static int
sqlite_records_get_contents(struct sqlite_records *r, struct sqlite_job *j,
    struct lock_record *l, int *ret_code)
{
	sqlite3_stmt *s = r->statements[STATEMENT_CONTENTS_GET];
	int rc;

	if (l->revision.sequence == 0 ||
	    (j->ask.kind == OPERATION_READ && !j->ask.with_contents))
		return SQLITE_OK;
	(void)sqlite_rows_bind_bytes(s, 1, j->ask.key.bytes,
	    j->ask.key.length);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		*ret_code = sqlite_rows_read_contents(s, &j->arena,
		    &l->contents);
		rc = SQLITE_DONE;
	}
	(void)sqlite3_reset(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int
sqlite_records_put_contents(struct sqlite_records *r, struct sqlite_job *j,
    int *ret_code)
{
	const struct contents *c = &j->outcome.lock.contents;
	sqlite3_stmt *put = r->statements[STATEMENT_CONTENTS_PUT];
	sqlite3_stmt *purge = r->statements[STATEMENT_CONTENTS_PURGE];

	if (contents_are_empty(c)) {
		(void)sqlite_rows_bind_bytes(purge, 1, j->ask.key.bytes,
		    j->ask.key.length);
		return sqlite_records_step(r, STATEMENT_CONTENTS_PURGE);
	}
	*ret_code = sqlite_rows_bind_contents(put, &j->arena, j->ask.key, c);
	return *ret_code < 0 ? SQLITE_OK :
	    sqlite_records_step(r, STATEMENT_CONTENTS_PUT);
}

static struct apply
sqlite_records_apply(const struct sqlite_records *r, const struct sqlite_job *j)
{
	return (struct apply){
		.life = LOCK_LIFE_SESSION,
		.beat = apply_beat(&j->ask, j->sent_ms),
		.wall_s = j->wall_s,
		.retention_s = r->retention_s,
		.token_floor = r->token_floor,
		.host = r->host,
	};
}

/* apply_lock(), with the job's memory behind the new record. */
static int
sqlite_records_apply_lock(const struct sqlite_records *r, struct sqlite_job *j,
    const struct operation *o, const struct lock_record *old,
    struct lock_record *ret)
{
	struct apply a = sqlite_records_apply(r, j);
	void *memory = arena_alloc(&j->arena, apply_room(o, old));

	if (memory == NULL)
		return DDBLOCK_E_NOMEM;
	return apply_lock(&a, o, old, memory, ret);
}

static int
sqlite_records_lock(struct sqlite_records *r, struct sqlite_job *j)
{
	sqlite3_stmt *put = r->statements[STATEMENT_LOCK_PUT];
	struct lock_record old;
	int code;
	int rc;

	rc = sqlite_records_get_lock(r, j, j->ask.key, &old, &code);
	if (rc == SQLITE_OK && code == 0)
		rc = sqlite_records_get_contents(r, j, &old, &code);
	if (rc != SQLITE_OK)
		return rc;
	if (code < 0)
		return sqlite_records_refuse_lock(r, j, code, RECORDS_ROW);
	code = sqlite_records_apply_lock(r, j, &j->ask, &old,
	    &j->outcome.lock);
	if (code < 0)
		return sqlite_records_refuse_lock(r, j, code, RECORDS_ROOM);
	j->outcome.kind =
	    code == APPLY_CONFLICT ? OUTCOME_CONFLICT : OUTCOME_DONE;
	if (code != APPLY_NEW)
		return SQLITE_OK;
	code = 0;
	if (j->ask.kind == OPERATION_UPDATE)
		rc = sqlite_records_put_contents(r, j, &code);
	if (rc != SQLITE_OK)
		return rc;
	if (code == 0)
		code = sqlite_rows_bind_lock(put, &j->arena, j->ask.key,
		    &j->outcome.lock);
	if (code < 0)
		return sqlite_records_refuse(j, code);
	return sqlite_records_step(r, STATEMENT_LOCK_PUT);
}

/* One of several: its condition, and its effect. */
static int
sqlite_records_judge_part(struct sqlite_records *r, struct sqlite_job *j,
    size_t i, struct outcome_part *ret)
{
	const struct operation *part = j->ask.parts[i];
	const char *expected = RECORDS_ROW;
	struct lock_record old;
	int code;
	int rc;

	rc = sqlite_records_get_lock(r, j, part->key, &old, &code);
	if (rc != SQLITE_OK)
		return rc;
	*ret = (struct outcome_part){ .kind = OUTCOME_DONE, .lock = old };
	if (code == 0) {
		expected = RECORDS_ROOM;
		code = sqlite_records_apply_lock(r, j, part, &old, &ret->lock);
	}
	if (code == APPLY_CONFLICT)
		ret->kind = OUTCOME_CONFLICT;
	if (code < 0) {
		ret->kind = OUTCOME_REFUSED;
		ret->code = code;
		if (code == DDBLOCK_E_BAD_RECORD)
			sqlite_records_describe(r, part->key, expected,
			    j->outcome.text);
	}
	return SQLITE_OK;
}

/* Once a row is written there is no way back but the whole transaction's. */
static int
sqlite_records_put_part(struct sqlite_records *r, struct sqlite_job *j,
    size_t i, const struct outcome_part *part)
{
	sqlite3_stmt *put = r->statements[STATEMENT_LOCK_PUT];

	if (sqlite_rows_bind_lock(put, &j->arena, j->ask.keys[i],
	    &part->lock) < 0)
		return SQLITE_NOMEM;
	return sqlite_records_step(r, STATEMENT_LOCK_PUT);
}

static int
sqlite_records_multi(struct sqlite_records *r, struct sqlite_job *j)
{
	size_t n = j->ask.n_keys;
	struct outcome_part *parts =
	    arena_alloc(&j->arena, n * sizeof(*parts));
	bool done = true;
	int rc = SQLITE_OK;

	if (!operation_is_sound(&j->ask))
		return sqlite_records_refuse(j, DDBLOCK_E_BAD_REQUEST);
	if (parts == NULL)
		return sqlite_records_refuse(j, DDBLOCK_E_NOMEM);
	for (size_t i = 0; i < n && rc == SQLITE_OK; i++) {
		rc = sqlite_records_judge_part(r, j, i, &parts[i]);
		if (rc == SQLITE_OK && parts[i].kind != OUTCOME_DONE)
			done = false;
	}
	for (size_t i = 0; i < n && rc == SQLITE_OK; i++) {
		if (done)
			rc = sqlite_records_put_part(r, j, i, &parts[i]);
		else if (parts[i].kind == OUTCOME_DONE)
			parts[i] = (struct outcome_part){
				.kind = OUTCOME_REFUSED,
			};
	}
	j->outcome.parts = parts;
	j->outcome.kind = done ? OUTCOME_DONE : OUTCOME_CONFLICT;
	return rc;
}

static int
sqlite_records_session(struct sqlite_records *r, struct sqlite_job *j)
{
	struct apply a = sqlite_records_apply(r, j);
	sqlite3_stmt *get = r->statements[STATEMENT_SESSION_GET];
	sqlite3_stmt *put = r->statements[STATEMENT_SESSION_PUT];
	struct session_record old = { 0 };
	int code;
	int rc;

	code = sqlite_rows_bind_ident(get, 1, &j->arena, j->ask.session);
	if (code < 0)
		return sqlite_records_refuse(j, code);
	rc = sqlite3_step(get);
	if (rc == SQLITE_ROW) {
		code = sqlite_rows_read_session(get, &j->arena, &old);
		rc = SQLITE_DONE;
	}
	(void)sqlite3_reset(get);
	if (rc != SQLITE_DONE)
		return rc;
	if (code == 0 && r->sessions != NULL)
		code = sqlite_sessions_apply(r->sessions, &a, &j->ask, &old,
		    &j->outcome.session);
	else if (code == 0)
		code = apply_session(&a, &j->ask, &old, &j->outcome.session);
	if (code < 0)
		return sqlite_records_refuse(j, code);
	j->outcome.kind =
	    code == APPLY_CONFLICT ? OUTCOME_CONFLICT : OUTCOME_DONE;
	if (code != APPLY_NEW)
		return SQLITE_OK;
	code = sqlite_rows_bind_session(put, &j->arena, j->ask.session,
	    &j->outcome.session, j->wall_s + r->retention_s);
	if (code < 0)
		return sqlite_records_refuse(j, code);
	return sqlite_records_step(r, STATEMENT_SESSION_PUT);
}

static int
sqlite_records_read_many(struct sqlite_records *r, struct sqlite_job *j)
{
	const struct operation *o = &j->ask;
	struct lock_record *locks;
	bool *processed;
	int code;
	int rc;

	locks = arena_alloc(&j->arena, o->n_keys * sizeof(*locks));
	processed = arena_alloc(&j->arena, o->n_keys * sizeof(*processed));
	if (locks == NULL || processed == NULL)
		return sqlite_records_refuse(j, DDBLOCK_E_NOMEM);
	for (size_t i = 0; i < o->n_keys; i++) {
		rc = sqlite_records_get_lock(r, j, o->keys[i], &locks[i],
		    &code);
		if (rc != SQLITE_OK)
			return rc;
		processed[i] = code == 0;
	}
	j->outcome.locks = locks;
	j->outcome.processed = processed;
	j->outcome.kind = OUTCOME_DONE;
	return SQLITE_OK;
}

static bool
sqlite_records_has_prefix(sqlite3_stmt *s, const struct key *prefix)
{
	const char *bytes = sqlite3_column_blob(s, 0);
	const struct key key = { bytes, (size_t)sqlite3_column_bytes(s, 0) };

	return key_begins_with(key, *prefix);
}

/*
 * Read the row that @s stands on into *@n of @rows. One that is not in the
 * format is left out, so that it does not hide the others.
 */
static int
sqlite_records_scan_row(sqlite3_stmt *s, struct arena *a,
    struct scan_row *rows, size_t *n)
{
	struct scan_row *row = &rows[*n];
	int code;

	code = sqlite_rows_read_lock(s, a, &row->record);
	if (code == DDBLOCK_E_BAD_RECORD)
		return 0;
	if (code < 0)
		return code;
	row->key.length = (size_t)sqlite3_column_bytes(s, 0);
	row->key.bytes =
	    arena_copy(a, sqlite3_column_blob(s, 0), row->key.length);
	if (row->key.bytes == NULL)
		return DDBLOCK_E_NOMEM;
	(*n)++;
	return 0;
}

/* The key of the row that @s stands on, with which a page ends. */
static int
sqlite_records_scan_end(sqlite3_stmt *s, struct arena *a, struct key *ret)
{
	size_t length = (size_t)sqlite3_column_bytes(s, 0);
	const char *bytes = arena_copy(a, sqlite3_column_blob(s, 0), length);

	if (bytes == NULL)
		return DDBLOCK_E_NOMEM;
	*ret = (struct key){ bytes, length };
	return 0;
}

/* A page is as many rows as are looked at, not as are found: it never takes
 * long. */
static int
sqlite_records_scan_rows(sqlite3_stmt *s, struct sqlite_job *j,
    struct scan_row *rows, int *ret_code)
{
	struct outcome *o = &j->outcome;
	struct key end = { NULL, 0 };
	int rc = SQLITE_DONE;

	*ret_code = 0;
	o->rows = rows;
	while (*ret_code == 0 && (rc = sqlite3_step(s)) == SQLITE_ROW &&
	    sqlite_records_has_prefix(s, &j->ask.prefix)) {
		if (o->n_examined == SCAN_PAGE_MAX) {
			o->next_cursor = end;
			break;
		}
		if (!j->ask.held_only ||
		    sqlite3_column_type(s, 4) != SQLITE_NULL)
			*ret_code = sqlite_records_scan_row(s, &j->arena,
			    rows, &o->n_rows);
		if (++o->n_examined == SCAN_PAGE_MAX && *ret_code == 0)
			*ret_code = sqlite_records_scan_end(s, &j->arena,
			    &end);
	}
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int
sqlite_records_scan(struct sqlite_records *r, struct sqlite_job *j)
{
	sqlite3_stmt *s = r->statements[STATEMENT_LOCK_SCAN];
	const struct operation *o = &j->ask;
	struct key from = o->prefix;
	struct scan_row *rows;
	int code;
	int rc;

	rows = arena_alloc(&j->arena, SCAN_PAGE_MAX * sizeof(*rows));
	if (rows == NULL)
		return sqlite_records_refuse(j, DDBLOCK_E_NOMEM);
	if (key_compare(&o->cursor, &o->prefix) > 0)
		from = o->cursor;
	(void)sqlite_rows_bind_bytes(s, 1, from.bytes, from.length);
	(void)sqlite_rows_bind_bytes(s, 2, o->cursor.bytes, o->cursor.length);
	rc = sqlite_records_scan_rows(s, j, rows, &code);
	(void)sqlite3_reset(s);
	if (rc != SQLITE_OK)
		return rc;
	if (code < 0)
		return sqlite_records_refuse(j, code);
	j->outcome.kind = OUTCOME_DONE;
	return SQLITE_OK;
}

int
sqlite_records_run(struct sqlite_records *r, struct sqlite_job *j)
{
	sqlite_job_restart(j);
	j->outcome.sent_ms = j->sent_ms;
	/* One host's locks have no line of hosts. */
	if (j->ask.place > 0 || j->ask.line_max > 0)
		return sqlite_records_refuse(j, DDBLOCK_E_UNSUPPORTED);
	switch (j->ask.kind) {
	case OPERATION_READ:
	case OPERATION_ACQUIRE:
	case OPERATION_RELEASE:
	case OPERATION_EXTEND:
	case OPERATION_UPDATE:
	case OPERATION_ADD_WAITER:
	case OPERATION_REMOVE_WAITER:
	case OPERATION_BREAK:
	case OPERATION_RAISE:
		return sqlite_records_lock(r, j);
	case OPERATION_MULTI:
		return sqlite_records_multi(r, j);
	case OPERATION_READ_MANY:
		return sqlite_records_read_many(r, j);
	case OPERATION_SCAN:
		return sqlite_records_scan(r, j);
	case OPERATION_SESSION_OPEN:
	case OPERATION_SESSION_BEAT:
	case OPERATION_SESSION_READ:
	case OPERATION_SESSION_KILL:
	case OPERATION_SESSION_BURY:
	case OPERATION_SESSION_CLOSE:
		return sqlite_records_session(r, j);
	case OPERATION_REFRESH:
	case OPERATION_MARK:
		break;		/* holders are renewed by their session */
	}
	return sqlite_records_refuse(j, DDBLOCK_E_UNSUPPORTED);
}
