/*
 * BREAK: somebody takes a lock from all who hold it.
 *
 * It is sent beside whatever is under way for the lock: a holder that hangs or
 * a store that is slow must not keep it back, and what other hosts break, each
 * lock has to live with anyway. Its condition is the token that was seen, so it
 * hits nobody who came later, however late it lands.
 *
 * Who holds the lock here hears of it as soon as it is known, before whoever
 * asked for it does; on other hosts the audit finds it.
 *
 * In a format without sessions the condition is the record's version, which may
 * be named itself. For who names the token the record is read first.
 */
#include "core/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

void
breaking_free(struct breaking *b)
{
	assert(!b->busy);
	free(b->record);
	free(b);
}

static struct lock *
breaking_lock(const struct breaking *b)
{
	return lock_find(b->request->ns, b->broke.key);
}

/* The one client here who has it exclusively, with the token that was named:
 * its record's may be higher, for it is one of a block. */
static const struct hold *
breaking_named(const struct breaking *b)
{
	const struct lock *l = breaking_lock(b);
	const struct hold *h = l == NULL ? NULL : lock_first_hold(l);

	if (h == NULL || h->grant->mode != LOCK_MODE_EXCLUSIVE ||
	    h->token != b->broke.token)
		return NULL;
	return h;
}

static void
breaking_submit(struct core *core, struct breaking *b, uint64_t token_seen)
{
	bool look = b->record == NULL &&
	    b->request->ns->settings.life != LOCK_LIFE_SESSION;

	b->submit.operation = (struct operation){
		.key = b->broke.key,
		.token_seen = token_seen,
		.owner = b->broke.by,
		.version = b->record,
	};
	b->busy = true;
	core->n_breaking++;
	action_submit(core, &b->submit, b->request->ns,
	    look ? OPERATION_READ : OPERATION_BREAK, b->deadline_ms,
	    CORE_ABOUT_BREAK, b->request);
}

/* The daemon keeps it for whoever asks next; no client has it. */
static bool
breaking_is_idle(const struct breaking *b)
{
	const struct lock *l = breaking_lock(b);

	return b->request->ns->settings.keeps_idle && l != NULL &&
	    l->grants != NULL && l->n_holds == 0;
}

static struct breaking *
breaking_new(struct request *r, const struct core_request *ask)
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
breaking_refuse(const struct namespace *ns, const struct core_request *ask)
{
	if (!key_is_sound(ask->key))
		return "a key has 1 to 1024 bytes";
	if (ask->record != NULL && ns->settings.life == LOCK_LIFE_SESSION)
		return "this format breaks a lock by its token: name that, "
		       "not the record";
	if (ask->record == NULL &&
	    (ns->settings.lacks & CORE_LACKS_TOKENS) != 0)
		return "this format has no tokens: name the record that GET "
		       "showed, with record=";
	return NULL;
}

int
breaking_ask(struct core *core, struct request *r,
    const struct core_request *ask)
{
	const struct hold *h;
	const char *why = breaking_refuse(r->ns, ask);

	if (why != NULL) {
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0, why);
		return 0;
	}
	r->breaking = breaking_new(r, ask);
	if (r->breaking == NULL)
		return DDBLOCK_E_NOMEM;
	if (breaking_is_idle(r->breaking)) {
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0,
		    "nobody holds the lock");
		return 0;
	}
	h = breaking_named(r->breaking);
	r->breaking->deadline_ms = core->now_ms + r->ns->settings.request_ms;
	breaking_submit(core, r->breaking,
	    h == NULL ? ask->token : h->grant->token_last);
	return 0;
}

/* ---- what became of it ------------------------------------------------ */

/* What was in the record with this token is out of it: what came in later has a
 * higher one. Or the one that its version names. */
static bool
breaking_hits(const struct breaking *b, const struct grant *g,
    const struct outcome *o)
{
	return b->request->ns->settings.life == LOCK_LIFE_SESSION ?
	    g->token_last <= o->lock.token :
	    ident_equal(g->id, o->lock.broken);
}

static void
breaking_done(struct core *core, struct breaking *b, const struct outcome *o)
{
	struct lock *l = breaking_lock(b);
	struct grant *g, *next;
	struct doubt *d;

	if (l == NULL)
		return;
	/* Should it come back, it is nobody's. */
	DL_FOREACH(l->doubts, d)
	{
		d->left = false;
	}
	LL_FOREACH_SAFE(l->grants, g, next)
	{
		if (g->state == GRANT_HELD && breaking_hits(b, g, o))
			grant_lose(core, g, CORE_LOSS_BROKEN);
	}
	/* Who waits for it here need not wait for the next poll. */
	if (l->view == VIEW_FOREIGN)
		l->due_ms = core->now_ms;
	lock_advance(core, l);
}

/* Its holder here only took more tokens meanwhile: then with that one. (What it
 * was downgraded to, though no answer came, others may share by now.) */
static bool
breaking_again(struct core *core, struct breaking *b, const struct outcome *o)
{
	const struct hold *h = breaking_named(b);

	if (h == NULL || !record_shows(&o->lock, h->grant) ||
	    o->lock.mode != LOCK_MODE_EXCLUSIVE || b->by_record ||
	    core->now_ms >= b->deadline_ms)
		return false;
	free(b->record);	/* it was renewed meanwhile */
	b->record = NULL;
	breaking_submit(core, b, o->lock.token);
	return true;
}

/* The record that has the token was read: now by its version. */
static bool
breaking_go_on(struct core *core, struct breaking *b, const struct outcome *o)
{
	if (b->submit.operation.kind != OPERATION_READ ||
	    o->kind != OUTCOME_DONE || o->lock.n_holders == 0 ||
	    o->lock.version == NULL || o->lock.token != b->broke.token ||
	    core->now_ms >= b->deadline_ms)
		return false;
	b->record = strdup(o->lock.version);
	if (b->record == NULL)
		return false;
	breaking_submit(core, b, o->lock.token);
	return true;
}

/* It stands as it was: somebody else has it by now, or nobody. */
static int
breaking_missed(struct core *core, struct breaking *b,
    const struct outcome *o, char *text, size_t size)
{
	view_record(core, b->request->ns, b->broke.key, &o->lock,
	    core->now_ms, &b->holder);
	if (!b->holder.held) {
		(void)snprintf(text, size, "nobody holds the lock");
		return DDBLOCK_E_NO_SUCH_LOCK;
	}
	b->request->reply.holder = &b->holder;
	if (b->by_record) {
		(void)snprintf(text, size, "the record is not that one (any "
		    "more); look who holds it now");
		return DDBLOCK_E_WRONG_TOKEN;
	}
	(void)snprintf(text, size, "the lock has token %" PRIu64 ", not %"
	    PRIu64 "%s; look who holds it now", b->holder.token,
	    b->broke.token, o->unanswered ? " (any more: perhaps an attempt "
	    "that was not answered broke it)" : "");
	return DDBLOCK_E_WRONG_TOKEN;
}

static int
breaking_outcome(struct core *core, struct breaking *b,
    const struct outcome *o, char *text, size_t size)
{
	switch (o->kind) {
	case OUTCOME_DONE:
		if (b->submit.operation.kind == OPERATION_READ)
			return breaking_missed(core, b, o, text, size);
		breaking_done(core, b, o);
		/* The record still says whose it was. */
		if (o->lock.owner != NULL)
			(void)snprintf(b->holder.owner,
			    sizeof(b->holder.owner), "%s", o->lock.owner);
		return 0;
	case OUTCOME_CONFLICT:
		return breaking_missed(core, b, o, text, size);
	case OUTCOME_UNKNOWN:
		(void)snprintf(text, size, "no answer came; the lock may have "
		    "been broken, or be so yet: look again");
		break;
	case OUTCOME_REFUSED:
		(void)snprintf(text, size, "%s", o->text);
		break;
	}
	return o->code != 0 ? o->code : DDBLOCK_E_UNREACHABLE;
}

void
breaking_stored(struct core *core, struct request *r, const struct outcome *o)
{
	struct breaking *b = r->breaking;
	char text[OUTCOME_TEXT_MAX] = "";

	assert(b->busy && core->n_breaking > 0);
	b->busy = false;
	core->n_breaking--;
	namespace_trouble(r->ns, o);
	if (o->kind == OUTCOME_CONFLICT && breaking_again(core, b, o))
		return;
	if (breaking_go_on(core, b, o))
		return;
	b->broke.code = breaking_outcome(core, b, o, text, sizeof(text));
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
	DL_DELETE2(core->abandoned, r, client_previous, client_next);
	request_bury(core, r);
}
