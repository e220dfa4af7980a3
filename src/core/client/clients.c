/*
 * The clients that the core knows: all that have a request, a hold or a watch.
 */
#include "core/client/room.h"

#include <stdlib.h>

#include "ddblock.h"

struct client *
client_find(const struct core *core, uint64_t id)
{
	struct client *c;

	HASH_FIND(hh, core->clients, &id, sizeof(id), c);
	return c;
}

int
client_new(struct core *core, uint64_t id, uint32_t user, struct client **ret)
{
	struct client *c;

	if (HASH_COUNT(core->clients) >= core->limits.clients_max)
		return DDBLOCK_E_LIMIT;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return DDBLOCK_E_NOMEM;
	c->id = id;
	c->tenant = tenant_join(core, user);
	if (c->tenant != NULL)
		HASH_ADD(hh, core->clients, id, sizeof(c->id), c);
	if (c->hh.tbl == NULL) {
		if (c->tenant != NULL)
			tenant_leave(core, c->tenant);
		free(c);
		return DDBLOCK_E_NOMEM;
	}
	*ret = c;
	return 0;
}

/* What the next process must know of it has changed. */
void
client_touch(struct core *core, struct client *c)
{
	saved_touch(core, &c->saved, SAVED_CLIENT);
}

void
client_free(struct core *core, struct client *c)
{
	saved_end(core, &c->saved);
	if (c->drains)
		DL_DELETE2(core->drains, c, drain_previous, drain_next);
	resume_free(core, c->resume);
	linger_free(core, c->linger);
	HASH_DEL(core->clients, c);
	tenant_leave(core, c->tenant);
	free(c);
}

/* A client is remembered only while it asks, holds or watches something. */
void
client_free_if_unused(struct core *core, struct client *c)
{
	if (c->pinned || c->leaving || c->requests != NULL ||
	    c->holds != NULL || c->watches != NULL || c->resume != NULL)
		return;
	client_free(core, c);
}

void
client_heard(struct core *core, uint64_t id)
{
	struct client *c = client_find(core, id);

	if (c != NULL)
		c->heard_ms = core->now_ms;
}
