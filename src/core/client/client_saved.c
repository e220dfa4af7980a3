/*
 * Clients across the death of the process: what is not told by their holds.
 */
#include "core/client/room.h"

#include <string.h>

#include "ddblock.h"

struct saved_client {
	uint64_t id;
	uint64_t user;
	struct ident secret;
	uint8_t gone;
	uint8_t draining;
	uint8_t lingers;
	uint8_t asked;		/* for that */
	uint8_t spare[4];
};

/* So many hold numbers are taken at once. */
#define SERIALS_BLOCK (UINT64_C(1) << 20)

struct saved_serials {
	uint64_t hold;		/* no number up to this is used again */
};

/* ---- writing ---------------------------------------------------------- */

bool
client_save(struct journal *journal, struct saved *saved)
{
	const struct client *c = CONTAINER_OF(saved, struct client, saved);
	struct saved_client entry = {
		.id = c->id, .gone = c->gone, .draining = c->draining,
		.lingers = c->linger != NULL,
	};

	if (c->linger != NULL) {
		entry.secret = c->linger->secret;
		entry.user = c->linger->user->user;
		entry.asked = c->linger->asked;
	}
	return journal_put(journal, &saved->place, SAVED_CLIENT, &entry,
	    sizeof(entry), NULL, 0);
}

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
	DL_FOREACH(core->holds, h)
	{
		saved_renew(core, &h->saved);
		hold_touch(core, h);
	}
	saved_renew(core, &core->serials);
	saved_touch(core, &core->serials, SAVED_SERIALS);
}

/* ---- taking over -------------------------------------------------------- */

static int
client_take_over(struct core *core, const struct saved_client *saved)
{
	struct core_request ask = { .user = saved->user,
		.secret = saved->secret,
		.terms = { .linger_ms = saved->asked } };
	struct client *c;
	int code = client_find(core, saved->id) != NULL ?
	    DDBLOCK_E_BAD_RECORD : client_new(core, saved->id, &c);

	if (code < 0)
		return code;
	c->gone = saved->gone != 0;
	c->draining = saved->draining != 0;
	return saved->lingers != 0 ? linger_ask(core, c, &ask) : 0;
}

int
client_inherit(struct core *core, const struct journal_entry *entry)
{
	struct saved_serials serials;
	struct saved_client saved;
	int code;

	if (entry->kind == SAVED_SERIALS) {
		if (entry->length != sizeof(serials))
			return DDBLOCK_E_BAD_RECORD;
		memcpy(&serials, entry->data, sizeof(serials));
		core->hold_serial = serials.hold;
		return 0;
	}
	if (entry->length != sizeof(saved))
		return DDBLOCK_E_BAD_RECORD;
	memcpy(&saved, entry->data, sizeof(saved));
	code = client_take_over(core, &saved);
	explicit_bzero(&saved, sizeof(saved));
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

/* Whether a client was told of a loss before the process died is not known. */
static void
client_tell_lost(struct core *core)
{
	struct hold *h;

	DL_FOREACH2(core->holds, h, next)
	{
		if (!h->lost)
			continue;
		client_lose_rest(core, h);
		notice_send(core, multi_speaker(h), CORE_LOST);
	}
}

/* Those that no hold was inherited for are nobody. */
void
client_came_back(struct core *core, bool (*is_here)(void *, uint64_t),
    void *arg)
{
	struct client *c, *next;

	client_tell_lost(core);
	/* Before any of them ends. */
	if (core->due_multis != NULL)
		multi_run(core);
	HASH_ITER(hh, core->clients, c, next)
	{
		if (c->linger != NULL && c->gone)
			linger_schedule(core, c->linger);
		if (!c->gone && !is_here(arg, c->id))
			client_cut_off(core, c->id);
		else
			client_free_if_unused(core, c);
	}
}
