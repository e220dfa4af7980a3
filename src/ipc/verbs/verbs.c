/*
 * Dispatches a request to its handler; and the handlers of verbs that need no
 * lock. protocol.def lists the verbs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include "common/error.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/rights.h"
#include "ipc/verbs/room.h"
#include "store/store.h"

static int (*const verbs_handlers[])(struct connection *,
    const struct protocol_request *) = {
#define VERB(name, handler, ...) [VERB_##name] = verbs_##handler,
#include "ipc/protocol.def"
};

static bool
verbs_allows(struct connection *c, enum protocol_right right)
{
	if (right == RIGHT_ANYBODY)
		return true;
	if (c->peer.by_heir)
		return false;
	/* The rules say it of each lock and namespace: its handler asks. */
	if (right != RIGHT_OWNER && rights_are_ruled(c->server))
		return true;
	if (right >= RIGHT_OPERATOR && peer_is_own(&c->peer))
		return true;
	if (right == RIGHT_OWNER)
		return peer_is_root(&c->peer, c->fd, c->server);
	return peer_is_admin(&c->peer, c->fd, c->server);
}

static int
verbs_deny(struct connection *c, enum protocol_verb verb)
{
	const struct protocol_verb_row *row = protocol_verb(verb);

	server_log(c->server, LOG_WARNING, (int64_t)c->peer.uid,
	    "client %s (pid %ld, uid %ld) may not say %s%s", c->peer.name,
	    (long)c->peer.pid, (long)c->peer.uid, row->word,
	    c->peer.by_heir ? ": a process wrote that which inherited its "
	    "connection" : c->peer.uid != 0 ? "" :
	    ": it is in another pid namespace, or has ended, or /proc does not "
	    "show it (admin = host)");
	if (c->peer.by_heir)
		return connection_reason(c, DDBLOCK_E_DENIED, "the process "
		    "that opened this connection may say %s, and no other",
		    row->word);
	if (c->peer.uid == 0)
		return connection_reason(c, DDBLOCK_E_DENIED, "this root is "
		    "not seen in the daemon's pid namespace, and may not say "
		    "%s (admin = host in ddblockd.conf(5))", row->word);
	if (row->right == RIGHT_OWNER)
		return connection_reason(c, DDBLOCK_E_DENIED, "only root and "
		    "the daemon's own user may say %s", row->word);
	return connection_reason(c, DDBLOCK_E_DENIED, "only root%s and the "
	    "members of %s admin_group may say %s",
	    row->right == RIGHT_OPERATOR ? ", the daemon's own user" : "",
	    row->right == RIGHT_OPERATOR ? "its" : "the daemon's", row->word);
}

/* Read the request, and check the client's right to it. */
static int
verbs_parse(struct connection *c, const struct codec_line *l,
    struct protocol_request *ret)
{
	char *reason = c->server->reason;
	enum protocol_right right;
	int r = protocol_begin(l, ret, reason);

	if (r < 0)
		return r;
	if (l->tag.length > 0 && pending_find_tag(c, l->tag.bytes,
	    l->tag.length) != NULL)
		return connection_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "the tag \"%s\" belongs to a request without a reply yet",
		    l->tag.bytes);
	r = protocol_check(ret, reason);
	if (r < 0)
		return r;
	/*
	 * A client without the right is not told what else is wrong with the
	 * request.
	 */
	right = protocol_verb(ret->verb)->right;
	if (!verbs_allows(c, right))
		return verbs_deny(c, ret->verb);
	return protocol_read(ret, reason);
}

static const char *
verbs_text(const struct protocol_request *q, enum protocol_argument a)
{
	const struct codec_text *text = protocol_text(q, a);

	return text == NULL ? NULL : text->bytes;
}

/* For the audit trail. Of several keys the first will do. */
static void
verbs_tell_refusal(struct connection *c, const struct protocol_request *q,
    int code)
{
	const struct protocol_verb_row *row = protocol_verb(q->verb);
	const struct codec_argument *first = q->line->arguments;
	const bool named = row->subject != NULL && q->line->n_arguments > 0 &&
	    first->name.length == 0;
	struct server_refusal refusal = {
		.verb = row->word,
		.namespace = verbs_text(q, ARGUMENT_NS),
		.key = named ? first->value.bytes : NULL,
		.sort = named ? verbs_text(q, ARGUMENT_SORT) : NULL,
		.code = code,
		.why = c->server->reason,
	};

	connection_tell_refusal(c, &refusal);
}

void
verbs_run(struct connection *c, struct codec_line *l)
{
	struct protocol_request q;
	int r = verbs_parse(c, l, &q);

	if (r == 0) {
		c->server->n_run[q.verb]++;
		r = verbs_handlers[q.verb](c, &q);
	}
	if (r == DDBLOCK_E_DENIED || r == DDBLOCK_E_LIMIT)
		verbs_tell_refusal(c, &q, r);
	if (r < 0 && c->server->again != NULL && c->server->again->answered)
		connection_cut(c, "what it watches cannot be watched again");
	else if (r < 0)
		connection_refuse(c, l->tag.bytes, r, c->server->reason);
}

int
verbs_ping(struct connection *c, const struct protocol_request *q)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, q->line->tag.bytes, "OK");
	codec_end(b, NULL);
	connection_queued(c);
	return 0;
}

static int
verbs_hello_arguments(struct connection *c, const struct protocol_request *q)
{
	const struct codec_text *name = protocol_text(q, ARGUMENT_NAME);
	const bool yes = protocol_is(q, ARGUMENT_RENEWED);

	if (protocol_number(q, ARGUMENT_PROTO) != 1)
		return connection_reason(c, DDBLOCK_E_UNSUPPORTED,
		    "this daemon speaks proto=1");
	if (yes && c->renewed == NULL) {
		/* There may be more of them later. */
		c->renewed = calloc(CORE_NAMESPACES_MAX,
		    sizeof(*c->renewed));
		if (c->renewed == NULL)
			return connection_reason(c, DDBLOCK_E_LIMIT,
			    "out of memory");
	} else if (!yes && protocol_given(q, ARGUMENT_RENEWED)) {
		free(c->renewed);
		c->renewed = NULL;
	}
	if (protocol_given(q, ARGUMENT_RESUMES))
		c->resumes = protocol_is(q, ARGUMENT_RESUMES);
	if (protocol_given(q, ARGUMENT_RESTARTED))
		c->tells_restart = protocol_is(q, ARGUMENT_RESTARTED);
	if (name != NULL &&
	    peer_rename(&c->peer, name->bytes, name->length) < 0)
		return connection_reason(c, DDBLOCK_E_LIMIT, "out of memory");
	keep_connection(c);
	return 0;
}

int
verbs_hello(struct connection *c, const struct protocol_request *q)
{
	const struct server *s = c->server;
	uint32_t n = s->calls.n_namespaces(s->arg);
	struct store_status status;
	struct buffer names;
	struct buffer *b;
	int r = verbs_hello_arguments(c, q);

	if (r < 0)
		return r;
	buffer_init(&names, CODEC_LINE_MAX / 2);
	for (uint32_t i = 0; i < n; i++)
		(void)buffer_printf(&names, "%s%s", i > 0 ? "," : "",
		    s->calls.namespace_name(s->arg, i));
	s->calls.store_status(s->arg, 0, &status);

	b = connection_out(c);
	codec_begin(b, q->line->tag.bytes, "OK");
	codec_number(b, "proto", 1);
	codec_text_value(b, "version", s->version);
	codec_text_value(b, "host", s->host);
	codec_text_value(b, "scope", status.scope);
	codec_value(b, "namespaces", names.data, names.length);
	codec_number(b, "line_max", CODEC_LINE_MAX);
	codec_number(b, "key_max", KEY_LENGTH_MAX);
	codec_number(b, "requests_max",
	    s->limits.requests_per_connection_max);
	codec_end(b, NULL);
	buffer_done(&names);
	connection_queued(c);
	return 0;
}

static void
verbs_help_row(struct buffer *b, const char *tag, enum protocol_verb verb)
{
	const struct protocol_verb_row *v = protocol_verb(verb);
	const unsigned char *a;

	codec_begin(b, tag, "+");
	codec_text_value(b, "verb", v->word);
	if (v->subject != NULL)
		codec_text_value(b, "subject", v->subject);
	for (a = v->arguments; *a != ARGUMENT_NONE; a++)
		(void)buffer_printf(b, "%s%s",
		    a == v->arguments ? " arguments=" : ",",
		    protocol_argument(*a)->word);
	codec_end(b, NULL);
}

int
verbs_help(struct connection *c, const struct protocol_request *q)
{
	const char *tag = q->line->tag.bytes;
	struct buffer *b = connection_out(c);

	for (unsigned i = 0; i < VERBS; i++)
		verbs_help_row(b, tag, i);
	codec_begin(b, tag, "OK");
	codec_number(b, "rows", VERBS);
	codec_end(b, "see ddblock-protocol(7)");
	connection_queued(c);
	return 0;
}

int
verbs_quit(struct connection *c, const struct protocol_request *q)
{
	(void)verbs_ping(c, q);
	connection_drain(c);
	return 0;
}
