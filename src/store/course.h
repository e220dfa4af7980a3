/*
 * The course of one operation to DynamoDB: which request to send, how long to
 * wait for its answer, what the answer means, when to try again and when to
 * stop. Pure: it ties the exchange, the classes of errors and the policy of
 * repetition together; whoever drives it has the clock, the dice and the
 * network (dynamodb_job.c in the daemon, a simulator in the tests).
 *
 * An attempt gets a fraction of the operation's time at first and more with
 * each lost answer: a hung connection costs little, a slow endpoint still gets
 * its chance.
 */
#ifndef DDBLOCKD_STORE_COURSE_H
#define DDBLOCKD_STORE_COURSE_H

#include "aws/answer.h"
#include "aws/retry.h"
#include "dialect/exchange.h"

#define COURSE_ATTEMPT_MS 1500	/* for the first attempt at most */
#define COURSE_ATTEMPT_MIN_MS 100
#define COURSE_REJECTED_MAX 3	/* so often the credentials may be new ones */

struct course {
	struct exchange exchange;
	struct retry retry;
	uint32_t attempt;		/* sent last; 0: the first */
	uint32_t rejected;	/* attempts whose credentials did not count */
};

enum course_next {
	COURSE_SEND = 1,	/* @request; no answer in @time_ms is one too:
				 * course_answer() with a status of 0 */
	COURSE_WAIT,		/* @time_ms, then course_send() */
	COURSE_END,		/* @outcome, valid until course_done() */
};

/* What is not named by @next is zero. */
struct course_step {
	enum course_next next;
	const struct dialect_request *request;	/* valid until the next step */
	uint64_t time_ms;
	struct outcome outcome;
};

/*
 * All is borrowed until course_done(). @wall_ms: the endpoint's clock, which
 * must be known, or a host's where the format has times of those.
 */
void course_init(struct course *, const struct dialect *,
    const struct dialect_table *, const struct operation *, uint64_t wall_ms);
void course_done(struct course *);

/* Before course_send() and course_answer(): what that clock says now, read
 * after the boot clock. It matters where it is a host's. */
void course_set_wall(struct course *, uint64_t wall_ms);

/* At first, and after COURSE_WAIT. */
void course_send(struct course *, uint64_t now_ms, struct course_step *ret);

/*
 * The answer to what was sent last. @random: 32 random bits. @ret_error says
 * what it was, for a status line.
 */
void course_answer(struct course *, const struct aws_answer *,
    uint64_t now_ms, uint32_t random, struct course_step *ret,
    struct aws_error *ret_error);

/* What was to be sent last did not leave at all, because of @code: the end. */
void course_fail(struct course *, int code, struct course_step *ret);

/* There is nobody left to drive it: the end. */
void course_give_up(struct course *, struct course_step *ret);

#endif
