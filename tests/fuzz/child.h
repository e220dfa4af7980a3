/*
 * A process that waits.
 */
#ifndef DDBLOCKD_TESTS_FUZZ_CHILD_H
#define DDBLOCKD_TESTS_FUZZ_CHILD_H

/* A pidfd of one that a lock can be for, and that may be signalled. */
int fuzz_open_process(void);

#endif
