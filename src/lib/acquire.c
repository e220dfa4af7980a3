/*
 * Acquire, renew, downgrade: each as a request whose answer comes later, and as
 * a call that blocks.
 */
#include "lib/connection.h"

#include <string.h>

#include "common/clock.h"
#include "lib/change.h"
#include "lib/hold.h"
#include "lib/options.h"
#include "lib/parts.h"
#include "lib/request.h"
#include "lib/wait.h"

static int
acquire_keys(struct ddblock *d, const char *const *keys, size_t n_keys)
{
	if (n_keys == 0 || n_keys > DDBLOCK_KEYS_MAX)
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "one lock to 25 are acquired at once");
	for (size_t i = 0; i < n_keys; i++) {
		if (keys[i] == NULL || keys[i][0] == '\0')
			return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
			    "the key is empty");
	}
	return 0;
}

static int
acquire_options(struct ddblock *d,
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
	if (ret->ns != NULL && strlen(ret->ns) > CONNECTION_NAME_MAX)
		return connection_fail(d, DDBLOCK_E_UNKNOWN_NAMESPACE, NULL);
	if (ret->mode != DDBLOCK_EXCLUSIVE && ret->mode != DDBLOCK_SHARED)
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "there is no such mode");
	if (ret->policy != DDBLOCK_FAIL_OPEN &&
	    ret->policy != DDBLOCK_FAIL_CLOSED)
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "there is no such policy");
	return connection_need_timer(d);
}

/* The argument that each option becomes. */
#define OPTION(field, kind, argument)                                          \
	{ offsetof(struct ddblock_acquire_options, field), OPTION_##kind,      \
	    ARGUMENT_##argument }
static const struct option acquire_table[] = {
	OPTION(ns, TEXT, NS),
	OPTION(sort, TEXT, SORT),
	OPTION(mode, FLAG, MODE),
	OPTION(limit, COUNT, LIMIT),
	OPTION(wait_ms, TIME, WAIT),
	OPTION(poll_ms, TIME, POLL),
	OPTION(max_hold_ms, TIME, MAX_HOLD),
	OPTION(keepalive_ms, TIME, KEEPALIVE),
	OPTION(danger_ms, TIME_OR_NEVER, DANGER),
	OPTION(policy, FLAG, POLICY),
	OPTION(renew_manually, FLAG, RENEW),
	OPTION(reentrant, FLAG, REENTRANT),
	OPTION(stays, FLAG, ON_CLOSE),
	OPTION(owner, TEXT, OWNER),
	OPTION(linger_ms, TIME, LINGER),
	OPTION(at_least_ms, TIME, AT_LEAST),
	OPTION(every_ms, TIME, EVERY),
	OPTION(counts_at_end, FLAG, COUNTS),
	OPTION(process_fd, DESCRIPTOR, PROCESS),
	OPTION(only_if_exists, FLAG, ONLY_IF_EXISTS),
	OPTION(on_queue, FUNCTION, REPORT),
};
#undef OPTION

_Static_assert(DDBLOCK_SHARED - DDBLOCK_EXCLUSIVE == 1 &&
    DDBLOCK_EXCLUSIVE == 0 && DDBLOCK_FAIL_CLOSED == 1 &&
    sizeof(enum ddblock_mode) == sizeof(int), "they are read as flags");
_Static_assert(DDBLOCK_WAIT_FOREVER == INT64_MAX, "OPTION_TIME says so");

static enum protocol_verb
acquire_verb(const struct ddblock_acquire_options *o)
{
	return o->wait_ms == 0 ? VERB_TRY : VERB_ACQUIRE;
}

/* The arguments: which locks, and how they are waited for and used. */
static void
acquire_write(struct ddblock *d, const struct parts *parts,
    const struct ddblock_acquire_options *o)
{
	for (size_t i = 0; i < parts->n; i++)
		codec_text_value(&d->out, NULL, parts->part[i].key);
	options_write(&d->out, acquire_verb(o), o, acquire_table,
	    sizeof(acquire_table) / sizeof(acquire_table[0]));
	if (o->process_fd >= 0 && o->loss_signal != 0)
		protocol_write(&d->out, ARGUMENT_SIGNAL,
		    o->loss_signal < 0 ? 0 : (uint64_t)o->loss_signal);
}

static int
acquire_begin(struct ddblock *d, const struct ddblock_acquire_options *o,
    struct request_draft *ret)
{
	int r = 0;

	if (o->process_fd >= 0)
		r = connection_pass(d, o->process_fd, d->out.length);
	if (r < 0)
		return r;
	r = request_new(d, REQUEST_ACQUIRE, acquire_verb(o), ret);
	if (r < 0 && o->process_fd >= 0)
		connection_drop_passed(d);
	return r;
}

int
ddblock_acquire_start(struct ddblock *d, const char *key,
    const struct ddblock_acquire_options *options,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	return ddblock_acquire_several_start(d, &key, 1, options, function,
	    arg, ret_request);
}

int
ddblock_acquire_several_start(struct ddblock *d, const char *const *keys,
    size_t n_keys, const struct ddblock_acquire_options *options,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	struct ddblock_acquire_options o;
	struct ddblock_change change;
	struct request_draft draft;
	struct parts *parts;
	int r = acquire_keys(d, keys, n_keys);

	if (r == 0)
		r = acquire_options(d, options, &o);
	if (r == 0)
		r = change_take(d, o.change, &change);
	if (r < 0)
		return r;
	parts = parts_new(keys, n_keys);
	if (parts == NULL)
		return connection_fail(d, DDBLOCK_E_NOMEM, NULL);
	r = acquire_begin(d, &o, &draft);
	if (r < 0) {
		parts_free(parts);
		return r;
	}
	draft.request->parts = parts;
	if (o.ns != NULL)
		(void)memcpy(draft.request->name_space, o.ns,
		    strlen(o.ns) + 1);
	acquire_write(d, parts, &o);
	draft.request->manual = o.renew_manually;
	if (o.wait_ms > 0 && o.wait_ms != DDBLOCK_WAIT_FOREVER)
		draft.request->until_ms = clock_boot_ms() +
		    (uint64_t)o.wait_ms;
	change_write(&d->out, &change);
	draft.request->on_progress = o.on_queue;
	draft.request->progress_arg = o.queue_arg;
	r = request_send_for(d, &draft, function, arg, ret_request);
	if (r < 0 && o.process_fd >= 0)
		connection_drop_passed(d);
	return r;
}

/* Begin a request about a hold that is ours and not lost. Its answer changes
 * the hold (reply.c). */
static int
acquire_about_hold(struct ddblock *d, uint64_t id, enum protocol_verb verb,
    struct request_draft *draft)
{
	struct hold *hold = hold_find(d, id);
	int r;

	if (hold == NULL)
		return connection_fail(d, DDBLOCK_E_LOCK_NOT_OWNED, NULL);
	if (hold->lost)
		return connection_fail(d, DDBLOCK_E_LOCK_LOST, NULL);
	r = request_new(d, REQUEST_OTHER, verb, draft);
	if (r < 0)
		return r;
	protocol_write(&d->out, ARGUMENT_ID, hold_wire_id(d, id));
	draft->request->hold = id;
	return 0;
}

int
ddblock_renew_start(struct ddblock *d, uint64_t id,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	return ddblock_renew_change_start(d, id, NULL, function, arg,
	    ret_request);
}

int
ddblock_renew_change_start(struct ddblock *d, uint64_t id,
    const struct ddblock_change *asked, ddblock_reply_function *function,
    void *arg, uint64_t *ret_request)
{
	struct ddblock_change change;
	struct request_draft draft;
	int r = change_take(d, asked, &change);

	if (r == 0)
		r = acquire_about_hold(d, id, VERB_RENEW, &draft);
	if (r < 0)
		return r;
	change_write(&d->out, &change);
	return request_send_for(d, &draft, function, arg, ret_request);
}

int
ddblock_downgrade_start(struct ddblock *d, uint64_t id, uint32_t limit,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	struct request_draft draft;
	int r = acquire_about_hold(d, id, VERB_DOWNGRADE, &draft);

	if (r < 0)
		return r;
	if (limit > 0)
		protocol_write(&d->out, ARGUMENT_LIMIT, limit);
	return request_send_for(d, &draft, function, arg, ret_request);
}

int
ddblock_acquire(struct ddblock *d, const char *key,
    const struct ddblock_acquire_options *options, uint64_t *ret_id)
{
	return ddblock_acquire_several(d, &key, 1, options, ret_id);
}

int
ddblock_acquire_several(struct ddblock *d, const char *const *keys,
    size_t n_keys, const struct ddblock_acquire_options *options,
    uint64_t *ret_id)
{
	struct wait wait = { .limit_ms = DDBLOCK_NEVER_MS };
	struct ddblock_acquire_options o;
	int r = acquire_options(d, options, &o);

	if (r == 0)
		r = ddblock_acquire_several_start(d, keys, n_keys, &o,
		    wait_on_reply, &wait, &wait.number);
	if (r < 0)
		return r;
	if (o.wait_ms >= 0 && o.wait_ms != DDBLOCK_WAIT_FOREVER)
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

/* Until its answer comes or the hold's deadline. */
static int
acquire_await(struct ddblock *d, uint64_t id, struct wait *wait)
{
	int r = wait_until_answered(d, wait);

	if (r == DDBLOCK_E_NO_DAEMON && d->error == 0 &&
	    ddblock_remaining_ms(d, id) == 0)
		r = connection_fail(d, DDBLOCK_E_LOCK_LOST, NULL);
	return r;
}

int
ddblock_renew(struct ddblock *d, uint64_t id)
{
	return ddblock_renew_change(d, id, NULL);
}

int
ddblock_renew_change(struct ddblock *d, uint64_t id,
    const struct ddblock_change *change)
{
	struct wait wait = { .limit_ms = wait_limit_ms(d, id) };
	int r;

	r = ddblock_renew_change_start(d, id, change, wait_on_reply, &wait,
	    &wait.number);
	return r < 0 ? r : acquire_await(d, id, &wait);
}

int
ddblock_downgrade(struct ddblock *d, uint64_t id, uint32_t limit)
{
	struct wait wait = { .limit_ms = wait_limit_ms(d, id) };
	int r;

	r = ddblock_downgrade_start(d, id, limit, wait_on_reply, &wait,
	    &wait.number);
	return r < 0 ? r : acquire_await(d, id, &wait);
}
