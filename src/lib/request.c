/*
 * Requests under way, each known by the number that is its tag, and their
 * replies.
 */
#include "lib/connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

int
request_new(struct ddblock *d, enum request_kind kind,
    enum protocol_verb verb, struct request_draft *ret)
{
	char tag[CODEC_TAG_MAX + 1];
	struct request *request;

	if (d->error != 0)
		return d->error;
	if (d->n_requests == REQUESTS_MAX)
		return connection_fail(d, DDBLOCK_E_LIMIT,
		    "too many requests are unanswered");
	request = calloc(1, sizeof(*request));
	if (request == NULL)
		return connection_fail(d, DDBLOCK_E_NOMEM, NULL);
	request->number = d->last_number + 1;
	request->kind = kind;

	ret->request = request;
	ret->mark = d->out.length;
	(void)snprintf(tag, sizeof(tag), "%llu",
	    (unsigned long long)request->number);
	codec_begin(&d->out, tag, protocol_verb(verb)->word);
	return 0;
}

void
request_write_name(struct ddblock *d, const char *key, const char *ns,
    const char *sort)
{
	codec_text_value(&d->out, NULL, key);
	protocol_write_text(&d->out, ARGUMENT_NS, ns);
	protocol_write_text(&d->out, ARGUMENT_SORT, sort);
}

int
request_send_for(struct ddblock *d, struct request_draft *draft,
    ddblock_reply_function *function, void *arg, uint64_t *ret_number)
{
	draft->request->on_reply = function;
	draft->request->arg = arg;
	return request_send(d, draft, ret_number);
}

int
request_send(struct ddblock *d, struct request_draft *draft,
    uint64_t *ret_number)
{
	int r;

	codec_end(&d->out, NULL);
	r = buffer_failed(&d->out);
	if (r == 0 && d->out.length - draft->mark > CODEC_LINE_MAX)
		r = DDBLOCK_E_LIMIT;
	if (r < 0) {
		d->out.length = draft->mark;
		d->out.error = 0;
		parts_free(draft->request->parts);
		free(draft->request);
		return connection_fail(d, r, NULL);
	}
	d->last_number = draft->request->number;
	d->n_requests++;
	TAILQ_INSERT_TAIL(&d->requests, draft->request, entry);
	if (ret_number != NULL)
		*ret_number = draft->request->number;
	/* A greeting waits for what is asked first. */
	if (draft->request->kind != REQUEST_HELLO)
		connection_flush(d);
	return 0;
}

struct request *
request_find(struct ddblock *d, uint64_t number)
{
	struct request *request;

	TAILQ_FOREACH(request, &d->requests, entry) {
		if (request->number == number)
			return request;
	}
	return NULL;
}

void
request_answer(struct ddblock *d, struct request *request,
    const struct ddblock_reply *reply)
{
	struct ddblock_reply full = *reply;

	full.request = request->number;
	if (full.text == NULL)
		full.text = "";
	TAILQ_REMOVE(&d->requests, request, entry);
	d->n_requests--;
	if (request->on_reply != NULL)
		request->on_reply(request->arg, d, &full);
	parts_free(request->parts);
	free(request);
}

void
request_read_error(struct ddblock *d, const struct codec_line *line,
    struct ddblock_reply *ret)
{
	const struct codec_text *cause = codec_find(line, "cause");

	ret->code = error_from_word(line->word.bytes, line->word.length);
	if (ret->code == 0)
		ret->code = DDBLOCK_E_PROTOCOL; /* a code of the future */
	if (cause != NULL)
		ret->cause = error_from_word(cause->bytes, cause->length);
	(void)connection_fail(d, ret->code,
	    line->text.length == 0 ? NULL : line->text.bytes);
	ret->text = d->last_text;
}
