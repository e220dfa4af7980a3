/*
 * ddblock get: who holds a lock. For people, a line per field.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"
#include "common/buffer.h"
#include "common/json_quote.h"
#include "ipc/codec.h"

#define GET_COLUMN 13
#define GET_BYTES_MAX (8 * 1024 * 1024)	/* a line, each byte as four or six */

struct get {
	bool json;
	bool exit_code;		/* the status says whether it is held, */
	bool held;		/* which it is */
	const char *key;
	struct buffer text;
};

/* Seconds since 1970, as people write them. */
static bool
get_date(struct buffer *b, const char *value, size_t length)
{
	uint64_t seconds;
	time_t when;
	struct tm parts;
	char text[64];

	if (!codec_parse_number(value, length, &seconds))
		return false;
	when = (time_t)seconds;
	if (gmtime_r(&when, &parts) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
		return false;
	(void)buffer_append_text(b, text);
	return true;
}

static void
get_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct get *get = arg;
	const char *state;
	const char *name;
	const char *value;
	size_t length;

	if (!final)
		return;
	state = ddblock_row_find(row, "state", NULL);
	get->held = state != NULL && strcmp(state, "free") != 0;
	if (get->json) {
		(void)buffer_append_text(&get->text, "{\"key\":");
		json_quote(&get->text, get->key, strlen(get->key));
		(void)buffer_append_text(&get->text, ",");
		rows_members(&get->text, row);
		(void)buffer_append_text(&get->text, "}\n");
		return;
	}
	for (size_t i = 0; ddblock_row_at(row, i, &name, &value, &length);
	    i++) {
		/* Users choose the names of attributes. */
		size_t shown = cli_clean(&get->text, name, strlen(name));

		(void)buffer_printf(&get->text, "%*s",
		    shown < GET_COLUMN ? (int)(GET_COLUMN - shown) : 1, "");
		if (strcmp(name, "acquired_at") != 0 ||
		    !get_date(&get->text, value, length))
			(void)cli_clean(&get->text, value, length);
		(void)buffer_append_text(&get->text, "\n");
	}
}

static bool
get_option(void *arg, enum cli_option option)
{
	struct get *get = arg;

	(void)option; /* there is only one */
	return get->exit_code = true;
}

int
command_get(struct cli *cli, int argc, char **argv)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;
	struct get get = { .json = false };
	int status = cli_options(cli, argc, argv, get_option, &get);
	struct ddblock *d;
	int r;

	if (status != 0)
		return status;
	if (!cli_count_operands(cli, argc, argv, 1, 1))
		return CLI_USAGE;
	status = cli_open(cli, NULL, &d);
	if (status != 0)
		return status;
	get.json = cli->json;
	get.key = query.key = argv[optind];
	query.ns = cli->ns;
	query.sort = cli->sort;
	buffer_init(&get.text, GET_BYTES_MAX);
	r = ddblock_query(d, DDBLOCK_QUERY_GET, &query, get_on_row, &get);
	if (r == 0)
		r = buffer_failed(&get.text);
	if (r < 0)
		status = cli_failed(d, argv[optind], r);
	else if (get.text.data != NULL)
		(void)fputs(get.text.data, stdout);
	if (r == 0 && get.exit_code && !get.held)
		status = CLI_NOT_HELD;
	buffer_done(&get.text);
	ddblock_close(d);
	return cli_flush(status);
}
