/*
 * The release of all that a connection has, as one request: each hold is given
 * back by a request of its own to the core, and the answer sums them up.
 */
#include "common/clock.h"
#include "common/error.h"
#include "ipc/connection.h"

static void
release_answer(struct connection *c, struct pending *whole)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, whole->tag, "OK");
	codec_number(b, "released", whole->n_released);
	if (whole->n_lost > 0)
		codec_number(b, "lost", whole->n_lost);
	if (whole->n_failed > 0) {
		codec_number(b, "failed", whole->n_failed);
		codec_text_value(b, "cause", error_word(whole->cause));
	}
	codec_end(b, NULL);
	pending_free(c, whole);
	connection_queued(c);
}

static void
release_count(struct connection *c, struct pending *whole, int code)
{
	if (code == 0) {
		whole->n_released++;
	} else if (code == DDBLOCK_E_LOCK_LOST ||
	    code == DDBLOCK_E_LOCK_STOLEN) {
		whole->n_lost++;
	} else {
		whole->n_failed++;
		whole->cause = code;
	}
	if (--whole->n_parts == 0)
		release_answer(c, whole);
}

void
release_answered(struct connection *c, struct pending *part, int code)
{
	struct pending *whole = part->whole;

	pending_free(c, part);
	release_count(c, whole, code);
}

/* Also without memory for what waits for the answers. */
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
	int r = verbs_namespaces(c, q, &namespaces);

	if (r < 0)
		return r;
	/* One more, so that it is not answered before all have been asked. */
	if (verbs_pending(c, PENDING_RELEASES, q, &whole) == 0)
		whole->n_parts = 1;
	/* The next is looked for while this one, behind which it is, is there
	 * yet: else each search would begin anew. */
	more = core_next_hold_of(core, c->client, 0, clock_boot_ms(), &next);
	while (more) {
		v = next;
		more = core_next_hold_of(core, c->client, v.hold,
		    clock_boot_ms(), &next);
		/* Of several as one, the first releases all. */
		if (v.hold == v.id && (namespaces >> v.namespace_index & 1))
			release_one(c, whole, v.hold);
	}
	if (whole == NULL)
		return verbs_reason(c, DDBLOCK_E_NOMEM, "%s",
		    error_text(DDBLOCK_E_NOMEM));
	if (--whole->n_parts == 0)
		release_answer(c, whole);
	return 0;
}
