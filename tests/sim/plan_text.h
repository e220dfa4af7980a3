/*
 * The language of plans, for its reader (plan_text.c), its writer
 * (plan_write.c), and the minimiser (minimise.c). Private to them.
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
 *     trace told,script from=59s to=2m
 *     expect losses=0 grants=8		how often clients are told so
 *     at TIME SUBJECT VERB ...		a step (plan.h)
 *     at TIME c1..9@A lock x1..3		27 steps: each does it with each
 *     quiet TIME			the faults are over
 *     end TIME
 *
 * A setting that is not given has its default; the times of a lease follow from
 * the lease (plan_derive()). A misspelling gets an error, never a guess.
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
	SETTING_NAMESPACE,	/* uint32_t; an existing namespace */
	SETTING_OF,		/* unsigned; a host's number and 1 */
};

struct setting {
	const char *name;
	enum setting_form form;
	size_t offset;
	bool derived;		/* from the lease, unless it is given */
};

/* Each ends with a name of NULL. */
extern const struct setting plan_world_settings[];
extern const struct setting plan_limit_settings[];
extern const struct setting plan_host_settings[];
extern const struct setting plan_lock_settings[];
extern const struct setting plan_list_settings[];
extern const struct setting plan_hand_settings[];
extern const struct setting plan_expect_settings[];
extern const struct setting plan_trace_settings[];
extern const struct setting plan_format_settings[];
extern const struct setting plan_peer_settings[];
extern const struct setting plan_reload_settings[];

size_t plan_setting_size(const struct setting *);	/* in bytes */

/* The subject of a step, and the words that follow its verb. */
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
	FORM_LIST,		/* [PREFIX] and plan_list_settings */
	FORM_HAND,		/* KEY and plan_hand_settings */
	FORM_DURATION,		/* T */
	FORM_SHIFT,		/* +T or -T */
	FORM_COUNTS,		/* N M */
	FORM_MESSAGE,		/* KIND N[..M] FAULT [T, N or TYPE] */
	FORM_SESSION,		/* HOST [ns=1] */
	FORM_PHASE,		/* PHASE */
	FORM_RELOAD,		/* plan_reload_settings */
};

struct step_words {
	const char *name;	/* the verb; "hand" and "table" before it */
	enum step_subject subject;
	enum step_form form;
	bool scripted;		/* no seed has it */
};

/* The words after the name of a fault. */
enum fault_form {
	FAULT_ALONE = 1,
	FAULT_DURATION,
	FAULT_COUNT,
	FAULT_TYPE,		/* "ResourceNotFoundException" */
};

const struct step_words *plan_step_words(enum step_kind);
const char *plan_step_verb(enum step_kind);
enum fault_form plan_fault_form(enum message_fault);
const char *plan_end_name(enum plan_end);

#endif
