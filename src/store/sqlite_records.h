/*
 * Records of the embedded store as rows: reads them, has core/apply.h judge,
 * and writes what changed. Runs on the worker, inside its transactions.
 */
#ifndef DDBLOCKD_STORE_SQLITE_RECORDS_H
#define DDBLOCKD_STORE_SQLITE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/sqlite_job.h"

struct sqlite3;
struct sqlite3_stmt;
struct sqlite_sessions;

enum sqlite_statement {
	STATEMENT_BEGIN,
	STATEMENT_BEGIN_WRITE,
	STATEMENT_COMMIT,
	STATEMENT_ROLLBACK,
	STATEMENT_LOCK_GET,
	STATEMENT_LOCK_PUT,
	STATEMENT_LOCK_SCAN,
	STATEMENT_LOCK_SWEEP,
	STATEMENT_LOCK_PURGE,
	STATEMENT_CONTENTS_GET,
	STATEMENT_CONTENTS_PUT,
	STATEMENT_CONTENTS_PURGE,
	STATEMENT_FLOOR_PUT,
	STATEMENT_SESSION_GET,
	STATEMENT_SESSION_PUT,
	STATEMENT_SESSION_PURGE,
	STATEMENTS
};

struct sqlite_records {
	struct sqlite3 *db;
	struct sqlite3_stmt *statements[STATEMENTS];
	char *host;
	uint64_t retention_s;
	uint64_t token_floor;
	char *sweep_key;	/* where the next sweep goes on; NULL: start */
	size_t sweep_length;
	struct sqlite_sessions *sessions;	/* not ours; NULL: every beat is
					 * written */
};

/* An SQLite result code. Half-built is fine for sqlite_records_done(). */
int sqlite_records_init(struct sqlite_records *, struct sqlite3 *,
    const char *host, uint64_t retention_s, uint64_t token_floor);
void sqlite_records_done(struct sqlite_records *);

/* Run a statement that gives no rows of interest. An SQLite result code. */
int sqlite_records_step(struct sqlite_records *, enum sqlite_statement);

/* Transactions. SQLite result codes. */
int sqlite_records_begin(struct sqlite_records *, bool write);
int sqlite_records_commit(struct sqlite_records *);
void sqlite_records_rollback(struct sqlite_records *);

/*
 * Carry out the job inside the transaction and set its outcome, which is true
 * once the transaction is committed. An SQLite result code other than
 * SQLITE_OK means that the transaction cannot go on.
 */
int sqlite_records_run(struct sqlite_records *, struct sqlite_job *);

/*
 * Clean up: look at the next few hundred locks, and at the dead sessions, and
 * delete the rows that have outlived their time at @wall_s. A transaction of
 * its own. An SQLite result code.
 */
int sqlite_records_sweep(struct sqlite_records *, uint64_t wall_s);

#endif
