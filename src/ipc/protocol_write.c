/*
 * Writes the arguments of a request, as their rows say.
 */
#include "ipc/protocol.h"

#include <inttypes.h>

void
protocol_write(struct buffer *b, enum protocol_argument argument,
    uint64_t number)
{
	const struct protocol_argument_row *row = protocol_argument(argument);
	const char *word;
	size_t length;

	switch (row->kind) {
	case KIND_BOOLEAN:
		codec_boolean(b, row->word, number != 0);
		break;
	case KIND_CHOICE:
		word = protocol_choice(argument, number, &length);
		codec_value(b, row->word, word, length);
		break;
	case KIND_TIME:
		/* In ms, so that it arrives exactly. */
		if (number == PROTOCOL_FOREVER)
			codec_text_value(b, row->word, row->choices);
		else
			(void)buffer_printf(b, " %s=%" PRIu64 "ms", row->word,
			    number);
		break;
	default:
		codec_number(b, row->word, number);
		break;
	}
}

void
protocol_write_text(struct buffer *b, enum protocol_argument argument,
    const char *text)
{
	if (text != NULL)
		codec_text_value(b, protocol_argument(argument)->word, text);
}
