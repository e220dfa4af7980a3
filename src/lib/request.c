/*
 * Requests under way.
 */
#include "lib/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "lib/reconnect.h"

/* Sent twice, these do no harm. */
static bool
request_may_repeat(enum protocol_verb verb)
{
	switch (verb) {
	case VERB_ACQUIRE:
	case VERB_TRY:
	case VERB_RELEASE:
	case VERB_RENEW:
	case VERB_CANCEL:
	case VERB_WATCH:
	case VERB_UNWATCH:
		return true;
	default:
		return false;
	}
}

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
	request->again = request_may_repeat(verb);
	request->until_ms = DDBLOCK_NEVER_MS;
	request->pass_fd = -1;

	ret->request = request;
	ret->mark = d->out.length;
	(void)snprintf(tag, sizeof(tag), "%llu",
	    (unsigned long long)request->number);
	codec_begin(&d->out, tag, protocol_verb(verb)->word);
	return 0;
}

static void
request_free(struct request *request)
{
	parts_free(request->parts);
	if (request->pass_fd >= 0)
		(void)close(request->pass_fd);
	if (request->line != NULL)
		explicit_bzero(request->line, request->line_length);
	free(request->line);
	free(request);
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

/* Can it be written now? */
static bool
request_may_go(const struct ddblock *d, const struct request *request)
{
	return d->again.state == RECONNECT_UP ||
	    request->kind == REQUEST_HELLO || request->kind == REQUEST_REOPEN;
}

/* Its line, and the descriptor that goes with it. */
static int
request_keep(struct ddblock *d, const struct request_draft *draft)
{
	struct request *request = draft->request;

	request->line_length = d->out.length - draft->mark;
	request->line = malloc(request->line_length + 1);
	if (request->line == NULL)
		return DDBLOCK_E_NOMEM;
	(void)memcpy(request->line, d->out.data + draft->mark,
	    request->line_length);
	request->line[request->line_length] = '\0';
	if (d->pass_fd < 0 || d->pass_at != draft->mark)
		return 0;
	request->pass_fd = fcntl(d->pass_fd, F_DUPFD_CLOEXEC, 0);
	return request->pass_fd < 0 ? DDBLOCK_E_SYSTEM : 0;
}

int
request_send(struct ddblock *d, struct request_draft *draft,
    uint64_t *ret_number)
{
	struct request *request = draft->request;
	bool goes = request_may_go(d, request);
	int r;

	codec_end(&d->out, NULL);
	r = buffer_failed(&d->out);
	if (r == 0 && d->out.length - draft->mark > CODEC_LINE_MAX)
		r = DDBLOCK_E_LIMIT;
	if (r == 0 && d->again.wanted && (request->again || !goes))
		r = request_keep(d, draft);
	if (r < 0) {
		d->out.length = draft->mark;
		d->out.error = 0;
		request_free(request);
		return connection_fail(d, r, NULL);
	}
	d->last_number = request->number;
	d->n_requests++;
	TAILQ_INSERT_TAIL(&d->requests, request, entry);
	if (ret_number != NULL)
		*ret_number = request->number;
	request->sent = goes;
	if (!goes) {
		d->out.length = draft->mark;
		connection_drop_passed(d);
	} else if (request->kind != REQUEST_HELLO) {
		/* The greeting waits for the first request. */
		connection_flush(d);
	}
	return 0;
}

/* The line, with another wait: in a line only an argument has a space before
 * it. */
static void
request_write_again(struct ddblock *d, const struct request *request)
{
	const char *line = request->line, *end = line + request->line_length;
	const char *from = strstr(line, " wait=");
	uint64_t now_ms = clock_boot_ms();
	const char *to;

	if (from == NULL || request->until_ms == DDBLOCK_NEVER_MS) {
		(void)buffer_append(&d->out, line, request->line_length);
		return;
	}
	for (to = from + 1; to < end && *to != ' ' && *to != '\n'; to++)
		;
	(void)buffer_append(&d->out, line, (size_t)(from - line));
	protocol_write(&d->out, ARGUMENT_WAIT, request->until_ms > now_ms ?
	    request->until_ms - now_ms : 1);
	(void)buffer_append(&d->out, to, (size_t)(end - to));
}

void
request_send_again(struct ddblock *d, struct request *request)
{
	struct ddblock_reply reply = { .code = 0 };
	size_t mark = d->out.length;

	if (request->pass_fd >= 0)
		reply.code = connection_pass(d, request->pass_fd, mark);
	if (reply.code == 0)
		request_write_again(d, request);
	if (reply.code == 0)
		reply.code = buffer_failed(&d->out);
	if (reply.code < 0) {
		d->out.length = mark;
		d->out.error = 0;
		request_answer(d, request, &reply);
		return;
	}
	request->sent = true;
	connection_flush(d);
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

struct request *
request_find_release(struct ddblock *d, uint64_t id)
{
	struct request *request;

	TAILQ_FOREACH(request, &d->requests, entry) {
		if ((request->kind == REQUEST_RELEASE ||
		    request->kind == REQUEST_GIVE_BACK) &&
		    request->hold == id && !request->there)
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
	request_free(request);
}

void
request_forget(struct ddblock *d, struct request *request)
{
	TAILQ_REMOVE(&d->requests, request, entry);
	d->n_requests--;
	request_free(request);
}

void
request_free_all(struct ddblock *d)
{
	struct request *request;

	while ((request = TAILQ_FIRST(&d->requests)) != NULL)
		request_forget(d, request);
}

int
ddblock_cancel(struct ddblock *d, uint64_t request)
{
	struct request_draft draft;
	int r;

	if (request_find(d, request) == NULL)
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "there is no such request");
	r = request_new(d, REQUEST_OTHER, VERB_CANCEL, &draft);
	if (r < 0)
		return r;
	protocol_write(&d->out, ARGUMENT_TAG, request);
	return request_send(d, &draft, NULL);
}
