/*
 * Cleaning up the embedded store: free locks that were not used for the
 * retention, and dead sessions. In small steps through the keys, without an
 * index on the time, which every grant would have to pay for.
 *
 * The floor under all new tokens rises to those that go. So a row with a token
 * that no clock and no number of grants can have produced is kept: it was
 * written by hand, and would use up everybody's tokens.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "store/sqlite_records.h"
#include "store/sqlite_rows.h"

#define SWEEP_ROWS 500
#define SWEEP_TOKEN_MAX (TOKEN_MAX / 4 * 3)	/* clocks end at half */

/* What a step has found. */
struct sqlite_sweep {
	struct arena arena;
	struct key purge[SWEEP_ROWS];
	size_t n_purge;
	struct key last;
	size_t n_seen;
	uint64_t token_max;
};

static int
sqlite_sweep_row(struct sqlite_sweep *w, sqlite3_stmt *s)
{
	size_t length = (size_t)sqlite3_column_bytes(s, 0);
	uint64_t token = (uint64_t)sqlite3_column_int64(s, 1);

	w->last.bytes = arena_copy(&w->arena, sqlite3_column_blob(s, 0),
	    length);
	w->last.length = length;
	if (w->last.bytes == NULL)
		return SQLITE_NOMEM;
	w->n_seen++;
	if (sqlite3_column_int(s, 2) == 0 || token > SWEEP_TOKEN_MAX)
		return SQLITE_OK;
	w->purge[w->n_purge++] = w->last;
	if (token > w->token_max)
		w->token_max = token;
	return SQLITE_OK;
}

static int
sqlite_sweep_look(struct sqlite_records *r, struct sqlite_sweep *w,
    uint64_t wall_s)
{
	sqlite3_stmt *s = r->statements[STATEMENT_LOCK_SWEEP];
	int rc;

	(void)sqlite_rows_bind_bytes(s, 1, r->sweep_key, r->sweep_length);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)wall_s);
	(void)sqlite3_bind_int(s, 3, SWEEP_ROWS);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		rc = sqlite_sweep_row(w, s);
		if (rc != SQLITE_OK)
			break;
	}
	(void)sqlite3_reset(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int
sqlite_sweep_purge(struct sqlite_records *r, const struct sqlite_sweep *w,
    uint64_t wall_s)
{
	sqlite3_stmt *purge = r->statements[STATEMENT_LOCK_PURGE];
	sqlite3_stmt *contents = r->statements[STATEMENT_CONTENTS_PURGE];
	sqlite3_stmt *floor = r->statements[STATEMENT_FLOOR_PUT];
	int rc = SQLITE_OK;

	(void)sqlite3_bind_int64(r->statements[STATEMENT_SESSION_PURGE], 1,
	    (sqlite3_int64)wall_s);
	rc = sqlite_records_step(r, STATEMENT_SESSION_PURGE);
	for (size_t i = 0; i < w->n_purge && rc == SQLITE_OK; i++) {
		(void)sqlite_rows_bind_bytes(purge, 1, w->purge[i].bytes,
		    w->purge[i].length);
		(void)sqlite_rows_bind_bytes(contents, 1, w->purge[i].bytes,
		    w->purge[i].length);
		rc = sqlite_records_step(r, STATEMENT_LOCK_PURGE);
		if (rc == SQLITE_OK)
			rc = sqlite_records_step(r, STATEMENT_CONTENTS_PURGE);
	}
	if (rc != SQLITE_OK || w->token_max <= r->token_floor)
		return rc;
	(void)sqlite3_bind_int64(floor, 1, (sqlite3_int64)w->token_max);
	return sqlite_records_step(r, STATEMENT_FLOOR_PUT);
}

/* Go on behind the last row seen, or from the start after the end. */
static void
sqlite_sweep_advance(struct sqlite_records *r, const struct sqlite_sweep *w)
{
	free(r->sweep_key);
	r->sweep_key = NULL;
	r->sweep_length = 0;
	if (w->n_seen < SWEEP_ROWS)
		return;
	r->sweep_key = malloc(w->last.length + 1);
	if (r->sweep_key == NULL)
		return;
	memcpy(r->sweep_key, w->last.bytes, w->last.length);
	r->sweep_length = w->last.length;
}

static int
sqlite_sweep_run(struct sqlite_records *r, struct sqlite_sweep *w,
    uint64_t wall_s)
{
	int rc;

	rc = sqlite_sweep_look(r, w, wall_s);
	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite_records_begin(r, false);
	if (rc == SQLITE_OK)
		rc = sqlite_sweep_purge(r, w, wall_s);
	if (rc == SQLITE_OK)
		rc = sqlite_records_commit(r);
	if (rc != SQLITE_OK) {
		sqlite_records_rollback(r);
		return rc;
	}
	/* Only now: what was rolled back is still there. */
	if (w->token_max > r->token_floor)
		r->token_floor = w->token_max;
	sqlite_sweep_advance(r, w);
	return SQLITE_OK;
}

int
sqlite_records_sweep(struct sqlite_records *r, uint64_t wall_s)
{
	struct sqlite_sweep *w = calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return SQLITE_NOMEM;
	rc = sqlite_sweep_run(r, w, wall_s);
	arena_done(&w->arena);
	free(w);
	return rc;
}
