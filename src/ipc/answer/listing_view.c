/*
 * HELD, WAITING and RESUME. They walk the core's views by number, so they need
 * no snapshot; holds and waiters that come or go meanwhile may or may not be
 * seen. And METRICS, whose text comes in pieces.
 */
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "ipc/answer/room.h"
#include "ipc/connection/process.h"
#include "ipc/connection/rights.h"

bool
listing_is_part(const char *part, size_t length, struct key name)
{
	return part == NULL ||
	    key_equal((struct key){ part, length }, name);
}

static bool
listing_matches(const struct listing *l, uint32_t namespace_index,
    struct key name)
{
	const struct key_parts parts = key_split(name);

	return (l->namespaces >> namespace_index & 1) != 0 &&
	    listing_is_part(l->key, l->key_length, parts.key) &&
	    listing_is_part(l->sort, l->sort_length, parts.sort);
}

/* What it has itself, it may know. */
static bool
listing_shows(struct connection *c, uint64_t client, uint32_t namespace_index,
    struct key name)
{
	return client == c->client || rights_allow(c, namespace_index, name,
	    RIGHTS_LISTED);
}

static const char *
listing_namespace(const struct connection *c, uint32_t index)
{
	return c->server->calls.namespace_name(c->server->arg, index);
}

static void
listing_user(struct connection *c, struct buffer *b, uid_t uid)
{
	const char *user = owner_user(&c->server->owner_users, uid);

	codec_number(b, "uid", uid);
	if (user[0] != '\0')
		codec_text_value(b, "user", user);
}

/* The peer of @client; it may be gone by now. */
static void
listing_peer(struct connection *c, struct buffer *b, uint64_t client)
{
	const struct connection *other = server_find(c->server, client);

	if (other == NULL) {
		codec_boolean(b, "left", true);
		return;
	}
	codec_number(b, "pid", (uint64_t)other->peer.pid);
	listing_user(c, b, other->peer.uid);
	codec_text_value(b, "name", other->peer.name);
	codec_boolean(b, "mine", other == c);
}

/* The process that the hold is for; if its client has left, that client. */
static void
listing_process(struct connection *c, struct buffer *b,
    const struct core_hold_view *v)
{
	const struct process *p = process_find(c->server, v->terms.process);

	if (p == NULL)
		return;
	codec_number(b, "process", (uint64_t)p->pid);
	if (server_find(c->server, v->client) != NULL)
		return;
	listing_user(c, b, p->user->uid);
	codec_text_value(b, "name", p->name);
}

static unsigned
listing_hold_state(const struct core_hold_view *v)
{
	return v->lost ? LISTING_HOLD_LOST :
	    v->danger ? LISTING_HOLD_DANGER : LISTING_HOLD_HELD;
}

/* What each row of a hold begins with. */
static void
listing_begin_hold(struct connection *c, const struct pending *p,
    const struct core_hold_view *v)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, p->tag, "+");
	codec_number(b, "id", v->id);
	codec_text_value(b, "ns", listing_namespace(c, v->namespace_index));
	answer_name(b, v->key);
	answer_token(b, v->token, v->token_text);
	answer_shared(b, v->terms.mode, v->terms.limit);
}

static void
listing_state(struct buffer *b, const struct core_hold_view *v)
{
	codec_text_value(b, "state", v->lost ? "lost" :
	    v->danger ? "danger" : "held");
}

static void
listing_hold(struct connection *c, struct pending *p,
    const struct core_hold_view *v)
{
	const char *owner = v->labels.owner;
	struct buffer *b = connection_out(c);
	char text[OWNER_LENGTH_MAX + 1];

	listing_begin_hold(c, p, v);
	answer_policy(b, v->terms.fail_closed);
	listing_state(b, v);
	if (v->count > 0)
		codec_number(b, "count", v->count);
	codec_duration(b, "held", v->held_ms);
	if (!v->terms.fail_closed)
		codec_duration(b, "remaining", v->remaining_ms);
	if (v->let_go)
		codec_boolean(b, "left", true);
	else
		listing_peer(c, b, v->client);
	listing_process(c, b, v);
	if (owner == NULL && owner_of_hold(c->server, v->namespace_index,
	    v->client, v->terms.process, text))
		owner = text;
	if (owner != NULL)
		codec_text_value(b, "owner", owner);
	if (v->lingers_ms > 0)
		codec_duration(b, "lingers", v->lingers_ms);
	if (v->least_ms > 0)
		codec_duration(b, "at_least", v->least_ms);
	codec_end(b, NULL);
	p->listing->n_rows++;
}

static void
listing_resumed(struct connection *c, struct pending *p,
    const struct core_hold_view *v)
{
	struct buffer *b = connection_out(c);

	listing_begin_hold(c, p, v);
	listing_state(b, v);
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
	p->listing->n_rows++;
}

static void
listing_waiter(struct connection *c, struct pending *p,
    const struct core_waiter_view *v)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, p->tag, "+");
	codec_text_value(b, "ns", listing_namespace(c, v->namespace_index));
	answer_name(b, v->key);
	answer_shared(b, v->terms.mode, v->terms.limit);
	answer_policy(b, v->terms.fail_closed);
	if (v->n_keys > 1) {
		codec_number(b, "keys", v->n_keys);
		codec_number(b, "had", v->n_had);
	}
	codec_number(b, "ahead", v->ahead);
	if (v->place > 0)
		codec_number(b, "place", v->place);
	codec_duration(b, "waited", v->waited_ms);
	listing_peer(c, b, v->client);
	if (v->cause != 0)
		codec_text_value(b, "cause", error_word(v->cause));
	if (v->holder.held && rights_allow(c, v->namespace_index, v->key,
	    ACCESS_SEE))
		answer_owner(c, b, &v->holder);
	codec_end(b, NULL);
	p->listing->n_rows++;
}

/* Look at the next row. False: there is none. */
static bool
listing_step_held(struct connection *c, struct pending *p, uint64_t now_ms)
{
	const struct server *s = c->server;
	struct core_hold_view v;

	if (!core_next_hold(s->calls.core(s->arg), p->listing->after, now_ms,
	    &v))
		return false;
	p->listing->after = v.hold;
	if (listing_matches(p->listing, v.namespace_index, v.key) &&
	    listing_shows(c, v.client, v.namespace_index, v.key) &&
	    (p->listing->states & listing_hold_state(&v)) != 0)
		listing_hold(c, p, &v);
	return true;
}

static bool
listing_step_waiting(struct connection *c, struct pending *p,
    uint64_t now_ms)
{
	const struct server *s = c->server;
	struct core_waiter_view v;

	if (!core_next_waiter(s->calls.core(s->arg), p->listing->after,
	    now_ms, &v))
		return false;
	p->listing->after = v.serial;
	if (listing_matches(p->listing, v.namespace_index, v.key) &&
	    listing_shows(c, v.client, v.namespace_index, v.key))
		listing_waiter(c, p, &v);
	return true;
}

static bool
listing_step_resume(struct connection *c, struct pending *p, uint64_t now_ms)
{
	const struct server *s = c->server;
	struct core_hold_view v;

	if (!core_next_hold_of(s->calls.core(s->arg), c->client,
	    p->listing->after, now_ms, &v))
		return false;
	p->listing->after = v.hold;
	listing_resumed(c, p, &v);
	return true;
}

/* The lines of the next piece of text, a row each. */
static void
listing_lines(struct connection *c, struct pending *p, const char *text)
{
	struct buffer *b = connection_out(c);

	while (*text != '\0') {
		const size_t length = strcspn(text, "\n");

		codec_begin(b, p->tag, "+");
		codec_value(b, "text", text, length);
		codec_end(b, NULL);
		p->listing->n_rows++;
		text += length;
		text += *text == '\n';
	}
}

static bool
listing_step_metrics(struct connection *c, struct pending *p)
{
	const struct server *s = c->server;
	struct buffer piece;
	bool more;

	buffer_init(&piece, LISTING_PIECE_MAX);
	more = s->calls.metrics(s->arg, p->listing->namespaces,
	    &p->listing->after, &piece);
	if (piece.data != NULL)
		listing_lines(c, p, piece.data);
	buffer_done(&piece);
	return more;
}

static bool
listing_step(struct connection *c, struct pending *p, uint64_t now_ms)
{
	switch (p->kind) {
	case PENDING_HELD:
		return listing_step_held(c, p, now_ms);
	case PENDING_WAITING:
		return listing_step_waiting(c, p, now_ms);
	case PENDING_RESUME:
		return listing_step_resume(c, p, now_ms);
	case PENDING_METRICS:
		return listing_step_metrics(c, p);
	default:
		return false;
	}
}

static void
listing_end_view(struct connection *c, struct pending *p)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, p->tag, "OK");
	codec_number(b, "rows", p->listing->n_rows);
	codec_end(b, NULL);
	pending_free(c, p);
	connection_queued(c);
}

/* A bounded number of steps; the rest waits for the next round. */
void
listing_write_view(struct connection *c, struct pending *p)
{
	uint64_t now_ms = clock_boot_ms();

	for (int i = 0; i < LISTING_STEPS_MAX; i++) {
		if (!listing_step(c, p, now_ms)) {
			listing_end_view(c, p);
			return;
		}
		/* A piece of text takes as long as some rows. */
		if (c->out.length >= CONNECTION_LOW_BYTES ||
		    ((i % 8 == 7 || p->kind == PENDING_METRICS) &&
		    turn_is_over(c->server)))
			break;
	}
	connection_queued(c);
}
