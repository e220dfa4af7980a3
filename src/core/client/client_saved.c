/*
 * Clients across the death of the process: what is not told by their holds.
 */
#include "core/client/room.h"

#include <string.h>

#include "ddblock.h"

struct saved_client {
	uint64_t id;
	uint64_t user;
	uint8_t digest[CORE_SECRET_DIGEST];
	struct ident sealed;
	uint8_t gone;
	uint8_t draining;
	uint8_t lingers;
	uint8_t asked;		/* for that */
	uint8_t resumes;	/* it has a part of what it takes over, and 2:
				 * would come back, too */
	uint8_t spare[3];
};

/* Before version 2. */
struct saved_client_1 {
	uint64_t id;
	uint64_t user;
	struct ident secret;
	uint8_t gone, draining, lingers, asked;
	uint8_t spare[4];
};

/* So many hold numbers are taken at once. */
#define SERIALS_BLOCK (UINT64_C(1) << 20)

struct saved_serials {
	uint64_t hold;		/* no number up to this is used again */
};

/* ---- writing ---------------------------------------------------------- */

#if JOURNAL_VERSION == 1	/* for tests of an upgrade */
bool
client_save(struct journal *journal, struct saved *saved)
{
	const struct client *c = CONTAINER_OF(saved, struct client, saved);
	struct saved_client_1 entry = {
		.id = c->id, .user = c->tenant->user, .gone = c->gone,
		.draining = c->draining, .lingers = c->linger != NULL,
	};

	if (c->linger != NULL) {
		entry.secret = c->linger->secret.clear;
		entry.user = c->linger->user;
		entry.asked = c->linger->asked;
	}
	return journal_put(journal, &saved->place, SAVED_CLIENT, &entry,
	    sizeof(entry), NULL, 0);
}
#else
/* Only what has begun to move must go on. */
static uint8_t
client_resumes(const struct client *c)
{
	if (c->resume == NULL || !c->resume->moves)
		return 0;
	return c->resume->resumes ? 2 : 1;
}

bool
client_save(struct journal *journal, struct saved *saved)
{
	const struct client *c = CONTAINER_OF(saved, struct client, saved);
	struct saved_client entry = {
		.id = c->id, .user = c->tenant->user, .gone = c->gone,
		.draining = c->draining, .lingers = c->linger != NULL,
		.resumes = client_resumes(c),
	};

	if (c->linger != NULL) {
		memcpy(entry.digest, c->linger->secret.digest,
		    sizeof(entry.digest));
		entry.sealed = c->linger->secret.sealed;
		entry.user = c->linger->user;
		entry.asked = c->linger->asked;
	}
	return journal_put(journal, &saved->place, SAVED_CLIENT, &entry,
	    sizeof(entry), NULL, 0);
}
#endif

bool
serials_save(struct journal *journal, struct saved *saved)
{
	struct core *core = CONTAINER_OF(saved, struct core, serials);
	struct saved_serials entry;

	core->hold_serial_saved = core->hold_serial + SERIALS_BLOCK;
	entry.hold = core->hold_serial_saved;
	return journal_put(journal, &saved->place, SAVED_SERIALS, &entry,
	    sizeof(entry), NULL, 0);
}

void
client_save_all(struct core *core)
{
	struct client *c, *next;
	struct hold *h;

	HASH_ITER(hh, core->clients, c, next)
	{
		saved_renew(core, &c->saved);
		if (c->linger != NULL || c->gone || c->draining)
			client_touch(core, c);
	}
	for (h = hold_after(core, 0); h != NULL;
	    h = hold_after(core, h->notice.hold)) {
		saved_renew(core, &h->saved);
		hold_touch(core, h);
	}
	saved_renew(core, &core->serials);
	saved_touch(core, &core->serials, SAVED_SERIALS);
}

/* ---- taking over -------------------------------------------------------- */

static int
client_take_over(struct core *core, const struct saved_client *saved,
    const struct core_secret *secret)
{
	const uint32_t user = (uint32_t)saved->user;
	struct core_request ask = { .user = user,
		.secret = secret, .terms = { .linger_ms = saved->asked } };
	struct client *c;
	int code = client_find(core, saved->id) != NULL ?
	    DDBLOCK_E_BAD_RECORD :
	    client_new(core, saved->id, user, &c);

	if (code < 0)
		return code;
	c->gone = saved->gone != 0;
	c->draining = saved->draining != 0;
	code = saved->lingers != 0 ? linger_ask(core, c, &ask) : 0;
	return code < 0 || saved->resumes == 0 ? code :
	    resume_inherit(core, c, saved->resumes > 1);
}

static int
client_read(const struct journal_entry *entry, struct saved_client *ret,
    struct core_secret *ret_secret)
{
	if (entry->length != sizeof(*ret))
		return DDBLOCK_E_BAD_RECORD;
	memcpy(ret, entry->data, sizeof(*ret));
	*ret_secret = (struct core_secret){ .sealed = ret->sealed };
	memcpy(ret_secret->digest, ret->digest, sizeof(ret->digest));
	return 0;
}

/* Its secret is in clear. */
static int
client_read_1(const struct core_legacy *legacy,
    const struct journal_entry *entry, struct saved_client *ret,
    struct core_secret *ret_secret)
{
	struct saved_client_1 old;
	int code;

	if (legacy->learn_secret == NULL || entry->length != sizeof(old))
		return DDBLOCK_E_BAD_RECORD;
	memcpy(&old, entry->data, sizeof(old));
	*ret = (struct saved_client){
		.id = old.id, .user = old.user, .gone = old.gone,
		.draining = old.draining, .lingers = old.lingers,
		.asked = old.asked,
	};
	code = legacy->learn_secret(legacy->arg, old.secret, ret_secret);
	explicit_bzero(&old, sizeof(old));
	return code;
}

int
client_inherit(struct core *core, const struct core_legacy *legacy,
    const struct journal_entry *entry)
{
	struct saved_serials serials;
	struct core_secret secret;
	struct saved_client saved;
	int code;

	if (entry->kind == SAVED_SERIALS) {
		if (entry->length != sizeof(serials))
			return DDBLOCK_E_BAD_RECORD;
		memcpy(&serials, entry->data, sizeof(serials));
		core->hold_serial = serials.hold;
		return 0;
	}
	code = journal_version(legacy->memory, legacy->size) == 1 ?
	    client_read_1(legacy, entry, &saved, &secret) :
	    client_read(entry, &saved, &secret);
	if (code == 0)
		code = client_take_over(core, &saved, &secret);
	explicit_bzero(&secret, sizeof(secret));
	return code;
}

/* ---- who is there -------------------------------------------------------- */

/* Of several as one, all are lost with one. */
static void
client_lose_rest(struct core *core, struct hold *h)
{
	struct multi *j = hold_multi(h);

	for (uint32_t i = 0; j != NULL && i < j->n; i++) {
		if (j->parts[i].hold->lost)
			continue;
		hold_mark_lost(core, j->parts[i].hold, h->notice.loss);
		multi_due(core, j);
	}
}

/* Whether a client was told of a loss, or of a danger of its own, before the
 * process died is not known. */
static void
client_tell_again(struct core *core)
{
	struct hold *h;

	for (h = hold_after(core, 0); h != NULL;
	    h = hold_after(core, h->notice.hold)) {
		if (!h->lost && h->terms != NULL && h->terms->danger)
			notice_send(core, multi_speaker(h), CORE_IN_DANGER);
		if (!h->lost)
			continue;
		client_lose_rest(core, h);
		notice_send(core, multi_speaker(h), CORE_LOST);
	}
}

/* Its client left it before, and it was lost with the process that died. */
static void
client_drop_lost(struct core *core, struct client *c)
{
	struct hold *h, *next;

	DL_FOREACH_SAFE2(c->holds, h, next, client_next)
	{
		if (hold_is_nobodys(h))
			hold_desert(core, h);
	}
}

/* Its client is not there, was perhaps not told of that loss, and goes on to
 * its deadline without a connection: so long the lock is left alone. */
static void
client_leave_alone(struct core *core, const struct hold *h)
{
	const struct terms *t = h->terms;
	struct grant *g;

	if (!h->lost || t == NULL || (!t->stays && !t->resumes))
		return;
	LL_FOREACH(h->use.lock->grants, g)
	{
		if (g->uses == NULL && g->gap_ms > 0)
			grant_leave_gap(core, g, g->lease->sent_ms +
			    h->use.lock->ns->settings.lease_ms);
	}
}

static void
client_not_here(struct core *core, struct client *c)
{
	struct hold *h;

	DL_FOREACH2(c->holds, h, client_next)
	{
		client_leave_alone(core, h);
	}
	client_cut_off_now(core, c->id);
}

void
client_seal_all(struct core *core, const struct core_event *event)
{
	struct linger *l;

	if (event->came_back.seal == NULL)
		return;
	DL_FOREACH(core->lingers, l)
	{
		if (ident_is_none(l->secret.clear) ||
		    !ident_is_none(l->secret.sealed))
			continue;
		event->came_back.seal(event->came_back.arg, &l->secret);
		client_touch(core, l->client);
	}
}

/* Those that no hold was inherited for are nobody. */
void
client_came_back(struct core *core, const struct core_event *event)
{
	struct client *c, *next;

	resume_all(core);
	client_tell_again(core);
	/* Before any of them ends. */
	if (core->due_multis != NULL)
		multi_run(core);
	HASH_ITER(hh, core->clients, c, next)
	{
		if (c->linger != NULL && c->gone)
			linger_go_on(core, c);
		if (!c->gone && !event->came_back.is_here(
		    event->came_back.arg, c->id)) {
			client_not_here(core, c);
			continue;
		}
		/* Without memory it stays whose it is. */
		if (!c->gone && event->came_back.user != NULL)
			(void)share_set_tenant(core, c, event->came_back.user(
			    event->came_back.arg, c->id));
		if (c->holds != NULL)
			client_drop_lost(core, c);
		else
			client_free_if_unused(core, c);
	}
}
