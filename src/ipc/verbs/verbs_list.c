/*
 * The verbs whose answer has rows, and their filters.
 */
#include "common/error.h"
#include "ipc/answer/answer.h"
#include "ipc/connection/rights.h"
#include "ipc/verbs/room.h"

static int
verbs_listing(struct connection *c, enum pending_kind kind,
    const struct protocol_request *q, const struct codec_text *key,
    uint64_t states, struct pending **ret)
{
	uint64_t namespaces = kind == PENDING_LIST ? 1 : UINT64_MAX;
	struct pending *p = NULL;
	int r = request_namespaces(c, q, &namespaces);

	if (r == 0)
		r = request_pending_rows(c, kind, q, key, &p);
	if (r < 0)
		return r;
	p->listing->namespaces = namespaces;
	p->listing->states = (unsigned)states;
	*ret = p;
	return 0;
}

/* Each namespace has something to list for it. */
static int
list_allowed(struct connection *c, const struct listing *l, bool *ret_hides)
{
	const struct key prefix = { l->key == NULL ? "" : l->key,
		l->key_length };
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < CORE_NAMESPACES_MAX; i++) {
		if ((l->namespaces >> i & 1) == 0)
			continue;
		r = rights_check_some(c, i, prefix, RIGHTS_LISTED);
		if (!rights_allow_each(c, i, RIGHTS_LISTED))
			*ret_hides = true;
	}
	return r;
}

int
verbs_list(struct connection *c, const struct protocol_request *q)
{
	struct pending *p = NULL;
	int r = verbs_listing(c, PENDING_LIST, q,
	    protocol_text(q, ARGUMENT_PREFIX),
	    protocol_number(q, ARGUMENT_STATE), &p);

	if (r < 0)
		return r;
	r = list_allowed(c, p->listing, &p->listing->hides);
	if (r < 0) {
		pending_free(c, p);
		return r;
	}
	if (protocol_given(q, ARGUMENT_PROGRESS))
		listing_tell(c, p->listing,
		    protocol_number(q, ARGUMENT_PROGRESS));
	r = listing_start(c, p);
	return r == 0 ? 0 : connection_reason(c, r, "%s", error_text(r));
}

static int
verbs_view(struct connection *c, enum pending_kind kind,
    const struct protocol_request *q)
{
	struct pending *p = NULL;
	int r = verbs_listing(c, kind, q, protocol_text(q, ARGUMENT_KEY),
	    protocol_number(q, ARGUMENT_HOLD_STATE), &p);

	if (r < 0)
		return r;
	p->listing->ready = true;
	server_schedule(c->server, c);
	return 0;
}

int
verbs_held(struct connection *c, const struct protocol_request *q)
{
	return verbs_view(c, PENDING_HELD, q);
}

int
verbs_waiting(struct connection *c, const struct protocol_request *q)
{
	return verbs_view(c, PENDING_WAITING, q);
}

/* Those whose figures STATUS would show, too. */
int
verbs_metrics(struct connection *c, const struct protocol_request *q)
{
	const uint32_t n = c->server->calls.n_namespaces(c->server->arg);
	struct pending *p = NULL;
	uint64_t allowed = 0;
	int r = verbs_listing(c, PENDING_METRICS, q, NULL, 0, &p);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++) {
		if (rights_allow_each(c, i, RIGHTS_LISTED))
			allowed |= UINT64_C(1) << i;
	}
	p->listing->namespaces &= allowed;
	p->listing->ready = true;
	server_schedule(c->server, c);
	return 0;
}
