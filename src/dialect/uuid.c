/*
 * UUIDs as the versions of records.
 */
#include "dialect/uuid.h"

#include <assert.h>

static bool
uuid_is_dash(size_t i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

void
uuid_format(struct ident hold, uint64_t beat, char text[UUID_LENGTH + 1])
{
	char digits[IDENT_TEXT_LENGTH + 1];
	size_t n = 0;

	assert(beat <= UINT32_MAX);
	hold.low = (hold.low & ~(uint64_t)UINT32_MAX) | beat;
	ident_format(hold, digits);
	for (size_t i = 0; i < UUID_LENGTH; i++)
		text[i] = uuid_is_dash(i) ? '-' : digits[n++];
	text[UUID_LENGTH] = '\0';
}

bool
uuid_parse(const char *text, size_t length, struct ident *ret_hold,
    uint64_t *ret_beat)
{
	char digits[IDENT_TEXT_LENGTH];
	struct ident i;
	size_t n = 0;

	if (length != UUID_LENGTH)
		return false;
	for (size_t at = 0; at < UUID_LENGTH; at++) {
		char c = text[at];

		if (uuid_is_dash(at) != (c == '-'))
			return false;
		if (c >= 'A' && c <= 'F')
			c = (char)(c - 'A' + 'a');
		if (c != '-')
			digits[n++] = c;
	}
	if (!ident_parse(digits, sizeof(digits), &i))
		return false;
	*ret_beat = i.low & UINT32_MAX;
	i.low -= *ret_beat;
	if (ident_is_none(i))
		i.high = 1;	/* of all zeros, which is a UUID, too */
	*ret_hold = i;
	return true;
}
