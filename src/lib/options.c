/*
 * Options.
 */
#include "lib/options.h"

#include <string.h>

#include "ddblock.h"

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

static void
option_write_time(struct buffer *b, const struct option *o, int64_t ms)
{
	if (ms > 0)
		protocol_write(b, o->argument, o->kind == OPTION_TIME &&
		    ms == INT64_MAX ? PROTOCOL_FOREVER : (uint64_t)ms);
	else if (ms < 0 && o->kind == OPTION_TIME_OR_NEVER)
		protocol_write(b, o->argument, PROTOCOL_FOREVER);
}

static void
option_write(struct buffer *b, const struct option *o, const void *field)
{
	static void (*const no_function)(void);
	uint32_t count;

	switch (o->kind) {
	case OPTION_TEXT:
		protocol_write_text(b, o->argument,
		    *(const char *const *)field);
		break;
	case OPTION_FLAG:
		if (*(const int *)field != 0)
			protocol_write(b, o->argument, 1);
		break;
	case OPTION_COUNT:
		count = *(const uint32_t *)field;
		if (count > 0)
			protocol_write(b, o->argument, count);
		break;
	case OPTION_TIME:
	case OPTION_TIME_OR_NEVER:
		option_write_time(b, o, *(const int64_t *)field);
		break;
	case OPTION_FUNCTION:
		if (memcmp(field, &no_function, sizeof(no_function)) != 0)
			protocol_write(b, o->argument, 1);
		break;
	case OPTION_DESCRIPTOR:
		if (*(const int *)field >= 0)
			protocol_write(b, o->argument, 1);
		break;
	}
}

void
options_write(struct buffer *b, enum protocol_verb verb, const void *options,
    const struct option *table, size_t n)
{
	const unsigned char *bytes = options;

	for (size_t i = 0; i < n; i++) {
		if (protocol_takes(verb, table[i].argument))
			option_write(b, &table[i], bytes + table[i].offset);
	}
}
