/*
 * Shared by the tests of libddblock: a connection to a fake daemon, and a
 * record of its callbacks' calls.
 */
#ifndef DDBLOCKD_TESTS_FIXTURE_H
#define DDBLOCKD_TESTS_FIXTURE_H

#include <stdint.h>

#include "ddblock.h"
#include "tests/lib/fake_daemon.h"

extern struct fake_daemon fake;
extern struct ddblock *connection;

void fixture_setup(void);
void fixture_teardown(void);

/* Add to the record; and all that was recorded since the last time. */
void fixture_tell(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
const char *fixture_heard(void);

/* Callbacks that tell; the argument of a reply is a name for it. */
void fixture_on_event(void *arg, struct ddblock *,
    const struct ddblock_event *);
void fixture_on_reply(void *arg, struct ddblock *,
    const struct ddblock_reply *);

/* Answer request @tag: a grant until so many ms from now. Returns until. */
uint64_t fixture_grant(int tag, int id, uint64_t ms);

/* Acquire with request @tag (2 or 3), granted like that. Returns the id. */
uint64_t fixture_acquire(int tag, int id, uint64_t ms);

/* Wait until the library has something to do, and let it. */
int fixture_dispatch(void);

#endif
