/*
 * Who held what from when to when, made of the lines of the audit trail. Lines
 * may be missing at both ends: journals are rotated, daemons are killed, hosts
 * lose power, and a user has a limit for its lines. Clocks are set. So a time
 * may be unknown, and is said to be.
 */
#ifndef DDBLOCKD_CLI_HISTORY_INTERVALS_H
#define DDBLOCKD_CLI_HISTORY_INTERVALS_H

#include <stddef.h>

#include "cli/history/event.h"

/* INTERVAL_END(ID, word, "for people") */
#define INTERVAL_ENDS(END)                                                     \
	END(NONE, open, "no end so far")                                       \
	END(KEPT, kept, "left by its client, fail-closed: held until a break") \
	END(RELEASED, released, "released")                                    \
	END(LOST, lost, "lost")                                                \
	END(DOWNGRADED, downgraded, "shared from then on")                     \
	END(STOPPED, stopped, "its daemon ended, and left it to its lease")   \
	END(GONE, gone, "its daemon came to an end, and the next one did not " \
	    "go on with it")                                                   \
	END(REBOOT, rebooted, "its host was restarted")

enum interval_end {
#define END(id, word, text) INTERVAL_##id,
	INTERVAL_ENDS(END)
#undef END
};

const char *interval_end_word(enum interval_end);
const char *interval_end_text(enum interval_end);

struct interval {
	bool began;			/* else that was before all lines, then:
					 * */
	uint64_t from_us;
	uint64_t until_us;		/* 0: it has no end */
	bool is_bound;			/* it ended by then, perhaps before */
	uint64_t held_us;		/* 0: unknown */
	bool clock_set;			/* the wall clock was, meanwhile */
	enum interval_end end;
	bool shared;
	bool has_client;
	uint64_t uid, pid;
	unsigned dangers, resumes;
	/* Texts, which may be empty. */
	const char *host, *ns, *key, *sort, *token, *owner;
	const char *name, *reason, *broken_by;
};

struct intervals;

/* Of the times from @since_us to @until_us; of more than @max the earliest are
 * left out. NULL: there is no memory. */
struct intervals *intervals_new(uint64_t since_us, uint64_t until_us,
    size_t max);
void intervals_free(struct intervals *);

/* The next line. False: there is no memory. */
bool intervals_add(struct intervals *, const struct event *);

/* There are no more lines: before the result is asked for. */
void intervals_finish(struct intervals *);

/* All that overlap the time; NULL after the last. */
const struct interval *intervals_next(const struct intervals *,
    const struct interval *after);
size_t intervals_left_out(const struct intervals *);

#endif
