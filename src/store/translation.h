/*
 * The translation of one operation (pure): what an attempt of it asks of
 * DynamoDB, and what the answers to its attempts mean together. When there is
 * an attempt is not decided here (attempts.h), nor how a record is written
 * (dialect.h). The one place that knows what a lost answer does to the meaning
 * of the next.
 *
 * A conflict is read before it is believed. Of two attempts the first may have
 * taken effect unseen; then the second fails because of the first. So:
 *
 *   ACQUIRE   our grant among the holders: DONE. Nothing else ever has it.
 *   MULTI     as ACQUIRE, for each of its parts. Its attempts are one and the
 *             same request under one token, so it happens once. An acknowledged
 *             one is never sent again: an old token would answer success for
 *             locks that were given back. It is DONE when a read shows every
 *             grant, which also tells the tokens. An endpoint without
 *             transactions stands in the way, and none of the keys.
 *   RELEASE   the first of the elements is not there after an unanswered
 *             attempt: DONE.
 *   EXTEND    we alone hold it and the token is at least seen + n, after an
 *             unanswered attempt: DONE. While we alone hold it, only we raise
 *             the token, and by the same n in all attempts. It may be an older
 *             operation of ours that landed late; then that one's block was
 *             never derived, ours can land no more (its `seen` is past), and
 *             what lies between seen and token is still used once.
 *   ADD_WAITER, REMOVE_WAITER
 *             the mark is there, or gone, after an unanswered attempt: DONE.
 *   BREAK     nobody holds it, it says that we broke it, and the token is the
 *             one seen, after an unanswered attempt: DONE.
 *   OPEN      the item is there, not dead, after an unanswered attempt: DONE,
 *             sent when the FIRST attempt was: any of them may be the one.
 *   BEAT      the beat is the number of one of the attempts and the session is
 *             not dead: DONE, sent when THAT attempt was. Each attempt has its
 *             own number, so that an observer that counts from the first cannot
 *             outrun an owner that counts from the last.
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
#ifndef DDBLOCKD_STORE_TRANSLATION_H
#define DDBLOCKD_STORE_TRANSLATION_H

#include "aws/errors.h"
#include "dialect/dialect.h"

#define TRANSLATION_ATTEMPTS_MAX 32

/* What came back for an attempt. */
enum translation_class {
	TRANSLATION_OK = 1,	/* success, with @body */
	TRANSLATION_CONDITION,	/* the condition failed, with @body */
	TRANSLATION_AGAIN,	/* it did not happen; it may next time */
	TRANSLATION_LOST,	/* it may have happened */
	TRANSLATION_INVALID,	/* it did not happen: not a valid request */
	TRANSLATION_REFUSED,	/* it did not happen, and will not */
	TRANSLATION_UNHEARD_OF,	/* nor will any of its kind at this endpoint */
};

struct translation_answer {
	enum translation_class class;
	int code;		/* AGAIN and below: DDBLOCK_E_* */
	const char *text;	/* of them; NULL: none */
	const char *body;
	size_t body_length;
	uint64_t sent_ms;	/* when it was really sent, or 0 */
};

/* What a raw answer means, of which @error says the class. It borrows from
 * both. */
struct translation_answer translation_read(const struct aws_answer *,
    const struct aws_error *error);

/* What to do after an answer. */
enum translation_verdict {
	TRANSLATION_FINAL = 1,	/* the outcome is there */
	TRANSLATION_NOW,		/* send the next attempt at once */
	TRANSLATION_LATER,		/* send it after a while, or give up */
};

struct translation_attempt {
	struct dialect_attempt what;
	uint64_t sent_ms;	/* not later than any byte of it */
	uint64_t out_ms;	/* when it was out for certain */
	bool unanswered;	/* a write without a definite answer (yet) */
	bool refused;		/* a write that has not landed, and will not */
};

struct translation {
	const struct dialect *dialect;
	const struct dialect_table *table;
	const struct operation *operation;
	uint64_t wall_ms;
	enum dialect_step step;		/* of the next attempt */
	struct translation_attempt attempts[TRANSLATION_ATTEMPTS_MAX];
	uint32_t n_attempts;
	uint32_t n_lost;	/* attempts, reads too, without an answer */
	int code;		/* of the last trouble */
	char text[OUTCOME_TEXT_MAX];
	int invalid;		/* the code to refuse with after a look */
	bool acknowledged;	/* MULTI: it happened; only a look is due */
	struct dialect_request request;
	struct dialect_view view;
};

/*
 * Begin. All is borrowed until translation_done(). @wall_ms is the endpoint's
 * clock (not 0), which every attempt writes, or in formats with times of hosts'
 * clocks that one, and there each attempt writes its own.
 */
void translation_init(struct translation *, const struct dialect *,
    const struct dialect_table *, const struct operation *,
    uint64_t wall_ms);
void translation_done(struct translation *);

/* What a host's clock says now: before each attempt, read after the boot clock,
 * so that the time in a record is never earlier than the lease's own. */
void translation_set_wall(struct translation *, uint64_t wall_ms);

/*
 * The next attempt, sent at @now_ms. The request is the translation's and
 * valid until the next call. The number of the attempt goes into @ret_attempt.
 * Two beats must not be sent within one millisecond.
 *
 * DDBLOCK_E_LIMIT
 *     There were too many: give up. Of a mark one without an answer is, for
 *     what may land later must not be the mark that counts.
 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_BAD_RECORD, DDBLOCK_E_NOMEM
 *     There is none: give up.
 */
int translation_next(struct translation *, uint64_t now_ms,
    const struct dialect_request **ret_request, uint32_t *ret_attempt);

/*
 * The answer to an attempt, in any order. FINAL: @ret_outcome is set and valid
 * until translation_done(); answers that come later do not count.
 */
enum translation_verdict translation_answer(struct translation *,
    uint32_t attempt, const struct translation_answer *,
    struct outcome *ret_outcome);

/* There will be no more attempts, nor answers to those under way. */
void translation_give_up(struct translation *, struct outcome *ret_outcome);

#endif
