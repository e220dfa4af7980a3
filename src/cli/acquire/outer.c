/*
 * The locks under which this command itself runs. The environment names the
 * holds, but a process that outlives them inherits it too. So the daemon is
 * asked whether they exist. Only a command that runs under a lock asks.
 */
#include <config.h>

#include "cli/acquire/outer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"

/* A line is kind, id, token, socket. */
#define OUTER_LONG_BYTES 4096	/* beyond it: without ended holds */
#define OUTER_RUN "run"		/* kinds: a command runs under it, */
#define OUTER_PROCESS "process"	/* or a process has it */

struct outer {
	const char *ns;
	const char *sort;
	const char *key;
	const char *path;	/* of the daemon's socket */
	const char *holds;
	bool found;
	bool shared;
	bool process;
	char token[REQUEST_TOKEN_MAX];
	struct buffer live;	/* of the holds, how many exist */
};

static void
outer_write(struct buffer *b, const char *kind, const char *id,
    const char *token, const char *path)
{
	(void)buffer_printf(b, "%s %s %s %s\n", kind, id, token, path);
}

bool
outer_add(const struct ddblock *d, uint64_t id,
    const struct lock_request *request)
{
	const char *holds = getenv(OUTER_HOLDS);
	char path[PATH_MAX], number[32], token[32];
	struct buffer b;
	bool set;

	buffer_init(&b, OUTER_HOLDS_BYTES_MAX);
	(void)buffer_append_text(&b, holds == NULL ? "" : holds);
	(void)snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
	for (size_t i = 0; i < request->n_keys; i++) {
		const char *text = ddblock_token_text(d, id, request->keys[i]);

		(void)snprintf(token, sizeof(token), "%llu",
		    (unsigned long long)ddblock_token_of(d, id,
			request->keys[i]));
		outer_write(&b, request->for_process ? OUTER_PROCESS :
		    OUTER_RUN, number, text == NULL ? token : text,
		    cli_socket_path(d, path));
	}
	set = buffer_failed(&b) == 0 && setenv(OUTER_HOLDS, b.data, 1) == 0;
	buffer_done(&b);
	return set;
}

const char *
outer_holds(void)
{
	const char *holds = getenv(OUTER_HOLDS);

	return holds == NULL ? "" : holds;
}

static bool
outer_is(const struct ddblock_row *row, const char *name, const char *value)
{
	const char *found = ddblock_row_find(row, name, NULL);

	return strcmp(found == NULL ? "-" : found, value) == 0;
}

/* Is that row's hold noted with this kind? With @there, it is put there. */
static bool
outer_is_noted(const struct outer *o, const struct ddblock_row *row,
    const char *kind, struct buffer *there)
{
	const char *id = ddblock_row_find(row, "id", NULL);
	const char *token = ddblock_row_find(row, "token", NULL);
	const char *at = NULL;
	struct buffer b;
	bool tells;

	/* A lost lock is not held any more. */
	if (id == NULL || token == NULL || outer_is(row, "state", "lost"))
		return false;
	buffer_init(&b, PATH_MAX + 2 * REQUEST_TOKEN_MAX);
	outer_write(&b, kind, id, token, o->path);
	if (buffer_failed(&b) == 0)
		at = strstr(o->holds, b.data);
	tells = at != NULL && (at == o->holds || at[-1] == '\n');
	if (tells && there != NULL)
		(void)buffer_append(there, b.data, b.length);
	buffer_done(&b);
	return tells;
}

static void
outer_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct outer *o = arg;
	const char *token = ddblock_row_find(row, "token", NULL);
	bool process;

	if (final || token == NULL || strlen(token) >= sizeof(o->token) ||
	    !outer_is(row, "ns", o->ns) || !outer_is(row, "key", o->key) ||
	    !outer_is(row, "sort", o->sort))
		return;
	process = outer_is_noted(o, row, OUTER_PROCESS, NULL);
	if (!process && !outer_is_noted(o, row, OUTER_RUN, NULL))
		return;
	o->found = true;
	o->process = process;
	o->shared = !outer_is(row, "mode", "-");
	(void)memcpy(o->token, token, strlen(token) + 1);
}

static void
outer_on_any_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct outer *o = arg;

	if (final)
		return;
	(void)outer_is_noted(o, row, OUTER_PROCESS, &o->live);
	(void)outer_is_noted(o, row, OUTER_RUN, &o->live);
}

/* The holds of other daemons, which this daemon does not know. */
static void
outer_keep_others(struct outer *o)
{
	const char *line = o->holds, *end;

	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		const char *path = memchr(line, '/', (size_t)(end - line));
		size_t length = path == NULL ? 0 : (size_t)(end - path);

		if (path != NULL && (strlen(o->path) != length ||
		    memcmp(path, o->path, length) != 0))
			(void)buffer_append(&o->live, line,
			    (size_t)(end - line) + 1);
	}
}

/* A script takes one lock after the other. A lock that it releases stays in its
 * environment. */
static void
outer_shorten(struct ddblock *d, struct outer *o)
{
	buffer_init(&o->live, OUTER_HOLDS_BYTES_MAX);
	outer_keep_others(o);
	if (ddblock_query(d, DDBLOCK_QUERY_HELD, NULL, outer_on_any_row,
	    o) == 0 && buffer_failed(&o->live) == 0 &&
	    setenv(OUTER_HOLDS, o->live.length == 0 ? "" : o->live.data,
	    1) == 0)
		o->holds = outer_holds();
	buffer_done(&o->live);
}

/* Is it held? And may it be requested again? */
static int
outer_look(struct ddblock *d, struct outer *o, struct lock_request *request)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;
	bool shares = request->options.mode == DDBLOCK_SHARED &&
	    request->options.limit != 1;

	query.key = o->key;
	o->found = false;
	if (ddblock_query(d, DDBLOCK_QUERY_HELD, &query, outer_on_row, o) < 0)
		return 0; /* whatever it is, asking for the lock shows it */
	if (!o->found || (o->shared && shares && !request->reentrant))
		return 0;
	if (o->process) {
		cli_say("%s: this command runs under that lock, and would wait "
		    "for its own end: a process has it by \"acquire\", until "
		    "it ends or \"ddblock release\"; --reentrant goes on "
		    "under \"run\" and \"elect\" only", o->key);
		return CLI_USAGE;
	}
	if (!request->reentrant) {
		cli_say("%s: this command runs under that lock, and would wait "
		    "for its own end; \"run --reentrant\" goes on under the "
		    "hold that there is", o->key);
		return CLI_USAGE;
	}
	if (o->shared && request->options.mode != DDBLOCK_SHARED) {
		cli_say("%s: this command runs under that lock, and shares it; "
		    "it cannot have it alone", o->key);
		return CLI_USAGE;
	}
	return 0;
}

int
outer_check(const struct cli *cli, struct ddblock *d,
    struct lock_request *request)
{
	char path[PATH_MAX];
	struct outer o = {
		.sort = cli->sort == NULL ? "-" : cli->sort,
		.path = cli_socket_path(d, path),
		.holds = outer_holds(),
	};
	bool is_long = strlen(o.holds) >= OUTER_LONG_BYTES;
	size_t n = 0;

	request->inside = false;
	if (*o.holds == '\0' ||
	    (request->options.wait_ms == 0 && !request->reentrant && !is_long))
		return 0;
	/* The connection knows the name once a request was answered. */
	if (ddblock_query(d, DDBLOCK_QUERY_PING, NULL, NULL, NULL) < 0)
		return 0;
	if (is_long)
		outer_shorten(d, &o);
	if (request->options.wait_ms == 0 && !request->reentrant)
		return 0;
	o.ns = cli->ns == NULL ? ddblock_default_namespace(d) : cli->ns;
	for (size_t i = 0; i < request->n_keys; i++) {
		int status;

		o.key = request->keys[i];
		status = outer_look(d, &o, request);
		if (status != 0)
			return status;
		if (!o.found)
			continue;
		n++;
		(void)memcpy(request->tokens[i], o.token, sizeof(o.token));
	}
	request->inside = request->reentrant && n == request->n_keys;
	if (!request->reentrant || n == 0 || n == request->n_keys)
		return 0;
	cli_say("%s: this command runs under some of these locks, and not "
	    "under others; all or none can be asked for", request->name);
	return CLI_USAGE;
}
