/*
 * STATUS: the state of the daemon and each of its namespaces.
 */
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "ipc/connection/rights.h"
#include "ipc/verbs/room.h"
#include "store/store.h"

/* The figures that its store adds. */
static void
status_fields(struct buffer *b, const struct store_status *store)
{
	for (size_t i = 0; i < store->n_fields; i++) {
		const struct store_field *f = &store->fields[i];

		switch (f->kind) {
		case STORE_FIELD_NUMBER:
			codec_number(b, f->name, f->number);
			break;
		case STORE_FIELD_DURATION:
			codec_duration(b, f->name, f->number);
			break;
		case STORE_FIELD_TEXT:
			codec_text_value(b, f->name, f->text);
			break;
		}
	}
}

/* What there is of locks. */
static void
status_counts(struct buffer *b, const struct core_namespace_view *v)
{
	codec_number(b, "locks", v->locks);
	codec_number(b, "held", v->held);
	if (v->lingering > 0)
		codec_number(b, "lingering", v->lingering);
	codec_number(b, "waiting", v->waiting);
	if (v->followers > 0)
		codec_number(b, "followers", v->followers);
}

static void
status_namespace(struct connection *c, struct buffer *b, const char *tag,
    uint32_t index)
{
	const bool counts = rights_allow_each(c, index, RIGHTS_LISTED);
	struct server *s = c->server;
	struct core_namespace_view v;
	struct store_status store;
	int cause;

	core_view_namespace(s->calls.core(s->arg), index, clock_boot_ms(),
	    &v);
	s->calls.store_status(s->arg, index, &store);
	cause = v.cause != 0 ? v.cause : store.last_error;

	codec_begin(b, tag, "+");
	codec_text_value(b, "ns", s->calls.namespace_name(s->arg, index));
	codec_text_value(b, "store", store.kind);
	codec_text_value(b, "scope", store.scope);
	codec_text_value(b, "where", store.where);
	if (v.format == NULL)
		codec_text_value(b, "session", v.open ? "open" : "opening");
	else
		codec_text_value(b, "format", v.format);
	codec_text_value(b, "state", v.open && !v.danger ? "ok" : "danger");
	if (v.format == NULL) {
		codec_duration(b, "danger", v.danger_in_ms);
		codec_duration(b, "remaining", v.remaining_ms);
		codec_duration(b, "renewed", v.renewed_ago_ms);
	}
	if (counts)
		status_counts(b, &v);
	if (v.drained)
		codec_boolean(b, "draining", true);
	if (v.removed)
		codec_boolean(b, "removed", true);
#define COUNTER(name, ...)                                                     \
	if (counts)                                                            \
		codec_number(b, #name, v.counters.name);
#include "common/counters.def"
	codec_number(b, "doubts", v.n_in_doubt);
	codec_number(b, "requests", store.requests);
	codec_number(b, "repetitions", store.repetitions);
	codec_number(b, "in_flight", store.in_flight);
	status_fields(b, &store);
	if (cause != 0)
		codec_text_value(b, "cause", error_word(cause));
	codec_end(b, NULL);
}

/* Connections that outlive this process, if it ends now, and others that may
 * not yet. */
static void
status_kept(struct server *s, struct buffer *b)
{
	uint64_t n_kept = 0, n_unconfirmed = 0;

	if (s->wire == NULL || s->journal == NULL || s->calls.is_kept == NULL)
		return;
	for (uint32_t i = 0; i < s->n_slots; i++) {
		const struct connection *c = s->slots[i];

		if (c == NULL || !c->kept.on)
			continue;
		if (c->kept.number == KEPT_BEFORE ||
		    s->calls.is_kept(s->arg, c->kept.number))
			n_kept++;
		else
			n_unconfirmed++;
	}
	codec_number(b, "kept", n_kept);
	codec_number(b, "unconfirmed", n_unconfirmed);
}

static void
status_hints(struct server *s, struct buffer *b)
{
	struct server_hints h;

	if (s->calls.hints == NULL || !s->calls.hints(s->arg, &h))
		return;
	codec_text_value(b, "hints", h.address);
	codec_number(b, "hints_peers", h.peers);
	codec_number(b, "hints_sent", h.sent);
	codec_number(b, "hints_unsent", h.unsent);
	codec_number(b, "hints_accepted", h.accepted);
	codec_number(b, "hints_late", h.late);
	codec_number(b, "hints_refused", h.refused);
}

int
verbs_status(struct connection *c, const struct protocol_request *q)
{
	struct server *s = c->server;
	uint32_t n = s->calls.n_namespaces(s->arg);
	const char *tag = q->line->tag.bytes;
	struct buffer *b = connection_out(c);

	for (uint32_t i = 0; i < n; i++)
		status_namespace(c, b, tag, i);
	codec_begin(b, tag, "OK");
	codec_text_value(b, "version", s->version);
	codec_number(b, "pid", (uint64_t)getpid());
	codec_text_value(b, "host", s->host);
	codec_duration(b, "uptime", clock_boot_ms() - s->started_ms);
	codec_number(b, "connections", s->n_connections);
	status_kept(s, b);
	status_hints(s, b);
	codec_end(b, NULL);
	connection_queued(c);
	return 0;
}
