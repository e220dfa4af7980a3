/*
 * Queries: they change nothing, and rows answer them.
 */
#include "lib/connection.h"

#include <string.h>

#include "common/clock.h"
#include "lib/options.h"
#include "lib/request.h"
#include "lib/wait.h"

static const enum protocol_verb query_verbs[] = {
	[DDBLOCK_QUERY_GET] = VERB_GET,
	[DDBLOCK_QUERY_LIST] = VERB_LIST,
	[DDBLOCK_QUERY_HELD] = VERB_HELD,
	[DDBLOCK_QUERY_WAITING] = VERB_WAITING,
	[DDBLOCK_QUERY_STATUS] = VERB_STATUS,
	[DDBLOCK_QUERY_PING] = VERB_PING,
	[DDBLOCK_QUERY_CHECK] = VERB_CHECK,
	[DDBLOCK_QUERY_DRAIN] = VERB_DRAIN,
	[DDBLOCK_QUERY_UNDRAIN] = VERB_UNDRAIN,
	[DDBLOCK_QUERY_ACCESS] = VERB_ACCESS,
	[DDBLOCK_QUERY_RAISE] = VERB_RAISE,
	[DDBLOCK_QUERY_METRICS] = VERB_METRICS,
};

/* The argument that each option becomes, of the verbs that take it. */
#define OPTION(field, argument)                                                \
	{ offsetof(struct ddblock_query_options, field), OPTION_TEXT,          \
	    ARGUMENT_##argument }
static const struct option query_table[] = {
	OPTION(key, KEY),
	OPTION(ns, NS),
	OPTION(ns, NAMESPACES),
	OPTION(sort, SORT),
	OPTION(prefix, PREFIX),
	OPTION(state, STATE),
	OPTION(state, HOLD_STATE),
	OPTION(uid, UID),
	OPTION(groups, GROUPS),
	OPTION(unit, UNIT),
	OPTION(to, TO),
};
#undef OPTION

#define QUERY_PROGRESS "1s"	/* how often progress is to be told */
#define QUERY_VERBS (sizeof(query_verbs) / sizeof(query_verbs[0]))

static void
query_write(struct ddblock *d, enum protocol_verb verb,
    const struct ddblock_query_options *o)
{
	if (protocol_verb(verb)->subject != NULL)
		codec_text_value(&d->out, NULL, o->key);
	options_write(&d->out, verb, o, query_table,
	    sizeof(query_table) / sizeof(query_table[0]));
	if (o->on_progress != NULL && protocol_takes(verb, ARGUMENT_PROGRESS))
		protocol_write_text(&d->out, ARGUMENT_PROGRESS,
		    QUERY_PROGRESS);
}

int
ddblock_query_start(struct ddblock *d, enum ddblock_query_kind kind,
    const struct ddblock_query_options *options, ddblock_row_function *on_row,
    ddblock_reply_function *on_reply, void *arg, uint64_t *ret_request)
{
	struct ddblock_query_options o = DDBLOCK_QUERY_OPTIONS_INIT;
	enum protocol_verb verb;
	struct request_draft draft;
	int r;

	if ((int)kind < 1 || (size_t)kind >= QUERY_VERBS)
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "there is no such query");
	verb = query_verbs[kind];
	if (options != NULL &&
	    options_copy(&o, sizeof(o), options, options->size) < 0)
		return connection_fail(d, DDBLOCK_E_UNSUPPORTED,
		    "this library is older than the options");
	if (protocol_verb(verb)->subject != NULL &&
	    (o.key == NULL || o.key[0] == '\0'))
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "the key is empty");
	r = request_new(d, REQUEST_OTHER, verb, &draft);
	if (r < 0)
		return r;
	query_write(d, verb, &o);
	draft.request->on_row = on_row;
	draft.request->on_progress = o.on_progress;
	draft.request->progress_arg = arg;
	return request_send_for(d, &draft, on_reply, arg, ret_request);
}

static void
query_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct wait *wait = arg;

	/* A table may be long: the limit is for the time between lines. */
	wait->limit_ms = clock_boot_ms() + REQUEST_ANSWER_MS;
	if (wait->on_row != NULL)
		wait->on_row(wait->arg, row, final);
}

/* A search for a rare lock in a long table sends progress meanwhile. */
static void
query_on_progress(void *arg, const struct ddblock_row *row, bool final)
{
	struct wait *wait = arg;

	wait->limit_ms = clock_boot_ms() + REQUEST_ANSWER_MS;
	if (wait->on_progress != NULL)
		wait->on_progress(wait->arg, row, final);
}

int
ddblock_query(struct ddblock *d, enum ddblock_query_kind kind,
    const struct ddblock_query_options *options,
    ddblock_row_function *function, void *arg)
{
	struct ddblock_query_options o = DDBLOCK_QUERY_OPTIONS_INIT;
	struct wait wait = {
		.limit_ms = clock_boot_ms() + REQUEST_ANSWER_MS,
		.on_row = function,
		.arg = arg,
	};
	int r;

	if (options != NULL &&
	    options_copy(&o, sizeof(o), options, options->size) < 0)
		return connection_fail(d, DDBLOCK_E_UNSUPPORTED,
		    "this library is older than the options");
	wait.on_progress = o.on_progress;
	o.on_progress = query_on_progress;
	r = ddblock_query_start(d, kind, &o, query_on_row, wait_on_reply,
	    &wait, &wait.number);
	if (r < 0)
		return r;
	return wait_until_answered(d, &wait);
}
