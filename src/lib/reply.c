/*
 * The daemon's answer to a request; it changes our holds and watches, too.
 */
#include "lib/reply.h"

#include <string.h>

#include "common/error.h"
#include "lib/connection.h"
#include "lib/hold.h"
#include "lib/parts.h"
#include "lib/reconnect.h"
#include "lib/row.h"
#include "lib/watch.h"

void
reply_read_error(struct ddblock *d, const struct codec_line *line,
    struct ddblock_reply *ret)
{
	const struct codec_text *cause = codec_find(line, "cause");

	ret->code = error_from_word(line->word.bytes, line->word.length);
	if (ret->code == 0)
		ret->code = DDBLOCK_E_PROTOCOL; /* a code of a newer daemon */
	if (cause != NULL)
		ret->cause = error_from_word(cause->bytes, cause->length);
	(void)connection_fail(d, ret->code,
	    line->text.length == 0 ? NULL : line->text.bytes);
	ret->text = d->last_text;
}

/* The first of the daemon's namespaces is the default. */
static int
reply_hello(struct ddblock *d, const struct codec_line *line, int code)
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

/* The answer to RENEW, DOWNGRADE: more time, or a loss. */
static void
reply_renew(struct ddblock *d, uint64_t id, const struct codec_line *line,
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

/* Contents that cannot be written do not keep the lock from its release: the
 * refused request did nothing, so release without them. */
static void
reply_release_refused(struct ddblock *d, const struct request *request,
    int code)
{
	if (request->hold != 0 && (code == DDBLOCK_E_BAD_REQUEST ||
	    code == DDBLOCK_E_UNSUPPORTED))
		hold_give_back(d, request->hold);
}

/* A best-effort release: the daemon says how far it came. */
static void
reply_released(const struct request *request, const struct codec_line *line,
    struct ddblock_reply *ret)
{
	const struct codec_text *cause = codec_find(line, "cause");

	if (cause != NULL)
		ret->cause = error_from_word(cause->bytes, cause->length);
	else if (request->lost || codec_find(line, "lost") != NULL)
		ret->cause = DDBLOCK_E_LOCK_LOST;
}

int
reply_row(struct ddblock *d, struct request *request,
    const struct ddblock_row *row)
{
	int r = 0;

	if (request->kind == REQUEST_ACQUIRE)
		r = parts_granted(request->parts, &row->line);
	if (request->kind == REQUEST_RESUME)
		r = hold_resumed(d, &row->line);
	if (request->kind == REQUEST_REOPEN)
		r = hold_found_again(d, &row->line);
	if (r < 0)
		return connection_fail(d, r, NULL);
	if (request->on_row != NULL)
		request->on_row(request->arg, row, false);
	return 0;
}

int
reply_end(struct ddblock *d, struct request *request,
    const struct ddblock_row *row)
{
	const struct codec_line *line = &row->line;
	struct ddblock_reply reply = { .row = row };
	int r = 0;

	if (line->text.length > 0)
		reply.text = line->text.bytes;
	if (request->stale)
		reply.cause = DDBLOCK_E_LOCK_LOST;
	else if (line->kind == CODEC_ERR)
		reply_read_error(d, line, &reply);
	else if (request->kind == REQUEST_ACQUIRE)
		reply.code = hold_granted(d, request, line, &reply.id);
	else if (request->kind == REQUEST_RELEASE)
		reply_released(request, line, &reply);
	if (reply.code == DDBLOCK_E_PROTOCOL && line->kind == CODEC_OK)
		return DDBLOCK_E_PROTOCOL;
	if (request->asks_resume)
		d->again.known = reply.code == 0;
	else if (request->kind == REQUEST_HELLO)
		r = reply_hello(d, line, reply.code);
	if (request->kind == REQUEST_RELEASE)
		reply_release_refused(d, request, reply.code);
	else if (request->hold != 0 && request->kind != REQUEST_GIVE_BACK)
		reply_renew(d, request->hold, line, reply.code);
	if (request->kind == REQUEST_WATCH)
		watch_answered(d, request->number, row, reply.code);
	if (d->again.state == RECONNECT_OPENING &&
	    request->number == d->again.last_number)
		return reconnect_opened(d, request, reply.code);
	request_answer(d, request, &reply);
	return r;
}
