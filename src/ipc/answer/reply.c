/*
 * The core's answers to requests, as lines.
 */
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "ipc/answer/room.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/process.h"
#include "ipc/connection/secret.h"

/* The secret that resumes the hold. */
static void
answer_secret(const struct server *s, struct buffer *b,
    const struct core_reply *a)
{
	char text[IDENT_TEXT_LENGTH + 1];
	struct ident clear;

	if ((a->terms.linger_ms == 0 && !a->terms.resumes) ||
	    a->verb != CORE_ACQUIRE || a->secret == NULL ||
	    !secret_reveal(s, a->secret, &clear))
		return;
	ident_format(clear, text);
	codec_text_value(b, "secret", text);
	explicit_bzero(text, sizeof(text));
	explicit_bzero(&clear, sizeof(clear));
}

/* The process that the hold is for. */
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

/* The contents of the lock. */
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
    const struct pending *p, const struct core_reply *a)
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
		answer_secret(c->server, b, a);
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
		if (a->owner[0] != '\0' && !p->hides)
			codec_text_value(b, "owner", a->owner);
		break;
	case CORE_RAISE:
		codec_number(b, "token", a->token);
		codec_boolean(b, "raised", a->raised);
		break;
	case CORE_LIST:
	case CORE_UNWATCH:
	case CORE_RESUME:
		break;
	}
}

/* In a multi-lock hold each lock has its own token. */
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

/*
 * A refused acquire names the holder in the way, and a refused break the
 * present holder; but not to a client that may not see it.
 */
static void
answer_failure(struct connection *c, struct buffer *b,
    const struct pending *p, const struct core_reply *a)
{
	codec_text_value(b, NULL, error_word(a->code));
	if (a->cause != 0)
		codec_text_value(b, "cause", error_word(a->cause));
	if (a->key.length > 0)
		answer_name(b, a->key);
	if (a->ran_s > 0) {
		codec_number(b, "ran_at", a->ran_s);
		codec_number(b, "due_at", a->due_s);
	}
	if ((a->verb != CORE_ACQUIRE && a->verb != CORE_BREAK) ||
	    a->holder == NULL || !a->holder->held || p->hides)
		return;
	answer_shared(b, a->holder->mode, a->holder->limit);
	answer_owner(c, b, a->holder);
	if (a->holder->here)
		codec_duration(b, "held", a->holder->held_ms);
	else if (a->holder->acquired_at_s > 0)
		codec_number(b, "acquired_at", a->holder->acquired_at_s);
}

/* A release that another process has done, or begun, without an answer. */
static bool
reply_is_done(const struct pending *p, const struct core_reply *a)
{
	return p->again && a->verb == CORE_RELEASE &&
	    (a->code == DDBLOCK_E_NO_SUCH_LOCK ||
	    a->code == DDBLOCK_E_LOCK_NOT_OWNED);
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
	if (p->denied && a->code == DDBLOCK_E_CANCELLED) {
		connection_refuse(c, p->tag, DDBLOCK_E_DENIED,
		    "the rules of access are others now, and do not let it "
		    "wait for this lock");
		pending_free(c, p);
		return;
	}
	if (p->whole != NULL) {
		release_answered(c, p, a->code);
		return;
	}
	if (a->verb == CORE_ACQUIRE && a->code == 0)
		answer_write_renewed(c);
	b = connection_out(c);
	if (p->answered) {
		change_tell_again(c, p, a);
	} else if (a->verb == CORE_CANCEL && a->code < 0) {
		/*
		 * The cancelled request was answered first; see verbs_cancel().
		 */
		codec_begin(b, p->tag, "OK");
		codec_boolean(b, "cancelled", false);
		codec_end(b, NULL);
	} else if (reply_is_done(p, a)) {
		codec_begin(b, p->tag, "OK");
		codec_end(b, NULL);
	} else if (a->code < 0 && p->best_effort &&
	    a->code != DDBLOCK_E_LOCK_NOT_OWNED) {
		codec_begin(b, p->tag, "OK");
		codec_text_value(b, "cause", error_word(a->code));
		codec_end(b, a->text);
	} else if (a->code < 0) {
		codec_begin(b, p->tag, "ERR");
		answer_failure(c, b, p, a);
		if (a->verb == CORE_LIST)
			listing_where(c, b, p->listing);
		codec_end(b, a->text != NULL && a->text[0] != '\0' &&
		    !p->hides ? a->text : error_text(a->code));
	} else {
		answer_parts(c, b, p->tag, a);
		codec_begin(b, p->tag, "OK");
		answer_success(c, b, p, a);
		codec_end(b, a->text);
	}
	if (a->code == 0 && (a->verb == CORE_WATCH || a->verb == CORE_UNWATCH))
		keep_watched(c, p, a->verb == CORE_WATCH);
	pending_free(c, p);
	connection_queued(c);
}
