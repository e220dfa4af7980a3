/*
 * SQLite and nothing else. Two write transactions: the least that taking and
 * releasing a lock in a database can cost, with the same journal and the same
 * durability as the embedded store (WAL, synchronous=FULL). And one SELECT: the
 * least that listing can cost.
 */
#include "bench.h"

#include <sqlite3.h>
#include <stdlib.h>

struct bare_sqlite {
	sqlite3 *db;
	sqlite3_stmt *take;
	sqlite3_stmt *give;
};

static void
bare_sqlite_run(struct bare_sqlite *s, const char *sql)
{
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		die("%s: %s", sql, sqlite3_errmsg(s->db));
}

static sqlite3_stmt *
bare_sqlite_prepare(struct bare_sqlite *s, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
	    &statement, NULL) != SQLITE_OK)
		die("%s: %s", sql, sqlite3_errmsg(s->db));
	return statement;
}

struct bare_sqlite *
bare_sqlite_open(const char *path)
{
	struct bare_sqlite *s = calloc(1, sizeof(*s));

	if (s == NULL || sqlite3_open(path, &s->db) != SQLITE_OK)
		die("%s: cannot be opened", path);
	bare_sqlite_run(s, "PRAGMA journal_mode=WAL");
	bare_sqlite_run(s, "PRAGMA synchronous=FULL");
	bare_sqlite_run(s, "CREATE TABLE lock (key BLOB PRIMARY KEY, "
	    "holder TEXT, token INTEGER) WITHOUT ROWID");
	s->take = bare_sqlite_prepare(s,
	    "INSERT INTO lock (key, holder, token) VALUES (?1, 'me', 1) "
	    "ON CONFLICT (key) DO UPDATE SET holder = 'me', "
	    "token = token + 1 WHERE holder IS NULL");
	s->give = bare_sqlite_prepare(s,
	    "UPDATE lock SET holder = NULL WHERE key = ?1 AND "
	    "holder = 'me'");
	return s;
}

static void
bare_sqlite_step(struct bare_sqlite *s, sqlite3_stmt *statement,
    const char *key)
{
	sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) != SQLITE_DONE ||
	    sqlite3_changes(s->db) != 1)
		die("a write transaction: %s", sqlite3_errmsg(s->db));
	sqlite3_reset(statement);
}

void
bare_sqlite_cycle(struct bare_sqlite *s, const char *key)
{
	bare_sqlite_step(s, s->take, key);
	bare_sqlite_step(s, s->give, key);
}

void
bare_sqlite_close(struct bare_sqlite *s)
{
	sqlite3_finalize(s->take);
	sqlite3_finalize(s->give);
	sqlite3_close(s->db);
	free(s);
}

static void
bare_sqlite_attach(struct bare_sqlite *s, const char *path)
{
	*s = (struct bare_sqlite){ 0 };
	if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE, NULL) !=
	    SQLITE_OK)
		die("%s: cannot be opened", path);
}

void
bare_sqlite_fill(const char *path, int n_locks)
{
	struct bare_sqlite s;

	bare_sqlite_attach(&s, path);
	s.take = bare_sqlite_prepare(&s, "WITH RECURSIVE n(i) AS (SELECT 0 "
	    "UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1) "
	    "INSERT INTO lock(key, mode, token, max, owner, acquired_at, "
	    "ttl, sequence, random) SELECT "
	    "CAST(printf('list/%07d', i) AS BLOB), 1, 1, 0, "
	    "'a-host/a-command:1234567', 1800000000, 1 << 40, 0, 0 FROM n");
	sqlite3_bind_int(s.take, 1, n_locks);
	if (sqlite3_step(s.take) != SQLITE_DONE)
		die("%s cannot be filled: %s", path, sqlite3_errmsg(s.db));
	sqlite3_finalize(s.take);
	sqlite3_close(s.db);
}

double
bare_sqlite_scan(const char *path, int n_locks)
{
	struct bare_sqlite s;
	double time_us;
	int n = 0;

	bare_sqlite_attach(&s, path);
	s.take = bare_sqlite_prepare(&s, "SELECT key, token, owner FROM lock");
	time_us = -now_us();
	while (sqlite3_step(s.take) == SQLITE_ROW)
		n += sqlite3_column_bytes(s.take, 0) > 0;
	time_us += now_us();
	if (n != n_locks)
		die("%s has %d rows", path, n);
	sqlite3_finalize(s.take);
	sqlite3_close(s.db);
	return time_us;
}
