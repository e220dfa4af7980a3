/*
 * ddblock history: who held a lock when, by the audit trail in the journal. A
 * program of its own reads that (history/main.c). The daemon is not asked, and
 * need not run.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "cli/base/sibling.h"
#include "cli/base/user.h"
#include "cli/base/when.h"
#include "cli/command/command.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "ipc/codec.h"

#define HISTORY_WORDS_MAX 16
#define HISTORY_BYTES_MAX 65536
#define HISTORY_FOLLOW_LINES "10"	/* before those to come */

struct history {
	uint64_t now_us;
	bool lines, follow;
	struct buffer words;	/* for that program, with a NUL behind each */
	size_t n_words;
};

/* NAME=VALUE, or only the name. */
static void
history_word(struct history *h, const char *name, const char *value)
{
	(void)buffer_append_text(&h->words, name);
	if (value != NULL)
		(void)buffer_printf(&h->words, "=%s", value);
	(void)buffer_append(&h->words, "", 1);
	h->n_words++;
}

static void
history_number(struct history *h, const char *name, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	history_word(h, name, text);
}

static bool
history_time(struct history *h, const char *name)
{
	uint64_t us;

	if (!when_parse(optarg, h->now_us, &us))
		return false;
	history_number(h, name, us);
	return true;
}

static bool
history_user(struct history *h)
{
	uint64_t uid;

	if (!user_number(optarg, &uid))
		return false;
	history_number(h, "uid", uid);
	return true;
}

static bool
history_lines(struct history *h)
{
	uint64_t lines;

	if (!codec_parse_number(optarg, strlen(optarg), &lines) || lines == 0)
		return false;
	history_number(h, "lines", lines);
	return h->lines = true;
}

static bool
history_option(void *arg, enum cli_option option)
{
	struct history *h = arg;

	switch (option) {
	case CLI_OPTION_SINCE:
		return history_time(h, "since");
	case CLI_OPTION_UNTIL:
		return history_time(h, "until");
	case CLI_OPTION_LINES:
		return history_lines(h);
	case CLI_OPTION_USER:
		return history_user(h);
	case CLI_OPTION_HOST:
		history_word(h, "host", optarg);
		return true;
	case CLI_OPTION_DIRECTORY:
		history_word(h, "directory", optarg);
		return true;
	case CLI_OPTION_FOLLOW:
		h->follow = true;
		history_word(h, "follow", NULL);
		break;
	default:
		break;
	}
	history_word(h, "events", NULL);
	return true;
}

static int
history_exec(struct history *h)
{
	static char name[] = "ddblock-history";
	char *arguments[HISTORY_WORDS_MAX + 2] = { name };
	char *at = h->words.data;

	if (buffer_failed(&h->words) != 0)
		return cli_failed(NULL, "history", buffer_failed(&h->words));
	for (size_t i = 0; i < h->n_words; i++) {
		arguments[i + 1] = at;
		at += strlen(at) + 1;
	}
	return sibling_exec(PKGLIBEXECDIR, arguments);
}

int
command_history(struct cli *cli, int argc, char **argv)
{
	struct history h = { .now_us = clock_wall_ms() * 1000 };
	int status;

	buffer_init(&h.words, HISTORY_BYTES_MAX);
	status = cli_options(cli, argc, argv, history_option, &h);
	if (status == 0 && !cli_count_operands(cli, argc, argv, 0, 1))
		status = CLI_USAGE;
	if (status == 0) {
		if (optind < argc)
			history_word(&h, "key", argv[optind]);
		if (cli->ns != NULL)
			history_word(&h, "ns", cli->ns);
		if (cli->sort != NULL)
			history_word(&h, "sort", cli->sort);
		if (cli->json)
			history_word(&h, "json", NULL);
		if (h.follow && !h.lines)
			history_word(&h, "lines", HISTORY_FOLLOW_LINES);
		status = h.n_words > HISTORY_WORDS_MAX ?
		    cli_misused(cli, "too many options") : history_exec(&h);
	}
	buffer_done(&h.words);
	return status;
}
