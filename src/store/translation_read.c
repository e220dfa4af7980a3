/*
 * What a raw answer of the endpoint means for an attempt.
 */
#include <string.h>

#include "store/translation.h"

static enum translation_class
translation_refusal(const struct aws_error *e)
{
	if (strcmp(e->name, "ValidationException") == 0)
		return TRANSLATION_INVALID;
	if (strcmp(e->name, "UnknownOperationException") == 0)
		return TRANSLATION_UNHEARD_OF;
	return TRANSLATION_REFUSED;
}

struct translation_answer
translation_read(const struct aws_answer *answer, const struct aws_error *e)
{
	struct translation_answer a = {
		.code = e->code, .text = e->text, .body = answer->body,
		.body_length = answer->body_length, .sent_ms = answer->sent_ms,
	};

	switch (e->class) {
	case AWS_CLASS_OK:
		a.class = TRANSLATION_OK;
		break;
	case AWS_CLASS_CONDITION:
		a.class = TRANSLATION_CONDITION;
		break;
	case AWS_CLASS_THROTTLED:
	case AWS_CLASS_CLOCK:
		a.class = TRANSLATION_AGAIN;
		break;
	case AWS_CLASS_TRANSIENT:
		a.class = answer->status == 0 && !answer->maybe_applied ?
		    TRANSLATION_AGAIN : TRANSLATION_LOST;
		break;
	case AWS_CLASS_REFUSED:
		a.class = translation_refusal(e);
		break;
	}
	return a;
}
