/*
 * The answer to a release of all: it sums up the results of its parts, each of
 * which is a request of its own to the core.
 */
#include "common/error.h"
#include "ipc/answer/answer.h"

static void
release_answer(struct connection *c, struct pending *whole)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, whole->tag, "OK");
	codec_number(b, "released", whole->n_released);
	if (whole->n_lost > 0)
		codec_number(b, "lost", whole->n_lost);
	if (whole->n_failed > 0) {
		codec_number(b, "failed", whole->n_failed);
		codec_text_value(b, "cause", error_word(whole->cause));
	}
	codec_end(b, NULL);
	pending_free(c, whole);
	connection_queued(c);
}

void
release_settle(struct connection *c, struct pending *whole)
{
	if (--whole->n_parts == 0)
		release_answer(c, whole);
}

void
release_count(struct connection *c, struct pending *whole, int code)
{
	if (code == 0) {
		whole->n_released++;
	} else if (code == DDBLOCK_E_LOCK_LOST ||
	    code == DDBLOCK_E_LOCK_STOLEN) {
		whole->n_lost++;
	} else {
		whole->n_failed++;
		whole->cause = code;
	}
	release_settle(c, whole);
}

void
release_answered(struct connection *c, struct pending *part, int code)
{
	struct pending *whole = part->whole;

	pending_free(c, part);
	release_count(c, whole, code);
}
