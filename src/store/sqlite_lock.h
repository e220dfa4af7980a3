/*
 * The lock next to the embedded store's file, held as long as it is served.
 */
#ifndef DDBLOCKD_STORE_SQLITE_LOCK_H
#define DDBLOCKD_STORE_SQLITE_LOCK_H

#include <stddef.h>

/*
 * Lock "@path.lock" and leave our process number there. @ret is a file
 * descriptor; closing it unlocks.
 *
 * DDBLOCK_E_DENIED
 *     Another daemon has it (@text says which), or no permission.
 * DDBLOCK_E_NO_TABLE
 *     The directory does not exist.
 * DDBLOCK_E_STORE_FULL, DDBLOCK_E_STORE_BROKEN, DDBLOCK_E_SYSTEM
 */
int sqlite_lock_take(const char *path, int *ret, char *text,
    size_t text_size);

/* The code for a system call on @path that failed with @error, and a text
 * that says what to do. */
int sqlite_lock_explain(const char *path, const char *what, int error,
    char *text, size_t text_size);

#endif
