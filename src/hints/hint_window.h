/*
 * Which sequence numbers of a peer were seen (as RFC 6479): the greatest, and
 * each one of the HINT_WINDOW up to it. What is older than that may have been
 * seen, and counts as late.
 *
 * A peer's numbers have gaps, because it counts what it sends to all its peers
 * together: so the window is wider than those of protocols that do not.
 */
#ifndef DDBLOCKD_HINTS_HINT_WINDOW_H
#define DDBLOCKD_HINTS_HINT_WINDOW_H

#include <stdint.h>

#define HINT_WINDOW 1024	/* numbers, with the greatest */
#define HINT_WINDOW_WORDS (HINT_WINDOW / 64 + 1)

/* Zeroed: none was seen. */
struct hint_window {
	uint64_t greatest;
	uint64_t words[HINT_WINDOW_WORDS];	/* a ring of bits */
};

enum hint_window_verdict {
	HINT_WINDOW_NEW,
	HINT_WINDOW_SEEN,
	HINT_WINDOW_LATE,
};

/* Changes nothing: what is not yet authentic may not move a window. */
enum hint_window_verdict hint_window_check(const struct hint_window *,
    uint64_t sequence);

/* A number that is new is seen now. */
void hint_window_see(struct hint_window *, uint64_t sequence);

#endif
