/*
 * A disk under SQLite that hangs, is full, or fails to flush, when told to.
 */
#ifndef DDBLOCKD_TESTS_SQLITE_SHIM_H
#define DDBLOCKD_TESTS_SQLITE_SHIM_H

#include <stdbool.h>

/* Put it under every database that is opened from now on. */
void sqlite_shim_install(void);

/* Every flush waits until this is false again. */
void sqlite_shim_hang(bool);

/* Is one waiting now? */
bool sqlite_shim_hangs(void);

/* Every write, or every flush, fails with this result code; SQLITE_OK: none. */
void sqlite_shim_fail_write(int rc);
void sqlite_shim_fail_sync(int rc);

/* How often was a file flushed? */
unsigned sqlite_shim_syncs(void);

#endif
