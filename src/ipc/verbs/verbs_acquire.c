/*
 * ACQUIRE and TRY: the terms of an acquire.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "ddblock.h"
#include "ipc/answer/answer.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/process.h"
#include "ipc/connection/rights.h"
#include "ipc/connection/secret.h"
#include "ipc/verbs/room.h"

_Static_assert(MULTI_MAX == DDBLOCK_KEYS_MAX,
    "the header tells callers of the library how many keys there may be");
_Static_assert(MULTI_MAX == PROTOCOL_KEYS_MAX &&
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
	ret->at_least_ms = protocol_number(q, ARGUMENT_AT_LEAST);
	ret->every_ms = protocol_number(q, ARGUMENT_EVERY);
	ret->counts_at_end = protocol_is(q, ARGUMENT_COUNTS);
}

/* A NUL follows each. NULL: it is not given. */
static const char *
acquire_text(const struct protocol_request *q, enum protocol_argument a)
{
	return protocol_given(q, a) ? protocol_text(q, a)->bytes : NULL;
}

/* What is left of its wait, if it was asked in another process. */
static uint64_t
acquire_left_ms(const struct server *s, uint64_t wait_ms)
{
	const uint64_t now_ms = clock_boot_ms();
	uint64_t waited_ms;

	if (s->again == NULL || wait_ms == CORE_FOREVER ||
	    now_ms < s->again->asked_ms)
		return wait_ms;
	waited_ms = now_ms - s->again->asked_ms;
	return wait_ms > waited_ms ? wait_ms - waited_ms : 0;
}

/* Its owner for people: @owner, unless the request names another. What may stay
 * without a client keeps it as its own, for nobody will be there who has that
 * name; what lingers has that of the client that resumes it. */
static void
acquire_owner(struct connection *c, const struct protocol_request *q,
    char owner[OWNER_LENGTH_MAX + 1], struct core_request *ret)
{
	const struct core_terms *terms = &ret->terms;

	ret->owner = ret->labels.owner = acquire_text(q, ARGUMENT_OWNER);
	if (ret->owner != NULL)
		return;
	(void)owner_of_hold(c->server, ret->namespace_index, c->client,
	    terms->process, owner);
	ret->owner = owner;
	if (terms->linger_ms == 0 && (terms->at_least_ms > 0 || terms->stays ||
	    terms->fail_closed))
		ret->labels.owner = owner;
}

/* How it waits. */
static void
acquire_rest(struct connection *c, const struct protocol_request *q,
    struct core_request *ret)
{
	const struct server *s = c->server;

	if (protocol_given(q, ARGUMENT_WAIT))
		ret->wait_ms = protocol_number(q, ARGUMENT_WAIT);
	else if (q->verb == VERB_ACQUIRE)
		ret->wait_ms = s->calls.defaults(s->arg,
		    ret->namespace_index).wait_ms;
	ret->wait_ms = acquire_left_ms(s, ret->wait_ms);
	ret->poll_ms = protocol_number(q, ARGUMENT_POLL);
	ret->fail_open = protocol_given(q, ARGUMENT_POLICY) &&
	    !ret->terms.fail_closed;
	ret->only_if_exists = protocol_is(q, ARGUMENT_ONLY_IF_EXISTS);
}

/* One key, or several of them. */
static int
acquire_keys(struct connection *c, const struct protocol_request *q,
    struct core_request *ret, struct key keys[MULTI_MAX],
    char names[MULTI_MAX][KEY_BYTES_MAX])
{
	for (size_t i = 0; i < q->n_keys; i++) {
		int r = request_name(c, q, i, ret->namespace_index, names[i],
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

/* It needs the rights for each of the locks. */
static int
acquire_allowed(struct connection *c, const struct protocol_request *q,
    const struct core_request *ask, const struct key keys[MULTI_MAX])
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < q->n_keys; i++)
		r = rights_check(c, ask->namespace_index, &keys[i],
		    rights_of_terms(&ask->terms));
	return r;
}

/* One for all that this connection asks for. */
static int
acquire_secret(struct connection *c, const struct core_secret **ret)
{
	const struct server *s = c->server;
	struct core_secret *secret = c->secret;
	struct ident clear;
	int r;

	*ret = secret;
	if (secret != NULL)
		return 0;
	secret = malloc(sizeof(*secret));
	if (secret == NULL)
		return DDBLOCK_E_NOMEM;
	r = s->calls.secret(s->arg, &clear);
	if (r == 0)
		r = secret_learn(s, clear, secret);
	explicit_bzero(&clear, sizeof(clear));
	if (r < 0) {
		free(secret);
		return r;
	}
	*ret = c->secret = secret;
	return 0;
}

/* The duties of its connection from now on, by these terms. */
static int
acquire_promise(struct connection *c, struct core_request *ask)
{
	const bool promises = c->promises, secretive = c->secretive;
	int r = 0;

	if (ask->terms.keepalive_ms > 0)
		c->promises = true;
	ask->terms.resumes = c->resumes;
	if (ask->terms.linger_ms > 0 || c->resumes) {
		c->secretive = true;
		r = acquire_secret(c, &ask->secret);
	}
	if (c->promises != promises || c->secretive != secretive)
		keep_connection(c);
	return r == 0 ? 0 :
	    connection_reason(c, r, "there are no random bits for a secret");
}

/* The process that the lock is for. */
static int
acquire_process(struct connection *c, const struct protocol_request *q,
    uint64_t *ret)
{
	const struct server *s = c->server;

	if (s->again == NULL)
		return process_take(c,
		    (int)protocol_number(q, ARGUMENT_SIGNAL), ret);
	if (process_find(s, s->again->process) == NULL)
		return connection_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "the process that was passed has ended");
	*ret = s->again->process;
	return 0;
}

static int
acquire_ask(struct connection *c, const struct protocol_request *q,
    struct core_event *event)
{
	struct pending *p;
	int r = request_ask(c, q, event);

	/* The request may have been answered already. */
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
	char names[MULTI_MAX][KEY_BYTES_MAX];
	char owner[OWNER_LENGTH_MAX + 1];
	struct update update;
	struct key keys[MULTI_MAX];
	int r = request_namespace(c, q, &ask->namespace_index);

	if (r == 0)
		r = acquire_keys(c, q, ask, keys, names);
	acquire_terms(q, &ask->terms);
	if (r == 0)
		r = acquire_allowed(c, q, ask, keys);
	if (r == 0)
		r = update_read(c, q, &update, &ask->change);
	if (r < 0)
		return r;
	ask->verb = CORE_ACQUIRE;
	acquire_rest(c, q, ask);
	r = acquire_promise(c, ask);
	if (r == 0 && protocol_is(q, ARGUMENT_PROCESS))
		r = acquire_process(c, q, &ask->terms.process);
	acquire_owner(c, q, owner, ask);
	if (r == 0)
		r = acquire_ask(c, q, &event);
	if (r < 0)
		process_drop(c->server, ask->terms.process);
	return r;
}

int
verbs_try(struct connection *c, const struct protocol_request *q)
{
	return verbs_acquire(c, q);
}
