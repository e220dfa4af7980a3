/*
 * The judge's state of records that older clients share with us. Private to
 * judge*.c.
 */
#ifndef DDBLOCKD_TESTS_JUDGE_RECORD_H
#define DDBLOCKD_TESTS_JUDGE_RECORD_H

#include <uthash.h>

#include "judge.h"

/* A write that landed late is looked for after pauses of up to this, and then
 * with each audit. */
#define JUDGE_IN_DOUBT_PAUSE_MS 30000

struct judge_hold;
struct judge_lock;
struct judge_mark;
struct judge_request;

/* The last holder of a lock, of a fleet on its way over a bridge. */
enum judge_phase {
	JUDGE_PHASE_NONE = 0,
	JUDGE_PHASE_OLD,
	JUDGE_PHASE_BOTH,
	JUDGE_PHASE_NATIVE,
};

/* The item as it is, in a format that older clients share. */
struct judge_record {
	bool exists;
	bool free;
	unsigned writer;	/* of it as it is: a host, ours or theirs */
	char hold[33];		/* if it is ours */
	char version[FACT_VERSION_MAX];
	uint64_t since_ms;	/* it has the same holder since, */
	uint64_t first_ms;	/* by the request sent then */
	uint64_t changed_ms;	/* it was written last */
	uint64_t sent_ms;	/* of this holder's landed writes, the last
				 * sent */
	uint64_t lease_ms;
	uint64_t until_ms;	/* FACT_NEVER: it names no time */
	uint64_t token;
	char lost_hold[33];	/* its client was told of the loss, */
	uint64_t lost_ms;	/* then */
	struct judge_mark *marks;	/* in the record */
	struct judge_gone *gone;	/* taken out by hand, or broken */
	struct judge_gone *left;	/* by clients that have gone */
};

struct judge_gone {
	struct judge_gone *next;	/* of the record */
	char hold[33];
};

/* A version or mark that was ever in a record. */
struct judge_text {
	UT_hash_handle hh;	/* by its text, in the judge */
	char text[FACT_VERSION_MAX];
};

/* A program of an older client believes that it has the lock. */
struct judge_belief {
	struct judge_belief *next;
	unsigned peer;
	uint64_t client;
};

bool judge_is_foreign(const struct judge *, const struct judge_lock *);
/* Is it this hold's? */
bool judge_record_is_of(const struct judge_record *,
    const struct judge_hold *);
/* judge_break.c: had a client at this host seen this record, and breaks it? */
bool judge_break_is_of_record(const struct judge_lock *, const struct fact *);
/* judge_contents.c */
void judge_contents_in_record(struct judge *, struct judge_lock *,
    const struct fact *, bool same);

void judge_record_fact(struct judge *, const struct fact *);
void judge_record_granted(struct judge *, struct judge_hold *,
    const char *name);
void judge_record_check_deadline(struct judge *, const struct judge_hold *);
void judge_record_check_loss(struct judge *, const struct judge_hold *,
    enum core_loss);
/* Its client is gone, and leaves it as it is. */
void judge_record_left_held(struct judge_hold *);
/* R18: when a hold without a client must be out of it; NEVER: it may stay. */
uint64_t judge_record_gone_ms(const struct judge *, const struct judge_lock *);
uint64_t judge_record_grant_ms(const struct judge *, const struct judge_lock *,
    const struct judge_request *first);
void judge_belief_fact(struct judge *, const struct fact *);
void judge_record_free_all(struct judge_lock *);
/* Was this version, or mark, there before? It is from now on. */
bool judge_text_was_there(struct judge *, const char *);
void judge_text_free_all(struct judge *);

/* judge_mark.c */
void judge_mark_fact(struct judge *, const struct fact *);
void judge_mark_check_taken(struct judge *, const struct judge_lock *,
    const struct fact *);
void judge_mark_wipe(struct judge_record *);

#endif
