/*
 * The columns of a lock and of a session, to and from records.
 */
#ifndef DDBLOCKD_STORE_SQLITE_ROWS_H
#define DDBLOCKD_STORE_SQLITE_ROWS_H

#include "core/operation.h"
#include "store/arena.h"

struct sqlite3_stmt;

/* In the order of the columns below. */
#define SQLITE_ROWS_LOCK                                                       \
	"key, mode, token, max, holders, owner, acquired_at, broken_by,"       \
	" xwait, swait, ttl, sequence, random, ran, ran_before"
#define SQLITE_ROWS_CONTENTS "key, data, attributes"
#define SQLITE_ROWS_SESSION "id, beat, lease_ms, host, dead, ttl"

/*
 * Read the row that @s stands on.
 *
 * DDBLOCK_E_NOMEM
 * DDBLOCK_E_BAD_RECORD
 *     A column has a wrong value.
 */
int sqlite_rows_read_lock(struct sqlite3_stmt *s, struct arena *,
    struct lock_record *ret);
int sqlite_rows_read_contents(struct sqlite3_stmt *s, struct arena *,
    struct contents *ret);
int sqlite_rows_read_session(struct sqlite3_stmt *s, struct arena *,
    struct session_record *ret);

/* Bind the columns; what is bound lives in the arena. DDBLOCK_E_NOMEM. */
int sqlite_rows_bind_lock(struct sqlite3_stmt *s, struct arena *,
    struct key key, const struct lock_record *);
int sqlite_rows_bind_contents(struct sqlite3_stmt *s, struct arena *,
    struct key key, const struct contents *);
int sqlite_rows_bind_session(struct sqlite3_stmt *s, struct arena *,
    struct ident id, const struct session_record *, uint64_t ttl_s);

/* Bind a session's name, or a key, to parameter @n. */
int sqlite_rows_bind_ident(struct sqlite3_stmt *s, int n, struct arena *,
    struct ident id);
int sqlite_rows_bind_bytes(struct sqlite3_stmt *s, int n, const char *bytes,
    size_t length);

#endif
