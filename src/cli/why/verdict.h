/*
 * What stands in the way of a client that wants the lock. It follows from the
 * facts alone.
 */
#ifndef DDBLOCKD_CLI_WHY_VERDICT_H
#define DDBLOCKD_CLI_WHY_VERDICT_H

#include "cli/why/facts.h"
#include "common/time_text.h"

/* WHY(ID, word): the word is in the JSON, and in ddblock(1). */
#define WHY_STATES(WHY)                                                        \
	WHY(FREE, free)                                                        \
	WHY(HELD, held)		/* here, and all is well */                    \
	WHY(STOPPED, stopped)	/* here, by a process that is stopped */       \
	WHY(DANGER, danger)	/* here, and its lease is not renewed */       \
	WHY(LOST, lost)		/* here; its holder was told to stop */        \
	WHY(LINGERING, lingering)	/* here, without a connection */       \
	WHY(STAYS, stays)	/* here, for the least time of a client that   \
				 * has left */                                 \
	WHY(ELSEWHERE, elsewhere)	/* by another host that lives, as far  \
					 * as it is known */                   \
	WHY(SILENT, silent)	/* by a host without a sign of life */         \
	WHY(DEAD, dead)		/* by a host that is known to be gone */       \
	WHY(KEPT, kept)		/* fail-closed, and nobody left to release */  \
	WHY(UNKNOWN, unknown)	/* the store was not able to tell */           \
	WHY(HIDDEN, hidden)	/* this user may not know */

enum why_state {
#define WHY(id, word) WHY_##id,
	WHY_STATES(WHY)
#undef WHY
};

const char *why_state_word(enum why_state);

enum why_state why_judge(const struct why_facts *);

/* "4m10s", for people: of two units at most. */
#define WHY_TIME_MAX TIME_TEXT_MAX
const char *why_time(uint64_t ms, char to[WHY_TIME_MAX]);

#endif
