/*
 * The tenants: those that have a client.
 */
#include "core/tenant.h"

#include <stdlib.h>

struct tenant *
tenant_find(const struct core *core, uint32_t user)
{
	struct tenant *t;

	HASH_FIND(hh, core->tenants, &user, sizeof(user), t);
	return t;
}

static struct tenant *
tenant_new(struct core *core, uint32_t user)
{
	struct tenant *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->user = user;
	HASH_ADD(hh, core->tenants, user, sizeof(t->user), t);
	if (t->hh.tbl == NULL) {
		free(t);
		return NULL;
	}
	return t;
}

struct tenant *
tenant_join(struct core *core, uint32_t user)
{
	struct tenant *t = tenant_find(core, user);

	if (t == NULL)
		t = tenant_new(core, user);
	if (t != NULL)
		t->n_clients++;
	return t;
}

void
tenant_leave(struct core *core, struct tenant *t)
{
	if (--t->n_clients > 0)
		return;
	HASH_DEL(core->tenants, t);
	free(t);
}
