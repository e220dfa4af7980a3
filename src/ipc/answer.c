/*
 * What the core says, as lines.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "ipc/answer.h"
#include "ipc/connection.h"
#include "ipc/process.h"

static void
answer_use(struct buffer *b, enum lock_mode mode, uint64_t limit)
{
	codec_text_value(b, "mode",
	    mode == LOCK_MODE_SHARED ? "shared" : "exclusive");
	if (mode == LOCK_MODE_SHARED && limit > 0)
		codec_number(b, "limit", limit);
}

void
answer_name(struct buffer *b, struct key name)
{
	const struct key_parts parts = key_split(name);

	codec_value(b, "key", parts.key.bytes, parts.key.length);
	if (key_is_sorted(&parts))
		codec_value(b, "sort", parts.sort.bytes, parts.sort.length);
}

void
answer_shared(struct buffer *b, enum lock_mode mode, uint64_t limit)
{
	if (mode == LOCK_MODE_SHARED)
		answer_use(b, mode, limit);
}

void
answer_policy(struct buffer *b, bool fail_closed)
{
	if (fail_closed)
		codec_text_value(b, "policy", "fail-closed");
}

/* 0 is none. One that no number has room for is a text; its number is 0, so
 * that who looks at that alone is refused rather than let in. */
void
answer_token(struct buffer *b, uint64_t token, const char *text)
{
	codec_number(b, "token", text != NULL ? 0 : token);
	if (text != NULL)
		codec_text_value(b, "token_text", text);
}

/* The owners of what is held here are not kept: they are known here. */
static void
answer_owner_name(struct connection *c, struct buffer *b,
    const struct core_holder_view *v)
{
	char owner[OWNER_LENGTH_MAX + 1];

	if (v->here && !v->named && server_owner(c->server,
	    v->namespace_index, server_find(c->server, v->client), owner))
		codec_text_value(b, "owner", owner);
	else if (v->owner[0] != '\0')
		codec_text_value(b, "owner", v->owner);
}

void
answer_owner(struct connection *c, struct buffer *b,
    const struct core_holder_view *v)
{
	if (v->token > 0 || v->token_text != NULL)
		answer_token(b, v->token, v->token_text);
	if (!v->held)
		return;
	answer_owner_name(c, b, v);
	if (v->mode == LOCK_MODE_SHARED)
		codec_number(b, "holders", v->n_holders);
	answer_policy(b, v->fail_closed);
	if (v->seen)
		codec_duration(b, "unchanged", v->unchanged_ms);
	if (v->silent)
		codec_boolean(b, "alive", false);
}

/* Who has it, by the token and number of holders, which together are the same
 * only while nobody comes or goes; and the last renewal that is known. */
static void
answer_version(struct buffer *b, const struct core_holder_view *v)
{
	char version[64];

	(void)snprintf(version, sizeof(version),
	    "%" PRIu64 "-%" PRIu32 "-%" PRIu64, v->token, v->n_holders,
	    v->renewal);
	codec_text_value(b, "version", version);
}

void
answer_holder(struct connection *c, struct buffer *b,
    const struct core_holder_view *v)
{
	const struct connection *holder;

	codec_text_value(b, "state", !v->held ? "free" :
	    v->dead ? "dead" : "held");
	answer_owner(c, b, v);
	if (v->broken_by != NULL)
		codec_text_value(b, "broken_by", v->broken_by);
	if (v->record != NULL)
		codec_text_value(b, "record", v->record);
	if (!v->held)
		return;
	answer_use(b, v->mode, v->limit);
	if (v->acquired_at_s > 0)
		codec_number(b, "acquired_at", v->acquired_at_s);
	codec_boolean(b, "here", v->here);
	if (v->here)
		codec_duration(b, "held", v->held_ms);
	holder = v->here ? server_find(c->server, v->client) : NULL;
	if (holder != NULL)
		codec_number(b, "pid", (uint64_t)holder->peer.pid);
	if (v->lease_ms > 0)
		codec_duration(b, "lease", v->lease_ms);
	if (v->ends)
		codec_duration(b, "expires", v->ends_ms);
	answer_version(b, v);
}

/* What is fail-closed has no deadline. */
void
answer_until(struct buffer *b, uint64_t remaining_ms, uint64_t until_ms)
{
	if (until_ms == 0)
		return;
	codec_duration(b, "remaining", remaining_ms);
	codec_number(b, "until_boot_ms", until_ms);
}

/* By which it is resumed. */
static void
answer_secret(struct buffer *b, const struct core_reply *a)
{
	char text[IDENT_TEXT_LENGTH + 1];

	if (a->terms.linger_ms == 0 || a->verb != CORE_ACQUIRE)
		return;
	ident_format(a->secret, text);
	codec_text_value(b, "secret", text);
	explicit_bzero(text, sizeof(text));
}

/* That it is for. */
static void
answer_process(struct connection *c, struct buffer *b,
    const struct core_reply *a)
{
	const struct process *p = process_find(c->server, a->terms.process);

	if (p == NULL)
		return;
	codec_number(b, "process", (uint64_t)p->pid);
	codec_boolean(b, "tells", process_can_be_told(p));
}

/* What is kept in the lock. */
static void
answer_contents(struct buffer *b, const struct contents *contents)
{
	char name[sizeof("attr.:json") + ATTRIBUTE_NAME_MAX];

	if (contents == NULL)
		return;
	if (contents->data.length > 0)
		codec_value(b, "data", contents->data.bytes,
		    contents->data.length);
	for (size_t i = 0; i < contents->n_attributes; i++) {
		const struct attribute *a = &contents->attributes[i];

		(void)snprintf(name, sizeof(name), "attr.%.*s%s",
		    (int)a->name.length, a->name.bytes,
		    a->typed ? ":json" : "");
		codec_value(b, name, a->value.bytes, a->value.length);
	}
}

static void
answer_success(struct connection *c, struct buffer *b,
    const struct core_reply *a)
{
	switch (a->verb) {
	case CORE_ACQUIRE:
	case CORE_DOWNGRADE:
		codec_number(b, "id", a->hold);
		if (a->n_parts > 0)
			codec_number(b, "rows", a->n_parts);
		else
			answer_token(b, a->token, a->token_text);
		answer_use(b, a->terms.mode, a->terms.limit);
		answer_policy(b, a->terms.fail_closed);
		answer_until(b, a->remaining_ms, a->until_ms);
		if (a->count > 0)
			codec_number(b, "count", a->count);
		if (a->end_ms > 0)
			codec_number(b, "end_boot_ms", a->end_ms);
		if (a->until_ms > 0)
			codec_duration(b, "margin", a->margin_ms);
		answer_secret(b, a);
		answer_process(c, b, a);
		answer_contents(b, a->contents);
		break;
	case CORE_RENEW:
		answer_until(b, a->remaining_ms, a->until_ms);
		break;
	case CORE_RELEASE:
		if (a->count > 0)
			codec_number(b, "count", a->count);
		break;
	case CORE_GET:
	case CORE_WATCH:
		answer_holder(c, b, a->holder);
		answer_contents(b, a->contents);
		break;
	case CORE_CANCEL:
		codec_boolean(b, "cancelled", true);
		break;
	case CORE_BREAK:
		codec_number(b, "token", a->token);
		if (a->owner[0] != '\0')
			codec_text_value(b, "owner", a->owner);
		break;
	case CORE_LIST:
	case CORE_UNWATCH:
	case CORE_RESUME:
		break;
	}
}

/* Of several locks each has its own token. */
static void
answer_parts(struct connection *c, struct buffer *b, const char *tag,
    const struct core_reply *a)
{
	const struct server *s = c->server;

	for (uint32_t i = 0; i < a->n_parts; i++) {
		const struct core_part *part = &a->parts[i];

		codec_begin(b, tag, "+");
		codec_text_value(b, "ns", s->calls.namespace_name(s->arg,
		    part->namespace_index));
		answer_name(b, part->key);
		answer_token(b, part->token, part->token_text);
		codec_end(b, NULL);
	}
}

/* A refused acquire says who is in the way, and a break who has it now. */
static void
answer_failure(struct connection *c, struct buffer *b,
    const struct core_reply *a)
{
	codec_text_value(b, NULL, error_word(a->code));
	if (a->cause != 0)
		codec_text_value(b, "cause", error_word(a->cause));
	if (a->key.length > 0)
		answer_name(b, a->key);
	if ((a->verb != CORE_ACQUIRE && a->verb != CORE_BREAK) ||
	    a->holder == NULL || !a->holder->held)
		return;
	answer_shared(b, a->holder->mode, a->holder->limit);
	answer_owner(c, b, a->holder);
	if (a->holder->fail_closed && a->holder->acquired_at_s > 0)
		codec_number(b, "acquired_at", a->holder->acquired_at_s);
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
	if (a->verb == CORE_RESUME) {
		resume_answered(c, p, a);
		return;
	}
	if (p->whole != NULL) {
		release_answered(c, p, a->code);
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
	} else if (a->code < 0 && p->best_effort &&
	    a->code != DDBLOCK_E_LOCK_NOT_OWNED) {
		codec_begin(b, p->tag, "OK");
		codec_text_value(b, "cause", error_word(a->code));
		codec_end(b, a->text);
	} else if (a->code < 0) {
		codec_begin(b, p->tag, "ERR");
		answer_failure(c, b, a);
		if (a->verb == CORE_LIST)
			listing_where(c, b, p->listing);
		codec_end(b, a->text != NULL && a->text[0] != '\0' ?
		    a->text : error_text(a->code));
	} else {
		answer_parts(c, b, p->tag, a);
		codec_begin(b, p->tag, "OK");
		answer_success(c, b, a);
		codec_end(b, a->text);
	}
	pending_free(c, p);
	connection_queued(c);
}

void
answer_notice(struct connection *c, const struct core_notice *a)
{
	struct buffer *b;

	/* A renewal of one hold alone; who wants none, hears of no danger. */
	if (a->kind == CORE_PROLONGED && c->renewed == NULL)
		return;
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
	case CORE_UNTOLD:	/* not to a client */
		return;
	case CORE_PROLONGED:
	case CORE_SAFE:
		codec_begin(b, NULL, "!LOCK_SAFE");
		codec_number(b, "id", a->hold);
		answer_until(b, a->remaining_ms, a->until_ms);
		break;
	case CORE_LOST:
		codec_begin(b, NULL, "!LOCK_LOST");
		codec_number(b, "id", a->hold);
		codec_text_value(b, "reason", core_loss_name(a->loss));
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
