/*
 * ddblock-history: what `ddblock history` becomes, and what `ddblock why` asks
 * for the last lines. A program of its own, because reading the journal takes
 * libsystemd, which a lock in a script should not wait for. Its arguments are
 * words, made by those commands: NAME=VALUE, or a NAME.
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/cli.h"
#include "cli/history/reader.h"
#include "cli/history/show.h"
#include "common/clock.h"
#include "ipc/codec.h"

#define MAIN_TEXT_MAX (1024 * 1024)
#define MAIN_INTERVALS_MAX 10000
#define MAIN_DENIED 77
#define MAIN_UNAVAILABLE 69

struct history {
	struct reader_wish wish;
	uint64_t since_us, until_us;
	uint64_t lately;	/* so many lines for `ddblock why`; 0 */
	uint64_t lines;		/* the last ones only; 0: all */
	const char *uid;	/* in decimal; NULL: any */
	const char *host;	/* NULL: any */
	bool json, events, follow;
	uint64_t now_us;
	struct reader *reader;
};

/* ---- its arguments ---------------------------------------------------- */

static bool
main_argument(struct history *h, const char *word)
{
	static const char *const names[] = { "key=", "ns=", "sort=",
		"directory=", "uid=", "host=" };
	const char **const texts[] = { &h->wish.key, &h->wish.ns,
		&h->wish.sort, &h->wish.directory, &h->uid, &h->host };
	static const char *const number_names[] = { "since=", "until=",
		"lately=", "lines=" };
	uint64_t *const numbers[] = { &h->since_us, &h->until_us, &h->lately,
		&h->lines };
	static const char *const switch_names[] = { "json", "events",
		"follow" };
	bool *const switches[] = { &h->json, &h->events, &h->follow };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncmp(word, names[i], strlen(names[i])) == 0) {
			*texts[i] = word + strlen(names[i]);
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const size_t length = strlen(number_names[i]);

		if (strncmp(word, number_names[i], length) == 0)
			return codec_parse_number(word + length,
			    strlen(word + length), numbers[i]);
	}
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		if (strcmp(word, switch_names[i]) == 0)
			return *switches[i] = true;
	}
	return false;
}

/* ---- no journal ------------------------------------------------------- */

static const char *
main_why_not(enum reader_state state)
{
	switch (state) {
	case READER_DENIED:
		return "you may not read the journal; the members of the "
		    "groups systemd-journal and adm, and root, may";
	case READER_NONE:
		return "there is no journal of systemd here, as in a "
		    "container; the log is where the daemon's standard error "
		    "goes";
	default:
		return strerror(errno);
	}
}

static const char *
main_state_word(enum reader_state state)
{
	return state == READER_OK ? "ok" : state == READER_DENIED ? "denied" :
	    state == READER_NONE ? "none" : "failed";
}

static int
main_refuse(enum reader_state state)
{
	cli_say("%s%s", main_why_not(state), state == READER_DENIED ?
	    ": an administrator adds you (usermod -a -G systemd-journal "
	    "USER), and then log in again" : "");
	return state == READER_DENIED ? MAIN_DENIED : MAIN_UNAVAILABLE;
}

/* ---- lines ------------------------------------------------------------ */

static bool
main_wants(const struct history *h, const struct event *e)
{
	uint64_t uid;

	return (h->uid == NULL || (e->has_client && codec_parse_number(h->uid,
	    strlen(h->uid), &uid) && uid == e->uid)) &&
	    (h->host == NULL || strcmp(h->host, e->host) == 0);
}

/* Back from the end, to the last so many. 1: @ret is the first of them; 0: the
 * next line is; or a negative errno. */
static int
main_seek_lines(struct history *h, uint64_t lines, const struct event **ret)
{
	int r = reader_seek_end(h->reader);
	uint64_t n = 0;

	while (r >= 0 && n < lines) {
		r = reader_previous(h->reader, ret);
		if (r == 0)
			return reader_seek(h->reader, 0);
		if (r > 0 && (*ret)->wall_us < h->since_us)
			return 0;
		n += r > 0 && main_wants(h, *ret) &&
		    (*ret)->wall_us <= h->until_us;
	}
	return r < 0 ? r : 1;
}

static void
main_print_event(const struct history *h, const struct event *e,
    struct buffer *b, size_t n)
{
	buffer_clear(b);
	if (h->json && h->lately > 0)
		(void)buffer_append_text(b, n == 0 ? "\n" : ",\n");
	if (h->json)
		show_event_json(b, e);
	else
		show_event(b, e, h->now_us, h->lately == 0);
	if (h->json && h->lately == 0)
		(void)buffer_append_text(b, "\n");
	if (buffer_failed(b) == 0 && b->data != NULL)
		(void)fputs(b->data, stdout);
}

/* 0 or a negative errno. */
static int
main_events(struct history *h, uint64_t lines, size_t *ret_n)
{
	const struct event *e;
	struct buffer b;
	int r = lines > 0 ? main_seek_lines(h, lines, &e) :
	    reader_seek(h->reader, h->since_us);

	buffer_init(&b, MAIN_TEXT_MAX);
	if (r == 0 || lines == 0)
		r = r < 0 ? r : reader_next(h->reader, &e);
	for (; r >= 0; r = reader_next(h->reader, &e)) {
		if (r > 0 && e->wall_us > h->until_us)
			break;
		if (r > 0 && main_wants(h, e))
			main_print_event(h, e, &b, (*ret_n)++);
		if (r > 0)
			continue;
		if (!h->follow || fflush(stdout) != 0)
			break;
		r = reader_wait(h->reader);
		if (r < 0)
			break;
	}
	buffer_done(&b);
	return r < 0 ? r : 0;
}

/* For `ddblock why`: an answer in any case. */
static int
main_lately(struct history *h)
{
	enum reader_state state = reader_new(&h->wish, &h->reader);
	struct buffer b;
	size_t n = 0;

	if (h->json)
		(void)printf("{\"journal\":\"%s\",\"lines\":[",
		    main_state_word(state));
	if (state == READER_OK && main_events(h, h->lately, &n) < 0)
		state = READER_FAILED;
	if (h->json)
		(void)printf("]}");
	buffer_init(&b, MAIN_TEXT_MAX);
	if (!h->json && state != READER_OK)
		(void)buffer_printf(&b, "not known: %s.", main_why_not(state));
	else if (!h->json && n == 0)
		(void)buffer_append_text(&b, "the journal has no line about "
		    "it.");
	if (b.data != NULL)
		(void)printf("%s\n", b.data);
	buffer_done(&b);
	return cli_flush(0);
}

/* ---- intervals -------------------------------------------------------- */

static bool
main_wants_interval(const struct history *h, const struct interval *i)
{
	uint64_t uid;

	return (h->uid == NULL || (i->has_client && codec_parse_number(h->uid,
	    strlen(h->uid), &uid) && uid == i->uid)) &&
	    (h->host == NULL || strcmp(h->host, i->host) == 0);
}

static void
main_print_intervals(const struct history *h, const struct intervals *all,
    size_t skip, size_t *ret_n)
{
	struct buffer b;
	size_t n = 0;

	buffer_init(&b, MAIN_TEXT_MAX);
	if (h->json)
		(void)fputs("[", stdout);
	for (const struct interval *i = intervals_next(all, NULL); i != NULL;
	    i = intervals_next(all, i)) {
		if (!main_wants_interval(h, i))
			continue;
		if (skip > 0) {
			skip--;
			continue;
		}
		if (h->json) {
			(void)buffer_append_text(&b, n == 0 ? "\n" : ",\n");
			show_interval_json(&b, i);
		} else {
			show_interval(&b, i, h->now_us);
		}
		if (buffer_failed(&b) == 0 && b.data != NULL)
			(void)fputs(b.data, stdout);
		buffer_clear(&b);
		n++;
	}
	if (h->json)
		(void)fputs("\n]\n", stdout);
	buffer_done(&b);
	*ret_n = n;
}

static size_t
main_skip(const struct history *h, const struct intervals *all)
{
	size_t n = 0;

	for (const struct interval *i = intervals_next(all, NULL); i != NULL;
	    i = intervals_next(all, i))
		n += main_wants_interval(h, i);
	return h->lines > 0 && n > h->lines ? n - (size_t)h->lines : 0;
}

/* From the first line on: what was held at a time may have begun long before,
 * and its end may be told after it. */
static int
main_intervals(struct history *h, size_t *ret_n)
{
	struct intervals *all = intervals_new(h->since_us, h->until_us,
	    MAIN_INTERVALS_MAX);
	const struct event *e;
	int r = all == NULL ? -ENOMEM : reader_seek(h->reader, 0);

	while (r >= 0 && (r = reader_next(h->reader, &e)) > 0) {
		if (!intervals_add(all, e))
			r = -ENOMEM;
	}
	if (r == 0) {
		intervals_finish(all);
		main_print_intervals(h, all, main_skip(h, all), ret_n);
		if (intervals_left_out(all) > 0)
			cli_say("%zu earlier ones are left out; --since and "
			    "--until narrow it down", intervals_left_out(all));
	}
	intervals_free(all);
	return r;
}

/* ---- all of it -------------------------------------------------------- */

int
main(int argc, char **argv)
{
	struct history h = { .until_us = UINT64_MAX,
		.now_us = clock_wall_ms() * 1000 };
	enum reader_state state;
	size_t n = 0;
	int r;

	for (int i = 1; i < argc; i++) {
		if (!main_argument(&h, argv[i])) {
			cli_say("this is a part of \"ddblock history\"");
			return CLI_USAGE;
		}
	}
	if (h.lately > 0) {
		r = main_lately(&h);
		reader_free(h.reader);
		return r;
	}
	h.wish.with_daemons = !h.events || h.wish.key == NULL;
	state = reader_new(&h.wish, &h.reader);
	if (state != READER_OK)
		return main_refuse(state);
	r = h.events ? main_events(&h, h.lines, &n) : main_intervals(&h, &n);
	if (r < 0)
		cli_say("cannot read the journal: %s", strerror(-r));
	else if (n == 0)
		cli_say("the journal tells of no such hold; does the daemon "
		    "log to the journal, and is its audit_trail = all?");
	if (reader_forged(h.reader) > 0)
		cli_say("%zu lines are left out, which look like the daemon's "
		    "and were written by another user",
		    reader_forged(h.reader));
	reader_free(h.reader);
	return cli_flush(r < 0 ? CLI_FAILED : 0);
}
