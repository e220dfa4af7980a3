/*
 * Bytes to lines: what a client sends is cut into lines, which are run.
 */
#include <errno.h>
#include <string.h>

#include "common/error.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/process.h"
#include "ipc/connection/wire.h"
#include "ipc/server/room.h"
#include "ipc/verbs/verbs.h"

/* Bytes of an overlong line that suffice to find its tag. */
#define INPUT_HEAD_SIZE 64

static void
input_on_end(struct connection *c)
{
	size_t length;

	if (connection_is_gone(c)) {
		connection_doom(c);
		return;
	}
	/* Half a request must not be run: its key may be cut. */
	if (c->in.length > 0 && !c->skipping)
		connection_refuse(c, NULL, DDBLOCK_E_BAD_REQUEST,
		    "the last line has no end");
	length = c->in.length;
	buffer_done(&c->in);
	keep_input(c, length);
	connection_review(c);
	connection_drain(c);
}

void
input_run_line(struct connection *c, char *line, size_t length)
{
	struct codec_line *l = &c->server->line;
	const char *reason;
	int r;

	keep_line(c, line, length);
	r = codec_parse(line, length, true, l, &reason);

	if (r < 0)
		connection_refuse(c, l->tag.bytes, r, reason);
	else
		verbs_run(c, l);
}

static void
input_run_long_line(struct connection *c, char *line)
{
	struct codec_line *l = &c->server->line;
	const char *reason;

	(void)codec_parse(line, INPUT_HEAD_SIZE, true, l, &reason);
	connection_refuse(c, l->tag.bytes, DDBLOCK_E_BAD_REQUEST,
	    "the line is longer than 1 MiB");
}

/*
 * Run the complete lines, until it is the turn of another user or there is too
 * much to send. Returns how many bytes were used.
 */
static size_t
input_run_lines(struct connection *c, char *data, size_t length)
{
	size_t used = 0;

	c->has_lines = false;
	while (used < length && !c->doomed && !c->draining) {
		size_t skip = used == 0 ? c->scanned : 0;
		char *line = data + used;
		char *end;

		if ((used > 0 && turn_is_over(c->server)) ||
		    !connection_has_room(c)) {
			c->has_lines = true;
			break;
		}
		end = memchr(line + skip, '\n', length - used - skip);
		if (end == NULL)
			break;
		used = (size_t)(end + 1 - data);
		keep_run(c, used);
		if (c->skipping)
			c->skipping = false;
		else if (end + 1 - line > CODEC_LINE_MAX)
			input_run_long_line(c, line);
		else
			input_run_line(c, line, (size_t)(end - line));
	}
	c->scanned = 0;
	return used;
}

/* @rest is an unfinished line, unless there are lines to run. Must it be
 * kept? */
static bool
input_stays(struct connection *c, char *rest, size_t length)
{
	if (length == 0 || c->doomed || c->draining)
		return false;
	if (c->has_lines)
		return true;
	if (!c->skipping && length >= CODEC_LINE_MAX) {
		input_run_long_line(c, rest);
		c->skipping = true;
	}
	c->scanned = length;
	return !c->skipping;
}

static void
input_run_chunk(struct connection *c, size_t length)
{
	char *chunk = c->server->chunk;
	size_t used = input_run_lines(c, chunk, length);

	if (!input_stays(c, chunk + used, length - used)) {
		c->scanned = 0;
		return;
	}
	server_take_spare(c->server, &c->in);
	(void)buffer_append(&c->in, chunk + used, length - used);
}

static void
input_run_rest(struct connection *c)
{
	size_t used = input_run_lines(c, c->in.data, c->in.length);

	if (input_stays(c, c->in.data + used, c->in.length - used)) {
		buffer_consume(&c->in, used);
		return;
	}
	c->scanned = 0;
	if (c->secretive)
		buffer_wipe(&c->in);
	buffer_clear(&c->in);
	server_give_spare(c->server, &c->in);
}

/* Its input is dropped, also half a line. */
static void
input_heard(struct connection *c)
{
	struct core_event event = { .type = CORE_HEARD };

	event.client = c->client;
	(void)connection_step(c, &event);
}

/* Read once and run the lines that came; or run lines left from before. */
void
input_run(struct connection *c)
{
	struct server *s = c->server;
	size_t length;
	ssize_t n = 0;

	if (!c->has_lines) {
		c->readable = false;
		/* What comes from now on is heard in the order of its coming,
		 * also beside other connections. */
		connection_watch(c);
		if (c->doomed)
			return;
		keep_begin(c);
		n = process_receive(c, s->chunk, SERVER_CHUNK_SIZE);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			connection_fail(c);
		if (n == 0)
			input_on_end(c);
		if (n <= 0)
			return;
		if (c->promises)
			input_heard(c);
	}
	length = c->in.length + (size_t)n;
	if (c->in.length == 0) {
		input_run_chunk(c, (size_t)n);
	} else {
		(void)buffer_append(&c->in, s->chunk, (size_t)n);
		if (buffer_failed(&c->in) == 0)
			input_run_rest(c);
	}
	keep_input(c, length);
	if (c->secretive && n > 0) {
		explicit_bzero(s->chunk, (size_t)n);
		wire_wipe(s);
	}
	/* Descriptors that came with an unfinished line wait for its end. */
	if (c->n_passed > 0 && !c->has_lines && c->in.length == 0)
		process_forget_passed(c);
	if (c->doomed)
		return;
	if (buffer_failed(&c->in) != 0)
		connection_cut(c, "there is no memory for what it says");
	/* Its answers are counted when they have been sent. */
	if (c->has_lines || c->out.length > 0)
		server_schedule(s, c);
	else
		connection_review(c);
}
