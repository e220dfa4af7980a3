/*
 * ACQUIRE and TRY: on which terms a lock is asked for.
 */
#include <signal.h>
#include <string.h>

#include "ddblock.h"
#include "ipc/connection.h"
#include "ipc/process.h"

_Static_assert(TOGETHER_MAX == DDBLOCK_KEYS_MAX,
    "the header tells callers of the library how many keys there may be");
_Static_assert(TOGETHER_MAX == PROTOCOL_KEYS_MAX &&
    CORE_LIMIT_MAX == 1000 && OWNER_LENGTH_MAX == 255 && SIGTERM == 15 &&
    NSIG == 65, "protocol.def says so");
_Static_assert(CORE_FOREVER == PROTOCOL_FOREVER, "and it is never");

static void
acquire_terms(const struct protocol_request *q, struct core_terms *ret)
{
	ret->mode = protocol_is(q, ARGUMENT_MODE) ? LOCK_MODE_SHARED :
	    LOCK_MODE_EXCLUSIVE;
	ret->limit = (uint32_t)protocol_number(q, ARGUMENT_LIMIT);
	ret->max_hold_ms = protocol_number(q, ARGUMENT_MAX_HOLD);
	ret->keepalive_ms = protocol_number(q, ARGUMENT_KEEPALIVE);
	ret->danger_ms = protocol_number(q, ARGUMENT_DANGER);
	ret->fail_closed = protocol_is(q, ARGUMENT_POLICY);
	ret->manual = protocol_is(q, ARGUMENT_RENEW);
	ret->reentrant = protocol_is(q, ARGUMENT_REENTRANT);
	ret->stays = protocol_is(q, ARGUMENT_ON_CLOSE);
	ret->linger_ms = protocol_number(q, ARGUMENT_LINGER);
}

/* How it is waited for, and shown to people: @owner, unless it says another. */
static void
acquire_rest(struct connection *c, const struct protocol_request *q,
    char owner[OWNER_LENGTH_MAX + 1], struct core_request *ret)
{
	const struct server *s = c->server;
	const struct codec_text *name = protocol_text(q, ARGUMENT_OWNER);

	if (protocol_given(q, ARGUMENT_WAIT))
		ret->wait_ms = protocol_number(q, ARGUMENT_WAIT);
	else if (q->verb == VERB_ACQUIRE)
		ret->wait_ms = s->calls.defaults(s->arg,
		    ret->namespace_index).wait_ms;
	ret->poll_ms = protocol_number(q, ARGUMENT_POLL);
	ret->fail_open = protocol_given(q, ARGUMENT_POLICY) &&
	    !ret->terms.fail_closed;
	ret->only_if_exists = protocol_is(q, ARGUMENT_ONLY_IF_EXISTS);
	ret->named = name != NULL;
	ret->owner = ret->named ? name->bytes : owner;	/* a NUL follows */
	if (!ret->named)
		(void)server_owner(c->server, ret->namespace_index, c, owner);
}

/* One key, or several of them. */
static int
acquire_keys(struct connection *c, const struct protocol_request *q,
    struct core_request *ret, struct key keys[TOGETHER_MAX],
    char names[TOGETHER_MAX][KEY_BYTES_MAX])
{
	for (size_t i = 0; i < q->n_keys; i++) {
		int r = verbs_name(c, q, i, ret->namespace_index, names[i],
		    &keys[i]);

		if (r < 0)
			return r;
	}
	ret->key = keys[0];
	if (q->n_keys > 1) {
		ret->keys = keys;
		ret->n_keys = (uint32_t)q->n_keys;
	}
	return 0;
}

/* What its connection is from now on, for these terms. */
static int
acquire_promise(struct connection *c, struct core_request *ask)
{
	const struct server *s = c->server;
	int r = 0;

	if (ask->terms.keepalive_ms > 0)
		c->promises = true;
	if (ask->terms.linger_ms > 0) {
		c->secretive = true;
		ask->user = c->peer.uid;
		r = s->calls.secret(s->arg, &ask->secret);
	}
	return r == 0 ? 0 :
	    verbs_reason(c, r, "there are no random bits for a secret");
}

static int
acquire_ask(struct connection *c, const struct protocol_request *q,
    struct core_event *event)
{
	struct pending *p;
	int r = verbs_ask(c, q, event);

	/* It may have been answered already. */
	p = r == 0 && protocol_is(q, ARGUMENT_REPORT) ?
	    pending_find(c, c->requests) : NULL;
	if (p != NULL)
		report_begin(c, p);
	return r;
}

int
verbs_acquire(struct connection *c, const struct protocol_request *q)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	char names[TOGETHER_MAX][KEY_BYTES_MAX];
	char owner[OWNER_LENGTH_MAX + 1];
	struct verbs_change change;
	struct key keys[TOGETHER_MAX];
	int r = verbs_namespace(c, q, &ask->namespace_index);

	if (r == 0)
		r = acquire_keys(c, q, ask, keys, names);
	if (r == 0)
		r = verbs_change(c, q, &change, &ask->change);
	if (r < 0)
		return r;
	ask->verb = CORE_ACQUIRE;
	acquire_terms(q, &ask->terms);
	acquire_rest(c, q, owner, ask);
	r = acquire_promise(c, ask);
	if (r == 0 && protocol_is(q, ARGUMENT_PROCESS))
		r = process_take(c, (int)protocol_number(q, ARGUMENT_SIGNAL),
		    &ask->terms.process);
	if (r == 0)
		r = acquire_ask(c, q, &event);
	if (r < 0)
		process_drop(c->server, ask->terms.process);
	explicit_bzero(&ask->secret, sizeof(ask->secret));
	return r;
}

int
verbs_try(struct connection *c, const struct protocol_request *q)
{
	return verbs_acquire(c, q);
}
