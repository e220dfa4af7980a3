/*
 * From top to bottom: the daemon and its namespaces; which list, and what is to
 * be known of it; the list, or the lock that is looked into; and a line for a
 * prompt, a message, or the keys.
 */
#include <config.h>

#include "cli/top/screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/head.h"
#include "cli/top/inside.h"
#include "cli/top/lists.h"

/* ---- the line above a list ------------------------------------------ */

/* Is the listing slower than the user wants, or not of all? */
static void
screen_bounds(struct page *p, const struct view *v, const struct model *m,
    uint64_t n_all)
{
	char took[PAGE_DURATION_SIZE], pace[PAGE_DURATION_SIZE];

	if (v->paused)
		page_put(p, PAGE_WARNING, "  paused (p)");
	if (m->failed)
		page_put(p, PAGE_BAD, "  out of memory: not all rows");
	if (v->pace_ms > v->interval_ms) {
		page_duration(took, sizeof(took), m->took_ms);
		page_duration(pace, sizeof(pace), v->pace_ms);
		page_printf(p, PAGE_WARNING, "  takes %s, so every %s", took,
		    pace);
	}
	if (m->partial)
		page_printf(p, PAGE_WARNING, "  only the first %" PRIu64
		    " were looked at", n_all);
}

static void
screen_tabs(struct page *p, const struct view *v, const struct model *m)
{
	const struct best *b = &m->shown[v->list];
	uint64_t n_all = v->list == LIST_WAITS ? m->n_waits : m->n_holds;

	for (unsigned i = 0; i < LISTS; i++)
		page_printf(p, v->mode == VIEW_LIST && i == v->list ?
		    PAGE_TITLE : PAGE_FAINT, "%u%s%s ", i + 1,
		    i == v->list ? "*" : " ", lists_name((enum list)i));
	page_printf(p, PAGE_PLAIN, " by %s%s", lists_title(v->list, b->sort),
	    b->reversed ? " (reversed)" : "");
	if (m->filter[0] != '\0')
		page_printf(p, PAGE_WARNING, "  with \"%s\"", m->filter);
	if (b->cut)
		page_printf(p, PAGE_PLAIN, "  %zu of %" PRIu64 "%s", b->n,
		    n_all, m->partial ? "+" : "");
	screen_bounds(p, v, m, n_all);
	(void)page_next(p);
}

/* ---- the last line -------------------------------------------------- */

static void
screen_input(struct page *p, const struct view *v, const char *label)
{
	const char *text = v->input;

	page_put(p, PAGE_TITLE, label);
	/* Of what is longer than the line, its end. */
	while (p->column + page_width(text, strlen(text)) + 1 > p->columns &&
	    *text != '\0') {
		do
			text++;
		while (((unsigned char)*text & 0xc0) == 0x80);
	}
	page_put(p, PAGE_PLAIN, text);
}

/* "Break token 17? y/n", and what that means, if there is room. */
static void
screen_confirm(struct page *p, const struct view *v)
{
	page_put(p, PAGE_BAD, "Break ");
	if (v->breaking.token > 0)
		page_printf(p, PAGE_BAD, "token %" PRIu64,
		    v->breaking.token);
	else
		page_put(p, PAGE_BAD, "it");
	page_printf(p, PAGE_BAD, "? %sy/n ", p->columns < 76 ? "" :
	    "Its holder would go on without protection. ");
}

static void
screen_last(struct page *p, const struct view *v)
{
	switch (v->prompt) {
	case VIEW_FILTER:
		screen_input(p, v, "Show rows with: ");
		return;
	case VIEW_CONFIRM:
		screen_confirm(p, v);
		return;
	case VIEW_REASON:
		screen_input(p, v, "Why? Others will read: ");
		return;
	default:
		break;
	}
	if (v->message[0] != '\0')
		page_put(p, v->message_style, v->message);
	else if (v->mode == VIEW_DETAIL)
		page_put(p, PAGE_FAINT, "q quit  Esc back  b break  arrows "
		    "scroll  h help");
	else
		page_put(p, PAGE_FAINT, "q quit  h help  Tab list  s sort  "
		    "/ filter  Enter look into  b break");
}

/* ---- all of it ------------------------------------------------------ */

static void
screen_help(struct page *p)
{
	static const char *const lines[] = {
		"1 2 3 Tab   locks, holds, waits",
		"arrows j k  move; PgUp PgDn Home End g G",
		"s r         sort by the next column; reverse",
		"/ Esc       only rows with a text; all again",
		"Enter       look into the lock",
		"b           break it (asks first)",
		"+ -         slower, faster",
		"p Space     pause; look now",
		"^L          draw the screen again",
		"q           quit",
		"",
		"DANGER, LEFT: until the holds of a namespace are in danger,",
		"and a hold is lost, unless they are renewed.",
		"GRANTS/S of a lock: those that were seen. LONGEST: a wait.",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		page_put(p, PAGE_PLAIN, lines[i]);
		if (!page_next(p))
			return;
	}
	page_put(p, PAGE_FAINT, "any key goes back");
}

static void
screen_list(struct page *p, struct view *v, const struct model *m)
{
	const struct best *b = &m->shown[v->list];
	struct view_place *place = &v->places[v->list];
	size_t lines = p->lines - p->line - 1;	/* but the last */

	v->page_rows = lines > 1 ? lines - 1 : 1;
	if (place->index >= place->offset + v->page_rows)
		place->offset = place->index + 1 - v->page_rows;
	/* No empty lines below while there are rows above. */
	if (place->offset + v->page_rows > b->n)
		place->offset = b->n > v->page_rows ? b->n - v->page_rows : 0;
	lists_draw(p, v, m, v->list, place->offset, lines, place->index);
	if (m->complete && b->n == 0)
		page_put(p, PAGE_FAINT, m->filter[0] != '\0' ?
		    "No such rows." : v->list == LIST_WAITS ? "No waiters." :
		    "No holds.");
	else if (!m->complete)
		page_put(p, PAGE_FAINT, "Looking.");
}

void
screen_draw(struct page *p, struct view *v, const struct model *m,
    const struct detail *d)
{
	if (p->columns < SCREEN_COLUMNS_MIN || p->lines < SCREEN_LINES_MIN) {
		page_put(p, PAGE_PLAIN, "too small");
		if (page_next(p))
			page_printf(p, PAGE_PLAIN, "%dx%d at least",
			    SCREEN_COLUMNS_MIN, SCREEN_LINES_MIN);
		return;
	}
	if (v->mode == VIEW_HELP) {
		screen_help(p);
		return;
	}
	head_draw(p, v, m, p->lines < 12 ? 1 : p->lines / 4);
	if (v->mode == VIEW_DETAIL) {
		inside_draw(p, v, d, p->lines - p->line - 1);
	} else {
		screen_tabs(p, v, m);
		screen_list(p, v, m);
	}
	p->line = p->lines - 1;
	p->column = 0;
	screen_last(p, v);
}

void
screen_text(struct page *p, const struct view *v, const struct model *m)
{
	head_draw(p, v, m, MODEL_NAMESPACES_MAX);
	for (unsigned i = 0; i < LISTS; i++) {
		const struct best *b = &m->shown[i];
		uint64_t n = i == LIST_WAITS ? m->n_waits : m->n_holds;

		(void)page_next(p);
		page_put(p, PAGE_TITLE, lists_name((enum list)i));
		page_printf(p, PAGE_PLAIN, " by %s",
		    lists_title((enum list)i, b->sort));
		if (b->cut)
			page_printf(p, PAGE_PLAIN, ", the first %zu of %"
			    PRIu64, b->n, n);
		(void)page_next(p);
		if (b->n > 0)
			lists_draw(p, v, m, (enum list)i, 0, b->n + 1,
			    SIZE_MAX);
		else {
			page_put(p, PAGE_PLAIN, "none");
			(void)page_next(p);
		}
	}
}
