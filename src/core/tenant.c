/*
 * The tenants: those that have a client.
 */
#include "core/tenant.h"

#include <stdlib.h>
#include <string.h>

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

/* Without memory it is only not said whose it is. */
static void
tenant_set_rate_by(struct tenant *t, const char *by)
{
	if (by != NULL && t->rate_by != NULL && strcmp(by, t->rate_by) == 0)
		return;
	free(t->rate_by);
	t->rate_by = by == NULL ? NULL : strdup(by);
}

void
tenant_set_rate(struct core *core, struct tenant *t,
    const struct core_user_limits *limits)
{
	const struct core_user_limit none = { 0 };
	const struct core_user_limit *rate =
	    limits == NULL ? &none : &limits->rate;

	t->rate_max = (uint32_t)rate->most;
	core->had_rates = core->had_rates || rate->most > 0;
	tenant_set_rate_by(t, rate->most > 0 ? rate->by : NULL);
}

void
tenant_leave(struct core *core, struct tenant *t)
{
	if (--t->n_clients > 0)
		return;
	HASH_DEL(core->tenants, t);
	free(t->rate_by);
	free(t);
}
