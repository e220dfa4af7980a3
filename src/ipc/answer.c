/*
 * What the core says, as lines.
 */
#include "common/clock.h"
#include "common/error.h"
#include "ipc/answer.h"
#include "ipc/connection.h"

static void
answer_use(struct buffer *b, enum lock_mode mode, uint64_t limit)
{
	codec_text_value(b, "mode",
	    mode == LOCK_MODE_SHARED ? "shared" : "exclusive");
	if (mode == LOCK_MODE_SHARED && limit > 0)
		codec_number(b, "limit", limit);
}

void
answer_shared(struct buffer *b, enum lock_mode mode, uint64_t limit)
{
	if (mode == LOCK_MODE_SHARED)
		answer_use(b, mode, limit);
}

/* The owners of what is held here are not kept: they are known here. */
static void
answer_owner_name(struct connection *c, struct buffer *b,
    const struct core_holder_view *v)
{
	const struct connection *holder = NULL;
	char owner[OWNER_LENGTH_MAX + 1];

	if (v->here)
		holder = server_find(c->server, v->client);
	if (holder != NULL) {
		peer_owner(&holder->peer, c->server->host, owner,
		    sizeof(owner));
		codec_text_value(b, "owner", owner);
	} else if (v->owner[0] != '\0') {
		codec_text_value(b, "owner", v->owner);
	}
}

void
answer_owner(struct connection *c, struct buffer *b,
    const struct core_holder_view *v)
{
	if (v->token > 0)
		codec_number(b, "token", v->token);
	if (!v->held)
		return;
	answer_owner_name(c, b, v);
	if (v->mode == LOCK_MODE_SHARED)
		codec_number(b, "holders", v->n_holders);
	if (v->seen)
		codec_duration(b, "unchanged", v->unchanged_ms);
}

void
answer_holder(struct connection *c, struct buffer *b,
    const struct core_holder_view *v)
{
	const struct connection *holder;

	codec_text_value(b, "state", !v->held ? "free" :
	    v->dead ? "dead" : "held");
	answer_owner(c, b, v);
	if (!v->held)
		return;
	answer_use(b, v->mode, v->limit);
	if (v->acquired_at_s > 0)
		codec_number(b, "acquired_at", v->acquired_at_s);
	codec_boolean(b, "here", v->here);
	holder = v->here ? server_find(c->server, v->client) : NULL;
	if (holder != NULL)
		codec_number(b, "pid", (uint64_t)holder->peer.pid);
	if (v->lease_ms > 0)
		codec_duration(b, "lease", v->lease_ms);
}

static void
answer_until(struct buffer *b, uint64_t remaining_ms, uint64_t until_ms)
{
	codec_duration(b, "remaining", remaining_ms);
	codec_number(b, "until_boot_ms", until_ms);
}

static void
answer_success(struct connection *c, struct buffer *b,
    const struct core_reply *a)
{
	switch (a->verb) {
	case CORE_ACQUIRE:
		codec_number(b, "id", a->hold);
		codec_number(b, "token", a->token);
		answer_use(b, a->mode, a->limit);
		answer_until(b, a->remaining_ms, a->until_ms);
		codec_duration(b, "margin", a->margin_ms);
		break;
	case CORE_RENEW:
		answer_until(b, a->remaining_ms, a->until_ms);
		break;
	case CORE_GET:
		answer_holder(c, b, a->holder);
		break;
	case CORE_CANCEL:
		codec_boolean(b, "cancelled", true);
		break;
	case CORE_LIST:
	case CORE_RELEASE:
		break;
	}
}

/* A refused acquire says who is in the way. */
static void
answer_failure(struct connection *c, struct buffer *b,
    const struct core_reply *a)
{
	codec_text_value(b, NULL, error_word(a->code));
	if (a->cause != 0)
		codec_text_value(b, "cause", error_word(a->cause));
	if (a->verb != CORE_ACQUIRE || a->holder == NULL || !a->holder->held)
		return;
	answer_shared(b, a->holder->mode, a->holder->limit);
	answer_owner(c, b, a->holder);
}

/*
 * A renewal that is not yet sent is about the holds of its time: it goes
 * before a new one, whose session may be another and end sooner, and before
 * what is said of the old ones later.
 */
static void
answer_in_order(struct connection *c)
{
	if (c->renewed != NULL)
		answer_write_renewed(c);
}

void
answer_reply(struct connection *c, const struct core_reply *a)
{
	struct pending *p = pending_find(c, a->request);
	struct buffer *b;

	if (p == NULL)
		return;
	if (a->verb == CORE_LIST && a->code == 0) {
		listing_read(c, p);
		return;
	}
	if (a->verb == CORE_ACQUIRE && a->code == 0)
		answer_in_order(c);
	b = connection_out(c);
	if (a->verb == CORE_CANCEL && a->code < 0) {
		/* Its target was answered first; see verbs_cancel(). */
		codec_begin(b, p->tag, "OK");
		codec_boolean(b, "cancelled", false);
		codec_end(b, NULL);
	} else if (a->code < 0) {
		codec_begin(b, p->tag, "ERR");
		answer_failure(c, b, a);
		if (a->verb == CORE_LIST)
			listing_where(c, b, p->listing);
		codec_end(b, a->text != NULL && a->text[0] != '\0' ?
		    a->text : error_text(a->code));
	} else {
		codec_begin(b, p->tag, "OK");
		answer_success(c, b, a);
		codec_end(b, a->text);
	}
	pending_free(c, p);
	connection_queued(c);
}

static const char *
answer_loss(enum core_loss loss)
{
	switch (loss) {
	case CORE_LOSS_STOLEN:
		return "stolen";
	case CORE_LOSS_BROKEN:
		return "broken";
	case CORE_LOSS_SHUTDOWN:
		return "shutdown";
	case CORE_LOSS_EXPIRED:
		break;
	}
	return "expired";
}

void
answer_notice(struct connection *c, const struct core_notice *a)
{
	struct buffer *b;

	answer_in_order(c);
	b = connection_out(c);
	switch (a->kind) {
	case CORE_IN_DANGER:
		codec_begin(b, NULL, "!LOCK_IN_DANGER");
		codec_number(b, "id", a->hold);
		answer_until(b, a->remaining_ms, a->until_ms);
		codec_text_value(b, "reason", error_word(a->cause == 0 ?
		    DDBLOCK_E_UNREACHABLE : a->cause));
		break;
	case CORE_SAFE:
		codec_begin(b, NULL, "!LOCK_SAFE");
		codec_number(b, "id", a->hold);
		answer_until(b, a->remaining_ms, a->until_ms);
		break;
	case CORE_LOST:
		codec_begin(b, NULL, "!LOCK_LOST");
		codec_number(b, "id", a->hold);
		codec_text_value(b, "reason", answer_loss(a->loss));
		break;
	}
	codec_end(b, NULL);
	connection_queued(c);
}

/* Only the latest matters: it takes the place of one that is not yet sent,
 * unless a line about a hold came between (answer_in_order()). */
void
answer_renewed(struct connection *c, uint32_t namespace_index,
    uint64_t until_ms)
{
	c->renewed[namespace_index] = until_ms;
	server_schedule(c->server, c);
}

void
answer_write_renewed(struct connection *c)
{
	const struct server *s = c->server;
	uint32_t n = s->calls.n_namespaces(s->arg);
	uint64_t now_ms = clock_boot_ms();

	for (uint32_t i = 0; i < n; i++) {
		uint64_t until_ms = c->renewed[i];
		struct buffer *b;

		c->renewed[i] = 0;
		if (until_ms <= now_ms)
			continue;
		b = connection_out(c);
		codec_begin(b, NULL, "!RENEWED");
		codec_text_value(b, "ns", s->calls.namespace_name(s->arg, i));
		answer_until(b, until_ms - now_ms, until_ms);
		codec_end(b, NULL);
		connection_queued(c);
	}
}
