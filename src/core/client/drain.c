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
	uint64_t serial = 0;
	struct request *r;

	while ((r = request_waiting_after(core, serial)) != NULL) {
		serial = r->waiter.serial;
		if (namespace_refusal(r->ns) < 0)
			r->waiter.leaving = true;
	}
	serial = 0;
	while ((r = request_waiting_after(core, serial)) != NULL) {
		struct lock *l = r->waiter.lock;

		serial = r->waiter.serial;
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
	uint64_t serial = 0;
	struct request *r;

	while ((r = request_waiting_after(core, serial)) != NULL) {
		struct lock *l = r->waiter.lock;

		serial = r->waiter.serial;
		if (r->ns == ns && l != NULL && l->queue == &r->waiter)
			lock_pace(core, l);
	}
}
