/*
 * Attacks by questions: what the daemon has to look up, to put together or to
 * read, and much of it.
 */
#include "bench.h"
#include "strangers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 28000		/* pipelined at once */
#define HOLDS 100000
#define LISTERS 8

/* A line on so many connections of all strangers together. */
static struct caller *
callers_flood(struct stranger *s, size_t connections, const char *line)
{
	struct caller *c = callers_new(s, connections);
	size_t length;
	char *text = text_repeat(line, TEXT_MAX, &length);

	callers_repeat(s, c, text, length);
	return c;
}

/* The same, one line after the other: so many have no answer yet. */
static void
callers_ask(struct stranger *s, size_t connections, const char *line,
    size_t answers, size_t window)
{
	struct caller *c = callers_new(s, connections);

	callers_repeat(s, c, line, strlen(line));
	for (; c < s->callers + s->n_callers; c++) {
		c->answers = answers;
		c->window = window;
	}
}

static void
status_prepare(struct stranger *s)
{
	/* Two connections, because of the limit of one; they end. */
	if (s->number == 0) {
		(void)close(stranger_fill(s, "one", HOLDS, "linger=1h"));
		(void)close(stranger_fill(s, "two", HOLDS, "linger=1h"));
	}
	callers_flood(s, LISTERS, "STATUS\n");
}

static void
list_prepare(struct stranger *s)
{
	if (s->number == 0)
		(void)stranger_fill(s, "list", HOLDS, "");
	callers_ask(s, LISTERS, "LIST prefix=zzz\n", 1, 8);
}

static void
unread_list_prepare(struct stranger *s)
{
	struct caller *c;

	if (s->number == 0)
		(void)stranger_fill(s, "list", HOLDS, "");
	c = callers_flood(s, LISTERS, "LIST\n");
	for (; c < s->callers + s->n_callers; c++)
		c->deaf = c->again = true;
}

static void
held_prepare(struct stranger *s)
{
	if (s->number == 0)
		(void)stranger_fill(s, "held", HOLDS, "");
	callers_ask(s, LISTERS, "HELD key=zzz\nWAITING key=zzz\n", 2, 4);
}

static void
metrics_prepare(struct stranger *s)
{
	callers_ask(s, LISTERS, "METRICS\n", 1, 8);
}

static void
junk_prepare(struct stranger *s)
{
	callers_flood(s, 64, "ACQIURE jobs/nightly\nTRY jobs/%FF%\n"
	    "#junk#junk#junk#junk#junk#junk#junk#junk X\n = = = \n"
	    "TRY jobs/nightly wiat=5s wiat=6s\nQWERTYUIOPASDFGHJKL x=\xff\n");
}

static void
help_prepare(struct stranger *s)
{
	callers_flood(s, 64, "HELLO proto=1 name=stranger\nHELP\n");
}

static void
break_prepare(struct stranger *s)
{
	callers_flood(s, LISTERS, "BREAK neighbour/held/0 reason=mine\n");
}

/* The eighth ends the connection. */
static void
resume_prepare(struct stranger *s)
{
	struct caller *c = callers_flood(s, 64,
	    "RESUME secret=0123456789abcdef0123456789abcdef\n");

	for (; c < s->callers + s->n_callers; c++)
		c->again = true;
}

const struct attack attacks_of_reads[] = {
	{ "status", "`STATUS`, 28 KB of it at a time on 8 connections, beside "
	    "200,000 lingering holds", status_prepare, NULL },
	{ "list", "`LIST prefix=zzz` of 100,000 records, on 8 connections",
	    list_prepare, NULL },
	{ "unread-list", "`LIST` of 100,000 records, on 8 connections that "
	    "read nothing", unread_list_prepare, NULL },
	{ "held", "`HELD` and `WAITING` with a key that none of 100,000 holds "
	    "has", held_prepare, NULL },
	{ "metrics", "`METRICS`, on 8 connections", metrics_prepare, NULL },
	{ "junk", "lines that are no requests, on 64 connections",
	    junk_prepare, NULL },
	{ "help", "`HELLO` and `HELP`, on 64 connections", help_prepare,
	    NULL },
	{ "break", "`BREAK` without the right to it, on 8 connections",
	    break_prepare, NULL },
	{ "resume", "`RESUME` with wrong secrets, on 64 connections",
	    resume_prepare, NULL },
	{ NULL, NULL, NULL, NULL },
};
