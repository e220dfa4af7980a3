/*
 * Where the tests of the embedded store keep their file: a directory of its
 * own for every case, empty again after it.
 */
#ifndef DDBLOCKD_TESTS_SQLITE_FIXTURE_H
#define DDBLOCKD_TESTS_SQLITE_FIXTURE_H

#include <stddef.h>

#include "conformance.h"

/* A new directory under $TMPDIR (or /tmp), and the path of a file in it. */
const char *sqlite_fixture_make(void);
const char *sqlite_fixture_path(void);

/* Remove the store's files, and check that there are no others. */
void sqlite_fixture_remove(void);

/* Open the store there. 0, or its error with @text (of 512 bytes). */
int sqlite_fixture_try(struct event_base *, store_outcome_fn, void *outcome_arg,
    struct store **ret, char *text);

/* For a conformance_target. */
struct store *sqlite_fixture_open(struct event_base *, store_outcome_fn,
    void *outcome_arg);
void sqlite_fixture_close(struct store *);

#endif
