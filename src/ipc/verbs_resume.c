/*
 * RESUME: what lingers of a connection that has ended becomes this one's. The
 * core says whether, and its views what it is, a row for each lock; they are
 * written at once, so that they come before whatever happens next.
 */
#include <string.h>

#include "common/error.h"
#include "ipc/answer.h"
#include "ipc/connection.h"

_Static_assert(IDENT_TEXT_LENGTH == 32, "protocol.def says so");

int
verbs_resume(struct connection *c, const struct protocol_request *q)
{
	const struct codec_text *secret = protocol_text(q, ARGUMENT_SECRET);
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	struct pending *p = NULL;
	int r;

	c->secretive = true;
	if (!ident_parse(secret->bytes, secret->length, &ask->secret))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "%s",
		    protocol_argument(ARGUMENT_SECRET)->refusal);
	ask->verb = CORE_RESUME;
	ask->user = c->peer.uid;
	/* The rows need memory only now, not when it is done. */
	r = verbs_pending_rows(c, PENDING_RESUME, q, NULL, &p);
	if (r == 0)
		r = verbs_step(c, p, &event);
	explicit_bzero(&ask->secret, sizeof(ask->secret));
	return r;
}

static void
resume_refused(struct connection *c, struct pending *p,
    const struct core_reply *a)
{
	connection_refuse(c, p->tag, a->code, a->text);
	pending_free(c, p);
	if (a->code == DDBLOCK_E_NO_SUCH_LOCK &&
	    ++c->n_guesses == CONNECTION_GUESSES_MAX)
		connection_cut(c, "it guesses at secrets");
}

void
resume_answered(struct connection *c, struct pending *p,
    const struct core_reply *a)
{
	if (a->code < 0) {
		resume_refused(c, p, a);
		return;
	}
	/* Whatever its predecessor promised. */
	c->promises = true;
	p->listing->ready = true;
	listing_continue_view(c, p);
}

void
resume_row(struct connection *c, const struct pending *p,
    const struct core_hold_view *v)
{
	const struct server *s = c->server;
	struct buffer *b = connection_out(c);

	codec_begin(b, p->tag, "+");
	codec_number(b, "id", v->id);
	codec_text_value(b, "ns",
	    s->calls.namespace_name(s->arg, v->namespace_index));
	answer_name(b, v->key);
	answer_token(b, v->token, v->token_text);
	answer_shared(b, v->terms.mode, v->terms.limit);
	codec_text_value(b, "state", v->lost ? "lost" :
	    v->danger ? "danger" : "held");
	if (v->lost)
		codec_text_value(b, "reason", core_loss_name(v->loss));
	if (v->count > 0)
		codec_number(b, "count", v->count);
	codec_duration(b, "held", v->held_ms);
	answer_until(b, v->remaining_ms, v->until_ms);
	if (v->end_ms > 0)
		codec_number(b, "end_boot_ms", v->end_ms);
	if (v->until_ms > 0)
		codec_duration(b, "margin", v->margin_ms);
	codec_end(b, NULL);
}
