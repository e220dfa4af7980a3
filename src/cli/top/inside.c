/*
 * What GET says of the lock, in words; who holds it; who waits for it, in
 * order; what is kept in it.
 */
#include <config.h>

#include "cli/top/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"

#define INSIDE_LABEL_COLUMNS 11
#define INSIDE_NO_MEMORY "out of memory: not all is shown"

struct inside {
	struct page *page;
	struct view *view;
	const struct detail *detail;
	size_t n;		/* lines so far */
	size_t first, end;	/* those that are drawn */
};

/* Is the line that begins here drawn? */
static bool
inside_line(struct inside *s)
{
	size_t i = s->n++;

	if (i < s->first || i >= s->end)
		return false;
	if (i > s->first)
		(void)page_next(s->page);
	return true;
}

static void
inside_value(struct inside *s, const char *label, const char *value,
    size_t length)
{
	if (!inside_line(s))
		return;
	page_cell(s->page, PAGE_FAINT, label, INSIDE_LABEL_COLUMNS - 1, false);
	page_fill(s->page, PAGE_PLAIN, INSIDE_LABEL_COLUMNS);
	page_put_bytes(s->page, PAGE_PLAIN, value, length);
}

/* The fields that are a line each, and what people call them. */
static const struct {
	const char *field, *label;
} inside_fields[] = {
	{ "state", "state" }, { "owner", "owner" }, { "token", "token" },
	{ "token_text", "token" }, { "mode", "mode" },
	{ "holders", "holders" }, { "limit", "limit" },
	{ "policy", "policy" }, { "held", "held for" }, { "lease", "lease" },
	{ "expires", "expires in" }, { "unchanged", "unchanged" },
	{ "alive", "alive" }, { "broken_by", "broken by" },
};

static void
inside_get(struct inside *s)
{
	const struct detail_look *l = &s->detail->shown;

	if (l->code != 0)
		inside_value(s, "problem", error_text(l->code),
		    strlen(error_text(l->code)));
	for (size_t i = 0; i < sizeof(inside_fields) /
	    sizeof(inside_fields[0]); i++) {
		const char *value = detail_find(l, inside_fields[i].field);

		if (value != NULL)
			inside_value(s, inside_fields[i].label, value,
			    strlen(value));
	}
}

static void
inside_since(const struct inside *s, char *ret, size_t size, uint64_t ms)
{
	uint64_t now_ms = s->detail->shown.at_wall_ms;

	ret[0] = '\0';
	if (s->view->local != NULL && now_ms > ms)
		s->view->local(ret, size, now_ms - ms, now_ms);
}

static void
inside_rows(struct inside *s, const char *title,
    const struct detail_rows *rows, bool holds)
{
	if (rows->n_all == 0)
		return;
	if (inside_line(s))
		page_printf(s->page, PAGE_HEADING, "%s: %" PRIu64, title,
		    rows->n_all);
	for (size_t i = 0; i < rows->best.n; i++) {
		const struct row *r = &rows->best.rows[i];
		char ms[PAGE_DURATION_SIZE], since[32];

		if (!inside_line(s))
			continue;
		page_duration(ms, sizeof(ms),
		    holds ? r->held_ms : r->waited_ms);
		inside_since(s, since, sizeof(since),
		    holds ? r->held_ms : r->waited_ms);
		if (!holds)
			page_printf(s->page, PAGE_PLAIN, "%4zu. ", i + 1);
		page_printf(s->page, PAGE_PLAIN, "%7s since %s  %s, ", ms,
		    since, r->who);
		if (holds)
			page_printf(s->page, strcmp(r->state, "held") == 0 ?
			    PAGE_PLAIN : PAGE_BAD, "%s, token %" PRIu64 ", ",
			    r->state, r->token);
		page_printf(s->page, PAGE_PLAIN, "pid %" PRIu64 ", ", r->pid);
		if (r->user[0] != '\0')
			page_put(s->page, PAGE_PLAIN, r->user);
		else
			page_printf(s->page, PAGE_PLAIN, "uid %" PRIu64,
			    r->uid);
	}
	if (rows->n_all > rows->best.n && inside_line(s))
		page_printf(s->page, PAGE_FAINT, "and %" PRIu64 " more",
		    rows->n_all - rows->best.n);
}

static void
inside_contents(struct inside *s)
{
	const struct detail_look *l = &s->detail->shown;

	for (size_t i = 0; i < l->n_fields; i++) {
		const struct detail_field *f = &l->fields[i];
		bool attribute = strncmp(f->name, "attr.", 5) == 0;

		if (!attribute && strcmp(f->name, "data") != 0)
			continue;
		inside_value(s, attribute ? f->name + 5 : "data", f->value,
		    f->kept);
		if (f->kept < f->length && inside_line(s))
			page_printf(s->page, PAGE_FAINT, "%*s%zu bytes",
			    INSIDE_LABEL_COLUMNS, "", f->length);
	}
}

static void
inside_all(struct inside *s)
{
	const struct detail_look *l = &s->detail->shown;

	if (s->detail->failed)
		inside_value(s, "problem", INSIDE_NO_MEMORY,
		    strlen(INSIDE_NO_MEMORY));
	inside_get(s);
	inside_rows(s, "Holders through this daemon", &l->holds, true);
	inside_rows(s, "Waiters of this host, in order", &l->waiters, false);
	inside_contents(s);
}

void
inside_draw(struct page *p, struct view *v, const struct detail *d,
    size_t lines)
{
	struct inside s = { .page = p, .view = v, .detail = d };

	page_printf(p, PAGE_TITLE, "%s", d->key);
	if (d->sort[0] != '\0')
		page_printf(p, PAGE_TITLE, " [%s]", d->sort);
	page_printf(p, PAGE_FAINT, "  in namespace %s", d->ns);
	(void)page_next(p);
	lines = lines > 1 ? lines - 1 : 1;
	if (!d->loaded) {
		page_put(p, PAGE_FAINT, "Looking.");
		return;
	}
	inside_all(&s);		/* draws nothing: how many lines are there? */
	v->detail_lines = s.n;
	v->detail_rows = lines;
	if (v->detail_offset + lines > s.n)
		v->detail_offset = s.n > lines ? s.n - lines : 0;
	s.n = 0;
	s.first = v->detail_offset;
	s.end = s.first + lines;
	inside_all(&s);
	(void)page_next(p);
}
