/*
 * Keys, and what they do.
 */
#include <config.h>

#include "cli/top/view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/lists.h"

void
view_init(struct view *v, uint64_t interval_ms)
{
	*v = (struct view){ .interval_ms = interval_ms, .page_rows = 1 };
}

void
view_say(struct view *v, enum page_style style, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(v->message, sizeof(v->message), format, arguments);
	va_end(arguments);
	v->message_style = style;
}

/* ---- the bar -------------------------------------------------------- */

static void
view_bind(struct view *v, const struct model *m)
{
	const struct best *b = &m->shown[v->list];
	struct view_place *p = &v->places[v->list];

	if (p->index >= b->n)
		p->index = b->n == 0 ? 0 : b->n - 1;
	if (p->offset > p->index)
		p->offset = p->index;
	if (p->index >= p->offset + v->page_rows)
		p->offset = p->index + 1 - v->page_rows;
	if (b->n == 0) {
		p->hash = 0;
		return;
	}
	p->hash = b->rows[p->index].hash;
	p->id = b->rows[p->index].id;
	p->pid = b->rows[p->index].pid;
}

static void
view_move(struct view *v, const struct model *m, uint32_t key)
{
	size_t n = m->shown[v->list].n;
	size_t *index = &v->places[v->list].index;
	size_t page = v->page_rows > 1 ? v->page_rows - 1 : 1;

	switch (key) {
	case VIEW_KEY_UP:
		*index -= *index > 0;
		break;
	case VIEW_KEY_DOWN:
		*index += *index + 1 < n;
		break;
	case VIEW_KEY_PAGE_UP:
		*index -= *index < page ? *index : page;
		break;
	case VIEW_KEY_PAGE_DOWN:
		*index += page;
		break;
	case VIEW_KEY_HOME:
		*index = 0;
		break;
	default:
		*index = n;
		break;
	}
	view_bind(v, m);
}

/* A lock stays under the bar; in a list of locks, with any holder. */
static bool
view_is_same(const struct view *v, const struct view_place *p,
    const struct row *r)
{
	return r->hash == p->hash && (v->list == LIST_KEYS ||
	    (r->id == p->id && r->pid == p->pid));
}

void
view_on_lists(struct view *v, const struct model *m)
{
	const struct best *b = &m->shown[v->list];
	struct view_place *p = &v->places[v->list];

	/* At the top it stays at the top, where the news are. */
	for (size_t i = 0; i < b->n && p->hash != 0 && p->index > 0; i++) {
		if (view_is_same(v, p, &b->rows[i])) {
			p->index = i;
			break;
		}
	}
	view_bind(v, m);
}

/* ---- lists ---------------------------------------------------------- */

static enum view_command
view_choose(struct view *v, const struct model *m, enum list list)
{
	v->list = list;
	view_bind(v, m);
	return VIEW_NOTHING;
}

/* The row under the bar. */
static const struct row *
view_row(const struct view *v, const struct model *m)
{
	const struct best *b = &m->shown[v->list];
	size_t i = v->places[v->list].index;

	return i < b->n ? &b->rows[i] : NULL;
}

static enum view_command
view_open(struct view *v, const struct model *m, struct detail *d,
    bool to_break)
{
	const struct row *r = view_row(v, m);

	if (r == NULL) {
		view_say(v, PAGE_PLAIN, "there is no lock to look into");
		return VIEW_NOTHING;
	}
	if (!detail_open(d, r)) {
		view_say(v, PAGE_BAD, "its name is too long");
		return VIEW_NOTHING;
	}
	v->mode = VIEW_DETAIL;
	v->detail_offset = 0;
	v->breaking.wanted = to_break;
	return VIEW_OPEN;
}

static enum view_command
view_sort(struct view *v, struct model *m, bool reverse)
{
	struct best *b = &m->shown[v->list];

	model_sort(m, v->list, reverse ? b->sort :
	    lists_next_sort(m, v->list, b->sort), reverse && !b->reversed);
	v->places[v->list].index = 0;
	view_bind(v, m);
	/* Of those that were not kept, others may be first now. */
	return b->cut ? VIEW_LOOK : VIEW_NOTHING;
}

static enum view_command
view_pace(struct view *v, bool slower)
{
	uint64_t ms = slower ? v->interval_ms * 2 : v->interval_ms / 2;

	if (ms >= VIEW_INTERVAL_MIN_MS && ms <= VIEW_INTERVAL_MAX_MS)
		v->interval_ms = ms;
	view_say(v, PAGE_PLAIN, "every %" PRIu64 ".%" PRIu64 " s",
	    v->interval_ms / 1000, v->interval_ms % 1000 / 100);
	return VIEW_LOOK;
}

static enum view_command
view_set_filter(struct view *v, struct model *m, const char *text)
{
	(void)snprintf(m->filter, sizeof(m->filter), "%s", text);
	v->places[v->list].index = 0;
	return VIEW_LOOK;
}

static enum view_command
view_press_list(struct view *v, struct model *m, struct detail *d,
    uint32_t key)
{
	switch (key) {
	case '1':
	case '2':
	case '3':
		return view_choose(v, m, (enum list)(key - '1'));
	case VIEW_KEY_TAB:
		return view_choose(v, m, (enum list)((v->list + 1) % LISTS));
	case 's':
		return view_sort(v, m, false);
	case 'r':
		return view_sort(v, m, true);
	case '/':
		v->prompt = VIEW_FILTER;
		v->input_length = strlen(m->filter);
		(void)memcpy(v->input, m->filter, v->input_length + 1);
		return VIEW_NOTHING;
	case VIEW_KEY_ESCAPE:
		return m->filter[0] == '\0' ? VIEW_NOTHING :
		    view_set_filter(v, m, "");
	case VIEW_KEY_ENTER:
		return view_open(v, m, d, false);
	case 'b':
		return view_open(v, m, d, true);
	default:
		view_move(v, m, key);
		return VIEW_NOTHING;
	}
}

/* ---- the detail, and a break ---------------------------------------- */

/* Ask whether to break what is shown, if it is something. */
static void
view_ask(struct view *v, const struct detail *d)
{
	const struct detail_look *l = &d->shown;
	struct view_breaking *b = &v->breaking;

	b->wanted = false;
	b->number = d->number;
	b->token = l->token;
	(void)snprintf(b->owner, sizeof(b->owner), "%s",
	    l->owner == NULL ? "" : l->owner);
	if (l->code != 0)
		view_say(v, PAGE_BAD, "not broken: its holder is not known");
	else if (!l->held || (l->token == 0 && l->record == NULL))
		view_say(v, PAGE_PLAIN, "there is nothing to break: the lock "
		    "is free");
	else
		v->prompt = VIEW_CONFIRM;
}

void
view_on_detail(struct view *v, const struct detail *d)
{
	if (v->breaking.wanted && v->mode == VIEW_DETAIL && d->loaded)
		view_ask(v, d);
}

static void
view_scroll(struct view *v, uint32_t key)
{
	size_t last = v->detail_lines > v->detail_rows ?
	    v->detail_lines - v->detail_rows : 0;
	size_t page = v->detail_rows > 1 ? v->detail_rows - 1 : 1;
	size_t *at = &v->detail_offset;

	if (key == VIEW_KEY_UP)
		*at -= *at > 0;
	else if (key == VIEW_KEY_DOWN)
		*at += 1;
	else if (key == VIEW_KEY_PAGE_UP)
		*at -= *at < page ? *at : page;
	else if (key == VIEW_KEY_PAGE_DOWN)
		*at += page;
	else if (key == VIEW_KEY_HOME)
		*at = 0;
	else if (key == VIEW_KEY_END)
		*at = last;
	if (*at > last)
		*at = last;
}

static enum view_command
view_press_detail(struct view *v, const struct detail *d, uint32_t key)
{
	switch (key) {
	case VIEW_KEY_ESCAPE:
	case VIEW_KEY_ENTER:
	case VIEW_KEY_BACKSPACE:
		v->mode = VIEW_LIST;
		v->breaking.wanted = false;
		return VIEW_LOOK;
	case 'b':
		v->breaking.wanted = !d->loaded;
		if (d->loaded)
			view_ask(v, d);
		break;
	default:
		view_scroll(v, key);
		break;
	}
	return VIEW_NOTHING;
}

/* ---- typing --------------------------------------------------------- */

static void
view_type(struct view *v, uint32_t c, size_t max)
{
	char bytes[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (c < 0x20 || c == 0x7f || c > 0x10ffff ||
	    v->input_length + n > max)
		return;
	if (n == 1)
		bytes[0] = (char)c;
	for (size_t i = n; n > 1 && i-- > 0;) {
		bytes[i] = (char)(i > 0 ? 0x80 | (c & 0x3f) :
		    (0xf00U >> n & 0xffU) | c);
		c >>= 6;
	}
	(void)memcpy(v->input + v->input_length, bytes, n);
	v->input_length += n;
	v->input[v->input_length] = '\0';
}

static void
view_erase(struct view *v)
{
	while (v->input_length > 0 &&
	    ((unsigned char)v->input[--v->input_length] & 0xc0) == 0x80)
		continue;
	v->input[v->input_length] = '\0';
}

static enum view_command
view_entered(struct view *v, struct model *m)
{
	enum view_prompt prompt = v->prompt;

	v->prompt = VIEW_NO_PROMPT;
	if (prompt == VIEW_FILTER)
		return view_set_filter(v, m, v->input);
	if (strspn(v->input, " ") == v->input_length) {
		view_say(v, PAGE_PLAIN, "not broken: a reason is needed");
		return VIEW_NOTHING;
	}
	/* No longer than that was typed. */
	(void)snprintf(v->breaking.reason, sizeof(v->breaking.reason), "%.*s",
	    VIEW_REASON_MAX, v->input);
	return VIEW_BREAK;
}

static enum view_command
view_press_prompt(struct view *v, struct model *m, uint32_t key)
{
	if (v->prompt == VIEW_CONFIRM) {
		v->prompt = key == 'y' || key == 'Y' ? VIEW_REASON :
		    VIEW_NO_PROMPT;
		v->input_length = 0;
		v->input[0] = '\0';
		if (v->prompt == VIEW_NO_PROMPT)
			view_say(v, PAGE_PLAIN, "not broken");
		return VIEW_NOTHING;
	}
	switch (key) {
	case VIEW_KEY_ENTER:
		return view_entered(v, m);
	case VIEW_KEY_ESCAPE:
		if (v->prompt == VIEW_REASON)
			view_say(v, PAGE_PLAIN, "not broken");
		v->prompt = VIEW_NO_PROMPT;
		break;
	case VIEW_KEY_BACKSPACE:
		view_erase(v);
		break;
	case VIEW_KEY_CLEAR:
		v->input_length = 0;
		v->input[0] = '\0';
		break;
	default:
		view_type(v, key, v->prompt == VIEW_REASON ?
		    VIEW_REASON_MAX : sizeof(v->input) - 1);
		break;
	}
	return VIEW_NOTHING;
}

/* ---- any key -------------------------------------------------------- */

static enum view_command
view_press_any(struct view *v, uint32_t key)
{
	switch (key) {
	case 'q':
		return VIEW_QUIT;
	case VIEW_KEY_REDRAW:
		return VIEW_REDRAW;
	case 'p':
		v->paused = !v->paused;
		return v->paused ? VIEW_NOTHING : VIEW_LOOK;
	case ' ':
		return VIEW_LOOK;
	case '+':
		return view_pace(v, true);
	case '-':
		return view_pace(v, false);
	case 'h':
	case '?':
		v->behind = v->mode;
		v->mode = VIEW_HELP;
		return VIEW_REDRAW;
	default:
		return VIEW_NOTHING;
	}
}

/* Letters instead of arrows, as in vi(1). */
static uint32_t
view_translate(uint32_t key)
{
	switch (key) {
	case 'k':
		return VIEW_KEY_UP;
	case 'j':
		return VIEW_KEY_DOWN;
	case 'g':
		return VIEW_KEY_HOME;
	case 'G':
		return VIEW_KEY_END;
	default:
		return key;
	}
}

enum view_command
view_press(struct view *v, struct model *m, struct detail *d, uint32_t key)
{
	v->message[0] = '\0';
	if (v->prompt != VIEW_NO_PROMPT)
		return view_press_prompt(v, m, key);
	key = view_translate(key);
	if (v->mode == VIEW_HELP) {
		v->mode = v->behind;
		return key == 'q' ? VIEW_QUIT : VIEW_REDRAW;
	}
	if (strchr("q p+-h?", (int)(key < 0x80 ? key : 'x')) != NULL ||
	    key == VIEW_KEY_REDRAW)
		return view_press_any(v, key);
	return v->mode == VIEW_LIST ? view_press_list(v, m, d, key) :
	    view_press_detail(v, d, key);
}
