/*
 * Colours only if the terminal has some and NO_COLOR does not forbid them
 * (no-color.org); what matters can be seen without them.
 */
#include <config.h>

#include "cli/top/terminal.h"

#include <curses.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

#include "cli/top/view.h"

#define TERMINAL_ESCAPE_MS 50	/* is it the key, or the start of another? */
#define TERMINAL_DEFAULT (-1)	/* the terminal's own colour */

static const struct {
	attr_t plain;		/* without colours */
	attr_t coloured;
	short fore, back;
} terminal_styles[PAGE_STYLES] = {
	[PAGE_PLAIN] = { A_NORMAL, A_NORMAL, TERMINAL_DEFAULT,
	    TERMINAL_DEFAULT },
	[PAGE_TITLE] = { A_BOLD, A_BOLD, TERMINAL_DEFAULT, TERMINAL_DEFAULT },
	[PAGE_HEADING] = { A_UNDERLINE, A_NORMAL, COLOR_BLACK, COLOR_GREEN },
	[PAGE_SELECTED] = { A_REVERSE, A_NORMAL, COLOR_BLACK, COLOR_CYAN },
	[PAGE_GOOD] = { A_BOLD, A_NORMAL, COLOR_GREEN, TERMINAL_DEFAULT },
	[PAGE_WARNING] = { A_BOLD, A_NORMAL, COLOR_YELLOW, TERMINAL_DEFAULT },
	[PAGE_BAD] = { A_BOLD, A_BOLD, COLOR_RED, TERMINAL_DEFAULT },
	[PAGE_FAINT] = { A_NORMAL, A_NORMAL, COLOR_CYAN, TERMINAL_DEFAULT },
};

static bool terminal_coloured;

static void
terminal_colours(void)
{
	const char *no_color = getenv("NO_COLOR");

	if ((no_color != NULL && no_color[0] != '\0') || !has_colors() ||
	    start_color() == ERR || use_default_colors() == ERR)
		return;
	for (short i = 1; i < PAGE_STYLES; i++)
		(void)init_pair(i, terminal_styles[i].fore,
		    terminal_styles[i].back);
	terminal_coloured = true;
}

static void
terminal_on_stop(int number)
{
	(void)number;
}

/* It is blocked, and read as all signals are. Without a handler, ncurses would
 * ignore it during each refresh, and so forget one that waits to be read. */
static void
terminal_keep_stop(void)
{
	const struct sigaction keep = { .sa_handler = terminal_on_stop };
	struct sigaction old;

	if (sigaction(SIGTSTP, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		(void)sigaction(SIGTSTP, &keep, NULL);
}

bool
terminal_open(void)
{
	int error;

	terminal_keep_stop();

	/* newterm() does not give back what it has when there is none. */
	if (setupterm(NULL, STDOUT_FILENO, &error) == ERR)
		return false;
	(void)del_curterm(cur_term);
	if (newterm(NULL, stdout, stdin) == NULL)
		return false;
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)keypad(stdscr, TRUE);
	(void)nodelay(stdscr, TRUE);
	(void)set_escdelay(TERMINAL_ESCAPE_MS);
	(void)curs_set(0);
	terminal_colours();
	terminal_resize();
	return true;
}

void
terminal_close(void)
{
	(void)endwin();
}

void
terminal_resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
	    size.ws_row > 0)
		(void)resizeterm(size.ws_row, size.ws_col);
	terminal_redraw();
}

void
terminal_redraw(void)
{
	(void)clearok(curscr, TRUE);
}

void
terminal_suspend(void)
{
	(void)def_prog_mode();
	(void)endwin();
	(void)raise(SIGSTOP);
	(void)reset_prog_mode();
	terminal_resize();
}

static void
terminal_put(void *arg, unsigned line, unsigned column, enum page_style style,
    const char *bytes, size_t length)
{
	(void)arg;
	(void)attr_set(terminal_coloured ? terminal_styles[style].coloured :
	    terminal_styles[style].plain,
	    terminal_coloured ? (short)style : 0, NULL);
	(void)mvaddnstr((int)line, (int)column, bytes, (int)length);
}

void
terminal_begin(struct page *p)
{
	int height, width;

	getmaxyx(stdscr, height, width);
	(void)erase();
	page_init(p, (unsigned)width, (unsigned)height, terminal_put, NULL);
}

void
terminal_end(const struct page *p, bool cursor)
{
	(void)attr_set(A_NORMAL, 0, NULL);
	(void)curs_set(cursor ? 1 : 0);
	if (cursor)
		(void)move((int)p->line, (int)p->column);
	(void)refresh();
}

uint32_t
terminal_key(void)
{
	static const struct {
		wint_t code;
		uint32_t key;
	} keys[] = {
		{ KEY_UP, VIEW_KEY_UP }, { KEY_DOWN, VIEW_KEY_DOWN },
		{ KEY_PPAGE, VIEW_KEY_PAGE_UP },
		{ KEY_NPAGE, VIEW_KEY_PAGE_DOWN }, { KEY_HOME, VIEW_KEY_HOME },
		{ KEY_END, VIEW_KEY_END }, { KEY_ENTER, VIEW_KEY_ENTER },
		{ KEY_BACKSPACE, VIEW_KEY_BACKSPACE },
	}, characters[] = {
		{ '\t', VIEW_KEY_TAB }, { '\r', VIEW_KEY_ENTER },
		{ '\n', VIEW_KEY_ENTER }, { 27, VIEW_KEY_ESCAPE },
		{ 8, VIEW_KEY_BACKSPACE }, { 127, VIEW_KEY_BACKSPACE },
		{ 'U' & 0x1f, VIEW_KEY_CLEAR }, { 'L' & 0x1f, VIEW_KEY_REDRAW },
	};
	wint_t c;
	int kind = get_wch(&c);

	while (kind == KEY_CODE_YES) {
		for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
			if (keys[i].code == c)
				return keys[i].key;
		}
		kind = get_wch(&c);	/* one that means nothing here */
	}
	if (kind == ERR)
		return VIEW_KEY_NONE;
	for (unsigned i = 0; i < sizeof(characters) / sizeof(*characters);
	    i++) {
		if (characters[i].code == c)
			return characters[i].key;
	}
	return (uint32_t)c;
}
