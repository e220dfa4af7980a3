/*
 * The facts about a lock. The four answers come one after the other, so they
 * are of different moments, and need not fit together: a hold may have ended
 * when the holds are asked for.
 */
#include <config.h>

#include "cli/why/gather.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/row_value.h"
#include "cli/base/rows.h"
#include "cli/base/user.h"
#include "cli/why/process.h"
#include "common/shell_quote.h"
#include "common/utf8.h"

#define GATHER_JSON_MAX (4 * 1024 * 1024)

/* ---- fields of a row -------------------------------------------------- */

static void
gather_text(const struct ddblock_row *row, const char *name, char *to,
    size_t size)
{
	const char *value = ddblock_row_find(row, name, NULL);

	(void)snprintf(to, size, "%s", value == NULL ? "" : value);
}

static bool
gather_is(const struct ddblock_row *row, const char *name, const char *word)
{
	const char *value = ddblock_row_find(row, name, NULL);

	return value != NULL && strcmp(value, word) == 0;
}

static uint64_t
gather_time(const struct ddblock_row *row, const char *name)
{
	uint64_t ms = WHY_UNKNOWN_MS;

	(void)row_time(row, name, &ms);
	return ms;
}

static void
gather_json(struct buffer *b, const struct ddblock_row *row)
{
	if (b->length > 0)
		(void)buffer_append_text(b, ",");
	rows_object(b, row);
}

/* ---- rows ------------------------------------------------------------- */

static void
gather_client(const struct ddblock_row *row, uint64_t ago_ms,
    struct why_client *c)
{
	const uint64_t pid = row_number_or(row, "pid", 0);

	*c = (struct why_client){ .left = gather_is(row, "left", "yes") };
	gather_text(row, "name", c->name, sizeof(c->name));
	c->uid = row_number_or(row, "uid", UINT64_MAX);
	if (c->uid != UINT64_MAX)
		(void)snprintf(c->user, sizeof(c->user), "%s",
		    user_name(c->uid));
	if (pid != 0 && pid <= INT32_MAX)
		why_process_look(&c->process, (pid_t)pid, c->uid, ago_ms);
}

static void
gather_on_hold(void *arg, const struct ddblock_row *row, bool final)
{
	struct why_facts *f = arg;
	const uint64_t of = row_number_or(row, "process", 0);
	struct why_hold *h = &f->holds[f->n_holds];

	if (final)
		return;
	gather_json(&f->json_holds, row);
	if (f->n_holds == WHY_HOLDS_MAX) {
		f->n_more_holds++;
		return;
	}
	f->n_holds++;
	*h = (struct why_hold){
		.token = row_number_or(row, "token", 0),
		.lost = gather_is(row, "state", "lost"),
		.danger = gather_is(row, "state", "danger"),
		.shared = gather_is(row, "mode", "shared"),
		.fail_closed = gather_is(row, "policy", "fail-closed"),
		.held_ms = gather_time(row, "held"),
		.remaining_ms = gather_time(row, "remaining"),
		.lingers_ms = gather_time(row, "lingers"),
		.at_least_ms = gather_time(row, "at_least"),
	};
	gather_text(row, "owner", h->owner, sizeof(h->owner));
	gather_client(row, h->held_ms, &h->client);
	if (of != 0 && of <= INT32_MAX && h->client.uid != UINT64_MAX)
		why_process_look(&h->of, (pid_t)of, h->client.uid,
		    h->held_ms);
}

static void
gather_on_waiter(void *arg, const struct ddblock_row *row, bool final)
{
	struct why_facts *f = arg;
	struct why_waiter *w = &f->waiters[f->n_waiters];

	if (final)
		return;
	gather_json(&f->json_waiters, row);
	if (f->n_waiters == WHY_WAITERS_MAX) {
		f->n_more_waiters++;
		return;
	}
	f->n_waiters++;
	*w = (struct why_waiter){
		.shared = gather_is(row, "mode", "shared"),
		.limit = row_number_or(row, "limit", 0),
		.waited_ms = gather_time(row, "waited"),
		.place = row_number_or(row, "place", 0),
		.keys = row_number_or(row, "keys", 1),
		.had = row_number_or(row, "had", 0),
	};
	gather_text(row, "cause", w->cause, sizeof(w->cause));
	gather_client(row, w->waited_ms, &w->client);
}

/* Its data, which are not shown: they may be anything. */
static void
gather_contents(const struct ddblock_row *row, struct why_lock *l)
{
	const char *name, *value;
	size_t length;

	for (size_t i = 0; ddblock_row_at(row, i, &name, &value, &length);
	    i++) {
		if (strcmp(name, "data") == 0)
			l->data_bytes = length;
		else if (strncmp(name, "attr.", 5) == 0)
			l->n_attributes++;
	}
}

static void
gather_on_lock(void *arg, const struct ddblock_row *row, bool final)
{
	struct why_facts *f = arg;
	struct why_lock *l = &f->lock;
	const char *record = ddblock_row_find(row, "record", NULL);

	if (!final)
		return;
	gather_json(&f->json_lock, row);
	*l = (struct why_lock){
		.dead = gather_is(row, "state", "dead"),
		.here = gather_is(row, "here", "yes"),
		.fail_closed = gather_is(row, "policy", "fail-closed"),
		.silent = gather_is(row, "alive", "no"),
		.shared = gather_is(row, "mode", "shared"),
		.limit = row_number_or(row, "limit", 0),
		.holders = row_number_or(row, "holders", 1),
		.hosts_waiting = row_number_or(row, "hosts_waiting", 0),
		.acquired_at_s = row_number_or(row, "acquired_at", 0),
		.pid = row_number_or(row, "pid", 0),
		.held_ms = gather_time(row, "held"),
		.lease_ms = gather_time(row, "lease"),
		.unchanged_ms = gather_time(row, "unchanged"),
		.expires_ms = gather_time(row, "expires"),
	};
	l->held = l->dead || gather_is(row, "state", "held");
	gather_text(row, "token", l->token, sizeof(l->token));
	if (ddblock_row_find(row, "token_text", NULL) != NULL)
		gather_text(row, "token_text", l->token, sizeof(l->token));
	gather_text(row, "owner", l->owner, sizeof(l->owner));
	gather_text(row, "broken_by", l->broken_by, sizeof(l->broken_by));
	if (record != NULL && strlen(record) < sizeof(l->record))
		gather_text(row, "record", l->record, sizeof(l->record));
	gather_contents(row, l);
}

struct gather_status {
	struct why_facts *facts;
	const char *ns;		/* NULL: the first */
};

static void
gather_on_status(void *arg, const struct ddblock_row *row, bool final)
{
	const struct gather_status *s = arg;
	struct why_daemon *d = &s->facts->daemon;
	const uint64_t failed_ago_ms = gather_time(row, "failed_ago");

	if (final) {
		gather_text(row, "host", d->host, sizeof(d->host));
		gather_json(&s->facts->json_daemon, row);
		return;
	}
	if (d->known || (s->ns != NULL && !gather_is(row, "ns", s->ns)))
		return;
	d->known = true;
	gather_json(&s->facts->json_namespace, row);
	gather_text(row, "ns", d->ns, sizeof(d->ns));
	gather_text(row, "format", d->format, sizeof(d->format));
	gather_text(row, "cause", d->cause, sizeof(d->cause));
	d->fleet = gather_is(row, "scope", "fleet");
	/* An older client's format has no sessions to be opened. */
	d->open = d->format[0] != '\0' || gather_is(row, "session", "open");
	d->danger = gather_is(row, "state", "danger");
	d->draining = gather_is(row, "draining", "yes");
	d->removed = gather_is(row, "removed", "yes");
	d->renewed_ms = gather_time(row, "renewed");
	d->remaining_ms = gather_time(row, "remaining");
	/* An old failure explains nothing that is so now. */
	if (failed_ago_ms != WHY_UNKNOWN_MS && failed_ago_ms < 60 * 1000)
		gather_text(row, "failure", d->failure, sizeof(d->failure));
}

/* ---- asking ----------------------------------------------------------- */

/* How a lock is named in a command; empty if that cannot be pasted. */
static void
gather_words(const struct cli *cli, const char *key, const char *sort,
    char *to, size_t size)
{
	const char *const options[] = { cli->socket, cli->ns, sort };
	static const char *const names[] = { "--socket=", "--ns=", "--sort=" };
	struct buffer b;

	buffer_init(&b, size - 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (options[i] == NULL)
			continue;
		(void)buffer_append_text(&b, names[i]);
		shell_quote(&b, options[i]);
		(void)buffer_append_text(&b, " ");
	}
	if (key[0] == '-')
		(void)buffer_append_text(&b, "-- ");
	shell_quote(&b, key);
	if (b.data != NULL && buffer_failed(&b) == 0 && utf8_is_shown(b.data))
		(void)snprintf(to, size, "%s", b.data);
	buffer_done(&b);
}

/* A waiter for any lock: is this one kept for it? */
struct gather_kept {
	const struct cli *cli;
	struct why_facts *facts;
};

static void
gather_on_any_waiter(void *arg, const struct ddblock_row *row, bool final)
{
	const struct gather_kept *g = arg;
	struct why_facts *f = g->facts;
	const uint64_t had = row_number_or(row, "had", 0);
	const char *key = ddblock_row_find(row, "key", NULL);

	if (final || key == NULL || had == 0 || f->lock.pid == 0 ||
	    row_number_or(row, "pid", 0) != f->lock.pid)
		return;
	gather_text(row, "key", f->kept_for, sizeof(f->kept_for));
	gather_words(g->cli, key, ddblock_row_find(row, "sort", NULL),
	    f->kept_words, sizeof(f->kept_words));
	f->kept_keys = row_number_or(row, "keys", 0);
	f->kept_had = had;
}

/* Here, and no hold that may be seen. */
static int
gather_kept(const struct cli *cli, struct ddblock *d, struct why_facts *f)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;
	struct gather_kept kept = { .cli = cli, .facts = f };

	if (f->code != 0 || !f->lock.here || f->n_holds > 0)
		return 0;
	query.ns = cli->ns;
	return ddblock_query(d, DDBLOCK_QUERY_WAITING, &query,
	    gather_on_any_waiter, &kept);
}

/* The codes after which there is no use in asking more. */
static bool
gather_is_end(int code)
{
	return code == DDBLOCK_E_NO_DAEMON || code == DDBLOCK_E_BAD_REQUEST ||
	    code == DDBLOCK_E_UNKNOWN_NAMESPACE || code == DDBLOCK_E_NOMEM;
}

int
why_gather(const struct cli *cli, struct ddblock *d, const char *key,
    struct why_facts *f)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;
	struct gather_status status = { .facts = f, .ns = cli->ns };
	int r;

	*f = (struct why_facts){ .key = key, .uid = getuid() };
	buffer_init(&f->json_lock, GATHER_JSON_MAX);
	buffer_init(&f->json_holds, GATHER_JSON_MAX);
	buffer_init(&f->json_waiters, GATHER_JSON_MAX);
	buffer_init(&f->json_namespace, GATHER_JSON_MAX);
	buffer_init(&f->json_daemon, GATHER_JSON_MAX);
	gather_words(cli, key, cli->sort, f->words, sizeof(f->words));
	query.key = key;
	query.ns = cli->ns;
	query.sort = cli->sort;
	f->code = ddblock_query(d, DDBLOCK_QUERY_GET, &query, gather_on_lock,
	    f);
	if (gather_is_end(f->code))
		return cli_failed(d, key, f->code);
	if (f->code < 0)
		(void)snprintf(f->text, sizeof(f->text), "%s",
		    ddblock_last_text(d));
	query.sort = cli->sort == NULL ? "-" : cli->sort;
	r = ddblock_query(d, DDBLOCK_QUERY_HELD, &query, gather_on_hold, f);
	if (r == 0)
		r = ddblock_query(d, DDBLOCK_QUERY_WAITING, &query,
		    gather_on_waiter, f);
	if (r == 0)
		r = gather_kept(cli, d, f);
	query = (struct ddblock_query_options)DDBLOCK_QUERY_OPTIONS_INIT;
	if (r == 0)
		r = ddblock_query(d, DDBLOCK_QUERY_STATUS, &query,
		    gather_on_status, &status);
	return r < 0 ? cli_failed(d, key, r) : 0;
}

void
why_facts_done(struct why_facts *f)
{
	buffer_done(&f->json_lock);
	buffer_done(&f->json_holds);
	buffer_done(&f->json_waiters);
	buffer_done(&f->json_namespace);
	buffer_done(&f->json_daemon);
}
