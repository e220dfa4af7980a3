/*
 * Attacks by locks: queues, holds, watches, contents, and the store behind
 * them.
 */
#include "bench.h"
#include "strangers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOT "strangers/hot"
#define WAITERS 900		/* with report=queue */
#define LEAVE_EVERY 10		/* of those in the middle */
#define WATCHERS 10000
#define MANY_CONNECTIONS 64
#define MANY_WAITERS 200	/* connections, and of each */
#define MANY_REQUESTS 1000	/* requests; 1,024 are allowed */
#define HOLDS_MAX 100000	/* of a connection */
#define KEYS 50000
#define KEYS_ROUNDS 8
#define FLOOD_DEPTH 8
#define DATA_LENGTH 300000	/* 307,200 are allowed */
#define MULTI_KEYS 25
#define MULTI_KEY_LENGTH 1000	/* 1,024 are allowed */
#define WATCHED 1000		/* of a connection */

/* ---- texts ---- */

struct text {
	char *data;
	size_t length;
	size_t room;
};

static void __attribute__((format(printf, 2, 3)))
text_add(struct text *t, const char *format, ...)
{
	va_list arguments;
	int n;

	if (t->room - t->length < BENCH_LINE_MAX) {
		t->room = t->room * 2 + BENCH_LINE_MAX;
		t->data = realloc(t->data, t->room);
	}
	if (t->data == NULL)
		die("out of memory");
	va_start(arguments, format);
	n = vsnprintf(t->data + t->length, t->room - t->length, format,
	    arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= t->room - t->length)
		die("a line is too long");
	t->length += (size_t)n;
}

static void
caller_repeat(struct caller *c, const struct text *t)
{
	c->text = t->data;
	c->length = t->length;
	c->answers = 1;
}

/* ---- one key ---- */

/* The first of the connections; no other one gets the lock. */
static void
hold_hot(struct stranger *s)
{
	struct caller *c;

	if (s->number != 0)
		return;
	c = caller_new(s);
	caller_tell(c, "ACQUIRE " HOT " wait=1h\n");
	(void)caller_await(c);
}

static void
report_queue_prepare(struct stranger *s)
{
	static const char wait[] =
	    "#w ACQUIRE " HOT " wait=1h report=queue\n";
	static const char leave[] = "#c CANCEL tag=w\n"
	    "#w ACQUIRE " HOT " wait=1h report=queue\n";
	struct caller *c;
	size_t mine;

	hold_hot(s);
	c = callers_new(s, WAITERS);
	mine = (size_t)(s->callers + s->n_callers - c);
	for (size_t i = 0; i < mine; i++) {
		caller_say(s, &c[i], "%s", wait);
		if (i < mine / 3 || i >= mine * 2 / 3 || i % LEAVE_EVERY != 0)
			continue;
		c[i].text = leave;
		c[i].length = strlen(leave);
		c[i].answers = 2;
		c[i].window = 4;
	}
}

static void
watchers_hear(struct stranger *s, struct caller *c, const char *answer)
{
	const char *id = strstr(answer, "id=");

	if (id != NULL)
		caller_say(s, c, "RELEASE id=%" PRIu64 "\nTRY " HOT "\n",
		    (uint64_t)strtoull(id + 3, NULL, 10));
}

static void
watchers_prepare(struct stranger *s)
{
	struct caller *c;

	/* First, for there may be no room for all. */
	if (s->number == 0) {
		c = caller_new(s);
		c->hear = watchers_hear;
		caller_say(s, c, "TRY " HOT "\n");
	}
	c = callers_new(s, WATCHERS);
	for (size_t i = 0; c + i < s->callers + s->n_callers; i++)
		caller_tell(&c[i], "WATCH " HOT "\n");
	for (; c < s->callers + s->n_callers; c++)
		(void)caller_await(c);
}

/* Many requests, then each of them is cancelled. */
static void
waiters_prepare(struct stranger *s)
{
	struct text text = { .data = NULL };
	struct caller *c;

	for (int i = 0; i < MANY_REQUESTS; i++)
		text_add(&text, "#%d ACQUIRE " HOT " wait=1h\n", i);
	for (int i = 0; i < MANY_REQUESTS; i++)
		text_add(&text, "#c%d CANCEL tag=%d\n", i, i);
	hold_hot(s);
	c = callers_new(s, MANY_WAITERS);
	callers_repeat(s, c, text.data, text.length);
}

/* ---- many keys ---- */

static void
ends_prepare(struct stranger *s)
{
	if (s->number == 0)
		s->callers[0].fd = stranger_fill(s, "ends", HOLDS_MAX, "");
}

static void
ends_run(struct stranger *s)
{
	if (s->number != 0)
		stranger_pump(s);
	for (int fd = s->callers[0].fd;;) {
		char prefix[32];

		close(fd);
		snprintf(prefix, sizeof(prefix), "ends/%" PRIu64,
		    s->counts->answers++);
		fd = stranger_fill(s, prefix, HOLDS_MAX, "");
	}
}

static void
keys_prepare(struct stranger *s)
{
	struct caller *c = callers_new(s, MANY_CONNECTIONS);
	int serial = (int)s->number * KEYS * KEYS_ROUNDS;

	for (; c < s->callers + s->n_callers; c++) {
		struct text text = { .data = NULL };

		for (int round = 0; round < KEYS_ROUNDS; round++) {
			for (int i = 0; i < KEYS / MANY_CONNECTIONS; i++)
				text_add(&text, "TRY strangers/keys/%d\n",
				    serial++);
			text_add(&text, "RELEASE all=yes\n");
		}
		caller_repeat(c, &text);
	}
}

/* Give back what was granted. False: the answer is no grant. */
static bool
release_granted(struct stranger *s, struct caller *c, const char *answer)
{
	const char *id = strstr(answer, "id=");

	if (id != NULL)
		caller_say(s, c, "RELEASE id=%" PRIu64 "\n",
		    (uint64_t)strtoull(id + 3, NULL, 10));
	return id != NULL;
}

static void
store_hear(struct stranger *s, struct caller *c, const char *answer)
{
	if (!release_granted(s, c, answer))
		caller_say(s, c, "TRY strangers/store/%td/%zu/%" PRIu64 "\n",
		    c - s->callers, s->number, c->serial++);
}

static void
store_prepare(struct stranger *s)
{
	struct caller *c = callers_new(s, MANY_CONNECTIONS);

	for (; c < s->callers + s->n_callers; c++) {
		c->hear = store_hear;
		for (int i = 0; i < FLOOD_DEPTH; i++)
			store_hear(s, c, "");
	}
}

static void
watches_prepare(struct stranger *s)
{
	struct caller *c = callers_new(s, 10);

	for (; c < s->callers + s->n_callers; c++) {
		struct text text = { .data = NULL };
		const char *verbs[] = { "WATCH", "UNWATCH" };

		for (int v = 0; v < 2; v++) {
			for (int i = 0; i < WATCHED; i++)
				text_add(&text, "%s strangers/%zu/%td/%d\n",
				    verbs[v], s->number, c - s->callers, i);
		}
		caller_repeat(c, &text);
	}
}

/* ---- the greatest requests ---- */

static void
data_prepare(struct stranger *s)
{
	struct caller *c = callers_new(s, 8);
	char *data = malloc(DATA_LENGTH + 1);

	if (data == NULL)
		die("out of memory");
	memset(data, 'x', DATA_LENGTH);
	data[DATA_LENGTH] = '\0';
	for (; c < s->callers + s->n_callers; c++) {
		size_t room = DATA_LENGTH + 64;
		char *text = malloc(room);
		uint64_t id;

		if (text == NULL)
			die("out of memory");
		caller_tell(c, "TRY strangers/data/%zu/%td\n", s->number,
		    c - s->callers);
		id = caller_await(c);
		c->length = (size_t)snprintf(text, room,
		    "RENEW id=%" PRIu64 " data=%s\n", id, data);
		c->text = text;
		c->answers = 1;
		c->window = 4;
	}
	free(data);
}

static void
multi_ask(struct stranger *s, struct caller *c)
{
	static char line[MULTI_KEYS * (MULTI_KEY_LENGTH + 8)];
	static const uint64_t steps[] = { 1, 3, 7, 9, 11, 13, 17, 19 };
	size_t length = 0;

	/* Two sets, each with half of the other's, in any order. */
	for (uint64_t i = 0; i < MULTI_KEYS; i++) {
		uint64_t key = i * steps[c->serial % 8] % MULTI_KEYS +
		    c->serial % 2 * (MULTI_KEYS / 2);

		length += (size_t)snprintf(line + length,
		    sizeof(line) - length, " %0*" PRIu64, MULTI_KEY_LENGTH,
		    key);
	}
	c->serial++;
	caller_say(s, c, "ACQUIRE%s wait=1h\n", line);
}

static void
multi_hear(struct stranger *s, struct caller *c, const char *answer)
{
	if (!release_granted(s, c, answer))
		multi_ask(s, c);
}

static void
multi_prepare(struct stranger *s)
{
	struct caller *c = callers_new(s, MANY_CONNECTIONS);

	for (; c < s->callers + s->n_callers; c++) {
		c->serial = (uint64_t)(c - s->callers);
		c->hear = multi_hear;
		multi_ask(s, c);
	}
}

const struct attack attacks_of_locks[] = {
	{ "report-queue", "900 connections wait for one key with "
	    "`report=queue`; some leave the middle of the queue and come back",
	    report_queue_prepare, NULL },
	{ "watchers", "10,000 connections watch a key whose holder changes "
	    "all the time", watchers_prepare, NULL },
	{ "waiters", "200,000 requests for one key, then each is cancelled",
	    waiters_prepare, NULL },
	{ "ends", "a connection with 100,000 holds ends, again and again",
	    ends_prepare, ends_run },
	{ "keys", "50,000 different keys at once, on 64 connections",
	    keys_prepare, NULL },
	{ "store", "`TRY` and `RELEASE` of fresh keys, 8 at a time on each of "
	    "64 connections", store_prepare, NULL },
	{ "watches", "10,000 different keys watched and unwatched",
	    watches_prepare, NULL },
	{ "data", "data of 300,000 bytes, on 8 connections", data_prepare,
	    NULL },
	{ "multi", "25 keys of 1,000 bytes at once, the same ones on 64 "
	    "connections", multi_prepare, NULL },
	{ NULL, NULL, NULL, NULL },
};
