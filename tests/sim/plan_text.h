/*
 * The language of plans, for its reader (plan_text.c), its writer
 * (plan_write.c), and who makes plans simpler (minimise.c). Private to them.
 *
 * A line is one sentence; "#" begins a comment. Durations are 250ms, 5s, 2m,
 * 3h, 365d; where something moves, +5s or -5s. Rates are in ppm.
 *
 *     world hosts=3 lease=20s drift=10000ppm latency=2ms..8ms ...
 *     limits doubts=4 ...
 *     host A rate=+5000ppm offset=12s wall=-365d absent phase=bridge
 *     format dlock ns=1 fencing skew=10s	of a namespace
 *     format native ns=1 lease=8s		beyond a bridge
 *     peer P dlock wall=-4s retries=2		an older client
 *     trace told,script
 *     at TIME SUBJECT VERB ...		a step (plan.h)
 *     quiet TIME			the faults are over
 *     end TIME
 *
 * What is not said is the default; of the times of a lease, what follows from
 * the lease (plan_derive()). Whoever misspells gets an error, never a guess.
 */
#ifndef DDBLOCKD_TESTS_PLAN_TEXT_H
#define DDBLOCKD_TESTS_PLAN_TEXT_H

#include "plan.h"

/* A setting of the world, of its limits, of a host, or of a lock. */
enum setting_form {
	SETTING_DURATION = 1,	/* uint64_t, ms */
	SETTING_LONG,		/* the same, or "forever" */
	SETTING_SECONDS,	/* uint64_t, s, written as a duration */
	SETTING_SHIFT,		/* int64_t, ms */
	SETTING_PPM,		/* uint32_t */
	SETTING_RATE,		/* int32_t, ppm */
	SETTING_COUNT,		/* uint32_t, or unsigned */
	SETTING_NUMBER,		/* uint64_t */
	SETTING_RANGE,		/* two uint64_t in a row, ms */
	SETTING_FLAG,		/* bool; its word alone says yes */
	SETTING_MODE,		/* bool: "shared", and not "exclusive" */
	SETTING_END,		/* enum plan_end */
	SETTING_PHASE,		/* enum plan_phase */
	SETTING_NAMESPACE,	/* uint32_t; one that there is */
};

struct setting {
	const char *name;
	enum setting_form form;
	size_t offset;
	bool derived;		/* from the lease, unless it is said */
};

/* Each ends with a name of NULL. */
extern const struct setting plan_world_settings[];
extern const struct setting plan_limit_settings[];
extern const struct setting plan_host_settings[];
extern const struct setting plan_lock_settings[];
extern const struct setting plan_format_settings[];
extern const struct setting plan_peer_settings[];

size_t plan_setting_size(const struct setting *);	/* in bytes */

/* Who a step is about, and which words follow its verb. */
enum step_subject {
	SUBJECT_CLIENT = 1,	/* c1 */
	SUBJECT_CLIENT_AT,	/* c1@A */
	SUBJECT_HOST,		/* A */
	SUBJECT_TABLE,		/* table */
	SUBJECT_HAND,		/* hand */
};

enum step_form {
	FORM_NOTHING = 1,
	FORM_LOCK,		/* KEY and plan_lock_settings */
	FORM_KEY,		/* KEY [ns=1] */
	FORM_PREFIX,		/* [PREFIX] [ns=1] */
	FORM_DURATION,		/* T */
	FORM_SHIFT,		/* +T or -T */
	FORM_COUNTS,		/* N M */
	FORM_MESSAGE,		/* KIND N FAULT [T or N] */
	FORM_SESSION,		/* HOST [ns=1] */
	FORM_PHASE,		/* PHASE */
};

struct step_words {
	const char *name;	/* the verb; "hand" and "table" before it */
	enum step_subject subject;
	enum step_form form;
};

/* What follows the name of a fault. */
enum fault_form {
	FAULT_ALONE = 1,
	FAULT_DURATION,
	FAULT_COUNT,
};

const struct step_words *plan_step_words(enum step_kind);
const char *plan_step_verb(enum step_kind);
enum fault_form plan_fault_form(enum message_fault);
const char *plan_end_name(enum plan_end);

#endif
