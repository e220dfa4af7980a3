/*
 * The life of one operation over its attempts: what to send next, and what the
 * answers mean together. The one place that knows what a lost answer does to
 * the meaning of the next. It has no clock, no socket and no dice, so that a
 * simulation can link it as it is.
 *
 * A conflict is read before it is believed. Of two attempts the first may have
 * taken effect unseen; then the second fails because of the first. So:
 *
 *   ACQUIRE   our grant among the holders: DONE. Nothing else ever has it.
 *   TOGETHER  as ACQUIRE, for each of its parts. Its attempts are one and the
 *             same request under one token, so it happens once. What was
 *             acknowledged is never sent again: a token that is old would
 *             answer success for what was given back. It is DONE when a read
 *             shows every grant, which also tells the tokens. An endpoint
 *             without transactions stands in the way, and none of the keys.
 *   RELEASE   the first of the elements is not there after an unanswered
 *             attempt: DONE.
 *   EXTEND    we alone hold it and the token is at least seen + n, after an
 *             unanswered attempt: DONE. While we alone hold it, only we raise
 *             the token, and by the same n in all attempts. It may be an older
 *             operation of ours that landed late; then that one's block was
 *             never derived, ours can land no more (its `seen` is past), and
 *             what lies between seen and token is still used once.
 *   WANT, UNWANT   the wish is there, or gone, after an unanswered attempt:
 *             DONE.
 *   BREAK     nobody holds it, it says that we broke it, and the token is the
 *             one seen, after an unanswered attempt: DONE.
 *   OPEN      the item is there, not dead, after an unanswered attempt: DONE,
 *             sent when the FIRST attempt was: any of them may be the one.
 *   BEAT      the beat is the number of one of the attempts and the session is
 *             not dead: DONE, sent when THAT attempt was. Each attempt has its
 *             own number, so that an observer who counts from the first cannot
 *             outrun an owner who counts from the last.
 *   KILL, BURY   dead, and by us, after an unanswered attempt: DONE.
 *   CLOSE     it is dead after an unanswered attempt: DONE.
 *
 *
 * In formats without sessions:
 *
 *   REFRESH, EXTEND, UPDATE   it is ours, with the beat of one of the attempts:
 *             DONE, sent when THAT attempt was, as of a session's beat.
 *   BREAK     nobody holds it, after an unanswered attempt: DONE. Who broke it
 *             is not recorded there.
 *
 * Otherwise it is a CONFLICT: as far as this record goes, it did not happen.
 * An unanswered attempt may still land, which `unanswered` says.
 */
#ifndef DDBLOCKD_DIALECT_EXCHANGE_H
#define DDBLOCKD_DIALECT_EXCHANGE_H

#include "dialect/dialect.h"

#define EXCHANGE_ATTEMPTS_MAX 32

/* What came back for an attempt. */
enum exchange_class {
	EXCHANGE_OK = 1,	/* success, with @body */
	EXCHANGE_CONDITION,	/* the condition failed, with @body */
	EXCHANGE_AGAIN,		/* it did not happen; it may next time */
	EXCHANGE_LOST,		/* it may have happened */
	EXCHANGE_INVALID,	/* it did not happen: not a valid request */
	EXCHANGE_REFUSED,	/* it did not happen, and will not */
	EXCHANGE_UNHEARD_OF,	/* nor will any of its kind at this endpoint */
};

struct exchange_answer {
	enum exchange_class class;
	int code;		/* AGAIN and below: DDBLOCK_E_* */
	const char *text;	/* of them; NULL: none */
	const char *body;
	size_t body_length;
	uint64_t sent_ms;	/* when it was really sent, or 0 */
};

/* What to do after an answer. */
enum exchange_verdict {
	EXCHANGE_FINAL = 1,	/* the outcome is there */
	EXCHANGE_NOW,		/* send the next attempt at once */
	EXCHANGE_LATER,		/* send it after a while, or give up */
};

struct exchange_attempt {
	struct dialect_attempt what;
	uint64_t sent_ms;	/* not later than any byte of it */
	uint64_t out_ms;	/* when it was out for certain */
	bool unanswered;	/* a write without a definite answer (yet) */
};

struct exchange {
	const struct dialect *dialect;
	const struct dialect_table *table;
	const struct operation *operation;
	uint64_t wall_ms;
	enum dialect_step step;		/* of the next attempt */
	struct exchange_attempt attempts[EXCHANGE_ATTEMPTS_MAX];
	uint32_t n_attempts;
	uint32_t n_lost;	/* attempts, reads too, without an answer */
	int code;		/* of the last trouble */
	char text[OUTCOME_TEXT_MAX];
	int invalid;		/* the code to refuse with after a look */
	bool acknowledged;	/* TOGETHER: it happened; only a look is due */
	struct dialect_request request;
	struct dialect_view view;
};

/*
 * Begin. All is borrowed until exchange_done(). @wall_ms is the endpoint's
 * clock (not 0), which every attempt writes, or in formats with times of hosts'
 * clocks that one, and there each attempt writes its own.
 */
void exchange_init(struct exchange *, const struct dialect *,
    const struct dialect_table *, const struct operation *,
    uint64_t wall_ms);
void exchange_done(struct exchange *);

/* What a host's clock says now: before each attempt, read after the boot clock,
 * so that the time in a record is never earlier than the lease's own. */
void exchange_set_wall(struct exchange *, uint64_t wall_ms);

/*
 * The next attempt, sent at @now_ms. The request is the exchange's and valid
 * until the next call. The number of the attempt goes into @ret_attempt. Two
 * beats must not be sent within one millisecond.
 *
 * DDBLOCK_E_LIMIT
 *     There were too many: give up. Of a mark one without an answer is, for
 *     what may land later must not be the mark that counts.
 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_BAD_RECORD, DDBLOCK_E_NOMEM
 *     There is none: give up.
 */
int exchange_next(struct exchange *, uint64_t now_ms,
    const struct dialect_request **ret_request, uint32_t *ret_attempt);

/*
 * The answer to an attempt, in any order. FINAL: @ret_outcome is set and valid
 * until exchange_done(); answers that come later do not count.
 */
enum exchange_verdict exchange_answer(struct exchange *, uint32_t attempt,
    const struct exchange_answer *, struct outcome *ret_outcome);

/* There will be no more attempts, nor answers to those under way. */
void exchange_give_up(struct exchange *, struct outcome *ret_outcome);

#endif
