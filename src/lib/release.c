/*
 * Release: of one hold, best effort, and of all.
 */
#include "lib/connection.h"

#include <string.h>

#include "common/clock.h"
#include "lib/change.h"
#include "lib/hold.h"
#include "lib/request.h"
#include "lib/wait.h"

static int
release_one(struct ddblock *d, uint64_t id,
    const struct ddblock_change *change, bool best_effort,
    struct request_draft *draft)
{
	struct hold *hold = hold_find(d, id);
	bool lost;
	int r;

	if (hold == NULL)
		return connection_fail(d, DDBLOCK_E_LOCK_NOT_OWNED, NULL);
	lost = ddblock_remaining_ms(d, id) == 0;
	if (--hold->count == 0)
		hold_free(d, hold);
	if (lost && !best_effort) {
		/* The daemon may know better, but the caller has stopped. */
		hold_give_back(d, id);
		return connection_fail(d, DDBLOCK_E_LOCK_LOST, NULL);
	}
	r = request_new(d, REQUEST_RELEASE, VERB_RELEASE, draft);
	if (r < 0)
		return r;
	protocol_write(&d->out, ARGUMENT_ID, hold_wire_id(d, id));
	change_write(&d->out, change);
	if (best_effort)
		protocol_write(&d->out, ARGUMENT_BEST_EFFORT, 1);
	draft->request->hold = id;
	draft->request->lost = lost;
	draft->request->stale = id <= d->id_base;
	return 0;
}

int
ddblock_release_start(struct ddblock *d, uint64_t id,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	return ddblock_release_change_start(d, id, NULL, function, arg,
	    ret_request);
}

int
ddblock_release_change_start(struct ddblock *d, uint64_t id,
    const struct ddblock_change *asked, ddblock_reply_function *function,
    void *arg, uint64_t *ret_request)
{
	struct ddblock_change change;
	struct request_draft draft;
	int r = change_take(d, asked, &change);

	if (r == 0)
		r = release_one(d, id, &change, false, &draft);
	return r < 0 ? r :
	    request_send_for(d, &draft, function, arg, ret_request);
}

int
ddblock_release_best_effort_start(struct ddblock *d, uint64_t id,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	static const struct ddblock_change none = DDBLOCK_CHANGE_INIT;
	struct request_draft draft;
	int r = release_one(d, id, &none, true, &draft);

	return r < 0 ? r :
	    request_send_for(d, &draft, function, arg, ret_request);
}

/* Does @ns, a list with commas, include this hold's? */
static bool
release_matches(const struct ddblock *d, const char *ns,
    const struct hold *hold)
{
	const char *mine = hold_namespace(d, hold);
	size_t length = strlen(mine);

	while (ns != NULL) {
		size_t n = strcspn(ns, ",");

		if (n == length && strncmp(ns, mine, n) == 0)
			return true;
		if (ns[n] == '\0')
			return false;
		ns += n + 1;
	}
	return true;
}

/* Forget the holds. True: a hold among them is lost. */
static bool
release_forget(struct ddblock *d, const char *ns)
{
	struct hold *hold, *next;
	bool lost = false;

	for (hold = TAILQ_FIRST(&d->holds); hold != NULL; hold = next) {
		next = TAILQ_NEXT(hold, entry);
		if (!release_matches(d, ns, hold))
			continue;
		lost = lost || ddblock_remaining_ms(d, hold->id) == 0;
		hold_free(d, hold);
	}
	return lost;
}

/* If a grant is read after this was sent, it is not known whether the daemon
 * released that hold with the others. */
static bool
release_is_clear(const struct ddblock *d)
{
	const struct request *request;

	TAILQ_FOREACH(request, &d->requests, entry) {
		if (request->kind == REQUEST_ACQUIRE && !request->abandoned)
			return false;
	}
	return true;
}

int
ddblock_release_all_start(struct ddblock *d, const char *ns,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	struct request_draft draft;
	int r;

	if (!release_is_clear(d))
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "an acquire is not answered yet");
	r = request_new(d, REQUEST_RELEASE, VERB_RELEASE, &draft);
	if (r < 0)
		return r;
	protocol_write(&d->out, ARGUMENT_ALL, 1);
	protocol_write_text(&d->out, ARGUMENT_NAMESPACES, ns);
	draft.request->lost = release_forget(d, ns);
	return request_send_for(d, &draft, function, arg, ret_request);
}

int
ddblock_release(struct ddblock *d, uint64_t id)
{
	return ddblock_release_change(d, id, NULL);
}

int
ddblock_release_change(struct ddblock *d, uint64_t id,
    const struct ddblock_change *change)
{
	struct wait wait = { .limit_ms = wait_limit_ms(d, id) };
	int r = ddblock_release_change_start(d, id, change, wait_on_reply,
	    &wait, &wait.number);

	return r < 0 ? r : wait_until_answered(d, &wait);
}

/* Wait for the answer, if it was sent (@r), but report a failure in any case.
 * Without a daemon no lock is held any more, or soon. */
static int
release_await(struct ddblock *d, int r, struct wait *wait, int *ret_cause)
{
	if (r == 0)
		r = wait_until_answered(d, wait);
	if (r < 0 && (r == DDBLOCK_E_NO_DAEMON || r == d->error)) {
		wait->cause = r;
		r = 0;
	}
	if (r == 0 && ret_cause != NULL)
		*ret_cause = wait->cause;
	return r;
}

int
ddblock_release_best_effort(struct ddblock *d, uint64_t id, int *ret_cause)
{
	struct wait wait = { .limit_ms = wait_limit_ms(d, id) };
	int r = ddblock_release_best_effort_start(d, id, wait_on_reply, &wait,
	    &wait.number);

	return release_await(d, r, &wait, ret_cause);
}

int
ddblock_release_all(struct ddblock *d, const char *ns, int *ret_cause)
{
	struct wait wait = { .limit_ms = clock_boot_ms() + REQUEST_ANSWER_MS };
	int r = ddblock_release_all_start(d, ns, wait_on_reply, &wait,
	    &wait.number);

	return release_await(d, r, &wait, ret_cause);
}

int
ddblock_release_for_process(struct ddblock *d, uint64_t id)
{
	struct wait wait = { .limit_ms = clock_boot_ms() + REQUEST_ANSWER_MS };
	struct request_draft draft;
	int r;

	/* The next daemon may have given the id to another hold. */
	if (d->error == 0 && d->again.state != RECONNECT_UP)
		return connection_fail(d, DDBLOCK_E_NO_DAEMON, NULL);
	r = request_new(d, REQUEST_OTHER, VERB_RELEASE, &draft);
	if (r < 0)
		return r;
	draft.request->again = false;
	protocol_write(&d->out, ARGUMENT_ID, id);
	protocol_write(&d->out, ARGUMENT_OF_PROCESS, 1);
	r = request_send_for(d, &draft, wait_on_reply, &wait, &wait.number);
	return r < 0 ? r : wait_until_answered(d, &wait);
}
