/*
 * The answer for people: sentences, in lines of 80 columns, each group of them
 * after a word that says what it is about.
 */
#include <config.h>

#include "cli/why/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/base/cli.h"
#include "common/finding.h"
#include "ddblock.h"

#define REPORT_COLUMN 9		/* of the text, after the word */
#define REPORT_LINE_MAX 65536

/* @line is done: to @b, with @word before it, or with nothing. */
static void
report_line(struct buffer *b, const char *word, struct buffer *line)
{
	if (line->length > 0 && buffer_failed(line) == 0) {
		(void)buffer_printf(b, "%-*s", REPORT_COLUMN, word);
		finding_wrap(b, line->data, REPORT_COLUMN, REPORT_COLUMN);
	}
	buffer_clear(line);
}

static void
report_clean(struct buffer *b, const char *text)
{
	(void)cli_clean(b, text, strlen(text));
}

/* "nightly.sh (process 4711 of alice)" */
static void
report_client(struct buffer *b, const struct why_client *c)
{
	if (c->left && c->uid == UINT64_MAX) {
		(void)buffer_append_text(b, "a client that has left");
		return;
	}
	report_clean(b, c->name[0] == '\0' ? "a client" : c->name);
	if (c->process.pid != 0)
		(void)buffer_printf(b, " (process %ld of ",
		    (long)c->process.pid);
	else
		(void)buffer_append_text(b, " (of ");
	report_clean(b, c->user);
	(void)buffer_append_text(b, ")");
}

/* ---- the first sentence ----------------------------------------------- */

static void
report_several(struct buffer *b, const struct why_lock *l)
{
	if (!l->shared)
		return;
	(void)buffer_printf(b, ", shared by %" PRIu64, l->holders);
	if (l->limit > 0)
		(void)buffer_printf(b, " of at most %" PRIu64, l->limit);
}

static void
report_host(struct buffer *b, const struct why_facts *f)
{
	if (f->daemon.host[0] == '\0')
		return;
	(void)buffer_append_text(b, " (");
	report_clean(b, f->daemon.host);
	(void)buffer_append_text(b, ")");
}

static void
report_error(struct buffer *b, const struct why_facts *f)
{
	(void)buffer_printf(b, "%s (%s)", ddblock_error_text(f->code),
	    ddblock_error_name(f->code));
	if (f->text[0] == '\0' ||
	    strcmp(f->text, ddblock_error_text(f->code)) == 0)
		return;
	(void)buffer_append_text(b, ": ");
	report_clean(b, f->text);
}

static void
report_headline(struct buffer *b, const struct why_facts *f,
    enum why_state state)
{
	static const char *const words[] = {
		[WHY_FREE] = "is free", [WHY_HELD] = "is held on this host",
		[WHY_STOPPED] = "is held on this host",
		[WHY_DANGER] = "is held on this host",
		[WHY_LOST] = "was lost by its holder on this host",
		[WHY_LINGERING] = "is held on this host",
		[WHY_STAYS] = "stays held on this host",
		[WHY_ELSEWHERE] = "is held by another host",
		[WHY_SILENT] = "is held by another host",
		[WHY_DEAD] = "was left by a host that is gone",
		[WHY_KEPT] = "is held, fail-closed",
		[WHY_UNKNOWN] = "cannot be looked at: ",
		[WHY_HIDDEN] = "cannot be looked at: ",
	};

	report_clean(b, f->key);
	(void)buffer_printf(b, " %s", words[state]);
	switch (state) {
	case WHY_HELD:
	case WHY_STOPPED:
	case WHY_DANGER:
	case WHY_LINGERING:
	case WHY_STAYS:
		report_host(b, f);
		report_several(b, &f->lock);
		(void)buffer_append_text(b, state == WHY_STOPPED ?
		    ", and a process of its holder is stopped" :
		    state == WHY_DANGER ? ", and in danger: its lease is not "
		    "renewed" : state == WHY_LINGERING ? ", for a client whose "
		    "connection has ended and that may come back" :
		    state == WHY_STAYS ? ", for the least time that its client "
		    "asked for, which has left" : "");
		break;
	case WHY_ELSEWHERE:
		report_several(b, &f->lock);
		if (f->lock.unchanged_ms != WHY_UNKNOWN_MS)
			(void)buffer_append_text(b, ", which is alive");
		break;
	case WHY_SILENT:
		report_several(b, &f->lock);
		(void)buffer_append_text(b, ", which is silent");
		break;
	case WHY_KEPT:
		(void)buffer_append_text(b, ", and nobody is left to release "
		    "it");
		break;
	case WHY_UNKNOWN:
	case WHY_HIDDEN:
		report_error(b, f);
		break;
	default:
		break;
	}
	(void)buffer_append_text(b, ".");
}

/* ---- holders ---------------------------------------------------------- */

/* A line of its own: "Process 4711: ddblock run ..." */
static void
report_process(struct buffer *b, const struct why_process *p,
    const char *whose, struct buffer *line)
{
	if (p->pid == 0)
		return;
	(void)buffer_printf(line, "Process %ld%s", (long)p->pid, whose);
	if (p->gone)
		(void)buffer_append_text(line, " is not to be seen here");
	if (p->stopped)
		(void)buffer_append_text(line, " is stopped (state T)");
	if (p->command[0] != '\0') {
		(void)buffer_append_text(line, ": ");
		report_clean(line, p->command);
	}
	report_line(b, "", line);
	if (p->stopped_child == 0)
		return;
	(void)buffer_printf(line, "Process %ld, which it runs, is stopped "
	    "(state T)", (long)p->stopped_child);
	report_line(b, "", line);
}

/* A name that was chosen; the usual one is HOST/NAME:PID USER. */
static bool
report_is_named(const struct why_hold *h)
{
	char pid[32];

	(void)snprintf(pid, sizeof(pid), ":%ld", (long)h->client.process.pid);
	return h->owner[0] != '\0' && strstr(h->owner, pid) == NULL;
}

static void
report_hold(struct buffer *b, const struct why_hold *h)
{
	char time[WHY_TIME_MAX];

	report_client(b, &h->client);
	(void)buffer_printf(b, h->lost ? ": lost; it had it for %s" :
	    h->shared ? ": for %s, with others" : ": for %s",
	    why_time(h->held_ms, time));
	if (report_is_named(h)) {
		(void)buffer_append_text(b, ", as \"");
		report_clean(b, h->owner);
		(void)buffer_append_text(b, "\"");
	}
	(void)buffer_append_text(b, h->fail_closed ? ", fail-closed." : ".");
	if (h->lingers_ms != WHY_UNKNOWN_MS && !h->lost)
		(void)buffer_printf(b, " It may come back for another "
		    "%s.", why_time(h->lingers_ms, time));
	else if (h->client.left && h->of.pid == 0)
		(void)buffer_append_text(b, " It has left.");
}

/* It is kept for a request for several locks, which nobody has yet. */
static void
report_kept_for(struct buffer *b, const struct why_facts *f)
{
	(void)buffer_append_text(b, " It is on this host, ");
	if (f->kept_for[0] == '\0') {
		(void)buffer_append_text(b, "and a rule of access does not let "
		    "you see more of it (or it has just ended).");
		return;
	}
	(void)buffer_printf(b, "and has %" PRIu64 " of the %" PRIu64 " locks "
	    "that it asked for: it waits for ", f->kept_had, f->kept_keys);
	report_clean(b, f->kept_for);
	(void)buffer_append_text(b, ".");
}

/* A holder that the daemon knows from the record only. */
static void
report_foreign(struct buffer *b, const struct why_facts *f)
{
	const struct why_lock *l = &f->lock;
	const time_t when = (time_t)l->acquired_at_s;
	char date[64];
	struct tm parts;

	if (l->owner[0] == '\0')
		(void)buffer_append_text(b, "its record does not name it");
	else
		report_clean(b, l->owner);
	if (l->acquired_at_s > 0 && gmtime_r(&when, &parts) != NULL &&
	    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &parts) > 0)
		(void)buffer_printf(b, ", since %s", date);
	if (l->shared && l->holders > 1)
		(void)buffer_printf(b, ", and %" PRIu64 " more",
		    l->holders - 1);
	(void)buffer_append_text(b, l->fail_closed ? ", fail-closed." : ".");
}

static void
report_holders(struct buffer *b, const struct why_facts *f,
    struct buffer *line)
{
	const struct why_lock *l = &f->lock;

	for (size_t i = 0; i < f->n_holds; i++) {
		report_hold(line, &f->holds[i]);
		report_line(b, i == 0 ? "Holder:" : "", line);
		report_process(b, &f->holds[i].client.process, "", line);
		report_process(b, &f->holds[i].of, ", which it is for,", line);
	}
	if (f->n_more_holds > 0) {
		(void)buffer_printf(line, "and %zu more here: ddblock held",
		    f->n_more_holds);
		report_line(b, "", line);
	}
	if (f->code != 0 || !l->held)
		return;
	if (f->n_holds == 0) {
		report_foreign(line, f);
		if (l->here)
			report_kept_for(line, f);
		report_line(b, "Holder:", line);
	} else if (l->shared && l->holders > f->n_holds + f->n_more_holds) {
		(void)buffer_printf(line, "and %" PRIu64 " on other hosts.",
		    l->holders - f->n_holds - f->n_more_holds);
		report_line(b, "", line);
	}
}

/* ---- lease, record, waiters ------------------------------------------- */

static void
report_lease_here(struct buffer *b, const struct why_facts *f)
{
	const struct why_daemon *d = &f->daemon;
	uint64_t remaining_ms = WHY_UNKNOWN_MS;
	char time[WHY_TIME_MAX];

	for (size_t i = 0; i < f->n_holds; i++) {
		if (!f->holds[i].lost && f->holds[i].remaining_ms <
		    remaining_ms)
			remaining_ms = f->holds[i].remaining_ms;
	}
	/* In an older client's format each hold has a lease of its own. */
	if (d->renewed_ms != WHY_UNKNOWN_MS && d->format[0] == '\0')
		(void)buffer_printf(b, "last renewed %s ago; ",
		    why_time(d->renewed_ms, time));
	if (remaining_ms != WHY_UNKNOWN_MS)
		(void)buffer_printf(b, "without a renewal it is lost in %s.",
		    why_time(remaining_ms, time));
	else if (b->length > 0)
		(void)buffer_append_text(b, "it does not end by itself.");
	if (f->code != 0) {
		(void)buffer_append_text(b, " The record could not be read: ");
		report_error(b, f);
		(void)buffer_append_text(b, ".");
		return;
	}
	if (d->cause[0] == '\0')
		return;
	(void)buffer_append_text(b, " The store's last problem: ");
	report_clean(b, d->cause);
	if (d->failure[0] != '\0') {
		(void)buffer_append_text(b, ", ");
		report_clean(b, d->failure);
	}
}

static void
report_lease_there(struct buffer *b, const struct why_lock *l)
{
	char time[WHY_TIME_MAX];

	if (l->lease_ms != WHY_UNKNOWN_MS)
		(void)buffer_printf(b, "of %s; ", why_time(l->lease_ms, time));
	if (l->unchanged_ms != WHY_UNKNOWN_MS)
		(void)buffer_printf(b, "its host's last sign of life was %s "
		    "ago; ", why_time(l->unchanged_ms, time));
	else if (!l->dead)
		(void)buffer_append_text(b, "this daemon does not observe its "
		    "host, because no client here waits; ");
	if (l->fail_closed)
		(void)buffer_append_text(b, "it does not end by itself.");
	else if (l->dead)
		(void)buffer_append_text(b, "it is over.");
	else if (l->expires_ms != WHY_UNKNOWN_MS)
		(void)buffer_printf(b, "without a renewal a waiter here gets "
		    "it in %s.", why_time(l->expires_ms, time));
	else
		(void)buffer_append_text(b, "when it ends is not known here.");
}

static void
report_record(struct buffer *b, const struct why_facts *f)
{
	const struct why_lock *l = &f->lock;

	if (f->daemon.ns[0] != '\0') {
		(void)buffer_append_text(b, "namespace ");
		report_clean(b, f->daemon.ns);
	}
	if (f->daemon.format[0] != '\0') {
		(void)buffer_append_text(b, ", in the format of an older "
		    "client (");
		report_clean(b, f->daemon.format);
		(void)buffer_append_text(b, ")");
	}
	if (l->token[0] != '\0' && strcmp(l->token, "0") != 0)
		(void)buffer_printf(b, ", token %s", l->token);
	if (l->held)
		(void)buffer_append_text(b, l->shared ? ", shared" :
		    ", exclusive");
	if (l->data_bytes > 0 || l->n_attributes > 0)
		(void)buffer_printf(b, ", %zu bytes of data, %zu attributes",
		    l->data_bytes, l->n_attributes);
	(void)buffer_append_text(b, ".");
	if (l->broken_by[0] == '\0')
		return;
	(void)buffer_append_text(b, " Broken by ");
	report_clean(b, l->broken_by);
	(void)buffer_append_text(b, ".");
}

static void
report_waiter(struct buffer *b, size_t i, const struct why_waiter *w)
{
	char time[WHY_TIME_MAX];

	(void)buffer_printf(b, "%zu. ", i + 1);
	report_client(b, &w->client);
	(void)buffer_printf(b, ", for %s", why_time(w->waited_ms, time));
	if (w->shared)
		(void)buffer_append_text(b, ", to share it");
	if (w->limit > 0)
		(void)buffer_printf(b, " among %" PRIu64, w->limit);
	if (w->keys > 1)
		(void)buffer_printf(b, ", and has %" PRIu64 " of the %" PRIu64
		    " locks that it asked for", w->had, w->keys);
	if (w->place > 0)
		(void)buffer_printf(b, "; this host is number %" PRIu64
		    " in the line of hosts", w->place);
	if (w->cause[0] != '\0') {
		(void)buffer_append_text(b, "; held up by ");
		report_clean(b, w->cause);
	}
}

/* The record has a mark of each host, and no more. */
static void
report_hosts_waiting(struct buffer *b, const struct why_facts *f)
{
	const uint64_t n = f->lock.hosts_waiting;

	if (!f->daemon.fleet || f->code != 0 || f->daemon.format[0] != '\0')
		return;
	if (f->lock.here && !f->lock.shared)
		(void)buffer_append_text(b, "Whether other hosts wait is not "
		    "known here.");
	else if (n == 0)
		(void)buffer_append_text(b, "No other host has left a mark "
		    "that it waits.");
	else
		(void)buffer_printf(b, n == 1 ? "%" PRIu64 " other host has "
		    "left a mark that it waits." : "%" PRIu64 " marks of other "
		    "hosts say that they wait.", n);
}

static void
report_waiters(struct buffer *b, const struct why_facts *f,
    struct buffer *line)
{
	for (size_t i = 0; i < f->n_waiters; i++) {
		report_waiter(line, i, &f->waiters[i]);
		report_line(b, i == 0 ? "Waiters:" : "", line);
	}
	if (f->n_more_waiters > 0) {
		(void)buffer_printf(line, "and %zu more: ddblock waiting",
		    f->n_more_waiters);
		report_line(b, "", line);
	}
	if (f->n_waiters == 0) {
		(void)buffer_append_text(line, "none here that you may see.");
		report_line(b, "Waiters:", line);
	}
	report_hosts_waiting(line, f);
	report_line(b, "", line);
}

/* ---- all of it -------------------------------------------------------- */

static void
report_advices(struct buffer *b, const struct why_advices *all,
    struct buffer *line)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct why_advice *a = &all->all[i];

		if (a->text.data != NULL)
			report_clean(line, a->text.data);
		report_line(b, i == 0 ? "To do:" : "", line);
		/* In one piece, to be pasted. */
		if (a->command.length > 0 &&
		    buffer_failed(&a->command) == 0)
			(void)buffer_printf(b, "%*s%s\n", REPORT_COLUMN + 4,
			    "", a->command.data);
	}
}

static void
report_lately(struct buffer *b, const char *lately, struct buffer *line)
{
	const char *at = lately;

	while (*at != '\0') {
		const size_t length = strcspn(at, "\n");

		(void)buffer_append(line, at, length);
		report_line(b, at == lately ? "Lately:" : "", line);
		at += length;
		at += *at == '\n';
	}
}

void
why_report(struct buffer *b, const struct why_facts *f, enum why_state state,
    const struct why_advices *advices, const char *lately)
{
	const bool told = f->code == 0;
	struct buffer line;

	buffer_init(&line, REPORT_LINE_MAX);
	report_headline(&line, f, state);
	if (line.data != NULL)
		finding_wrap(b, line.data, 0, 0);
	buffer_clear(&line);
	report_holders(b, f, &line);
	if (f->n_holds > 0)
		report_lease_here(&line, f);
	else if (told && f->lock.held && !f->lock.here)
		report_lease_there(&line, &f->lock);
	report_line(b, "Lease:", &line);
	if (told) {
		report_record(&line, f);
		report_line(b, "Record:", &line);
	}
	if (state != WHY_HIDDEN)
		report_waiters(b, f, &line);
	report_lately(b, lately, &line);
	report_advices(b, advices, &line);
	buffer_done(&line);
}
