/*
 * The line codec and the table of the protocol, with any bytes as a line: what
 * was read, written again, reads the same; and a request that is admitted has
 * values within its rows.
 */
#include "fuzz.h"

#include "common/utf8.h"
#include "ipc/codec.h"
#include "ipc/protocol.h"

static bool
fuzz_same(const struct codec_text *a, const struct codec_text *b)
{
	return a->length == b->length &&
	    (a->length == 0 || memcmp(a->bytes, b->bytes, a->length) == 0);
}

static void
fuzz_write(const struct codec_line *line, struct buffer *b)
{
	const struct codec_text *word = &line->word;
	char text[128] = "OK";

	if (line->kind == CODEC_ERR)
		(void)snprintf(text, sizeof(text), "ERR");
	else if (line->kind == CODEC_ROW)
		(void)snprintf(text, sizeof(text), "+");
	else if (line->kind != CODEC_OK)
		(void)snprintf(text, sizeof(text), "%s%.*s",
		    line->kind == CODEC_EVENT ? "!" : "", (int)word->length,
		    word->bytes);
	codec_begin(b, line->tag.length > 0 ? line->tag.bytes : NULL, text);
	if (line->kind == CODEC_ERR)
		codec_value(b, NULL, word->bytes, word->length);
	for (size_t i = 0; i < line->n_arguments; i++) {
		const struct codec_argument *a = &line->arguments[i];

		codec_value(b, a->name.length > 0 ? a->name.bytes : NULL,
		    a->value.bytes, a->value.length);
	}
	codec_end(b, line->text.length > 0 ? line->text.bytes : NULL);
}

/* Can the writing half say it? Words are written as they are, names have no
 * NUL, and control characters of a text are dropped. */
static bool
fuzz_is_writable(const struct codec_line *line)
{
	for (size_t i = 0; i < line->word.length; i++) {
		const char c = line->word.bytes[i];

		if ((c < 'A' || c > 'Z') && c != '_')
			return false;
	}
	for (size_t i = 0; i < line->n_arguments; i++) {
		const struct codec_text *name = &line->arguments[i].name;

		if (name->length > 0 && strlen(name->bytes) != name->length)
			return false;
	}
	return line->word.length < 100 && (line->text.length == 0 ||
	    (codec_is_line(line->text.bytes, line->text.length) &&
		utf8_is_shown(line->text.bytes)));
}

static void
fuzz_round_trip(const struct codec_line *line, bool from_client)
{
	struct codec_line again;
	const char *reason;
	struct buffer b;

	if (!fuzz_is_writable(line))
		return;
	buffer_init(&b, 4 * CODEC_LINE_MAX);
	fuzz_write(line, &b);
	FUZZ_CHECK(buffer_failed(&b) == 0 && b.length > 0);
	FUZZ_CHECK(codec_parse(b.data, b.length - 1, from_client, &again,
	    &reason) == 0);
	FUZZ_CHECK(again.kind == line->kind);
	FUZZ_CHECK(fuzz_same(&again.tag, &line->tag));
	FUZZ_CHECK(fuzz_same(&again.word, &line->word));
	FUZZ_CHECK(fuzz_same(&again.text, &line->text));
	FUZZ_CHECK(again.n_arguments == line->n_arguments);
	for (size_t i = 0; i < line->n_arguments; i++) {
		FUZZ_CHECK(fuzz_same(&again.arguments[i].name,
		    &line->arguments[i].name));
		FUZZ_CHECK(fuzz_same(&again.arguments[i].value,
		    &line->arguments[i].value));
	}
	buffer_done(&b);
}

/* Whatever the reason recites, the refusal is one line. */
static void
fuzz_refuse(const char *reason)
{
	struct codec_line line;
	const char *why;
	struct buffer b;

	buffer_init(&b, CODEC_LINE_MAX);
	codec_begin(&b, NULL, "ERR");
	codec_value(&b, NULL, "BAD_REQUEST", 11);
	codec_end(&b, reason);
	FUZZ_CHECK(buffer_failed(&b) == 0 && b.length > 0);
	FUZZ_CHECK(memchr(b.data, '\n', b.length) == b.data + b.length - 1);
	FUZZ_CHECK(codec_parse(b.data, b.length - 1, false, &line, &why) == 0);
	buffer_done(&b);
}

static void
fuzz_request(const struct codec_line *line)
{
	char reason[PROTOCOL_REASON_MAX] = "";
	struct protocol_request q;
	int r = protocol_begin(line, &q, reason);

	if (r == 0)
		r = protocol_check(&q, reason);
	if (r == 0)
		r = protocol_read(&q, reason);
	if (r < 0) {
		fuzz_refuse(reason);
		return;
	}
	FUZZ_CHECK(q.verb < VERBS && q.n_keys <= PROTOCOL_KEYS_MAX);
	for (unsigned i = 1; i < ARGUMENTS; i++) {
		const enum protocol_argument a = (enum protocol_argument)i;
		const struct protocol_argument_row *row = protocol_argument(a);

		if (!protocol_given(&q, a))
			continue;
		FUZZ_CHECK(protocol_takes(q.verb, a));
		if (row->kind == KIND_NUMBER)
			FUZZ_CHECK(protocol_number(&q, a) >= row->least &&
			    protocol_number(&q, a) <= row->most);
	}
}

static void
fuzz_parse(const struct fuzz_input *in, bool from_client)
{
	char *copy = fuzz_copy(in->at, in->length);
	struct codec_line line;
	const char *reason = NULL;

	if (codec_parse(copy, in->length, from_client, &line, &reason) == 0) {
		fuzz_round_trip(&line, from_client);
		if (from_client)
			fuzz_request(&line);
	} else {
		FUZZ_CHECK(reason != NULL &&
		    codec_is_line(reason, strlen(reason)));
		FUZZ_CHECK(line.tag.length <= CODEC_TAG_MAX);
	}
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size), line;

	while (fuzz_line(&in, &line)) {
		fuzz_parse(&line, true);
		fuzz_parse(&line, false);
	}
	return 0;
}
