/*
 * RAISE: an administrator raises the token of a record, after its table was
 * restored from a backup (lock/tokens.c).
 *
 * The token becomes a whole number of seconds, as no grant's is: so a holder,
 * who may have a block of tokens below it, sees that it was raised, and gives
 * none of those between. Repeated, or late, it changes nothing: tokens only
 * rise.
 */
#include "core/client/room.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rate.h"
#include "ddblock.h"

struct raising {
	struct core_submit submit;
	bool busy;
	char key[];
};

static struct raising *
raising_of(const struct request *r)
{
	return r->served;
}

static bool
raise_is_busy(const struct request *r)
{
	return raising_of(r)->busy;
}

static void
raise_free(struct request *r)
{
	free(r->served);
}

static const struct request_kind raise_kind = {
	.leave = NULL,
	.is_busy = raise_is_busy,
	.timeout = NULL,	/* its operation's end comes first */
	.free = raise_free,
};

/* The next multiple. */
static uint64_t
raise_target(uint64_t token)
{
	return (token + TOKENS_RAISED - 1) / TOKENS_RAISED * TOKENS_RAISED;
}

static const char *
raise_refuse(const struct namespace *ns, const struct core_request *ask)
{
	if (!key_is_sound(ask->key))
		return "a key has 1 to 1024 bytes";
	if (raise_target(ask->token) > TOKEN_MAX)
		return "there is no room for tokens above that";
	if (ask->token == 0 && (ns->session == NULL ||
	    ns->session->state != LEASE_VALID))
		return "no session is open, so the store's time is not known "
		       "yet: say to=";
	return NULL;
}

int
raise_ask(struct core *core, struct request *r, const struct core_request *ask)
{
	const char *why = raise_refuse(r->ns, ask);
	struct raising *g;

	if (!r->ns->has_sessions) {
		request_reply(core, r, DDBLOCK_E_UNSUPPORTED, 0,
		    "tokens of this format say nothing of the time, and cannot "
		    "be raised to it");
		return 0;
	}
	if (why != NULL) {
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0, why);
		return 0;
	}
	g = calloc(1, sizeof(*g) + ask->key.length);
	if (g == NULL)
		return DDBLOCK_E_NOMEM;
	memcpy(g->key, ask->key.bytes, ask->key.length);
	r->served = g;
	r->kind = &raise_kind;
	g->submit.operation = (struct operation){
		.user = r->waiter.user,
		.key = { g->key, ask->key.length },
		.tokens = raise_target(ask->token),
	};
	g->busy = true;
	(void)rate_take(core, r->ns, r->waiter.user, 1);
	action_submit(core, &g->submit, r->ns, OPERATION_RAISE,
	    core->now_ms + r->ns->settings.request_ms, CORE_ABOUT_RAISE, r);
	return 0;
}

static int
raise_outcome(struct core_reply *reply, const struct outcome *o, char *text,
    size_t size)
{
	reply->token = o->lock.token;
	reply->raised = o->kind == OUTCOME_DONE;
	switch (o->kind) {
	case OUTCOME_DONE:
		return 0;
	case OUTCOME_CONFLICT:
		if (o->lock.exists)
			return 0;
		(void)snprintf(text, size, "it has no record; the next one "
		    "begins above all tokens of before");
		return DDBLOCK_E_NO_SUCH_LOCK;
	case OUTCOME_UNKNOWN:
		(void)snprintf(text, size, "no answer came; the token may have "
		    "been raised, or be so yet: it may be asked again");
		break;
	case OUTCOME_REFUSED:
		(void)snprintf(text, size, "%s", o->text);
		break;
	}
	return outcome_code(o);
}

void
raise_stored(struct core *core, struct request *r, const struct outcome *o)
{
	struct raising *g = raising_of(r);
	char text[OUTCOME_TEXT_MAX] = "";
	int code;

	assert(g->busy);
	g->busy = false;
	namespace_trouble(r->ns, o);
	if (r->client == NULL) {
		request_abandoned(core, r);
		return;
	}
	code = raise_outcome(&r->reply, o, text, sizeof(text));
	if (r->reply.raised) {
		r->reply.namespace_index = r->ns->index;
		r->reply.key = g->submit.operation.key;
	}
	request_reply(core, r, code, 0, text);
}
