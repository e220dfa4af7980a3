/*
 * New rules, for what goes on: a request that waits and a watch end if the
 * client may not ask for them now. What it holds stays its own.
 */
#include <assert.h>
#include <string.h>

#include "common/clock.h"
#include "ipc/answer/answer.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/rights.h"
#include "ipc/server/room.h"

/* Of several locks the one that it waits for now counts. True: it was
 * cancelled, and others may have been answered. */
static bool
judge_waiter(struct connection *c, struct pending *p)
{
	const struct server *s = c->server;
	struct core_event event = { .type = CORE_REQUEST };
	struct core_waiter_view v;

	if (!core_view_request(s->calls.core(s->arg), c->client, p->number,
	    clock_boot_ms(), &v))
		return false;
	p->hides = !rights_allow(c, v.namespace_index, v.key, ACCESS_SEE);
	if (rights_allow(c, v.namespace_index, v.key,
	    rights_of_terms(&v.terms)))
		return false;
	p->denied = true;
	event.request.client = c->client;
	event.request.verb = CORE_CANCEL;
	event.request.target = p->number;
	(void)connection_step(c, &event);
	return true;
}

static void
judge_waiters(struct connection *c)
{
	struct pending *p = c->pending;

	while (p != NULL) {
		bool again = false;

		if (p->acquire && p->judged != c->server->access_serial) {
			p->judged = c->server->access_serial;
			again = judge_waiter(c, p);
		}
		p = again ? c->pending : p->next;
	}
}

static void
judge_watches(struct connection *c)
{
	const struct server *s = c->server;
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	char bytes[KEY_BYTES_MAX];
	struct key key;
	uint32_t n = 0;

	ask->client = c->client;
	ask->verb = CORE_UNWATCH;
	while (core_watch_of(s->calls.core(s->arg), c->client, n,
	    &ask->namespace_index, &key)) {
		assert(key.length <= sizeof(bytes));
		memcpy(bytes, key.bytes, key.length);
		ask->key = (struct key){ bytes, key.length };
		if (rights_allow(c, ask->namespace_index, ask->key,
		    ACCESS_SEE)) {
			n++;
			continue;
		}
		change_denied(c, ask->namespace_index, ask->key);
		keep_watch_no_more(c, ask->namespace_index, ask->key);
		if (connection_step(c, &event) < 0)
			n++;
	}
}

/* Who waits asks the store at the pace of the new rules. */
static void
judge_limits(struct connection *c)
{
	struct core_user_limits room;
	struct core_event event = { .type = CORE_LIMITED };

	event.limited.client = c->client;
	event.limited.limits = rights_limits(c, &room);
	(void)connection_step(c, &event);
}

void
judge_all(struct server *s, bool limits)
{
	for (uint32_t i = 0; i < s->n_slots; i++) {
		struct connection *c = s->slots[i];

		if (c == NULL || c->doomed || !c->in_core)
			continue;
		if (limits)
			judge_limits(c);
		if (!rights_are_ruled(s))
			continue;
		judge_waiters(c);
		judge_watches(c);
	}
}
