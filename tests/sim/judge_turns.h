/*
 * Inside of the judge: what it knows of waiter marks, lines, and turns.
 */
#ifndef DDBLOCKD_TESTS_JUDGE_TURNS_H
#define DDBLOCKD_TESTS_JUDGE_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fact.h"

struct judge;
struct judge_grant;
struct judge_hold;
struct judge_lock;
struct judge_request;
struct judge_session;

/* A session of another host in the record, which wants the lock. */
struct judge_waiter_mark {
	struct judge_session *session;
	bool shared;		/* and not for exclusive use */
	uint64_t since_ms;
	bool restored;		/* it was there before, and came by hand */
	/* By hand-over within a host, since, and since that host's elements
	 * changed. */
	uint64_t grants[FACT_HOSTS_MAX];
};

/* It was in the record, once. */
struct judge_mark_left {
	struct judge_mark_left *next;
	const struct judge_session *session;
	bool shared;
};

/* The hosts that wait in order, by the record. */
struct judge_line {
	struct judge_session *sessions[FACT_LINE_MAX];
	size_t n;
	uint64_t next_ms;	/* the first of them is, since then */
	uint64_t free_ms;	/* and the lock is free, if it is */
	bool by_hand;		/* restored: hosts may take it for the one that
				 * they saw before */
	/* The last that others took out; it may have come again before a
	 * repetition of that lands. */
	const struct judge_session *dropped;
	unsigned dropped_by;
	uint64_t dropped_ms;
};

/* A host released an element, though a client there waited for the same use. */
struct judge_yield {
	const struct judge_session *session;	/* or NULL */
	uint64_t at_ms;
	uint64_t to_ms;		/* requests until then must wait */
};

/* judge_line.c */
void judge_line_fact(struct judge *, struct judge_lock *, const struct fact *);
bool judge_line_is_full(const struct judge *, const struct judge_lock *);
uint64_t judge_line_wait_ms(const struct judge *, const struct judge_lock *);

/* judge_turns.c */
void judge_turns_free(struct judge_lock *);
bool judge_turns_is_alive(const struct judge *, const struct judge_session *);
void judge_turns_marks(struct judge *, struct judge_lock *,
    const struct fact *);
void judge_turns_granted(struct judge *, const struct judge_hold *);
void judge_turns_left(struct judge *, struct judge_lock *,
    const struct judge_grant *);
void judge_turns_came(struct judge *, struct judge_lock *,
    const struct judge_grant *, const struct fact *);
/* F6: do other hosts' marks let this element come in? */
void judge_turns_check_marks(struct judge *, const struct judge_lock *,
    const struct judge_grant *, const struct fact *);
/* Does another host than @host visibly have a mark for it? */
bool judge_turns_others_mark(const struct judge_lock *, unsigned host);
/* The same, for exclusive use, of a session that may still live. */
bool judge_turns_is_closed(const struct judge *, const struct judge_lock *,
    unsigned host);
/* Since when do marks for the other use hinder as they do, or when did their
 * sessions end? */
uint64_t judge_turns_open_ms(const struct judge *, const struct judge_lock *,
    bool shared);
void judge_turns_waited(struct judge *, const struct judge_request *);
void judge_turns_end(struct judge *, const struct judge_lock *);

#endif
