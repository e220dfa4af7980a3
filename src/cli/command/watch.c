/*
 * ddblock watch: the holder of a lock, and each change, a line each. When the
 * daemon is restarted it goes on with the next one, and says that there was a
 * gap.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/base/rows.h"
#include "cli/command/command.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "ipc/codec.h"

#define WATCH_LINE_MAX (2 * 1024 * 1024)
#define WATCH_RETRY_MS 1000
#define WATCH_NS_MAX 256

struct watching {
	const struct cli *cli;
	struct ddblock *connection;
	const char *key;
	bool data;		/* shown, too: asked for after each change */
	bool asking;
	bool again;		/* there was a change meanwhile */
	bool retry;		/* in a moment: there was no answer */
	bool back;		/* from a gap: */
	bool restart;		/* the watch, in a moment; it was refused */
	uint64_t left;		/* changes to be shown; 0: any number */
	bool over;
	bool failed;		/* the first look */
	int code;
	int status;
	struct buffer ns;	/* for programs; empty: not known */
	struct buffer line;
};

static void
watch_field(struct buffer *b, const struct ddblock_row *row,
    const char *before, const char *name)
{
	size_t length;
	const char *value = ddblock_row_find(row, name, &length);

	if (value == NULL || length == 0)
		return;
	(void)buffer_append_text(b, before);
	(void)cli_clean(b, value, length);
}

static void
watch_write_time(struct buffer *b)
{
	time_t now = (time_t)(clock_wall_ms() / 1000);
	struct tm parts;
	char text[32] = "";

	if (localtime_r(&now, &parts) != NULL)
		(void)strftime(text, sizeof(text), "%H:%M:%S", &parts);
	(void)buffer_append_text(b, text);
}

/* For people: "14:03:09  held by web-3/report:417, token 42". */
static void
watch_write_line(struct buffer *b, const struct ddblock_row *row)
{
	watch_write_time(b);
	watch_field(b, row, "  ", "state");
	watch_field(b, row, " by ", "owner");
	watch_field(b, row, ", holders ", "holders");
	watch_field(b, row, ", token ", "token");
	watch_field(b, row, ", data ", "data");
	watch_field(b, row, ": ", "cause");
	(void)buffer_append_text(b, "\n");
}

/* For programs: what the object of a line begins with. */
static void
watch_write_head(struct watching *w, bool names)
{
	struct buffer *b = &w->line;

	(void)buffer_printf(b, "{\"time_ms\":%" PRIu64 ",", clock_wall_ms());
	if (!names)
		return;
	if (w->ns.length > 0) {
		rows_member(b, "ns", w->ns.data, w->ns.length);
		(void)buffer_append_text(b, ",");
	}
	rows_member(b, "key", w->key, strlen(w->key));
	(void)buffer_append_text(b, ",");
}

/* The first answer lacks the namespace and the key. */
static void
watch_write_json(struct watching *w, const struct ddblock_row *row)
{
	watch_write_head(w, ddblock_row_find(row, "key", NULL) == NULL);
	rows_members(&w->line, row);
	(void)buffer_append_text(&w->line, "}\n");
}

static void
watch_print(struct watching *w)
{
	(void)fputs(w->line.data == NULL ? "" : w->line.data, stdout);
	buffer_clear(&w->line);
	/* Flush: a line must be readable at once. */
	w->status = cli_flush(0);
	w->over = w->status != 0;
}

static void
watch_show(struct watching *w, const struct ddblock_row *row)
{
	if (w->over)
		return;
	if (w->cli->json)
		watch_write_json(w, row);
	else
		watch_write_line(&w->line, row);
	watch_print(w);
	w->over = w->over || (w->left > 0 && --w->left == 0);
}

/* The gap, which counts as no change. The lock's state follows when the
 * connection is back. */
static void
watch_on_event(void *arg, struct ddblock *d, const struct ddblock_event *event)
{
	struct watching *w = arg;
	bool lost = event->kind == DDBLOCK_EVENT_BROKEN;

	(void)d;
	w->back = w->back || event->kind == DDBLOCK_EVENT_RESUMED;
	if (w->over || (!lost && event->kind != DDBLOCK_EVENT_RESUMED))
		return;
	if (w->cli->json) {
		watch_write_head(w, true);
		(void)buffer_append_text(&w->line, lost ?
		    "\"connection\":\"lost\"}" : "\"connection\":\"back\"}");
	} else {
		watch_write_time(&w->line);
		(void)buffer_append_text(&w->line, lost ?
		    "  connection lost; trying again" :
		    "  connected again; changes in between may be missing");
	}
	(void)buffer_append_text(&w->line, "\n");
	watch_print(w);
}

static void watch_ask(struct watching *);

/* The answer to GET. */
static void
watch_on_data(void *arg, struct ddblock *d, const struct ddblock_reply *reply)
{
	struct watching *w = arg;

	(void)d;
	w->asking = false;
	w->retry = reply->code < 0;
	if (w->again)
		watch_ask(w);
	else if (!w->retry)
		watch_show(w, reply->row);
}

/* The lock's contents, and its present holder. */
static void
watch_ask(struct watching *w)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;

	query.key = w->key;
	query.ns = w->cli->ns;
	query.sort = w->cli->sort;
	w->again = w->asking;
	if (!w->asking)
		w->asking = ddblock_query_start(w->connection,
		    DDBLOCK_QUERY_GET, &query, NULL, watch_on_data, w,
		    NULL) == 0;
}

static void
watch_on_change(void *arg, const struct ddblock_row *row, bool final)
{
	struct watching *w = arg;
	const char *state = ddblock_row_find(row, "state", NULL);

	if (final)
		w->restart = true;	/* to hear why not */
	else if (w->data && state != NULL && strcmp(state, "unknown") != 0)
		watch_ask(w);
	else
		watch_show(w, row);
}

/* A daemon that has just started may answer otherwise soon. */
static bool
watch_may_pass(const struct watching *w, int code)
{
	return w->back && (code == DDBLOCK_E_UNREACHABLE ||
	    code == DDBLOCK_E_THROTTLED || code == DDBLOCK_E_SHUTTING_DOWN ||
	    code == DDBLOCK_E_NO_DAEMON);
}

static void
watch_on_reply(void *arg, struct ddblock *d, const struct ddblock_reply *reply)
{
	struct watching *w = arg;

	(void)d;
	w->restart = watch_may_pass(w, reply->code);
	w->failed = reply->code < 0 && !w->restart;
	w->code = reply->code;
	w->over = w->over || w->failed;
}

static int
watch_start(struct watching *w)
{
	w->restart = false;
	return ddblock_watch_start(w->connection, w->key, w->cli->ns,
	    w->cli->sort, watch_on_change, watch_on_reply, w, NULL);
}

static int
watch_loop(struct watching *w, struct ddblock *d)
{
	int r = watch_start(w);

	while (r == 0 && !w->over) {
		struct pollfd fd = { .fd = ddblock_fd(d), .events = POLLIN };

		if (fd.fd < 0 || (poll(&fd, 1, w->retry || w->restart ?
		    WATCH_RETRY_MS : -1) < 0 && errno != EINTR))
			r = DDBLOCK_E_SYSTEM;
		else
			r = ddblock_dispatch(d);
		if (r == 0 && w->retry && fd.revents == 0)
			watch_ask(w);
		if (r == 0 && w->restart && fd.revents == 0)
			r = watch_start(w);
	}
	if (w->failed)
		r = w->code;
	return r < 0 && w->status == 0 ? cli_failed(d, w->key, r) : w->status;
}

/* The namespace that is meant if none is named is the first. */
static void
watch_on_status(void *arg, const struct ddblock_row *row, bool final)
{
	struct watching *w = arg;

	if (!final && w->ns.length == 0)
		rows_field(&w->ns, row, "ns", "", "");
}

static void
watch_find_namespace(struct watching *w)
{
	const struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;

	if (!w->cli->json)
		return;
	if (w->cli->ns != NULL)
		(void)buffer_append_text(&w->ns, w->cli->ns);
	else	/* if that fails, the lines do without it */
		(void)ddblock_query(w->connection, DDBLOCK_QUERY_STATUS,
		    &query, watch_on_status, w);
}

static bool
watch_option(void *arg, enum cli_option option)
{
	struct watching *w = arg;

	if (option == CLI_OPTION_WATCH_DATA)
		return w->data = true;
	return codec_parse_number(optarg, strlen(optarg), &w->left) &&
	    w->left > 0;
}

int
command_watch(struct cli *cli, int argc, char **argv)
{
	struct watching w = { .cli = cli };
	struct ddblock *d;
	struct ddblock_connect_options how = DDBLOCK_CONNECT_OPTIONS_INIT;
	int status = cli_options(cli, argc, argv, watch_option, &w);

	how.resume = 1;
	if (status != 0)
		return status;
	if (argc - optind != 1)
		return cli_misused(cli, argc == optind ? "which lock?" :
		    "one lock at a time");
	w.key = argv[optind];
	status = cli_connect(cli, how, &d);
	if (status != 0)
		return status;
	w.connection = d;
	buffer_init(&w.ns, WATCH_NS_MAX);
	buffer_init(&w.line, WATCH_LINE_MAX);
	watch_find_namespace(&w);
	ddblock_on_event(d, watch_on_event, &w);
	status = watch_loop(&w, d);
	buffer_done(&w.line);
	buffer_done(&w.ns);
	ddblock_close(d);
	return status;
}
