/*
 * ddblock break: take a lock from its holders. Only with a token that the user
 * has seen: without a token, the holder is shown, and the user is asked.
 *
 * In formats without tokens the record takes the token's place. A living holder
 * writes another record with each heartbeat, sooner than people answer. So once
 * the user has agreed, that holder's latest record is broken.
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"
#include "common/buffer.h"
#include "common/shell_quote.h"
#include "common/utf8.h"
#include "ipc/codec.h"

#define BREAK_TRIES 5	/* for a record that changes under our hands */

struct breaking {
	const char *key;
	const char *reason;
	unsigned n_named;	/* how often it was named, by one of these: */
	uint64_t token;
	const char *record_named;
	char *record;		/* that, or what it was seen to be; or NULL */
	char *owner;		/* that was shown and agreed to, or NULL */
	bool held;		/* as it was looked at */
	bool same;		/* and the owner is still the same */
	struct buffer holder;
};

/* The earlier record does not matter any more. */
static void
break_forget(struct breaking *b)
{
	free(b->record);
	b->record = NULL;
	b->token = 0;
	b->held = false;
	b->holder.length = 0;
}

static void
break_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct breaking *b = arg;
	size_t length;
	const char *token = ddblock_row_find(row, "token", &length);
	const char *state = ddblock_row_find(row, "state", NULL);
	const char *owner = ddblock_row_find(row, "owner", NULL);

	if (!final)
		return;
	b->held = state != NULL && strcmp(state, "free") != 0;
	if (token == NULL || !codec_parse_number(token, length, &b->token))
		b->token = 0;
	/* For formats without tokens. */
	if (b->token == 0 && ddblock_row_find(row, "record", NULL) != NULL)
		b->record = strdup(ddblock_row_find(row, "record", NULL));
	if (b->token == 0 && b->record == NULL)
		b->held = false;
	b->same = b->owner != NULL && owner != NULL &&
	    strcmp(b->owner, owner) == 0;
	if (b->owner == NULL && owner != NULL)
		b->owner = strdup(owner);
	rows_field(&b->holder, row, "owner", "held by ", "");
	rows_field(&b->holder, row, "token", ", token ", "");
	rows_field(&b->holder, row, "holders", ", holders ", "");
	rows_field(&b->holder, row, "unchanged", ", unchanged for ", "");
}

/* How to name that record or token, for pasting: the record is another host's
 * text, and must not become more than a word of the shell. */
static void
break_advise(const struct breaking *b)
{
	struct buffer word;

	buffer_init(&word, 8192);
	if (b->record == NULL)
		(void)buffer_printf(&word, "--token=%llu",
		    (unsigned long long)b->token);
	else if (utf8_is_shown(b->record)) {
		(void)buffer_append_text(&word, "--record=");
		shell_quote(&word, b->record);
	}
	if (word.data == NULL || buffer_failed(&word) < 0)
		cli_say("not broken; its record has control characters, which "
		    "cannot be pasted: break it from a terminal, without "
		    "--record");
	else
		cli_say("not broken; if that is the one you mean: %s",
		    word.data);
	buffer_done(&word);
}

/* Only a user at a terminal can agree. */
static bool
break_agreed(const struct breaking *b)
{
	char answer[16];

	if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) {
		break_advise(b);
		return false;
	}
	(void)fputs("If its holder still works, it does so without protection. "
	    "Break it? Type \"yes\": ", stderr);
	return fgets(answer, sizeof(answer), stdin) != NULL &&
	    strcmp(answer, "yes\n") == 0;
}

/* The present holder. 0, or the exit status. */
static int
break_look(struct breaking *b, struct ddblock *d, const struct cli *cli)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;
	int r;

	break_forget(b);
	query.key = b->key;
	query.ns = cli->ns;
	query.sort = cli->sort;
	r = ddblock_query(d, DDBLOCK_QUERY_GET, &query, break_on_row, b);
	if (r == 0)
		r = buffer_failed(&b->holder);
	if (r < 0)
		return cli_failed(d, b->key, r);
	if (b->held)
		return 0;
	cli_say("%s: the lock is free", b->key);
	return ddblock_exit_status(DDBLOCK_E_NO_SUCH_LOCK);
}

/* 0: it is this holder; otherwise the exit status. */
static int
break_ask(struct breaking *b, struct ddblock *d, const struct cli *cli)
{
	int status = break_look(b, d, cli);

	if (status != 0)
		return status;
	cli_say("%s: %s", b->key, b->holder.data);
	return break_agreed(b) ? 0 : CLI_USAGE;
}

/* Its present record, if it still is the holder that the user agreed to. */
static int
break_follow(struct breaking *b, struct ddblock *d, const struct cli *cli)
{
	int status = break_look(b, d, cli);

	if (status != 0 || b->same)
		return status;
	cli_say("%s: not broken, because it has another holder now: %s", b->key,
	    b->holder.data);
	return ddblock_exit_status(DDBLOCK_E_WRONG_TOKEN);
}

static int
break_once(const struct breaking *b, struct ddblock *d, const struct cli *cli)
{
	return b->record != NULL ?
	    ddblock_break_record(d, b->key, cli->ns, cli->sort, b->record,
	    b->reason) :
	    ddblock_break(d, b->key, cli->ns, cli->sort, b->token, b->reason);
}

static int
break_it(struct breaking *b, struct ddblock *d, const struct cli *cli)
{
	bool follows = b->n_named == 0 && b->record != NULL;
	unsigned tries = follows ? BREAK_TRIES : 1;
	int r = DDBLOCK_E_WRONG_TOKEN;

	while (tries-- > 0 && r == DDBLOCK_E_WRONG_TOKEN) {
		int status = follows ? break_follow(b, d, cli) : 0;

		if (status != 0)
			return status;
		r = break_once(b, d, cli);
	}
	return r < 0 ? cli_failed(d, b->key, r) : 0;
}

static bool
break_option(void *arg, enum cli_option option)
{
	struct breaking *b = arg;

	switch (option) {
	case CLI_OPTION_REASON:
		b->reason = optarg;
		return true;
	case CLI_OPTION_RECORD:
		b->n_named++;
		b->record_named = optarg;
		return true;
	default:
		b->n_named++;
		return codec_parse_number(optarg, strlen(optarg), &b->token);
	}
}

static int
break_arguments(struct breaking *b, struct cli *cli, int argc, char **argv)
{
	int status = cli_options(cli, argc, argv, break_option, b);

	if (status != 0)
		return status;
	if (b->n_named > 1)
		return cli_misused(cli, "one token, or one record");
	if (optind + 1 != argc)
		return cli_misused(cli, optind == argc ?
		    "which lock?" : "one lock at a time");
	if (b->reason == NULL)
		return cli_misused(cli, "why? Others will ask: --reason=TEXT");
	b->key = argv[optind];
	if (b->record_named == NULL)
		return 0;
	b->record = strdup(b->record_named);
	return b->record != NULL ? 0 : cli_misused(cli, "out of memory");
}

int
command_break(struct cli *cli, int argc, char **argv)
{
	struct breaking b = { .held = false };
	struct ddblock *d;
	int status = break_arguments(&b, cli, argc, argv);

	if (status == 0)
		status = cli_open(cli, NULL, &d);
	if (status != 0) {
		free(b.record);
		return status;
	}
	buffer_init(&b.holder, 8192);
	if (b.n_named == 0)
		status = break_ask(&b, d, cli);
	if (status == 0)
		status = break_it(&b, d, cli);
	buffer_done(&b.holder);
	free(b.record);
	free(b.owner);
	ddblock_close(d);
	return status;
}
