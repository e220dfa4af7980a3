/*
 * Which columns a list has, and what stands in them.
 */
#include <config.h>

#include "cli/top/lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/table.h"

#define LISTS_GAP 2
#define LISTS_CELL_SIZE 2400	/* two names */

struct lists_column {
	enum column column;
	bool unsorted;
	struct table_column table;
};

static const struct lists_column lists_keys[] = {
	{ COLUMN_NS, false, { "NAMESPACE", 0, false, 60 } },
	{ COLUMN_KEY, false, { "KEY", 0, false, 0 } },
	{ COLUMN_WAITERS, false, { "WAITERS", 7, true, 0 } },
	{ COLUMN_GRANTS, false, { "GRANTS/S", 8, true, 56 } },
	{ COLUMN_WAITED, false, { "LONGEST", 7, true, 0 } },
	{ COLUMN_HELD, false, { "HELD", 7, true, 46 } },
	{ COLUMN_WHO, false, { "HOLDER", 0, false, 60 } },
};

static const struct lists_column lists_holds[] = {
	{ COLUMN_NS, false, { "NAMESPACE", 0, false, 100 } },
	{ COLUMN_KEY, false, { "KEY", 0, false, 0 } },
	{ COLUMN_HELD, false, { "HELD", 7, true, 0 } },
	{ COLUMN_SINCE, true, { "SINCE", 8, true, 74 } },
	{ COLUMN_LEFT, false, { "LEFT", 7, true, 50 } },
	{ COLUMN_STATE, false, { "STATE", 6, false, 0 } },
	{ COLUMN_PID, false, { "PID", 7, true, 64 } },
	{ COLUMN_WHO, false, { "HOLDER", 0, false, 56 } },
};

static const struct lists_column lists_waits[] = {
	{ COLUMN_NS, false, { "NAMESPACE", 0, false, 100 } },
	{ COLUMN_KEY, false, { "KEY", 0, false, 0 } },
	{ COLUMN_WAITED, false, { "WAITED", 7, true, 0 } },
	{ COLUMN_SINCE, true, { "SINCE", 8, true, 90 } },
	{ COLUMN_AHEAD, false, { "AHEAD", 5, true, 0 } },
	{ COLUMN_PID, false, { "PID", 7, true, 64 } },
	{ COLUMN_WHO, false, { "WAITER", 0, false, 46 } },
	{ COLUMN_HOLDER, false, { "HELD BY", 0, false, 72 } },
};

static const struct {
	const char *name;
	const struct lists_column *columns;
	size_t n;
} lists_all[LISTS] = {
#define LIST(name, columns) \
	{ name, columns, sizeof(columns) / sizeof(columns[0]) }
	[LIST_KEYS] = LIST("Keys", lists_keys),
	[LIST_HOLDS] = LIST("Holds", lists_holds),
	[LIST_WAITS] = LIST("Waits", lists_waits),
#undef LIST
};

const char *
lists_name(enum list list)
{
	return lists_all[list].name;
}

static size_t
lists_find(enum list list, enum column column)
{
	size_t i = 0;

	while (i < lists_all[list].n &&
	    lists_all[list].columns[i].column != column)
		i++;
	return i;
}

const char *
lists_title(enum list list, enum column column)
{
	size_t i = lists_find(list, column);

	return i == lists_all[list].n ? "" :
	    lists_all[list].columns[i].table.title;
}

/* Of one namespace there is nothing to tell apart. */
static bool
lists_has(const struct model *m, enum column column)
{
	return column != COLUMN_NS || m->n_namespaces > 1;
}

enum column
lists_next_sort(const struct model *m, enum list list, enum column column)
{
	size_t n = lists_all[list].n;
	size_t i = lists_find(list, column);

	do
		i = (i + 1) % n;
	while (lists_all[list].columns[i].unsorted ||
	    !lists_has(m, lists_all[list].columns[i].column));
	return lists_all[list].columns[i].column;
}

/* ---- cells ---------------------------------------------------------- */

/* What holds it, if that is not one. */
static void
lists_who(char *ret, size_t size, const struct row *r)
{
	if (r->holders > 1)
		(void)snprintf(ret, size, "%" PRIu32 " holders", r->holders);
	else
		(void)snprintf(ret, size, "%s", r->who);
}

static void
lists_rate(char *ret, size_t size, struct rate rate)
{
	if (rate.known)
		(void)snprintf(ret, size, "%.1f", rate.per_s);
	else
		(void)snprintf(ret, size, "-");
}

static void
lists_duration(char *ret, size_t size, bool known, uint64_t ms)
{
	if (known)
		page_duration(ret, size, ms);
	else
		(void)snprintf(ret, size, "-");
}

static void
lists_since(char *ret, size_t size, const struct view *v,
    const struct model *m, uint64_t ms)
{
	uint64_t wall_ms = m->now_wall_ms > ms ? m->now_wall_ms - ms : 0;

	if (v->local != NULL)
		v->local(ret, size, wall_ms, m->now_wall_ms);
}

static void
lists_number(char *ret, size_t size, const struct row *r, enum column column)
{
	uint64_t n = column == COLUMN_WAITERS ? r->waiters :
	    column == COLUMN_AHEAD ? r->ahead : r->pid;

	if (column == COLUMN_PID && n == 0)
		(void)snprintf(ret, size, "-");
	else
		(void)snprintf(ret, size, "%" PRIu64, n);
}

static void
lists_text(char *ret, size_t size, const struct row *r, enum column column)
{
	if (column == COLUMN_WHO)
		lists_who(ret, size, r);
	else if (column == COLUMN_KEY && r->sort[0] != '\0')
		(void)snprintf(ret, size, "%s [%s]", r->key, r->sort);
	else
		(void)snprintf(ret, size, "%s", column == COLUMN_NS ? r->ns :
		    column == COLUMN_KEY ? r->key :
		    column == COLUMN_STATE ? r->state : r->holder);
	if (ret[0] == '\0')
		(void)snprintf(ret, size, "-");
}

static void
lists_cell(char *ret, size_t size, const struct view *v,
    const struct model *m, const struct row *r, enum column column)
{
	ret[0] = '\0';
	switch (column) {
	case COLUMN_WAITERS:
	case COLUMN_AHEAD:
	case COLUMN_PID:
		lists_number(ret, size, r, column);
		break;
	case COLUMN_GRANTS:
		lists_rate(ret, size, model_grants(m, r));
		break;
	case COLUMN_WAITED:
		lists_duration(ret, size, r->waited_ms > 0 || r->waiters > 0,
		    r->waited_ms);
		break;
	case COLUMN_HELD:
		lists_duration(ret, size, r->is_held, r->held_ms);
		break;
	case COLUMN_LEFT:
		lists_duration(ret, size, r->has_left, r->left_ms);
		break;
	case COLUMN_SINCE:
		lists_since(ret, size, v, m,
		    r->is_held ? r->held_ms : r->waited_ms);
		break;
	default:
		lists_text(ret, size, r, column);
		break;
	}
}

/* ---- the table ------------------------------------------------------ */

struct lists_plan {
	struct table table;
	struct table_column columns[TABLE_COLUMNS_MAX];
	enum column what[TABLE_COLUMNS_MAX];
	size_t n;
};

static void
lists_plan(struct lists_plan *plan, const struct page *p,
    const struct view *v, const struct model *m, enum list list,
    size_t first, size_t end)
{
	unsigned wanted[TABLE_COLUMNS_MAX] = { 0 };
	char text[LISTS_CELL_SIZE];

	plan->n = 0;
	for (size_t i = 0; i < lists_all[list].n; i++) {
		const struct lists_column *c = &lists_all[list].columns[i];

		if (!lists_has(m, c->column))
			continue;
		plan->what[plan->n] = c->column;
		plan->columns[plan->n] = c->table;
		for (size_t k = first; k < end && c->table.width == 0; k++) {
			unsigned width;

			lists_cell(text, sizeof(text), v, m,
			    &m->shown[list].rows[k], c->column);
			width = page_width(text, strlen(text));
			if (width > wanted[plan->n])
				wanted[plan->n] = width;
		}
		plan->n++;
	}
	table_plan(&plan->table, plan->columns, plan->n, LISTS_GAP, p->columns,
	    wanted);
}

static enum page_style
lists_style(const struct row *r, bool selected)
{
	if (selected)
		return PAGE_SELECTED;
	if (strcmp(r->state, "lost") == 0)
		return PAGE_BAD;
	return strcmp(r->state, "danger") == 0 ? PAGE_WARNING : PAGE_PLAIN;
}

void
lists_draw(struct page *p, const struct view *v, const struct model *m,
    enum list list, size_t first, size_t lines, size_t selected)
{
	const struct best *b = &m->shown[list];
	size_t rows = lines > 0 ? lines - 1 : 0;
	size_t end = first + rows < b->n ? first + rows : b->n;
	struct lists_plan plan;
	size_t marked = 0;

	lists_plan(&plan, p, v, m, list, first, end);
	while (marked < plan.n && plan.what[marked] != b->sort)
		marked++;
	table_heading(&plan.table, p, marked);
	for (size_t k = first; k < end; k++) {
		enum page_style style = lists_style(&b->rows[k],
		    k == selected);

		for (size_t i = 0; i < plan.n; i++) {
			char text[LISTS_CELL_SIZE];

			if (plan.table.widths[i] == 0)
				continue;
			lists_cell(text, sizeof(text), v, m, &b->rows[k],
			    plan.what[i]);
			table_cell(&plan.table, p, style, i, text);
		}
		table_end(&plan.table, p, style);
	}
}
