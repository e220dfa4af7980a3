/*
 * The table of verbs: one row for each, with all that it may be given. What a
 * row does not name is refused, because a misspelt "wiat=5s" must never mean
 * "wait for ever".
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "ipc/connection.h"
#include "store/store.h"

#define VERBS_ARGUMENTS_MAX 24

struct verb {
	const char *word;
	int (*run)(struct connection *, const struct codec_line *);
	const char *subject;		/* the positional argument, or NULL; */
					/* with "...", up to TOGETHER_MAX */
	const char *needed;		/* a named one that must be there */
	const char *arguments[VERBS_ARGUMENTS_MAX]; /* named, up to a NULL */
};

static int verbs_hello(struct connection *, const struct codec_line *);
static int verbs_ping(struct connection *, const struct codec_line *);
static int verbs_help(struct connection *, const struct codec_line *);
static int verbs_quit(struct connection *, const struct codec_line *);

static const struct verb verbs[] = {
	{ "PING", verbs_ping, NULL, NULL, { NULL } },
	{ "ACQUIRE", verbs_acquire, "KEY...", NULL,
	    { "ns", "sort", "mode", "limit", "wait", "poll", "policy",
		"max_hold", "keepalive", "danger", "renew", "reentrant",
		"on_close", "linger", "owner", "only_if_exists", "data",
		"replace_data", "keep", "attr.NAME", "report", "process",
		"signal" } },
	{ "TRY", verbs_try, "KEY...", NULL,
	    { "ns", "sort", "mode", "limit", "policy", "max_hold", "keepalive",
		"danger", "renew", "reentrant", "on_close", "linger", "owner",
		"only_if_exists", "data", "replace_data", "keep",
		"attr.NAME", "process", "signal" } },
	{ "RELEASE", verbs_release, NULL, NULL,
	    { "id", "best_effort", "all", "ns", "data", "keep",
		"attr.NAME", "process" } },
	{ "RENEW", verbs_renew, NULL, "id",
	    { "id", "data", "keep", "attr.NAME" } },
	{ "DOWNGRADE", verbs_downgrade, NULL, "id", { "id", "limit" } },
	{ "RESUME", verbs_resume, NULL, "secret", { "secret" } },
	{ "CANCEL", verbs_cancel, NULL, "tag", { "tag" } },
	{ "GET", verbs_get, "KEY", NULL, { "ns", "sort" } },
	{ "BREAK", verbs_break, "KEY", NULL,
	    { "ns", "sort", "token", "record", "reason" } },
	{ "WATCH", verbs_watch, "KEY", NULL, { "ns", "sort" } },
	{ "UNWATCH", verbs_unwatch, "KEY", NULL, { "ns", "sort" } },
	{ "LIST", verbs_list, NULL, NULL,
	    { "ns", "prefix", "sort", "state", "progress" } },
	{ "HELD", verbs_held, NULL, NULL, { "ns", "key", "sort", "state" } },
	{ "WAITING", verbs_waiting, NULL, NULL,
	    { "ns", "key", "sort" } },
	{ "STATUS", verbs_status, NULL, NULL, { NULL } },
	{ "CHECK", verbs_check, NULL, NULL, { "ns" } },
	{ "HELLO", verbs_hello, NULL, NULL, { "proto", "name", "renewed" } },
	{ "HELP", verbs_help, NULL, NULL, { NULL } },
	{ "QUIT", verbs_quit, NULL, NULL, { NULL } },
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

int
verbs_reason(struct connection *c, int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(c->server->reason, sizeof(c->server->reason), format,
	    arguments);
	va_end(arguments);
	return code;
}

static const struct verb *
verbs_find(const struct codec_text *word)
{
	for (size_t i = 0; i < VERBS; i++) {
		if (strncmp(verbs[i].word, word->bytes,
		    word->length + 1) == 0)
			return &verbs[i];
	}
	return NULL;
}

static size_t
verbs_n_arguments(const struct verb *v)
{
	size_t n = 0;

	while (n < VERBS_ARGUMENTS_MAX && v->arguments[n] != NULL)
		n++;
	return n;
}

static int
verbs_unknown(struct connection *c, const char *what,
    const struct codec_text *word, const char *nearest)
{
	if (nearest == NULL)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "%s \"%.60s\"",
		    what, word->bytes);
	return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
	    "%s \"%.60s\"; did you mean \"%s\"?", what, word->bytes, nearest);
}

static int
verbs_unknown_verb(struct connection *c, const struct codec_text *word)
{
	const char *words[VERBS];

	for (size_t i = 0; i < VERBS; i++)
		words[i] = verbs[i].word;
	return verbs_unknown(c, "unknown verb", word,
	    nearest_word(word->bytes, word->length, words, VERBS));
}

/* An argument whose name has a part that is the client's is meant as a whole
 * family. */
static bool
verbs_means(const char *argument, const char *name)
{
	const char *own = strstr(argument, "NAME");

	return own == NULL ? strcmp(argument, name) == 0 :
	    strncmp(argument, name, (size_t)(own - argument)) == 0;
}

static int
verbs_check_named(struct connection *c, const struct verb *v,
    const struct codec_line *l, const struct codec_argument *a)
{
	size_t n = verbs_n_arguments(v);
	size_t i = 0;
	char what[64];

	if (codec_find(l, a->name.bytes) != &a->value)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "argument \"%.60s\" is given twice", a->name.bytes);
	while (i < n && !verbs_means(v->arguments[i], a->name.bytes))
		i++;
	if (i < n)
		return 0;
	(void)snprintf(what, sizeof(what), "%s has no argument", v->word);
	return verbs_unknown(c, what, &a->name, nearest_word(a->name.bytes,
	    a->name.length, v->arguments, n));
}

static size_t
verbs_n_subjects(const struct verb *v)
{
	if (v->subject == NULL)
		return 0;
	return strstr(v->subject, "...") != NULL ? TOGETHER_MAX : 1;
}

static int
verbs_too_many(struct connection *c, const struct verb *v, size_t n)
{
	if (v->subject == NULL)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "%s takes only arguments of the form name=value", v->word);
	if (verbs_n_subjects(v) == 1)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "%s takes one key", v->word);
	return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "%s takes up to %d "
	    "keys at once, and here are %zu", v->word, TOGETHER_MAX, n);
}

static int
verbs_check_line(struct connection *c, const struct verb *v,
    const struct codec_line *l)
{
	size_t n_positional = 0;

	for (size_t i = 0; i < l->n_arguments; i++) {
		const struct codec_argument *a = &l->arguments[i];
		int r = 0;

		if (a->name.length == 0)
			n_positional++;
		else if (strlen(a->name.bytes) != a->name.length)
			r = verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
			    "an argument's name has a NUL");
		else
			r = verbs_check_named(c, v, l, a);
		if (r < 0)
			return r;
	}
	if (n_positional > verbs_n_subjects(v))
		return verbs_too_many(c, v, n_positional);
	if (v->subject != NULL && (n_positional == 0 ||
	    l->arguments[0].name.length > 0))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "%s needs a %.*s as its first argument", v->word,
		    (int)strcspn(v->subject, "."), v->subject);
	if (v->needed != NULL && codec_find(l, v->needed) == NULL)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "%s needs %s=", v->word, v->needed);
	return 0;
}

void
verbs_run(struct connection *c, struct codec_line *l)
{
	const struct verb *v = verbs_find(&l->word);
	int r;

	if (v == NULL)
		r = verbs_unknown_verb(c, &l->word);
	else if (l->tag.length > 0 && pending_find_tag(c, l->tag.bytes,
	    l->tag.length) != NULL)
		r = verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "the tag \"%s\" "
		    "belongs to a request without a reply yet", l->tag.bytes);
	else if ((r = verbs_check_line(c, v, l)) == 0)
		r = v->run(c, l);
	if (r < 0)
		connection_refuse(c, l->tag.bytes, r, c->server->reason);
}

static int
verbs_find_namespace(struct connection *c, const char *name, size_t length,
    uint32_t *ret)
{
	const struct server *s = c->server;
	uint32_t n = s->calls.n_namespaces(s->arg);

	for (uint32_t i = 0; i < n; i++) {
		const char *known = s->calls.namespace_name(s->arg, i);

		if (strlen(known) == length &&
		    memcmp(known, name, length) == 0) {
			*ret = i;
			return 0;
		}
	}
	return verbs_reason(c, DDBLOCK_E_UNKNOWN_NAMESPACE,
	    "there is no namespace \"%.*s\"", length > 60 ? 60 : (int)length,
	    name);
}

int
verbs_namespace(struct connection *c, const struct codec_line *l,
    uint32_t *ret)
{
	const struct codec_text *name = codec_find(l, "ns");

	if (name == NULL)
		return 0; /* the caller's default stands */
	return verbs_find_namespace(c, name->bytes, name->length, ret);
}

int
verbs_namespaces(struct connection *c, const struct codec_line *l,
    uint64_t *ret)
{
	const struct codec_text *names = codec_find(l, "ns");
	const char *name = names == NULL ? NULL : names->bytes;
	uint64_t found = 0;

	while (name != NULL) {
		size_t left = names->length - (size_t)(name - names->bytes);
		const char *comma = memchr(name, ',', left);
		size_t length = comma == NULL ? left : (size_t)(comma - name);
		uint32_t index = 0;
		int r = verbs_find_namespace(c, name, length, &index);

		if (r < 0)
			return r;
		if (found >> index & 1)
			return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
			    "namespace \"%.60s\" is named twice", c->server->
			    calls.namespace_name(c->server->arg, index));
		found |= UINT64_C(1) << index;
		*ret = found;
		name = comma == NULL ? NULL : comma + 1;
	}
	return 0;
}

static int
verbs_ping(struct connection *c, const struct codec_line *l)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, l->tag.bytes, "OK");
	codec_end(b, NULL);
	connection_queued(c);
	return 0;
}

static int
verbs_hello_arguments(struct connection *c, const struct codec_line *l)
{
	const struct codec_text *proto = codec_find(l, "proto");
	const struct codec_text *name = codec_find(l, "name");
	const struct codec_text *renewed = codec_find(l, "renewed");
	const struct server *s = c->server;
	bool yes = false;
	uint64_t n = 1;

	if (proto != NULL &&
	    !codec_parse_number(proto->bytes, proto->length, &n))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "proto is a number");
	if (n != 1)
		return verbs_reason(c, DDBLOCK_E_UNSUPPORTED,
		    "this daemon speaks proto=1");
	if (name != NULL && (name->length == 0 ||
	    !codec_is_text(name->bytes, name->length)))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "the name is empty or not UTF-8 text");
	if (renewed != NULL &&
	    !codec_parse_boolean(renewed->bytes, renewed->length, &yes))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "renewed is yes or no");

	if (yes && c->renewed == NULL) {
		c->renewed = calloc(s->calls.n_namespaces(s->arg),
		    sizeof(*c->renewed));
		if (c->renewed == NULL)
			return verbs_reason(c, DDBLOCK_E_LIMIT,
			    "out of memory");
	} else if (!yes && renewed != NULL) {
		free(c->renewed);
		c->renewed = NULL;
	}
	if (name != NULL &&
	    peer_rename(&c->peer, name->bytes, name->length) < 0)
		return verbs_reason(c, DDBLOCK_E_LIMIT, "out of memory");
	return 0;
}

static int
verbs_hello(struct connection *c, const struct codec_line *l)
{
	const struct server *s = c->server;
	uint32_t n = s->calls.n_namespaces(s->arg);
	struct store_status status;
	struct buffer names;
	struct buffer *b;
	int r = verbs_hello_arguments(c, l);

	if (r < 0)
		return r;
	buffer_init(&names, CODEC_LINE_MAX / 2);
	for (uint32_t i = 0; i < n; i++)
		(void)buffer_printf(&names, "%s%s", i > 0 ? "," : "",
		    s->calls.namespace_name(s->arg, i));
	s->calls.store_status(s->arg, 0, &status);

	b = connection_out(c);
	codec_begin(b, l->tag.bytes, "OK");
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
verbs_help_row(struct buffer *b, const char *tag, const struct verb *v)
{
	size_t n = verbs_n_arguments(v);

	codec_begin(b, tag, "+");
	codec_text_value(b, "verb", v->word);
	if (v->subject != NULL)
		codec_text_value(b, "subject", v->subject);
	if (n > 0)
		(void)buffer_append_text(b, " arguments=");
	for (size_t i = 0; i < n; i++)
		(void)buffer_printf(b, "%s%s", i > 0 ? "," : "",
		    v->arguments[i]);
	codec_end(b, NULL);
}

static int
verbs_help(struct connection *c, const struct codec_line *l)
{
	struct buffer *b = connection_out(c);

	for (size_t i = 0; i < VERBS; i++)
		verbs_help_row(b, l->tag.bytes, &verbs[i]);
	codec_begin(b, l->tag.bytes, "OK");
	codec_number(b, "rows", VERBS);
	codec_end(b, "see ddblock-protocol(7)");
	connection_queued(c);
	return 0;
}

static int
verbs_quit(struct connection *c, const struct codec_line *l)
{
	(void)verbs_ping(c, l);
	connection_drain(c);
	return 0;
}
