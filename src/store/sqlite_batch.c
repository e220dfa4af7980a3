/*
 * Many operations in one transaction of the embedded store.
 *
 * An operation judges first and writes last, one row, so it needs no savepoint
 * of its own. When the transaction fails, none of its answers is true, not even
 * a conflict, which may rest on a row that was rolled back: each half is then
 * tried by itself, and so on, so that one damaged page refuses only the
 * operations that need it, and costs the others a few flushes, not one each.
 */
#include "store/sqlite_batch.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "ddblock.h"
#include "store/sqlite_file.h"

#define CHECK_MS_MAX 1000

struct sqlite_trouble {
	int code;
	bool unsure;	/* it may come back after a crash */
	char text[OUTCOME_TEXT_MAX];
};

static bool
sqlite_batch_writes(struct sqlite_job *const *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!sqlite_job_reads(jobs[i]))
			return true;
	}
	return false;
}

static bool
sqlite_batch_try(struct sqlite_records *r, const char *path,
    struct sqlite_job *const *jobs, size_t n, struct sqlite_trouble *ret)
{
	bool committing = false;
	int rc;

	rc = sqlite_records_begin(r, sqlite_batch_writes(jobs, n));
	for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
		rc = sqlite_records_run(r, jobs[i]);
	if (rc == SQLITE_OK) {
		committing = true;
		rc = sqlite_records_commit(r);
	}
	if (rc == SQLITE_OK)
		return true;
	ret->code = sqlite_file_explain(r->db, rc, path, ret->text,
	    sizeof(ret->text));
	/* What could not be written is not there. What could not be flushed
	 * is rolled back, but a crash may find it in the log. */
	ret->unsure = committing && rc != SQLITE_FULL &&
	    rc != SQLITE_IOERR_WRITE;
	sqlite_records_rollback(r);
	return false;
}

static void sqlite_batch_halve(struct sqlite_records *, const char *path,
    struct sqlite_job *const *, size_t);

/* They could not be carried out together, because of @t. */
static void
sqlite_batch_apart(struct sqlite_records *r, const char *path,
    struct sqlite_job *const *jobs, size_t n, const struct sqlite_trouble *t)
{
	if (n == 1) {
		sqlite_job_fail(jobs[0], t->unsure &&
		    !sqlite_job_reads(jobs[0]) ? OUTCOME_UNKNOWN :
		    OUTCOME_REFUSED, t->code, t->text);
		return;
	}
	if (!t->unsure) {
		sqlite_batch_halve(r, path, jobs, n / 2);
		sqlite_batch_halve(r, path, jobs + n / 2, n - n / 2);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (sqlite_job_reads(jobs[i]))
			sqlite_batch_halve(r, path, &jobs[i], 1);
		else
			sqlite_job_fail(jobs[i], OUTCOME_UNKNOWN, t->code,
			    t->text);
	}
}

static void
sqlite_batch_halve(struct sqlite_records *r, const char *path,
    struct sqlite_job *const *jobs, size_t n)
{
	struct sqlite_trouble t;

	if (!sqlite_batch_try(r, path, jobs, n, &t))
		sqlite_batch_apart(r, path, jobs, n, &t);
}

void
sqlite_batch_run(struct sqlite_records *r, const char *path,
    struct sqlite_job *const *jobs, size_t n)
{
	struct sqlite_trouble t;

	if (sqlite_batch_try(r, path, jobs, n, &t))
		return;
	/* With the log's pages in the database the log can start again at its
	 * beginning, so a release finds room even where nothing can grow. */
	if (t.code == DDBLOCK_E_STORE_FULL) {
		(void)sqlite3_wal_checkpoint_v2(r->db, NULL,
		    SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
		sqlite_batch_halve(r, path, jobs, n);
	} else {
		sqlite_batch_apart(r, path, jobs, n, &t);
	}
}

static int
sqlite_batch_out_of_time(void *arg)
{
	const uint64_t *end_ms = arg;

	return clock_boot_ms() > *end_ms;
}

void
sqlite_batch_check(struct sqlite_records *r, const char *path,
    struct sqlite_job *j)
{
	char found[128] = "";
	const char *depth = "checked";
	sqlite3_stmt *s = NULL;
	uint64_t end_ms = clock_boot_ms() + CHECK_MS_MAX;
	int code = 0;
	int rc;

	sqlite_job_fail(j, OUTCOME_DONE, 0, "");
	sqlite3_progress_handler(r->db, 10000, sqlite_batch_out_of_time,
	    &end_ms);
	rc = sqlite3_prepare_v2(r->db, "PRAGMA quick_check(1)", -1, &s, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		(void)snprintf(found, sizeof(found), "%s",
		    (const char *)sqlite3_column_text(s, 0));
	else if (rc == SQLITE_INTERRUPT)
		depth = "too large to check whole";
	else
		code = sqlite_file_explain(r->db, rc, path, j->outcome.text,
		    sizeof(j->outcome.text));
	(void)sqlite3_finalize(s);
	sqlite3_progress_handler(r->db, 0, NULL, NULL);
	if (found[0] != '\0' && strcmp(found, "ok") != 0) {
		code = DDBLOCK_E_STORE_BROKEN;
		(void)snprintf(j->outcome.text, sizeof(j->outcome.text),
		    "%s is damaged (%s); restore it, or move it away to start "
		    "again", path, found);
	}
	j->outcome.code = code;
	if (code == 0)
		(void)snprintf(j->outcome.text, sizeof(j->outcome.text),
		    "%s is ready (version %d, %s)", path, SQLITE_FILE_VERSION,
		    depth);
}
