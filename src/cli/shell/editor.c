/*
 * A line typed on the terminal: libedit, which reads its characters through
 * editor_get(), which reads the daemon's lines at the same time.
 */
#include <config.h>

#include "cli/shell/editor.h"

#include <errno.h>
#include <histedit.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define EDITOR_PROMPT "ddblock> "
#define EDITOR_HISTORY_LINES 1000
#define EDITOR_CANDIDATES_MAX (64 * 1024)
#define EDITOR_INTERRUPT 3	/* what ^C is bound by */

struct editor {
	EditLine *el;
	History *history;
	char history_path[PATH_MAX];	/* "": none */
	bool (*wait)(void *arg);
	void *arg;
	const struct words *words;
	bool active;		/* a line is being typed */
	bool interrupted;
	mbstate_t state;	/* of a character not yet complete */
};

static struct editor *
editor_of(EditLine *el)
{
	void *e = NULL;

	(void)el_get(el, EL_CLIENTDATA, &e);
	return e;
}

static char *
editor_prompt(EditLine *el)
{
	static char prompt[] = EDITOR_PROMPT;

	(void)el;
	return prompt;
}

/* One character from the terminal; 0: no more. */
static int
editor_get(EditLine *el, wchar_t *ret)
{
	struct editor *e = editor_of(el);

	while (e->wait(e->arg)) {
		char byte;
		ssize_t n;
		size_t length;

		if (e->interrupted) {
			e->interrupted = false;
			*ret = EDITOR_INTERRUPT;
			return 1;
		}
		n = read(STDIN_FILENO, &byte, 1);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return 0;
		length = mbrtowc(ret, &byte, 1, &e->state);
		if (length <= 1)
			return 1;
		if (length == (size_t)-1)	/* no text: left out */
			(void)memset(&e->state, 0, sizeof(e->state));
	}
	return 0;
}

static unsigned
editor_columns(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

void
editor_hide(struct editor *e)
{
	const LineInfoW *line;
	unsigned column = sizeof(EDITOR_PROMPT) - 1;
	unsigned rows;

	if (!e->active)
		return;
	line = el_wline(e->el);
	for (const wchar_t *c = line->buffer; c < line->cursor; c++) {
		int width = wcwidth(*c);

		column += width < 0 ? 2 : (unsigned)width;	/* ^X */
	}
	rows = column / editor_columns();
	if (rows > 0)
		(void)printf("\033[%uA", rows);
	(void)fputs("\r\033[J", stdout);
}

void
editor_show(struct editor *e)
{
	if (!e->active)
		return;
	(void)fflush(stdout);
	(void)el_set(e->el, EL_REFRESH);
}

void
editor_interrupt(struct editor *e)
{
	e->interrupted = e->active;
}

void
editor_suspend(struct editor *e)
{
	if (e->active) {
		editor_hide(e);
		(void)fflush(stdout);
		(void)el_set(e->el, EL_PREP_TERM, 0);
	}
	(void)raise(SIGSTOP);
	if (e->active) {
		(void)el_set(e->el, EL_PREP_TERM, 1);
		editor_show(e);
	}
}

void
editor_resize(struct editor *e)
{
	editor_hide(e);
	el_resize(e->el);
	editor_show(e);
}

static unsigned char
editor_on_interrupt(EditLine *el, int c)
{
	const LineInfoW *line = el_wline(el);

	(void)c;
	editor_hide(editor_of(el));
	(void)el_cursor(el, (int)(line->lastchar - line->cursor));
	(void)el_set(el, EL_REFRESH);
	(void)fputs("^C\n", stdout);
	(void)fflush(stdout);
	line = el_wline(el);
	el_deletestr(el, (int)(line->cursor - line->buffer));
	(void)el_set(el, EL_REFRESH);
	return CC_NORM;
}

static void
editor_list(struct editor *e, const char *candidates, size_t n)
{
	editor_hide(e);
	for (size_t i = 0; i < n; i++) {
		(void)printf("%s%s", i == 0 ? "" : "  ", candidates);
		candidates += strlen(candidates) + 1;
	}
	(void)putchar('\n');
	editor_show(e);
}

/* The length of their common beginning. */
static size_t
editor_common(const char *candidates, size_t n)
{
	const char *first = candidates;
	size_t common = strlen(first);

	for (size_t i = 1; i < n; i++) {
		size_t same = 0;

		candidates += strlen(candidates) + 1;
		while (same < common && candidates[same] == first[same])
			same++;
		common = same;
	}
	return common;
}

static unsigned char
editor_replace(EditLine *el, size_t typed, const char *text, size_t length,
    bool whole)
{
	char word[128];

	(void)snprintf(word, sizeof(word), "%.*s%s", (int)length, text,
	    whole && text[length - 1] != '=' ? " " : "");
	/* What matched is ASCII: a character is a byte. */
	el_deletestr(el, (int)typed);
	return el_insertstr(el, word) < 0 ? CC_ERROR : CC_REFRESH;
}

static unsigned char
editor_on_complete(EditLine *el, int c)
{
	struct editor *e = editor_of(el);
	const LineInfo *line = el_line(el);
	size_t cursor = (size_t)(line->cursor - line->buffer);
	struct buffer candidates;
	unsigned char result = CC_NORM;
	size_t begin;
	size_t common;
	size_t n;

	(void)c;
	buffer_init(&candidates, EDITOR_CANDIDATES_MAX);
	n = words_complete(e->words, line->buffer, cursor, &candidates,
	    &begin);
	common = n == 0 ? 0 : editor_common(candidates.data, n);
	if (n == 0)
		result = CC_ERROR;
	else if (n == 1 || common > cursor - begin)
		result = editor_replace(el, cursor - begin, candidates.data,
		    common, n == 1);
	else
		editor_list(e, candidates.data, n);
	buffer_done(&candidates);
	return result;
}

/* The file of old lines: $DDBLOCK_HISTORY (empty: none), or at home. */
static void
editor_load_history(struct editor *e)
{
	const char *path = getenv("DDBLOCK_HISTORY");
	const char *home = getenv("HOME");
	HistEvent event;
	int n = 0;

	if (path != NULL)
		n = snprintf(e->history_path, PATH_MAX, "%s", path);
	else if (home != NULL && home[0] != '\0')
		n = snprintf(e->history_path, PATH_MAX, "%s/.ddblock_history",
		    home);
	if (n < 0 || n >= PATH_MAX)
		e->history_path[0] = '\0';
	(void)history(e->history, &event, H_SETSIZE, EDITOR_HISTORY_LINES);
	(void)history(e->history, &event, H_SETUNIQUE, 1);
	if (e->history_path[0] != '\0')
		(void)history(e->history, &event, H_LOAD, e->history_path);
	(void)el_set(e->el, EL_HIST, history, e->history);
}

struct editor *
editor_new(bool (*wait)(void *arg), void *arg, const struct words *words)
{
	struct editor *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->wait = wait;
	e->arg = arg;
	e->words = words;
	e->el = el_init("ddblock", stdin, stdout, stderr);
	e->history = history_init();
	if (e->el == NULL || e->history == NULL) {
		editor_free(e);
		return NULL;
	}
	(void)el_set(e->el, EL_CLIENTDATA, e);
	(void)el_set(e->el, EL_PROMPT, editor_prompt);
	(void)el_set(e->el, EL_EDITOR, "emacs");
	(void)el_set(e->el, EL_GETCFN, editor_get);
	/*
	 * In wide characters: libedit leaks the copies that it makes of others.
	 */
	(void)el_wset(e->el, EL_ADDFN, L"ddblock-complete",
	    L"complete a verb or an argument", editor_on_complete);
	(void)el_wset(e->el, EL_ADDFN, L"ddblock-interrupt",
	    L"give the line up", editor_on_interrupt);
	(void)el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
	editor_load_history(e);
	(void)el_source(e->el, NULL);
	/* After the user's own settings, which may choose another keymap. */
	(void)el_set(e->el, EL_BIND, "^I", "ddblock-complete", NULL);
	(void)el_set(e->el, EL_BIND, "^C", "ddblock-interrupt", NULL);
	return e;
}

void
editor_free(struct editor *e)
{
	HistEvent event;

	if (e == NULL)
		return;
	if (e->history != NULL && e->history_path[0] != '\0')
		(void)history(e->history, &event, H_SAVE, e->history_path);
	if (e->el != NULL)
		el_end(e->el);
	if (e->history != NULL)
		history_end(e->history);
	free(e);
}

const char *
editor_line(struct editor *e, size_t *ret_length)
{
	HistEvent event;
	const char *line;
	int length = 0;

	/* Before the prompt invites to type. */
	(void)el_set(e->el, EL_PREP_TERM, 1);
	e->active = true;
	line = el_gets(e->el, &length);
	e->active = false;
	if (line == NULL || length <= 0) {
		(void)putchar('\n');
		(void)fflush(stdout);
		return NULL;
	}
	if (strspn(line, " \n") < (size_t)length)
		(void)history(e->history, &event, H_ENTER, line);
	*ret_length = (size_t)length;
	return line;
}
