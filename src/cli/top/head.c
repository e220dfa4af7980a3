/*
 * The daemon's line, and a line for each namespace.
 */
#include <config.h>

#include "cli/top/head.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/table.h"

#define HEAD_GAP 1

enum head_column {
	HEAD_NAME,
	HEAD_STORE,
	HEAD_STATE,
	HEAD_DANGER,
	HEAD_RENEWED,
	HEAD_HELD,
	HEAD_WAITING,
	HEAD_GRANTS,
	HEAD_ASKED,
	HEAD_LOST,
	HEAD_COLUMNS,
};

static const struct table_column head_columns[HEAD_COLUMNS] = {
	[HEAD_NAME] = { "NAMESPACE", 0, false, 0 },
	[HEAD_STORE] = { "STORE", 8, false, 76 },
	[HEAD_STATE] = { "STATE", 7, false, 0 },
	[HEAD_DANGER] = { "DANGER", 6, true, 0 },
	[HEAD_RENEWED] = { "RENEWED", 7, true, 58 },
	[HEAD_HELD] = { "HELD", 7, true, 0 },
	[HEAD_WAITING] = { "WAITING", 7, true, 48 },
	[HEAD_GRANTS] = { "GRANTS/S", 8, true, 58 },
	[HEAD_ASKED] = { "STORE/S", 7, true, 66 },
	[HEAD_LOST] = { "LOST", 5, true, 80 },
};

/* What it is called where there is no room for two columns. */
static const char *
head_state(const struct model_namespace *ns)
{
	return ns->draining ? "drained" : ns->removed ? "removed" : ns->state;
}

static void
head_time(char *ret, size_t size, bool known, uint64_t ms)
{
	if (known)
		page_duration(ret, size, ms);
	else
		(void)snprintf(ret, size, "-");
}

static void
head_number(char *ret, size_t size, bool known, uint64_t n)
{
	if (known)
		(void)snprintf(ret, size, "%" PRIu64, n);
	else
		(void)snprintf(ret, size, "-");
}

static void
head_rate(char *ret, size_t size, struct rate rate)
{
	if (rate.known)
		(void)snprintf(ret, size, "%.1f", rate.per_s);
	else
		(void)snprintf(ret, size, "-");
}

static void
head_cell(char *ret, size_t size, const struct model_namespace *ns,
    enum head_column column)
{
	switch (column) {
	case HEAD_NAME:
	case HEAD_STORE:
	case HEAD_STATE:
		(void)snprintf(ret, size, "%s", column == HEAD_NAME ?
		    ns->name : column == HEAD_STORE ? ns->store :
		    head_state(ns));
		break;
	case HEAD_DANGER:
		head_time(ret, size, ns->has_session, ns->danger_ms);
		break;
	case HEAD_RENEWED:
		head_time(ret, size, ns->has_session, ns->renewed_ms);
		break;
	case HEAD_HELD:
		head_number(ret, size, ns->counts, ns->held);
		break;
	case HEAD_WAITING:
		head_number(ret, size, ns->counts, ns->waiting);
		break;
	case HEAD_GRANTS:
		head_rate(ret, size, ns->grants);
		break;
	case HEAD_ASKED:
		head_rate(ret, size, ns->asked);
		break;
	default:
		head_number(ret, size, ns->counts, ns->lost);
		break;
	}
}

static enum page_style
head_style(const struct model_namespace *ns)
{
	if (strcmp(ns->state, "danger") == 0)
		return PAGE_BAD;
	return strcmp(ns->state, "ok") != 0 || ns->draining || ns->removed ||
	    ns->cause[0] != '\0' ? PAGE_WARNING : PAGE_PLAIN;
}

static void
head_daemon(struct page *p, const struct view *v, const struct model *m)
{
	const struct model_daemon *d = &m->daemon;
	char uptime[PAGE_DURATION_SIZE];

	if (v->trouble[0] != '\0')
		page_printf(p, PAGE_BAD, "reconnecting: %s", v->trouble);
	else if (m->now_ms == 0)
		page_put(p, PAGE_TITLE, "asking the daemon");
	else if (v->silent_ms > 0)
		page_printf(p, PAGE_BAD, "the daemon has not answered for %"
		    PRIu64 " s", v->silent_ms / 1000);
	else {
		page_duration(uptime, sizeof(uptime), d->uptime_ms);
		page_printf(p, PAGE_TITLE, "ddblockd %s on %s, pid %" PRIu64
		    ", up %s, connections: %" PRIu64, d->version, d->host,
		    d->pid, uptime, d->connections);
	}
	(void)page_next(p);
}

size_t
head_lines(const struct model *m, size_t most)
{
	if (m->n_namespaces == 0)
		return 1;
	return 2 + (m->n_namespaces < most ? m->n_namespaces : most);
}

void
head_draw(struct page *p, const struct view *v, const struct model *m,
    size_t most)
{
	unsigned wanted[TABLE_COLUMNS_MAX] = { 0 };
	struct table table;

	head_daemon(p, v, m);
	if (m->n_namespaces == 0)
		return;
	for (size_t i = 0; i < m->n_namespaces; i++) {
		unsigned width = page_width(m->namespaces[i].name,
		    strlen(m->namespaces[i].name));

		if (width > wanted[HEAD_NAME])
			wanted[HEAD_NAME] = width;
	}
	table_plan(&table, head_columns, HEAD_COLUMNS, HEAD_GAP, p->columns,
	    wanted);
	table_heading(&table, p, HEAD_COLUMNS);
	for (size_t i = 0; i < m->n_namespaces && i < most; i++) {
		const struct model_namespace *ns = &m->namespaces[i];

		if (i + 1 == most && m->n_namespaces > most) {
			page_printf(p, PAGE_FAINT, "and %zu more namespaces",
			    m->n_namespaces - i);
			(void)page_next(p);
			return;
		}
		for (size_t k = 0; k < HEAD_COLUMNS; k++) {
			char text[MODEL_NAME_SIZE];

			head_cell(text, sizeof(text), ns,
			    (enum head_column)k);
			table_cell(&table, p, head_style(ns), k, text);
		}
		table_end(&table, p, head_style(ns));
	}
}
