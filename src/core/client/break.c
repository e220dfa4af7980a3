/*
 * BREAK: an administrator takes a lock from all its holders.
 *
 * It is sent beside whatever is under way for the lock: a holder that hangs or
 * a store that is slow must not keep it back, and what other hosts break, each
 * lock has to live with anyway. Its condition is the token that was seen, so it
 * breaks no later holder, however late it lands.
 *
 * A holder of this host is told as soon as it is known, before the client that
 * asked for it; on other hosts the audit finds it, or a hint makes them look:
 * the record is read first then, for the hosts of its holders.
 *
 * In a format without sessions the condition is the record's version, which may
 * be named itself. With a token the record is read first.
 */
#include "core/client/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rate.h"
#include "ddblock.h"

#define BREAK_TOLD 8	/* hosts of holders, by hints */

struct breaking {
	struct core_submit submit;
	struct core_broke broke;
	struct request *request;
	struct core_holder_view holder;	/* the holder, now or before */
	uint64_t deadline_ms;
	bool busy;
	char *record;	/* formats without sessions: the version that it was
			 * named by, or (once that was read) has */
	bool by_record;	/* and not by the token */
	uint32_t n_told;	/* that a look has found; 0: there was none */
	struct ident told[BREAK_TOLD];
	char text[];			/* who: why, and the key */
};

/* ---- as a request ----------------------------------------------------- */

static struct breaking *
breaking_of(const struct request *r)
{
	return r->served;
}

static bool
break_is_busy(const struct request *r)
{
	return breaking_of(r)->busy;
}

static void
break_free(struct request *r)
{
	free(breaking_of(r)->record);
	free(r->served);
}

static const struct request_kind break_kind = {
	.leave = NULL,
	.is_busy = break_is_busy,
	.timeout = NULL,	/* its operation's end comes first */
	.free = break_free,
};

/* ---- asking ----------------------------------------------------------- */

static struct lock *
break_lock(const struct breaking *b)
{
	return lock_find(b->request->ns, b->broke.key);
}

/* The one client here that has it exclusively, with the token that was named:
 * its record's may be higher, for it is one of a block. */
static const struct hold *
break_named(const struct breaking *b)
{
	const struct lock *l = break_lock(b);
	const struct hold *h =
	    l == NULL ? NULL : hold_of(lock_first_use(l));

	if (h == NULL || h->use.grant->mode != LOCK_MODE_EXCLUSIVE ||
	    h->use.token != b->broke.token)
		return NULL;
	return h;
}

static void
break_submit(struct core *core, struct breaking *b, uint64_t token_seen)
{
	const struct namespace *ns = b->request->ns;
	bool look = ns->has_sessions ? ns->settings.hints && b->n_told == 0 :
	    b->record == NULL;
	uint32_t user = b->request->waiter.user;

	b->submit.operation = (struct operation){
		.user = user,
		.key = b->broke.key,
		.token_seen = token_seen,
		.owner = b->broke.by,
		.version = b->record,
	};
	b->busy = true;
	core->n_breaking++;
	(void)rate_take(core, b->request->ns, user, 1);
	action_submit(core, &b->submit, b->request->ns,
	    look ? OPERATION_READ : OPERATION_BREAK, b->deadline_ms,
	    CORE_ABOUT_BREAK, b->request);
}

/* The daemon keeps it for the next request; no client has it. */
static bool
break_is_idle(const struct breaking *b)
{
	const struct lock *l = break_lock(b);

	return b->request->ns->settings.keeps_idle && l != NULL &&
	    l->grants != NULL && l->n_uses == 0;
}

static struct breaking *
break_new(struct request *r, const struct core_request *ask)
{
	const char *who = ask->owner == NULL ? "" : ask->owner;
	const char *why = ask->reason == NULL ? "" : ask->reason;
	size_t by_size = strlen(who) + strlen(why) + sizeof(": ");
	struct breaking *b = calloc(1, sizeof(*b) + by_size + ask->key.length);

	if (b == NULL)
		return NULL;
	(void)snprintf(b->text, by_size, "%s: %s", who, why);
	memcpy(b->text + by_size, ask->key.bytes, ask->key.length);
	b->request = r;
	b->broke.namespace_index = r->ns->index;
	b->broke.key = (struct key){ b->text + by_size, ask->key.length };
	b->broke.token = ask->token;
	b->broke.by = b->text;
	b->broke.reason = b->text + by_size - 1 - strlen(why);
	if (ask->record == NULL)
		return b;
	b->by_record = true;
	b->record = strdup(ask->record);
	if (b->record != NULL)
		return b;
	free(b);
	return NULL;
}

static const char *
break_refuse(const struct namespace *ns, const struct core_request *ask)
{
	if (!key_is_sound(ask->key))
		return "a key has 1 to 1024 bytes";
	if (ask->record != NULL && ns->has_sessions)
		return "this format breaks a lock by its token: name that, "
		       "not the record";
	if (ask->record == NULL &&
	    !ns->has_tokens)
		return "this format has no tokens: name the record that GET "
		       "showed, with record=";
	return NULL;
}

int
break_ask(struct core *core, struct request *r,
    const struct core_request *ask)
{
	const struct hold *h;
	struct breaking *b;
	const char *why = break_refuse(r->ns, ask);

	if (why != NULL) {
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0, why);
		return 0;
	}
	b = break_new(r, ask);
	if (b == NULL)
		return DDBLOCK_E_NOMEM;
	r->served = b;
	r->kind = &break_kind;
	if (break_is_idle(b)) {
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0,
		    "the lock is free");
		return 0;
	}
	h = break_named(b);
	b->deadline_ms = core->now_ms + r->ns->settings.request_ms;
	break_submit(core, b,
	    h == NULL ? ask->token : h->use.grant->token_last);
	return 0;
}

/* ---- what became of it ------------------------------------------------ */

static void
break_done(struct core *core, const struct breaking *b,
    const struct outcome *o)
{
	struct lock *l = break_lock(b);
	struct namespace *ns = b->request->ns;

	for (uint32_t i = 0; i < b->n_told; i++)
		hint_send(core, ns, b->broke.key, CORE_HINT_BROKEN,
		    b->told[i]);
	hint_freed(core, ns, b->broke.key, &o->lock);
	hint_changed(core, ns, b->broke.key);
	if (l != NULL)
		lock_broken(core, l, &o->lock);
}

/* Its holder here only took more tokens meanwhile: then with that one. (After a
 * downgrade without an answer, others may share it already.) */
static bool
break_again(struct core *core, struct breaking *b, const struct outcome *o)
{
	const struct hold *h = break_named(b);

	if (h == NULL || !record_shows(&o->lock, h->use.grant) ||
	    o->lock.mode != LOCK_MODE_EXCLUSIVE || b->by_record ||
	    core->now_ms >= b->deadline_ms)
		return false;
	free(b->record);	/* it was renewed meanwhile */
	b->record = NULL;
	break_submit(core, b, o->lock.token);
	return true;
}

/* Their hosts may have other keys by now. */
static void
break_note_holders(struct core *core, struct breaking *b,
    const struct lock_record *record)
{
	for (size_t i = 0; i < record->n_holders && b->n_told < BREAK_TOLD;
	    i++) {
		b->told[b->n_told++] = record->holders[i].session;
		observe_stranger(core, b->request->ns,
		    record->holders[i].session);
	}
}

/* The record that has the token was read: now by its version, or that token. */
static bool
break_go_on(struct core *core, struct breaking *b, const struct outcome *o)
{
	uint64_t token_seen = b->submit.operation.token_seen;

	if (b->submit.operation.kind != OPERATION_READ ||
	    o->kind != OUTCOME_DONE || o->lock.n_holders == 0 ||
	    core->now_ms >= b->deadline_ms)
		return false;
	if (b->request->ns->has_sessions) {
		if (o->lock.token != token_seen)
			return break_again(core, b, o);
		break_note_holders(core, b, &o->lock);
		break_submit(core, b, token_seen);
		return true;
	}
	if (o->lock.version == NULL || o->lock.token != b->broke.token)
		return false;
	b->record = strdup(o->lock.version);
	if (b->record == NULL)
		return false;
	break_submit(core, b, o->lock.token);
	return true;
}

/* It stands as it was: it has another holder now, or none. */
static int
break_missed(struct core *core, struct breaking *b,
    const struct outcome *o, char *text, size_t size)
{
	view_record(core, b->request->ns, b->broke.key, &o->lock,
	    core->now_ms, &b->holder);
	if (!b->holder.held) {
		(void)snprintf(text, size, "the lock is free");
		return DDBLOCK_E_NO_SUCH_LOCK;
	}
	b->request->reply.holder = &b->holder;
	if (b->by_record) {
		(void)snprintf(text, size, "the record is not that one (any "
		    "more); look at its holder now");
		return DDBLOCK_E_WRONG_TOKEN;
	}
	(void)snprintf(text, size, "the lock has token %" PRIu64 ", not %"
	    PRIu64 "%s; look at its holder now", b->holder.token,
	    b->broke.token, o->unanswered ? " (any more: perhaps an attempt "
	    "that was not answered broke it)" : "");
	return DDBLOCK_E_WRONG_TOKEN;
}

static int
break_outcome(struct core *core, struct breaking *b,
    const struct outcome *o, char *text, size_t size)
{
	switch (o->kind) {
	case OUTCOME_DONE:
		if (b->submit.operation.kind == OPERATION_READ)
			return break_missed(core, b, o, text, size);
		break_done(core, b, o);
		/* The record still names the last holder. */
		if (o->lock.owner != NULL)
			(void)snprintf(b->holder.owner,
			    sizeof(b->holder.owner), "%s", o->lock.owner);
		return 0;
	case OUTCOME_CONFLICT:
		return break_missed(core, b, o, text, size);
	case OUTCOME_UNKNOWN:
		(void)snprintf(text, size, "no answer came; the lock may have "
		    "been broken, or be so yet: look again");
		break;
	case OUTCOME_REFUSED:
		(void)snprintf(text, size, "%s", o->text);
		break;
	}
	return outcome_code(o);
}

void
break_stored(struct core *core, struct request *r, const struct outcome *o)
{
	struct breaking *b = breaking_of(r);
	char text[OUTCOME_TEXT_MAX] = "";

	assert(b->busy && core->n_breaking > 0);
	b->busy = false;
	core->n_breaking--;
	namespace_trouble(r->ns, o);
	if (o->kind == OUTCOME_CONFLICT && break_again(core, b, o))
		return;
	if (break_go_on(core, b, o))
		return;
	b->broke.code = break_outcome(core, b, o, text, sizeof(text));
	b->broke.client = r->client != NULL ? r->client->id : 0;
	b->broke.owner = b->holder.owner;
	b->broke.unsure = b->broke.code != 0 &&
	    (o->unanswered || o->kind == OUTCOME_UNKNOWN);
	action_add(core, &b->broke.action, CORE_BROKE);
	if (r->client != NULL) {
		r->reply.token = b->broke.token;
		r->reply.owner = b->holder.owner;
		request_reply(core, r, b->broke.code, 0, text);
		return;
	}
	/* Its client left while the store was being asked. */
	request_abandoned(core, r);
}
