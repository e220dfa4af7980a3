/*
 * The embedded store: locks among the processes of one host, in an SQLite
 * file, with the semantics of the fleet's store.
 */
#ifndef DDBLOCKD_STORE_STORE_SQLITE_H
#define DDBLOCKD_STORE_STORE_SQLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/kind.h"

extern const struct store_kind store_sqlite_kind;

#define STORE_SQLITE_RETENTION_S (UINT64_C(7) * 24 * 3600)

/* Copied. */
struct store_sqlite_config {
	const char *namespace_name;	/* for messages */
	const char *path;		/* of the database file */
	const char *host;		/* recorded with sessions */
	uint64_t retention_s;	/* of free locks; 0: the default */
	bool must_exist;	/* do not create the file */
};

/*
 * Open the database, create it if need be, and start its worker. This reads
 * and writes the disk: call it before the loop runs. @ret_text (at least 512
 * bytes) says what is wrong, where, and what to do about it.
 *
 * DDBLOCK_E_NO_TABLE
 *     The directory is missing, or the file is and must exist.
 * DDBLOCK_E_WRONG_TABLE
 *     The file is another program's, or a newer ddblockd's.
 * DDBLOCK_E_DENIED
 *     No permission, or another daemon serves the file.
 * DDBLOCK_E_STORE_FULL, DDBLOCK_E_STORE_BROKEN, DDBLOCK_E_NOMEM,
 * DDBLOCK_E_SYSTEM
 *
 * store_free() carries out what was submitted, unless the disk hangs. It must
 * not be called from within an outcome.
 */
int store_sqlite_new(struct event_base *, const struct store_sqlite_config *,
    store_outcome_fn, void *outcome_arg, struct store **ret, char *ret_text,
    size_t text_size);

#endif
