/*
 * What comes from the daemon: lines are cut, taken apart, and become replies,
 * rows and events. A daemon that talks nonsense is treated like one that is
 * gone, for what it says about locks cannot be trusted either.
 */
#include "lib/connection.h"

#include <stdio.h>
#include <string.h>

#include "common/error.h"

/* Reads at a time, so that a flood of lines cannot keep deadlines waiting. */
#define DISPATCH_READS_MAX 64

void
event_report(struct ddblock *d, const struct ddblock_event *event)
{
	if (d->on_event != NULL)
		d->on_event(d->event_arg, d, event);
}

void
ddblock_on_event(struct ddblock *d, ddblock_event_function *function,
    void *arg)
{
	d->on_event = function;
	d->event_arg = arg;
}

static enum ddblock_loss
dispatch_loss(const struct codec_line *line)
{
	static const struct {
		const char *word;
		enum ddblock_loss loss;
	} rows[] = {
		{ "expired", DDBLOCK_LOSS_EXPIRED },
		{ "stolen", DDBLOCK_LOSS_STOLEN },
		{ "broken", DDBLOCK_LOSS_BROKEN },
		{ "shutdown", DDBLOCK_LOSS_SHUTDOWN },
		{ "max_hold", DDBLOCK_LOSS_MAX_HOLD },
		{ "keepalive", DDBLOCK_LOSS_KEEPALIVE },
		{ "cut_off", DDBLOCK_LOSS_CUT_OFF },
	};
	const struct codec_text *reason = codec_find(line, "reason");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (codec_is(reason, rows[i].word))
			return rows[i].loss;
	}
	return DDBLOCK_LOSS_OTHER;
}

/* !LOCK_IN_DANGER, !LOCK_SAFE, !LOCK_LOST; of a hold that we still have. */
static void
dispatch_hold_event(struct ddblock *d, const struct codec_line *line)
{
	const struct codec_text *id = codec_find(line, "id");
	const struct codec_text *reason = codec_find(line, "reason");
	struct ddblock_event event = { .kind = DDBLOCK_EVENT_SAFE };
	struct hold *hold;

	if (id == NULL || !codec_parse_number(id->bytes, id->length, &event.id))
		return;
	hold = hold_find(d, event.id);
	if (hold == NULL || hold->lost)
		return; /* released, or known to be lost, meanwhile */
	if (codec_is(&line->word, "LOCK_LOST")) {
		hold_lose(d, hold, dispatch_loss(line));
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

/* !LISTING, !QUEUED: one of ours is so far. */
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

/* Events of the future are not for us. */
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

/* The first of the daemon's namespaces is the one of those who name none. */
static int
dispatch_hello(struct ddblock *d, const struct codec_line *line, int code)
{
	const struct codec_text *names = codec_find(line, "namespaces");
	size_t length;

	if (code < 0)
		return code;
	if (names == NULL)
		return 0;
	length = strcspn(names->bytes, ",");
	if (length == 0 || length > CONNECTION_NAME_MAX)
		return 0;
	(void)memcpy(d->default_namespace, names->bytes, length);
	d->default_namespace[length] = '\0';
	return 0;
}

/* The answer to RENEW, DOWNGRADE: more time, or the news that there is none. */
static void
dispatch_renew(struct ddblock *d, uint64_t id, const struct codec_line *line,
    int code)
{
	struct hold *hold = hold_find(d, id);

	if (hold == NULL)
		return;
	if (code == 0)
		hold_extend(d, hold, line);
	else if (code == DDBLOCK_E_LOCK_STOLEN)
		hold_lose(d, hold, DDBLOCK_LOSS_STOLEN);
	else if (code == DDBLOCK_E_LOCK_LOST ||
	    code == DDBLOCK_E_LOCK_NOT_OWNED)
		hold_lose(d, hold, DDBLOCK_LOSS_OTHER);
}

static int
dispatch_reply(struct ddblock *d, struct request *request,
    const struct ddblock_row *row)
{
	const struct codec_line *line = &row->line;
	struct ddblock_reply reply = { .row = row };
	int r = 0;

	if (line->text.length > 0)
		reply.text = line->text.bytes;
	if (line->kind == CODEC_ERR)
		request_read_error(d, line, &reply);
	else if (request->kind == REQUEST_ACQUIRE)
		reply.code = hold_granted(d, request, line, &reply.id);
	else if (request->kind == REQUEST_RELEASE)
		release_answered(request, line, &reply);
	if (reply.code == DDBLOCK_E_PROTOCOL && line->kind == CODEC_OK)
		return DDBLOCK_E_PROTOCOL;
	if (request->kind == REQUEST_HELLO)
		r = dispatch_hello(d, line, reply.code);
	if (request->kind == REQUEST_RELEASE)
		release_refused(d, request, reply.code);
	else if (request->hold != 0)
		dispatch_renew(d, request->hold, line, reply.code);
	if (request->kind == REQUEST_WATCH)
		watch_answered(d, request->number, row, reply.code);
	request_answer(d, request, &reply);
	return r;
}

int
dispatch_line(struct ddblock *d, char *bytes, size_t length)
{
	struct ddblock_row row;
	struct codec_line *line = &row.line;
	struct ddblock_reply reply = { .code = 0 };
	struct request *request;
	const char *reason;
	uint64_t number;
	int r = 0;

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
			    "the daemon answered nobody's request");
		request_read_error(d, line, &reply);
		return reply.code;
	}
	request = NULL;
	if (codec_parse_number(line->tag.bytes, line->tag.length, &number))
		request = request_find(d, number);
	if (request == NULL)
		return connection_fail(d, DDBLOCK_E_PROTOCOL,
		    "the daemon answered a request that was never made");
	if (line->kind != CODEC_ROW)
		return dispatch_reply(d, request, &row);
	if (request->kind == REQUEST_ACQUIRE)
		r = parts_granted(request->parts, line);
	if (request->kind == REQUEST_RESUME)
		r = hold_resumed(d, line);
	if (r < 0)
		return connection_fail(d, r, NULL);
	if (request->on_row != NULL)
		request->on_row(request->arg, &row, false);
	return 0;
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

int
ddblock_dispatch(struct ddblock *d)
{
	int r;

	if (d->dispatching)
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "a callback must not wait or dispatch");
	if (d->error != 0)
		return d->error;
	d->dispatching = true;
	r = dispatch_read(d);
	if (r < 0) {
		char text[CONNECTION_TEXT_MAX];

		(void)snprintf(text, sizeof(text), "%s", d->last_text);
		connection_break(d, r, text);
	} else {
		hold_check(d);
		connection_flush(d);
	}
	d->dispatching = false;
	return d->error;
}
