/*
 * The release of all holds of a connection, as one request: each hold is
 * released by a request of its own to the core, and the answer sums them up
 * (release.c).
 */
#include "common/clock.h"
#include "common/error.h"
#include "ipc/answer/answer.h"
#include "ipc/connection/keep.h"
#include "ipc/verbs/room.h"

/* The release happens even without memory to wait for its answer. */
static void
release_one(struct connection *c, struct pending *whole, uint64_t hold)
{
	static const struct codec_text untagged;
	struct core_event event = { .type = CORE_REQUEST };
	struct pending *part = whole == NULL ? NULL :
	    pending_new(c, PENDING_CORE, &untagged);
	int r;

	if (whole != NULL)
		whole->n_parts++;
	if (part != NULL) {
		part->whole = whole;
		event.request.request = part->number;
	}
	event.request.client = c->client;
	event.request.verb = CORE_RELEASE;
	event.request.hold = hold;
	event.request.all = true;
	r = connection_step(c, &event);
	if (part == NULL && whole != NULL)
		release_count(c, whole, DDBLOCK_E_NOMEM);
	else if (part != NULL && r < 0)
		release_answered(c, part, r);
}

int
release_all(struct connection *c, const struct protocol_request *q)
{
	const struct core *core = c->server->calls.core(c->server->arg);
	uint64_t namespaces = UINT64_MAX;
	struct pending *whole = NULL;
	struct core_hold_view v, next;
	bool more;
	int r = request_namespaces(c, q, &namespaces);

	if (r < 0)
		return r;
	/* One more, so that it is not answered before all have been asked. */
	if (request_pending(c, PENDING_RELEASES, q, &whole) == 0) {
		whole->n_parts = 1;
		keep_request(c, whole, 0);
	}
	/* Find the next hold while this one, which precedes it, still exists:
	 * otherwise each search would start again. */
	more = core_next_hold_of(core, c->client, 0, clock_boot_ms(), &next);
	while (more) {
		v = next;
		more = core_next_hold_of(core, c->client, v.hold,
		    clock_boot_ms(), &next);
		/*
		 * In a multi-lock hold, the first lock's request releases all.
		 */
		if (v.hold == v.id && !v.let_go &&
		    (namespaces >> v.namespace_index & 1))
			release_one(c, whole, v.hold);
	}
	if (whole == NULL)
		return connection_reason(c, DDBLOCK_E_NOMEM, "%s",
		    error_text(DDBLOCK_E_NOMEM));
	release_settle(c, whole);
	return 0;
}
