/*
 * ddblock raise-tokens: after a table was restored from a backup, raise the
 * tokens of all records of a namespace.
 *
 * The records are listed, and then raised, so many at a time. A record that
 * comes in between is new, and begins above all tokens of before. To interrupt
 * this, to repeat it, and to run it twice at a time does no harm: a token only
 * rises.
 */
#include <config.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "ipc/codec.h"

#define RAISE_WINDOW 32		/* that are asked for at a time */
#define RAISE_TRIES 5		/* of a record, while the store is busy */
#define RAISE_SAY_MS 5000	/* how often its progress is told */

/* One record to raise. */
struct raise_record {
	struct raising *all;
	struct raise_record *next;	/* to be asked for */
	unsigned tries;
	const char *sort;		/* NULL: none; in @key's memory */
	char key[];
};

struct raising {
	struct cli *cli;
	const char *prefix;
	const char *to_text;		/* NULL: the store's time */
	uint64_t to;
	bool dry;
	struct raise_record *first, **end;
	uint64_t n_records;		/* that were listed, */
	uint64_t n_low;			/* of which are to be raised */
	uint64_t n_asked;		/* under way */
	uint64_t n_raised, n_enough, n_gone, n_failed;
	int code;			/* of the first that failed */
	bool no_memory;
};

/* ---- which ------------------------------------------------------- */

static void
raise_append(struct raising *r, struct raise_record *record)
{
	record->next = NULL;
	*r->end = record;
	r->end = &record->next;
}

static void
raise_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct raising *r = arg;
	size_t key_length, sort_length = 0, token_length;
	const char *key = ddblock_row_find(row, "key", &key_length);
	const char *sort = ddblock_row_find(row, "sort", &sort_length);
	const char *token = ddblock_row_find(row, "token", &token_length);
	struct raise_record *record;
	uint64_t number;

	if (final || key == NULL)
		return;
	r->n_records++;
	if (token == NULL ||
	    !codec_parse_number(token, token_length, &number) ||
	    number >= r->to)
		return;
	r->n_low++;
	if (r->dry)
		return;
	record = calloc(1, sizeof(*record) + key_length + sort_length + 2);
	if (record == NULL) {
		r->no_memory = true;
		return;
	}
	record->all = r;
	memcpy(record->key, key, key_length);
	if (sort != NULL) {
		memcpy(record->key + key_length + 1, sort, sort_length);
		record->sort = record->key + key_length + 1;
	}
	raise_append(r, record);
}

static int
raise_list(struct raising *r, struct ddblock *d)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;
	int code;

	query.ns = r->cli->ns;
	query.sort = r->cli->sort;
	query.prefix = r->prefix;
	code = ddblock_query(d, DDBLOCK_QUERY_LIST, &query, raise_on_row, r);
	if (code == 0 && r->no_memory)
		code = DDBLOCK_E_NOMEM;
	return code < 0 ? cli_failed(d, "cannot list the records", code) : 0;
}

/* ---- raising ----------------------------------------------------- */

static void
raise_failed(struct raising *r, const char *key, int code, const char *text)
{
	r->n_failed++;
	if (r->code != 0)
		return;
	r->code = code;
	cli_say("%s: %s%s%s", key, ddblock_error_name(code),
	    text[0] == '\0' ? "" : ": ", text);
}

/* The store has no room now, or did not answer: later, and not for ever. */
static bool
raise_again(struct raising *r, struct raise_record *record, int code)
{
	if ((code != DDBLOCK_E_THROTTLED && code != DDBLOCK_E_UNREACHABLE &&
	    code != DDBLOCK_E_LIMIT) || ++record->tries >= RAISE_TRIES)
		return false;
	raise_append(r, record);
	return true;
}

static void
raise_on_reply(void *arg, struct ddblock *d, const struct ddblock_reply *reply)
{
	struct raise_record *record = arg;
	struct raising *r = record->all;
	const char *raised = reply->row == NULL ? NULL :
	    ddblock_row_find(reply->row, "raised", NULL);

	(void)d;
	r->n_asked--;
	if (reply->code < 0 && raise_again(r, record, reply->code))
		return;
	if (reply->code == DDBLOCK_E_NO_SUCH_LOCK)
		r->n_gone++;
	else if (reply->code < 0)
		raise_failed(r, record->key, reply->code, reply->text);
	else if (raised != NULL && strcmp(raised, "yes") == 0)
		r->n_raised++;
	else
		r->n_enough++;
	free(record);
}

static void
raise_ask(struct raising *r, struct ddblock *d)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;

	query.ns = r->cli->ns;
	query.to = r->to_text;
	while (r->first != NULL && r->n_asked < RAISE_WINDOW) {
		struct raise_record *record = r->first;
		int code;

		r->first = record->next;
		if (r->first == NULL)
			r->end = &r->first;
		query.key = record->key;
		query.sort = record->sort;
		r->n_asked++;
		code = ddblock_query_start(d, DDBLOCK_QUERY_RAISE, &query, NULL,
		    raise_on_reply, record, NULL);
		if (code == 0)
			continue;
		r->n_asked--;
		raise_failed(r, record->key, code, ddblock_last_text(d));
		free(record);
	}
}

static void
raise_say(const struct raising *r)
{
	cli_say("%" PRIu64 " of %" PRIu64 " records are done",
	    r->n_raised + r->n_enough + r->n_gone + r->n_failed, r->n_low);
}

/* 0; or why the connection is over. */
static int
raise_all(struct raising *r, struct ddblock *d)
{
	uint64_t said_ms = clock_boot_ms();
	int code = 0;

	while (code == 0 && (r->first != NULL || r->n_asked > 0)) {
		struct pollfd p = { .fd = ddblock_fd(d), .events = POLLIN };

		raise_ask(r, d);
		(void)poll(&p, 1, 1000);
		code = ddblock_dispatch(d);
		if (clock_boot_ms() - said_ms < RAISE_SAY_MS)
			continue;
		said_ms = clock_boot_ms();
		raise_say(r);
	}
	return code;
}

/* ---- the result -------------------------------------------------- */

static void
raise_print(const struct raising *r)
{
	if (r->cli->json)
		(void)printf("{\"records\":%" PRIu64 ",\"low\":%" PRIu64
		    ",\"raised\":%" PRIu64 ",\"enough\":%" PRIu64
		    ",\"gone\":%" PRIu64 ",\"failed\":%" PRIu64 "}\n",
		    r->n_records, r->n_low, r->n_raised, r->n_enough,
		    r->n_gone, r->n_failed);
	else if (r->dry)
		(void)printf("%" PRIu64 " of %" PRIu64 " records would be "
		    "raised\n", r->n_low, r->n_records);
	else
		(void)printf("%" PRIu64 " of %" PRIu64 " records were raised\n",
		    r->n_raised, r->n_records);
}

static int
raise_run(struct raising *r)
{
	struct ddblock *d;
	int status = cli_open(r->cli, NULL, &d);
	int code;

	if (status != 0)
		return status;
	status = raise_list(r, d);
	if (status == 0 && !r->dry) {
		code = raise_all(r, d);
		if (code < 0)
			status = cli_failed(d, "the tokens are not all raised, "
			    "repeat this", code);
	}
	ddblock_close(d);
	while (r->first != NULL) {
		struct raise_record *next = r->first->next;

		free(r->first);
		r->first = next;
	}
	if (status != 0)
		return status;
	if (r->n_failed > 0)
		cli_say("%" PRIu64 " records were not raised: repeat this",
		    r->n_failed);
	raise_print(r);
	return cli_flush(r->code == 0 ? 0 : ddblock_exit_status(r->code));
}

static bool
raise_parse_to(struct raising *r, const char *text)
{
	r->to_text = text;
	return codec_parse_number(text, strlen(text), &r->to) && r->to > 0 &&
	    r->to >> 53 == 0;
}

static bool
raise_option(void *arg, enum cli_option option)
{
	struct raising *r = arg;

	switch (option) {
	case CLI_OPTION_DRY_RUN:
		r->dry = true;
		return true;
	case CLI_OPTION_PREFIX:
		r->prefix = optarg;
		return true;
	default:
		return raise_parse_to(r, optarg);
	}
}

int
command_raise_tokens(struct cli *cli, int argc, char **argv)
{
	/* The store's time is not known here, but by the daemon. */
	struct raising r = { .cli = cli, .to = UINT64_MAX };
	int status;

	r.end = &r.first;
	status = cli_options(cli, argc, argv, raise_option, &r);
	if (status != 0)
		return status;
	if (optind != argc)
		return cli_misused(cli, "%s: it takes no operand",
		    argv[optind]);
	if (r.dry && r.to_text == NULL)
		r.to = (clock_wall_ms() / 1000 + 1) << 20;
	return raise_run(&r);
}
