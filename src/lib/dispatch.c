/*
 * What comes from the daemon: lines are cut, parsed, and become replies, rows
 * and events. A daemon that breaks the protocol is treated as gone, because its
 * word about locks cannot be trusted either.
 */
#include "lib/connection.h"

#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "lib/event.h"
#include "lib/hold.h"
#include "lib/reconnect.h"
#include "lib/reply.h"
#include "lib/request.h"
#include "lib/row.h"
#include "lib/watch.h"

/* Reads at a time, so that a flood of lines cannot keep deadlines waiting. */
#define DISPATCH_READS_MAX 64

/* !LOCK_IN_DANGER, !LOCK_SAFE, !LOCK_LOST; of a hold that we still have. */
static void
dispatch_hold_event(struct ddblock *d, const struct codec_line *line)
{
	const struct codec_text *reason = codec_find(line, "reason");
	struct ddblock_event event = { .kind = DDBLOCK_EVENT_SAFE };
	struct hold *hold;

	if (!hold_id(d, line, &event.id))
		return;
	hold = hold_find(d, event.id);
	if (hold == NULL || hold->lost || !hold_is_known(d, hold))
		return; /* released meanwhile, or known to be lost */
	if (codec_is(&line->word, "LOCK_LOST")) {
		hold_lose(d, hold, hold_loss(line));
		return;
	}
	if (codec_is(&line->word, "LOCK_IN_DANGER"))
		event.kind = DDBLOCK_EVENT_IN_DANGER;
	if (reason != NULL)
		event.code = error_from_word(reason->bytes, reason->length);
	hold_extend(d, hold, line);
	event.until_boot_ms = hold->until_ms;
	event.remaining_ms = ddblock_remaining_ms(d, hold->id);
	event_report(d, &event);
}

/* !LISTING, !QUEUED: the progress of one of our requests. */
static void
dispatch_progress(struct ddblock *d, const struct ddblock_row *row)
{
	const struct codec_text *tag = codec_find(&row->line, "tag");
	struct request *request = NULL;
	uint64_t number;

	if (tag != NULL && codec_parse_number(tag->bytes, tag->length, &number))
		request = request_find(d, number);
	if (request != NULL && request->on_progress != NULL)
		request->on_progress(request->progress_arg, row, false);
}

/* Events of newer daemons are ignored. */
static void
dispatch_event(struct ddblock *d, const struct ddblock_row *row)
{
	const struct codec_line *line = &row->line;
	const struct codec_text *in = codec_find(line, "in");
	struct ddblock_event event = { .kind = DDBLOCK_EVENT_SHUTDOWN };

	if (codec_is(&line->word, "RENEWED")) {
		hold_renewed(d, line);
	} else if (codec_is(&line->word, "LOCK_IN_DANGER") ||
	    codec_is(&line->word, "LOCK_SAFE") ||
	    codec_is(&line->word, "LOCK_LOST")) {
		dispatch_hold_event(d, line);
	} else if (codec_is(&line->word, "CHANGED")) {
		watch_changed(d, row);
	} else if (codec_is(&line->word, "LISTING") ||
	    codec_is(&line->word, "QUEUED")) {
		dispatch_progress(d, row);
	} else if (codec_is(&line->word, "SHUTDOWN")) {
		if (in != NULL)
			(void)codec_parse_duration(in->bytes, in->length,
			    &event.remaining_ms);
		event_report(d, &event);
	}
}

/* One line. Negative: the daemon broke the protocol. */
static int
dispatch_line(struct ddblock *d, char *bytes, size_t length)
{
	struct ddblock_row row;
	struct codec_line *line = &row.line;
	struct ddblock_reply reply = { .code = 0 };
	struct request *request;
	const char *reason;
	uint64_t number;

	if (codec_parse(bytes, length, false, line, &reason) < 0)
		return connection_fail(d, DDBLOCK_E_PROTOCOL, reason);
	if (line->kind == CODEC_EVENT) {
		dispatch_event(d, &row);
		return 0;
	}
	if (line->tag.length == 0) {
		/* Not about a request, but about the connection. */
		if (line->kind != CODEC_ERR)
			return connection_fail(d, DDBLOCK_E_PROTOCOL,
			    "the daemon answered an unknown request");
		reply_read_error(d, line, &reply);
		return reply.code;
	}
	request = NULL;
	if (codec_parse_number(line->tag.bytes, line->tag.length, &number))
		request = request_find(d, number);
	if (request == NULL)
		return connection_fail(d, DDBLOCK_E_PROTOCOL,
		    "the daemon answered a request that was never made");
	return line->kind == CODEC_ROW ? reply_row(d, request, &row) :
	    reply_end(d, request, &row);
}

/* Every whole line that has been read. */
static int
dispatch_lines(struct ddblock *d)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < d->in.length) {
		char *line = d->in.data + at;
		size_t rest = d->in.length - at;
		char *end = memchr(line, '\n', rest);

		if (end == NULL) {
			if (rest >= CODEC_LINE_MAX)
				r = connection_fail(d, DDBLOCK_E_PROTOCOL,
				    "a line from the daemon has no end");
			break;
		}
		at += (size_t)(end - line) + 1;
		r = dispatch_line(d, line, (size_t)(end - line));
	}
	buffer_consume(&d->in, at);
	return r;
}

static int
dispatch_read(struct ddblock *d)
{
	for (int i = 0; i < DISPATCH_READS_MAX; i++) {
		int r = connection_read(d);

		if (r == 1)
			break;
		if (r < 0)
			return connection_fail(d, r,
			    r == DDBLOCK_E_NO_DAEMON ?
			    "the daemon ended the connection" : NULL);
		r = dispatch_lines(d);
		if (r < 0)
			return r;
	}
	buffer_shrink(&d->in);
	return 0;
}

/*
 * The connection ends: holds are lost, requests fail, and @code stays. Calls
 * back.
 */
static void
dispatch_break(struct ddblock *d, int code, const char *text)
{
	struct ddblock_event event = {
		.kind = DDBLOCK_EVENT_DISCONNECTED,
		.code = code,
	};
	struct request *request;

	d->error = connection_fail(d, code, text);
	connection_shut(d);
	reconnect_stop(d);
	hold_lose_all(d, DDBLOCK_LOSS_DISCONNECTED);
	watch_free_all(d);
	while ((request = TAILQ_FIRST(&d->requests)) != NULL) {
		struct ddblock_reply reply = {
			.code = code,
			.text = d->last_text,
		};

		request_answer(d, request, &reply);
	}
	event_report(d, &event);
}

int
ddblock_dispatch(struct ddblock *d)
{
	int r = 0;

	if (d->dispatching)
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "a callback must not wait or dispatch");
	if (d->error != 0)
		return d->error;
	d->dispatching = true;
	if (d->socket >= 0)
		r = dispatch_read(d);
	if (r < 0 && reconnect_begin(d, r))
		r = 0;
	if (r == 0) {
		hold_check(d);
		r = reconnect_go_on(d);
	}
	if (r < 0) {
		char text[CONNECTION_TEXT_MAX];

		(void)snprintf(text, sizeof(text), "%s", d->last_text);
		dispatch_break(d, r, text);
	} else {
		connection_flush(d);
	}
	d->dispatching = false;
	return d->error;
}
