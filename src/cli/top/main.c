/*
 * ddblock-top: what `ddblock top` becomes, once it is seen that a daemon is
 * there. Its arguments are the socket, the namespaces, the sort value and the
 * filter (each may be ""), the time between two looks in milliseconds, and
 * "screen", "text" or "json"; the last two may be followed by "twice": with
 * rates, after that time.
 */
#include <config.h>

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/base/cli.h"
#include "cli/base/signals.h"
#include "cli/top/feed.h"
#include "cli/top/once.h"
#include "cli/top/screen.h"
#include "cli/top/since.h"
#include "cli/top/terminal.h"
#include "common/clock.h"
#include "ipc/codec.h"

#define MAIN_ARGUMENTS 7	/* with the name, without "twice" */

struct top {
	struct model model;
	struct detail detail;
	struct view view;
	struct feed feed;
	struct signals signals;
	bool quit;
	bool hung_up;		/* nobody is at the terminal any more */
	int status;
};

/* Until what of these comes first: @fds are ready, or the feed is due. */
static int
main_wait(struct top *t, struct pollfd *fds, nfds_t n)
{
	uint64_t now_ms = clock_boot_ms();
	uint64_t next_ms = feed_next_ms(&t->feed);
	uint64_t wait_ms = next_ms > now_ms ? next_ms - now_ms : 0;

	fds[0] = (struct pollfd){ .fd = feed_fd(&t->feed), .events = POLLIN };
	return poll(fds, n, wait_ms > 60000 ? 60000 : (int)wait_ms);
}

/* ---- once ----------------------------------------------------------- */

static int
main_once(struct top *t, const char *how, bool twice)
{
	uint64_t looks = twice ? 2 : 1;
	bool ok;

	while (t->feed.n_looks < looks) {
		struct pollfd fds[1];

		feed_step(&t->feed);
		if (t->feed.d == NULL || t->feed.code != 0) {
			cli_say("%s", t->feed.d == NULL ? t->view.trouble :
			    t->view.message);
			return ddblock_exit_status(t->feed.code);
		}
		if (t->feed.n_looks < looks && main_wait(t, fds, 1) < 0 &&
		    errno != EINTR) {
			cli_say("cannot wait: %s", strerror(errno));
			return CLI_FAILED;
		}
	}
	ok = strcmp(how, "json") == 0 ? once_json(&t->model) :
	    once_text(&t->view, &t->model);
	if (!ok) {
		cli_say("out of memory");
		return cli_flush(CLI_FAILED);
	}
	return cli_flush(0);
}

/* ---- the screen ----------------------------------------------------- */

static void
main_draw(struct top *t)
{
	struct page page;

	terminal_begin(&page);
	screen_draw(&page, &t->view, &t->model, &t->detail);
	terminal_end(&page, t->view.prompt != VIEW_NO_PROMPT);
	page_done(&page);
	t->feed.changed = false;
}

static void
main_keys(struct top *t)
{
	uint32_t key;

	while (!t->quit && (key = terminal_key()) != VIEW_KEY_NONE) {
		switch (view_press(&t->view, &t->model, &t->detail, key)) {
		case VIEW_LOOK:
			feed_look(&t->feed);
			break;
		case VIEW_OPEN:
			feed_open(&t->feed);
			break;
		case VIEW_BREAK:
			feed_break(&t->feed);
			break;
		case VIEW_REDRAW:
			terminal_redraw();
			break;
		case VIEW_QUIT:
			t->quit = true;
			break;
		default:
			break;
		}
		t->feed.changed = true;
	}
}

static void
main_signals(struct top *t)
{
	int number;

	while ((number = signals_next(&t->signals)) != 0) {
		t->feed.changed = true;
		switch (number) {
		case SIGCHLD:
		case SIGCONT:
		case SIGUSR1:
		case SIGUSR2:
			break;
		case SIGWINCH:
			terminal_resize();
			break;
		case SIGTSTP:
			terminal_suspend();
			break;
		case SIGINT:
			t->quit = true;
			break;
		default:
			t->status = CLI_SIGNAL + number;
			t->quit = true;
			break;
		}
	}
}

static int
main_screen(struct top *t)
{
	const char *name = getenv("TERM");

	if (signals_init(&t->signals) < 0) {
		cli_say("cannot read signals: %s", strerror(errno));
		return CLI_FAILED;
	}
	if (!terminal_open()) {
		cli_say("this terminal (TERM=%s) is not known here; \"ddblock "
		    "top --once\" needs none", name == NULL ? "" : name);
		return CLI_USAGE;
	}
	t->feed.changed = true;
	while (!t->quit) {
		struct pollfd fds[3] = {
			{ .fd = -1 },
			{ .fd = t->signals.fd, .events = POLLIN },
			{ .fd = STDIN_FILENO, .events = POLLIN },
		};

		feed_step(&t->feed);
		if (t->feed.changed)
			main_draw(t);
		if (main_wait(t, fds, 3) < 0 && errno != EINTR) {
			t->status = CLI_FAILED;
			break;
		}
		main_signals(t);
		main_keys(t);
		if (fds[2].revents & (POLLHUP | POLLERR | POLLNVAL))
			t->quit = true;
	}
	terminal_close();
	return t->status;
}

/* ---- the program ---------------------------------------------------- */

static int
main_run(struct top *t, char **argv, uint64_t interval_ms, bool twice)
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random) ||
	    model_init(&t->model, random) < 0) {
		cli_say("out of memory");
		return CLI_FAILED;
	}
	detail_init(&t->detail);
	view_init(&t->view, interval_ms);
	t->view.local = since_local;
	(void)snprintf(t->model.filter, sizeof(t->model.filter), "%s",
	    argv[4]);
	feed_init(&t->feed, argv[1], &t->model, &t->detail, &t->view);
	t->feed.ns = argv[2][0] == '\0' ? NULL : argv[2];
	t->feed.sort = argv[3][0] == '\0' ? NULL : argv[3];
	return strcmp(argv[6], "screen") == 0 ? main_screen(t) :
	    main_once(t, argv[6], twice);
}

int
main(int argc, char **argv)
{
	static struct top t;
	uint64_t interval_ms;
	int status;

	if (argc < MAIN_ARGUMENTS || argc > MAIN_ARGUMENTS + 1 ||
	    !codec_parse_number(argv[5], strlen(argv[5]), &interval_ms)) {
		cli_say("this is a part of \"ddblock top\"");
		return CLI_USAGE;
	}
	/* The protocol is UTF-8 in every locale. */
	(void)setlocale(LC_ALL, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)setlocale(LC_NUMERIC, "C");
	status = main_run(&t, argv, interval_ms, argc > MAIN_ARGUMENTS);
	feed_done(&t.feed);
	detail_done(&t.detail);
	model_done(&t.model);
	return status;
}
