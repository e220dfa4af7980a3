/*
 * Options.
 */
#include "lib/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ddblock.h"
#include "ipc/codec.h"

int
options_copy(void *to, size_t to_size, const void *from, size_t size)
{
	const unsigned char *bytes = from;

	for (size_t i = to_size; i < size; i++) {
		if (bytes[i] != 0)
			return DDBLOCK_E_UNSUPPORTED;
	}
	(void)memcpy(to, from, size < to_size ? size : to_size);
	return 0;
}

void
options_milliseconds(struct buffer *b, const char *name, int64_t ms)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRId64 "ms", ms);
	codec_text_value(b, name, text);
}
