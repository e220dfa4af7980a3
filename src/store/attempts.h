/*
 * The attempts of one operation at DynamoDB: when to send one, how long to wait
 * for its answer, when to send another in parallel, when to repeat it and when
 * to stop. Pure: its driver has the clock, the dice and the network
 * (dynamodb_job.c in the daemon, a simulator in the tests). translation.h says
 * what is sent and what an answer means.
 *
 * An attempt gets a fraction of the operation's time at first, and more with
 * each lost answer, of other operations too (patience.h): a hung connection
 * costs little, a slow endpoint still gets its chance. Of a renewal whose
 * answer is late there may be a second attempt beside the first (hedge.h);
 * whose answer comes first decides, if it decides anything, and the lease
 * counts from the send of the attempt that it shows.
 *
 * Silence does not say when it is over. So a session's renewal is sent again
 * half a heartbeat after its last attempt at the latest (operation.again_ms):
 * beside one that is still given its time, whatever the budgets say, and
 * without a longer wait. It is no more than the host sends on any day.
 *
 * All operations at one endpoint share a budget of repetitions, and a rate
 * while the endpoint throttles. What leases depend on is never refused by
 * either. Those that the rate holds back are in a line in which users have
 * turns, so that one user's do not take what the rate allows from the others.
 */
#ifndef DDBLOCKD_STORE_ATTEMPTS_H
#define DDBLOCKD_STORE_ATTEMPTS_H

#include "aws/answer.h"
#include "aws/health.h"
#include "aws/hedge.h"
#include "aws/patience.h"
#include "aws/rate_limit.h"
#include "aws/retry.h"
#include "aws/retry_budget.h"
#include "common/fair_queue.h"
#include "store/translation.h"

#define ATTEMPTS_FIRST_MS 1500	/* for the first attempt at most */
#define ATTEMPTS_MIN_MS 100
#define ATTEMPTS_REJECTED_MAX 3	/* so often the credentials may be new ones */

#define ATTEMPTS_OUT_MAX 2	/* at a time, at the most */

struct json_tokener;

/* What all operations at one endpoint have in common. */
struct attempts_shared {
	struct health health;
	struct retry_budget budget;
	struct rate_limit rate;
	struct fair_queue line;		/* held back by it */
	struct hedge hedge;
	struct patience patience;
	uint64_t hedges;		/* so far */
	uint64_t hedges_won;		/* that brought the outcome */
	uint64_t throttled;		/* answers that ask to slow down */
	uint64_t unanswered;		/* attempts without one */
	uint64_t read_milliunits;	/* consumed (consumed.h) */
	uint64_t write_milliunits;
	struct json_tokener *tokener;	/* lent to it, or NULL */
};

struct attempts {
	struct fair_item turn;		/* first: this is one, in the line */
	struct attempts_shared *shared;
	struct translation translation;
	struct retry retry;
	uint32_t rejected;	/* attempts whose credentials did not count */
	uint32_t n_out;		/* without an answer yet */
	uint32_t cost;			/* of the last repetition */
	uint32_t rounds;		/* that ended without an answer */
	uint64_t again_ms;		/* as the operation's; 0: not */
	uint64_t sent_ms;		/* the last attempt */
	uint32_t hedge;			/* attempt, the last; 0: none */
	bool lease;			/* leases depend on it */
	bool renewal;			/* it may be sent twice */
	bool held_back;			/* it waited for the rate */
	bool in_line;
	bool let_go;			/* out of it: it may be sent */
};

enum attempts_next {
	ATTEMPTS_SEND = 1,	/* @request; no answer in @time_ms is one too:
				 * attempts_answer() with a status of 0 */
	ATTEMPTS_WAIT,		/* @time_ms, then attempts_send() */
	ATTEMPTS_AWAIT,		/* the answer to the other attempt */
	ATTEMPTS_END,		/* @outcome, valid until attempts_done() */
};

/* Members that do not belong to @next are zero. */
struct attempts_step {
	enum attempts_next next;
	const struct dialect_request *request;	/* valid until the next step */
	uint32_t attempt;	/* of SEND: its number */
	uint64_t time_ms;
	uint64_t hedge_ms;	/* of SEND, AWAIT: if there is no answer by
				 * then, attempts_hedge(); 0: never */
	struct outcome outcome;
};

void attempts_shared_init(struct attempts_shared *, uint64_t now_ms);

/*
 * All is borrowed until attempts_done(). @wall_ms: the endpoint's clock, which
 * must be known, or a host's where the format has times of those.
 */
void attempts_init(struct attempts *, struct attempts_shared *,
    const struct dialect *, const struct dialect_table *,
    const struct operation *, uint64_t wall_ms);
void attempts_done(struct attempts *);

/* Before attempts_send(), attempts_hedge() and attempts_answer(): what that
 * clock says now, read after the boot clock. It matters where it is a host's.
 */
void attempts_set_wall(struct attempts *, uint64_t wall_ms);

/* The number with which this attempt renews what it is for; 0: it has none. */
uint64_t attempts_beat(const struct attempts *, uint32_t attempt);

/* Was it answered, and what it was to write has not landed and will not? */
bool attempts_is_refused(const struct attempts *, uint32_t attempt);

/* At first, and after ATTEMPTS_WAIT. */
void attempts_send(struct attempts *, uint64_t now_ms,
    struct attempts_step *ret);

/* The answer to the only attempt under way is late: ATTEMPTS_SEND, or
 * ATTEMPTS_AWAIT if there is to be no other, or not yet. */
void attempts_hedge(struct attempts *, uint64_t now_ms,
    struct attempts_step *ret);

/*
 * The answer to an attempt, in any order. After ATTEMPTS_END those to others do
 * not count. @random: 32 random bits. @ret_error says what it was, for a status
 * line.
 */
void attempts_answer(struct attempts *, uint32_t attempt,
    const struct aws_answer *, uint64_t now_ms, uint32_t random,
    struct attempts_step *ret, struct aws_error *ret_error);

/* This attempt did not leave at all, because of @code: the end, unless there
 * is another one under way. */
void attempts_fail(struct attempts *, uint32_t attempt, int code,
    struct attempts_step *ret);

/* It will not be continued: the end. */
void attempts_give_up(struct attempts *, struct attempts_step *ret);

#endif
