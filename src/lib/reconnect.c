/*
 * A connection that the daemon ended is opened again. The rules:
 *
 * - A hold goes on only if its grant came with a secret: then the daemon, or
 *   the next one, keeps it until its client has stopped by its own deadline.
 *   All others are lost at once.
 * - On the new connection RESUME comes first. A hold that its answer does not
 *   name is lost; one that it names and that we do not have (its grant was not
 *   read, or its release is under way) is given back.
 * - A request that may be sent twice is sent again after that, in the old
 *   order, and so are those that were made meanwhile. A RELEASE goes only to a
 *   hold that was resumed: a new daemon may have given its id to another hold.
 * - A connection without a hold, a watch or a request is not opened again.
 * - A daemon that does not know resume=yes keeps only what lingers. Without any
 *   such hold the end of its connection is final. One that has not answered yet
 *   may know it.
 */
#include "lib/reconnect.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/clock.h"
#include "common/ignored.h"
#include "ipc/codec.h"
#include "lib/event.h"
#include "lib/hold.h"
#include "lib/watch.h"

#define RECONNECT_PAUSE_MS 50
#define RECONNECT_PAUSE_MAX_MS 1000
#define RECONNECT_STABLE_MS 1000	/* UP so long: the pauses start over */

/* ---- the greeting ----------------------------------------------------- */

static int
reconnect_greet_resume(struct ddblock *d)
{
	struct request_draft draft;
	int r = request_new(d, REQUEST_HELLO, VERB_HELLO, &draft);

	if (r < 0)
		return r;
	codec_text_value(&d->out, "resume", "yes");
	draft.request->asks_resume = true;
	return request_send(d, &draft, &d->again.last_number);
}

/* resume=yes has a line of its own: an older daemon refuses only that. */
int
reconnect_greet(struct ddblock *d)
{
	struct request_draft draft;
	int r = request_new(d, REQUEST_HELLO, VERB_HELLO, &draft);

	if (r < 0)
		return r;
	protocol_write(&d->out, ARGUMENT_PROTO, 1);
	protocol_write_text(&d->out, ARGUMENT_NAME, d->again.name);
	protocol_write(&d->out, ARGUMENT_RENEWED, 1);
	r = request_send(d, &draft, NULL);
	return r < 0 || !d->again.wanted ? r : reconnect_greet_resume(d);
}

static int
reconnect_ask(struct ddblock *d)
{
	struct request_draft draft;
	int r = reconnect_greet(d);

	if (r < 0 || d->secret[0] == '\0')
		return r;
	r = request_new(d, REQUEST_REOPEN, VERB_RESUME, &draft);
	if (r < 0)
		return r;
	protocol_write_text(&d->out, ARGUMENT_SECRET, d->secret);
	return request_send(d, &draft, &d->again.last_number);
}

/* ---- times ------------------------------------------------------------ */

static uint64_t
reconnect_dice(struct reconnect *a, uint64_t n)
{
	if (a->seed == 0)
		ignored(getrandom(&a->seed, sizeof(a->seed), GRND_NONBLOCK));
	a->seed = a->seed * 6364136223846793005U + 1442695040888963407U;
	return (a->seed >> 33) % n;
}

uint64_t
reconnect_pause_ms(struct reconnect *a)
{
	uint64_t pause_ms = a->pause_ms;

	a->pause_ms = pause_ms == 0 ? RECONNECT_PAUSE_MS : pause_ms * 2;
	if (a->pause_ms > RECONNECT_PAUSE_MAX_MS)
		a->pause_ms = RECONNECT_PAUSE_MAX_MS;
	return pause_ms == 0 ? 0 :
	    pause_ms / 2 + reconnect_dice(a, pause_ms + 1);
}

/* When the next thing is due, besides the deadlines of holds. */
static void
reconnect_set_due(struct ddblock *d)
{
	struct reconnect *a = &d->again;
	const struct request *request;

	a->due_ms = DDBLOCK_NEVER_MS;
	if (a->state != RECONNECT_UP) {
		if (!hold_any_kept(d))
			a->due_ms = a->limit_ms;
		if (a->state == RECONNECT_AWAY && a->retry_ms < a->due_ms)
			a->due_ms = a->retry_ms;
		TAILQ_FOREACH(request, &d->requests, entry) {
			if (request->until_ms < a->due_ms)
				a->due_ms = request->until_ms;
		}
	}
	connection_set_timer(d);
}

/* ---- it breaks -------------------------------------------------------- */

/* Answer those requests for which @which says so: always the first, because
 * each callback may change the list. */
static void
reconnect_answer(struct ddblock *d, const struct ddblock_reply *reply,
    bool (*which)(const struct request *))
{
	struct request *request;

	do {
		TAILQ_FOREACH(request, &d->requests, entry) {
			if (which(request))
				break;
		}
		if (request != NULL)
			request_answer(d, request, reply);
	} while (request != NULL);
}

static bool
reconnect_is_opening(const struct request *request)
{
	return request->kind == REQUEST_HELLO ||
	    request->kind == REQUEST_REOPEN;
}

/* It may have been done or not. */
static bool
reconnect_is_doubtful(const struct request *request)
{
	return request->sent && !request->again;
}

static bool
reconnect_is_late(const struct request *request)
{
	return clock_boot_ms() >= request->until_ms;
}

/* Is there anything to go on with? What is only given back is over in any case,
 * and another connection might start a daemon that was stopped. */
static bool
reconnect_has_reason(const struct ddblock *d)
{
	const struct request *request;

	if (!TAILQ_EMPTY(&d->holds) || !TAILQ_EMPTY(&d->watches))
		return true;
	TAILQ_FOREACH(request, &d->requests, entry) {
		if (request->kind != REQUEST_RELEASE &&
		    request->kind != REQUEST_GIVE_BACK)
			return true;
	}
	return false;
}

/* Has the daemon not said yet whether it knows resume=yes? */
static bool
reconnect_is_ungreeted(const struct ddblock *d)
{
	const struct request *request;

	TAILQ_FOREACH(request, &d->requests, entry) {
		if (request->asks_resume)
			return true;
	}
	return false;
}

/* A daemon that stops may end a connection without a word before it greets it.
 * LOCK_NOT_OWNED: another connection resumed our holds. */
static bool
reconnect_is_possible(const struct ddblock *d, int code)
{
	return d->again.wanted && (d->again.known || hold_any_kept(d) ||
	    (code == DDBLOCK_E_NO_DAEMON && reconnect_is_ungreeted(d))) &&
	    code != DDBLOCK_E_LOCK_NOT_OWNED && code != DDBLOCK_E_DENIED &&
	    code != DDBLOCK_E_BAD_REQUEST && code != DDBLOCK_E_PROTOCOL &&
	    code != DDBLOCK_E_NOMEM;
}

static void
reconnect_close(struct ddblock *d)
{
	struct ddblock_reply none = { .code = DDBLOCK_E_NO_DAEMON };
	struct reconnect *a = &d->again;

	connection_shut(d);
	reconnect_answer(d, &none, reconnect_is_opening);
	a->state = RECONNECT_AWAY;
	a->retry_ms = clock_boot_ms() + reconnect_pause_ms(a);
}

static void
reconnect_report(struct ddblock *d, enum ddblock_event_kind kind, int code)
{
	struct ddblock_event event = {
		.kind = kind,
		.code = code,
		.until_boot_ms = d->deadline_ms,
	};

	event_report(d, &event);
}

bool
reconnect_begin(struct ddblock *d, int code)
{
	struct ddblock_reply reply = { .code = DDBLOCK_E_NO_DAEMON };
	struct reconnect *a = &d->again;
	uint64_t now_ms = clock_boot_ms();

	if (!reconnect_is_possible(d, code) || !reconnect_has_reason(d) ||
	    connection_need_timer(d) < 0)
		return false;
	if (a->state == RECONNECT_OPENING) {
		reconnect_close(d);
		reconnect_set_due(d);
		return true;
	}
	if (now_ms - a->up_ms >= RECONNECT_STABLE_MS)
		a->pause_ms = 0;
	a->limit_ms = now_ms + a->least_ms;
	reconnect_close(d);
	hold_lose_unkept(d);
	reconnect_report(d, DDBLOCK_EVENT_BROKEN, code);
	reply.text = d->last_text;
	reconnect_answer(d, &reply, reconnect_is_doubtful);
	reconnect_set_due(d);
	return true;
}

void
reconnect_stop(struct ddblock *d)
{
	d->again.state = RECONNECT_UP;
	d->again.due_ms = DDBLOCK_NEVER_MS;
}

/* ---- it is tried ------------------------------------------------------ */

static void
reconnect_try(struct ddblock *d)
{
	struct reconnect *a = &d->again;

	if (clock_boot_ms() < a->retry_ms)
		return;
	if (connection_connect(d) < 0) {
		a->retry_ms = clock_boot_ms() + reconnect_pause_ms(a);
		return;
	}
	a->state = RECONNECT_OPENING;
	hold_find_none(d);
	if (reconnect_ask(d) < 0)
		reconnect_close(d);
	connection_flush(d);
}

int
reconnect_go_on(struct ddblock *d)
{
	const struct ddblock_reply late = {
		.code = DDBLOCK_E_ACQUIRE_TIMEOUT,
		.cause = DDBLOCK_E_NO_DAEMON,
	};
	struct reconnect *a = &d->again;

	if (a->state == RECONNECT_UP)
		return 0;
	if (a->state == RECONNECT_AWAY)
		reconnect_try(d);
	reconnect_answer(d, &late, reconnect_is_late);
	if (clock_boot_ms() >= a->limit_ms && !hold_any_kept(d))
		return connection_fail(d, DDBLOCK_E_NO_DAEMON,
		    "the connection broke, and there is no other");
	reconnect_set_due(d);
	return 0;
}

/* ---- it is back ------------------------------------------------------- */

/* True: it is answered so, for its hold was not resumed. */
static bool
reconnect_settle(struct ddblock *d, const struct request *request,
    bool resumed, struct ddblock_reply *ret)
{
	const struct hold *hold = hold_find(d, request->hold);

	*ret = (struct ddblock_reply){ .code = 0 };
	if (request->hold == 0 || request->there || request->stale)
		return false;
	if (request->kind != REQUEST_RELEASE &&
	    request->kind != REQUEST_GIVE_BACK) {
		ret->code = DDBLOCK_E_LOCK_LOST;
		return hold == NULL || hold->lost || !hold->found;
	}
	/* It was done, or the hold was over before. */
	if (!resumed)
		ret->code = DDBLOCK_E_NO_DAEMON;
	else if (!request->sent)
		ret->code = DDBLOCK_E_LOCK_LOST;
	return true;
}

/* Each once, by their numbers: callbacks may make others. */
static void
reconnect_send_all(struct ddblock *d, bool resumed)
{
	uint64_t last = d->last_number, number = 0;

	for (;;) {
		struct request *request, *next = NULL;
		struct ddblock_reply reply;

		TAILQ_FOREACH(request, &d->requests, entry) {
			if (request->number > number &&
			    request->number <= last && (next == NULL ||
			    request->number < next->number))
				next = request;
		}
		if (next == NULL)
			return;
		number = next->number;
		if (next->kind == REQUEST_GIVE_BACK && next->there)
			continue;
		if (reconnect_settle(d, next, resumed, &reply))
			request_answer(d, next, &reply);
		else if (next->line != NULL)
			request_send_again(d, next);
		/* The greeting has no line: it has gone already. */
	}
}

/* Give back what is not ours first: a request may be for the same lock. */
static void
reconnect_give_back(struct ddblock *d)
{
	struct request *request, *next;

	for (request = TAILQ_FIRST(&d->requests); request != NULL;
	    request = next) {
		next = TAILQ_NEXT(request, entry);
		if (request->kind == REQUEST_GIVE_BACK && request->there)
			request_send_again(d, request);
	}
}

/* May the same daemon, or the next one, answer otherwise soon? */
static bool
reconnect_may_pass(int code)
{
	return code == DDBLOCK_E_SHUTTING_DOWN || code == DDBLOCK_E_LIMIT ||
	    code == DDBLOCK_E_UNREACHABLE || code == DDBLOCK_E_THROTTLED;
}

int
reconnect_opened(struct ddblock *d, struct request *request, int code)
{
	struct reconnect *a = &d->again;
	bool resumed = request->kind == REQUEST_REOPEN && code == 0;

	if (request->kind == REQUEST_REOPEN && reconnect_may_pass(code))
		return code;
	request_forget(d, request);
	a->state = RECONNECT_UP;
	a->up_ms = clock_boot_ms();
	a->due_ms = DDBLOCK_NEVER_MS;
	if (!resumed)
		hold_forget_ids(d);
	reconnect_give_back(d);
	reconnect_send_all(d, resumed);
	hold_lose_unfound(d);
	watch_again(d);
	reconnect_report(d, DDBLOCK_EVENT_RESUMED, 0);
	return 0;
}
