/*
 * The locks under which this very command runs. The environment tells of the
 * holds, but it is also inherited by what outlives them, so the daemon is asked
 * whether they are there; that is done by those only who run under a lock.
 */
#include <config.h>

#include "cli/outer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"

#define OUTER_HOLDS "DDBLOCK_HOLDS"	/* lines: id, token, socket */
#define OUTER_HOLDS_MAX (64 * 1024)

struct outer {
	const char *ns;
	const char *sort;
	const char *key;
	const char *path;	/* of the daemon's socket */
	const char *holds;
	bool found;
	bool shared;
	char token[WAIT_TOKEN_MAX];
};

static void
outer_write(struct buffer *b, const char *id, const char *token,
    const char *path)
{
	(void)buffer_append_text(b, id);
	(void)buffer_append_text(b, " ");
	(void)buffer_append_text(b, token);
	(void)buffer_append_text(b, " ");
	(void)buffer_append_text(b, path);
	(void)buffer_append_text(b, "\n");
}

bool
outer_add(const struct ddblock *d, uint64_t id,
    const struct wait_request *request)
{
	const char *holds = getenv(OUTER_HOLDS);
	char path[PATH_MAX], number[32], token[32];
	struct buffer b;
	bool set;

	buffer_init(&b, OUTER_HOLDS_MAX);
	(void)buffer_append_text(&b, holds == NULL ? "" : holds);
	(void)snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
	for (size_t i = 0; i < request->n_keys; i++) {
		const char *text = ddblock_token_text(d, id, request->keys[i]);

		(void)snprintf(token, sizeof(token), "%llu",
		    (unsigned long long)ddblock_token_of(d, id,
			request->keys[i]));
		outer_write(&b, number, text == NULL ? token : text,
		    cli_socket_path(d, path));
	}
	set = buffer_failed(&b) == 0 && setenv(OUTER_HOLDS, b.data, 1) == 0;
	buffer_done(&b);
	return set;
}

static bool
outer_is(const struct ddblock_row *row, const char *name, const char *value)
{
	const char *found = ddblock_row_find(row, name, NULL);

	return strcmp(found == NULL ? "-" : found, value) == 0;
}

static void
outer_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct outer *o = arg;
	const char *id = ddblock_row_find(row, "id", NULL);
	const char *token = ddblock_row_find(row, "token", NULL);
	const char *at;
	struct buffer b;

	if (final || id == NULL || token == NULL ||
	    strlen(token) >= sizeof(o->token) || !outer_is(row, "ns", o->ns) ||
	    !outer_is(row, "key", o->key) || !outer_is(row, "sort", o->sort))
		return;
	buffer_init(&b, PATH_MAX + 2 * WAIT_TOKEN_MAX);
	outer_write(&b, id, token, o->path);
	at = buffer_failed(&b) == 0 ? strstr(o->holds, b.data) : NULL;
	if (at != NULL && (at == o->holds || at[-1] == '\n')) {
		o->found = true;
		o->shared = !outer_is(row, "mode", "-");
		(void)memcpy(o->token, token, strlen(token) + 1);
	}
	buffer_done(&b);
}

/* Is it had? And may it be asked for all the same? */
static int
outer_look(struct ddblock *d, struct outer *o, struct wait_request *request)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;
	bool shares = request->mode == DDBLOCK_SHARED && request->limit != 1;

	query.key = o->key;
	o->found = false;
	if (ddblock_query(d, DDBLOCK_QUERY_HELD, &query, outer_on_row, o) < 0)
		return 0; /* whatever it is, asking for the lock shows it */
	if (!o->found || (o->shared && shares && !request->reentrant))
		return 0;
	if (!request->reentrant) {
		cli_say("%s: this command runs under that lock, and would wait "
		    "for its own end; \"run --reentrant\" goes on under the "
		    "hold that there is", o->key);
		return CLI_USAGE;
	}
	if (o->shared && request->mode != DDBLOCK_SHARED) {
		cli_say("%s: this command runs under that lock, and shares it; "
		    "it cannot have it alone", o->key);
		return CLI_USAGE;
	}
	return 0;
}

int
outer_check(const struct cli *cli, struct ddblock *d,
    struct wait_request *request)
{
	char path[PATH_MAX];
	struct outer o = {
		.sort = cli->sort == NULL ? "-" : cli->sort,
		.path = cli_socket_path(d, path),
		.holds = getenv(OUTER_HOLDS),
	};
	size_t n = 0;

	request->inside = false;
	if (o.holds == NULL || (request->wait_ms == 0 && !request->reentrant))
		return 0;
	/* It knows the name once it has been answered. */
	if (ddblock_query(d, DDBLOCK_QUERY_PING, NULL, NULL, NULL) < 0)
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
