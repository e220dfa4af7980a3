/*
 * Acquire, release, renew, cancel; each as a request that is sent and
 * answered later, and as a call that blocks.
 */
#include "lib/connection.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "lib/options.h"

static int
acquire_options(struct ddblock *d, const char *key,
    const struct ddblock_acquire_options *options,
    struct ddblock_acquire_options *ret)
{
	static const struct ddblock_acquire_options defaults =
	    DDBLOCK_ACQUIRE_OPTIONS_INIT;

	*ret = defaults;
	if (options != NULL &&
	    options_copy(ret, sizeof(*ret), options, options->size) < 0)
		return connection_fail(d, DDBLOCK_E_UNSUPPORTED,
		    "this library is older than the options");
	ret->size = sizeof(*ret);
	if (key == NULL || key[0] == '\0')
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "the key is empty");
	if (ret->ns != NULL && strlen(ret->ns) > CONNECTION_NAME_MAX)
		return connection_fail(d, DDBLOCK_E_UNKNOWN_NAMESPACE, NULL);
	if (ret->mode != DDBLOCK_EXCLUSIVE && ret->mode != DDBLOCK_SHARED)
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "there is no such mode");
	return connection_need_timer(d);
}

int
ddblock_acquire_start(struct ddblock *d, const char *key,
    const struct ddblock_acquire_options *options,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	struct ddblock_acquire_options o;
	struct request_draft draft;
	int r = acquire_options(d, key, options, &o);

	if (r < 0)
		return r;
	r = request_new(d, REQUEST_ACQUIRE, o.wait_ms == 0 ? "TRY" : "ACQUIRE",
	    &draft);
	if (r < 0)
		return r;
	codec_text_value(&d->out, NULL, key);
	if (o.ns != NULL) {
		codec_text_value(&d->out, "ns", o.ns);
		(void)memcpy(draft.request->name_space, o.ns,
		    strlen(o.ns) + 1);
	}
	if (o.mode == DDBLOCK_SHARED)
		codec_text_value(&d->out, "mode", "shared");
	if (o.limit > 0)
		codec_number(&d->out, "limit", o.limit);
	if (o.wait_ms > 0)
		options_milliseconds(&d->out, "wait", o.wait_ms);
	if (o.wait_ms != 0 && o.poll_ms > 0)
		options_milliseconds(&d->out, "poll", o.poll_ms);
	draft.request->on_reply = function;
	draft.request->arg = arg;
	return request_send(d, &draft, ret_request);
}

int
ddblock_release_start(struct ddblock *d, uint64_t id,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	struct hold *hold = hold_find(d, id);
	struct request_draft draft;
	bool lost;
	int r;

	if (hold == NULL)
		return connection_fail(d, DDBLOCK_E_LOCK_NOT_OWNED, NULL);
	lost = ddblock_remaining_ms(d, id) == 0;
	hold_free(d, hold);
	if (lost) {
		/* The daemon may know better, but the caller has stopped. */
		hold_give_back(d, id);
		return connection_fail(d, DDBLOCK_E_LOCK_LOST, NULL);
	}
	r = request_new(d, REQUEST_OTHER, "RELEASE", &draft);
	if (r < 0)
		return r;
	codec_number(&d->out, "id", id);
	draft.request->on_reply = function;
	draft.request->arg = arg;
	return request_send(d, &draft, ret_request);
}

int
ddblock_renew_start(struct ddblock *d, uint64_t id,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	struct hold *hold = hold_find(d, id);
	struct request_draft draft;
	int r;

	if (hold == NULL)
		return connection_fail(d, DDBLOCK_E_LOCK_NOT_OWNED, NULL);
	if (hold->lost)
		return connection_fail(d, DDBLOCK_E_LOCK_LOST, NULL);
	r = request_new(d, REQUEST_OTHER, "RENEW", &draft);
	if (r < 0)
		return r;
	codec_number(&d->out, "id", id);
	draft.request->hold = id;
	draft.request->on_reply = function;
	draft.request->arg = arg;
	return request_send(d, &draft, ret_request);
}

int
ddblock_cancel(struct ddblock *d, uint64_t request)
{
	struct request_draft draft;
	int r;

	if (request_find(d, request) == NULL)
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "there is no such request");
	r = request_new(d, REQUEST_OTHER, "CANCEL", &draft);
	if (r < 0)
		return r;
	codec_number(&d->out, "tag", request);
	return request_send(d, &draft, NULL);
}

int
ddblock_acquire(struct ddblock *d, const char *key,
    const struct ddblock_acquire_options *options, uint64_t *ret_id)
{
	struct wait wait = { .limit_ms = DDBLOCK_NEVER_MS };
	struct ddblock_acquire_options o;
	int r = acquire_options(d, key, options, &o);

	if (r == 0)
		r = ddblock_acquire_start(d, key, &o, wait_on_reply, &wait,
		    &wait.number);
	if (r < 0)
		return r;
	if (o.wait_ms >= 0)
		wait.limit_ms = clock_boot_ms() + (uint64_t)o.wait_ms +
		    REQUEST_ANSWER_MS;
	r = wait_until_answered(d, &wait);
	if (r == 0)
		*ret_id = wait.id;
	return r;
}

int
ddblock_try(struct ddblock *d, const char *key, const char *ns,
    uint64_t *ret_id)
{
	struct ddblock_acquire_options o = DDBLOCK_ACQUIRE_OPTIONS_INIT;

	o.ns = ns;
	o.wait_ms = 0;
	return ddblock_acquire(d, key, &o, ret_id);
}

/* The end of patience for what concerns a hold: its own deadline. */
static uint64_t
acquire_limit_ms(const struct ddblock *d, uint64_t id)
{
	uint64_t limit_ms = clock_boot_ms() + REQUEST_ANSWER_MS;
	uint64_t until_ms = ddblock_until_boot_ms(d, id);

	return until_ms < limit_ms ? until_ms : limit_ms;
}

int
ddblock_release(struct ddblock *d, uint64_t id)
{
	struct wait wait = { .limit_ms = acquire_limit_ms(d, id) };
	int r;

	r = ddblock_release_start(d, id, wait_on_reply, &wait, &wait.number);
	if (r < 0)
		return r;
	return wait_until_answered(d, &wait);
}

int
ddblock_renew(struct ddblock *d, uint64_t id)
{
	struct wait wait = { .limit_ms = acquire_limit_ms(d, id) };
	int r;

	r = ddblock_renew_start(d, id, wait_on_reply, &wait, &wait.number);
	if (r < 0)
		return r;
	r = wait_until_answered(d, &wait);
	if (r == DDBLOCK_E_NO_DAEMON && d->error == 0 &&
	    ddblock_remaining_ms(d, id) == 0)
		r = connection_fail(d, DDBLOCK_E_LOCK_LOST, NULL);
	return r;
}
