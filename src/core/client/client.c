/*
 * Clients: they ask no more, the daemon stops, a process ends. (leave.c has the
 * end of a connection.)
 */
#include "core/client/room.h"

#include <stdlib.h>

#include "ddblock.h"

/* The client sends no more: what waits is answered now, one way or another. It
 * may be very much: a step does some. */
void
client_drain(struct core *core, uint64_t id)
{
	struct client *c = client_find(core, id);

	if (c == NULL)
		return;
	c->draining = true;
	c->to_drain = c->requests;
	if (!c->drains)
		DL_APPEND2(core->drains, c, drain_previous, drain_next);
	c->drains = true;
}

/* The first of the clients, so that each has its turn. */
static void
client_drain_one(struct core *core, struct client *c)
{
	struct request *r = c->to_drain;

	DL_DELETE2(core->drains, c, drain_previous, drain_next);
	c->drains = r != NULL;
	if (r == NULL)
		return;
	DL_APPEND2(core->drains, c, drain_previous, drain_next);
	c->to_drain = r->client_next;
	/* One for several keys may be between two locks (multi_stand()). */
	if (r->reply.verb != CORE_ACQUIRE || r->waiter.lock == NULL ||
	    r->waiter.overdue)
		return;
	wait_drain(core, r);
}

void
client_drain_some(struct core *core, uint32_t *n_left)
{
	for (; *n_left > 0 && core->drains != NULL; (*n_left)--)
		client_drain_one(core, core->drains);
	if (core->due_multis != NULL)
		multi_run(core);
}

/* Nothing is left to do. Clients with open requests (only reads) are told so.
 * */
void
client_stop(struct core *core)
{
	struct client *c, *next;

	HASH_ITER(hh, core->clients, c, next)
	{
		struct request *r, *next_request;

		DL_FOREACH_SAFE2(c->requests, r, next_request, client_next)
			request_reply(core, r, DDBLOCK_E_SHUTTING_DOWN, 0,
			    NULL);
	}
}

/* ---- the daemon stops ------------------------------------------------- */

void
client_refuse_waiting(struct core *core)
{
	struct request *r;

	while ((r = request_waiting_after(core, 0)) != NULL) {
		struct lock *l = r->waiter.lock;

		request_reply(core, r, DDBLOCK_E_SHUTTING_DOWN, 0, NULL);
		/* One for several keys may be between two locks. */
		if (l != NULL)
			lock_advance(core, l);
	}
}

/* But for what a client left to its lease: there is no client to react. */
static void
client_lose_uses(struct core *core, struct grant *g)
{
	struct use *u, *next_use;

	DL_FOREACH_SAFE2(g->uses, u, next_use, next)
	{
		if (!terms_are_left(hold_of(u)))
			hold_lose_by_us(core, hold_of(u), CORE_LOSS_SHUTDOWN);
	}
}

static void
client_stop_lease(struct core *core, struct lease *lease)
{
	struct grant *g, *next;

	DL_FOREACH_SAFE2(lease->grants, g, next, lease_next)
	{
		struct lock *l = g->lock;

		if (core->stop_released)
			client_lose_uses(core, g);
		lock_advance(core, l);
	}
}

void
client_stop_leases(struct core *core, struct namespace *ns)
{
	struct lease *lease, *next;

	DL_FOREACH_SAFE(ns->sessions, lease, next)
	{
		client_stop_lease(core, lease);
		lease_unused(core, lease);
	}
	DL_FOREACH_SAFE(ns->record_leases, lease, next)
	{
		client_stop_lease(core, lease);
	}
}

/* ---- the core --------------------------------------------------------- */

int
client_init(struct core *core)
{
	int code = hash_init(&core->holds_by_id, hold_hash);

	if (code == 0)
		code = hash_init(&core->asked, request_hash);
	return code < 0 ? code : process_init(core);
}

void
client_forget(struct core *core)
{
	while (core->dead_requests != NULL) {
		struct request *r = core->dead_requests;

		core->dead_requests = r->client_next;
		request_free(core, r);
	}
	while (core->dead_multis != NULL) {
		struct multi *j = core->dead_multis;

		core->dead_multis = j->next_due;
		multi_free(core, j);
	}
	while (core->dead_holds != NULL) {
		struct hold *h = core->dead_holds;

		core->dead_holds = h->client_next;
		hold_free(core, h);
	}
	if (core->dead_resumes != NULL)
		resume_forget(core);
}

static void
client_free_requests(struct core *core, struct request *first)
{
	while (first != NULL) {
		struct request *next = first->client_next;

		request_free(core, first);
		first = next;
	}
}

void
client_free_all(struct core *core)
{
	struct client *c, *next;
	struct hold *h;

	multi_free_all(core);
	core->waiting = NULL;
	while ((h = hold_after(core, 0)) != NULL) {
		rank_remove(&core->holds, &h->rank);
		hold_free(core, h);
	}
	hash_done(&core->holds_by_id);
	hash_done(&core->asked);
	HASH_ITER(hh, core->clients, c, next)
	{
		client_free_requests(core, c->requests);
		client_free(core, c);
	}
	client_free_requests(core, core->abandoned);
	process_done(core);
	freelist_done(&core->requests);
}

/* ---- a process ends --------------------------------------------------- */

/* The waiter in line for it: its number is asked for once. */
static void
process_end_request(struct core *core, uint64_t client, uint64_t process)
{
	struct request *r = process_find_request(core, client, process);
	struct lock *l;

	if (r == NULL)
		return;
	l = r->waiter.lock;
	request_reply(core, r, DDBLOCK_E_CANCELLED, 0,
	    "the process that it is for has ended");
	/* One for several keys may be between two locks. */
	if (l != NULL)
		lock_advance(core, l);
}

/* The process that this client, which may have left, asked for has ended. */
void
process_ended(struct core *core, uint64_t client, uint64_t process)
{
	struct hold *h;

	if (process == 0)
		return;
	process_end_request(core, client, process);
	while ((h = process_find_hold(core, client, process)) != NULL)
		hold_desert_all(core, h);
}
