/*
 * What an answer of the endpoint is, by its status and its body: the text is
 * fit to be shown, and an error always has a code. (What it means for an
 * operation is fuzz_answers.)
 *
 * Each line is an answer: three bytes for the digits of the status (modulo 10),
 * and the body.
 */
#include "fuzz.h"

#include "aws/errors.h"
#include "common/utf8.h"
#include "ddblock.h"

static void
fuzz_check(const struct aws_answer *answer, const struct aws_error *e)
{
	FUZZ_CHECK(memchr(e->name, 0, sizeof(e->name)) != NULL);
	FUZZ_CHECK(memchr(e->text, 0, sizeof(e->text)) != NULL);
	FUZZ_CHECK(utf8_is_shown(e->name) && utf8_is_shown(e->text));
	FUZZ_CHECK(e->class <= AWS_CLASS_REFUSED);
	if (e->class == AWS_CLASS_OK)
		FUZZ_CHECK(e->code == 0 && answer->status / 100 == 2);
	else if (e->class == AWS_CLASS_CONDITION)
		FUZZ_CHECK(e->code == 0);
	else
		FUZZ_CHECK(e->code < 0);
	/* Without an answer nothing is known. */
	if (answer->status == 0)
		FUZZ_CHECK(e->class == AWS_CLASS_TRANSIENT);
	if (aws_error_is_throttling(e))
		FUZZ_CHECK(e->class == AWS_CLASS_THROTTLED);
	(void)aws_error_is_credentials(e);
}

static void
fuzz_answer(struct fuzz_input in)
{
	struct aws_answer answer = { .text = "said so", .maybe_applied = true };
	struct aws_error error;
	char *body;

	for (int i = 0; i < 3; i++)
		answer.status = answer.status * 10 + (int)fuzz_byte(&in) % 10;
	if (answer.status == 0)
		answer.code = DDBLOCK_E_UNREACHABLE;
	body = fuzz_exact_copy(in.at, in.length);
	answer.body = body;
	answer.body_length = in.length;
	aws_errors_classify_answer(&answer, &error);
	fuzz_check(&answer, &error);
	free(body);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size), line;

	while (fuzz_line(&in, &line))
		fuzz_answer(line);
	return 0;
}
