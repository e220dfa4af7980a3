/*
 * Where the tests of the embedded store keep their file: a directory of its
 * own for every case, empty again after it.
 */
#ifndef DDBLOCKD_TESTS_SQLITE_PLACE_H
#define DDBLOCKD_TESTS_SQLITE_PLACE_H

#include <stddef.h>

#include "conformance.h"

/* A new directory under $TMPDIR (or /tmp), and the path of a file in it. */
const char *sqlite_place_make(void);
const char *sqlite_place_path(void);

/* Remove what the store leaves, and check that there is nothing else. */
void sqlite_place_remove(void);

/* Open the store there. 0, or its error with @text (of 512 bytes). */
int sqlite_place_try(struct event_base *, store_outcome_fn, void *outcome_arg,
    struct store **ret, char *text);

/* For a conformance_target. */
struct store *sqlite_place_open(struct event_base *, store_outcome_fn,
    void *outcome_arg);
void sqlite_place_close(struct store *);

#endif
