/*
 * Attacks by connections: many of them, short ones, and such as send or read
 * too slowly.
 */
#include "bench.h"
#include "strangers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HALF_OPEN 20000		/* as many as there may be */
#define LONG_LINE ((size_t)1 << 20)
#define LONG_LINE_HEAD 900000	/* sent as fast as it is read */

/* What the measurement itself does. */
static void
nothing_prepare(struct stranger *s)
{
	callers_new(s, 64);
}

static void
connects_run(struct stranger *s)
{
	for (;;) {
		int fd = stranger_connect(s);

		if (fd < 0) {
			s->counts->refused++;
			continue;
		}
		(void)send(fd, "PING\n", 5, MSG_DONTWAIT | MSG_NOSIGNAL);
		close(fd);
		s->counts->answers++;
	}
}

static void
half_open_run(struct stranger *s)
{
	static const char half[] = "TRY strangers/half";
	struct caller *c = callers_new(s, HALF_OPEN);

	callers_repeat(s, c, half, strlen(half));
	for (; c < s->callers + s->n_callers; c++)
		c->once = c->again = true;
	stranger_pump(s);
}

static void
slow_lines_prepare(struct stranger *s)
{
	struct caller *c = callers_new(s, 16);
	char *text = malloc(LONG_LINE);

	if (text == NULL)
		die("out of memory");
	memset(text, 'A', LONG_LINE - 1);
	text[LONG_LINE - 1] = '\n';
	callers_repeat(s, c, text, LONG_LINE);
	for (; c < s->callers + s->n_callers; c++) {
		c->crumbs_from = LONG_LINE_HEAD;
		c->again = true;
	}
}

static void
unread_prepare(struct stranger *s)
{
	struct caller *c = callers_new(s, 64);
	size_t length;
	char *text = text_repeat("HELP\n", 28000, &length);

	callers_repeat(s, c, text, length);
	for (; c < s->callers + s->n_callers; c++)
		c->deaf = c->again = true;
}

const struct attack attacks_of_sockets[] = {
	{ "nothing", "64 connections that say nothing, for comparison",
	    nothing_prepare, NULL },
	{ "connects", "connect and disconnect as fast as possible", NULL,
	    connects_run },
	{ "half-open", "20,000 connections that send half a line", NULL,
	    half_open_run },
	{ "slow-lines", "lines of 1 MiB, the end byte by byte, on 16 "
	    "connections", slow_lines_prepare, NULL },
	{ "unread", "`HELP` on 64 connections that read nothing",
	    unread_prepare, NULL },
	{ NULL, NULL, NULL, NULL },
};
