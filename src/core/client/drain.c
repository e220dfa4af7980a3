/*
 * Namespaces that grant nothing more, because they are drained or configured no
 * more; and those whose times are others now.
 */
#include "core/client/room.h"

#include "core/namespace.h"

/* All at once: none of them is granted anything on its way out. */
void
client_refuse_drained(struct core *core)
{
	struct request *r, *next;

	HASH_ITER(hh, core->waiting, r, next)
	{
		if (namespace_refusal(r->ns) < 0)
			r->waiter.leaving = true;
	}
	HASH_ITER(hh, core->waiting, r, next)
	{
		struct lock *l = r->waiter.lock;

		if (!r->waiter.leaving)
			continue;
		request_reply(core, r, namespace_refusal(r->ns), 0, NULL);
		/* One for several keys may be between two locks. */
		if (l != NULL)
			lock_advance(core, l);
	}
}

void
client_pace(struct core *core, const struct namespace *ns)
{
	struct request *r, *next;

	HASH_ITER(hh, core->waiting, r, next)
	{
		struct lock *l = r->waiter.lock;

		if (r->ns == ns && l != NULL && l->queue == &r->waiter)
			lock_pace(core, l);
	}
}
