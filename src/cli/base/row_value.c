/*
 * The values of a row's fields, which are texts on their way.
 */
#include <config.h>

#include "cli/base/row_value.h"

#include "ipc/codec.h"

bool
row_number(const struct ddblock_row *row, const char *name, uint64_t *ret)
{
	size_t length;
	const char *value = ddblock_row_find(row, name, &length);
	uint64_t number;

	if (value == NULL || !codec_parse_number(value, length, &number))
		return false;
	*ret = number;
	return true;
}

bool
row_time(const struct ddblock_row *row, const char *name, uint64_t *ret_ms)
{
	size_t length;
	const char *value = ddblock_row_find(row, name, &length);
	uint64_t ms;

	if (value == NULL || !codec_parse_duration(value, length, &ms))
		return false;
	*ret_ms = ms;
	return true;
}

uint64_t
row_number_or(const struct ddblock_row *row, const char *name, uint64_t none)
{
	uint64_t number = none;

	(void)row_number(row, name, &number);
	return number;
}
