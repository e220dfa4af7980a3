/*
 * A contact's one form: numbers as everywhere, small letters, one space.
 */
#include "hints/hint_contact.h"

#include <stdio.h>
#include <string.h>

void
hint_contact_format(const struct hint_address *address,
    const uint8_t key[HINT_KEY_BYTES], char text[HINT_CONTACT_MAX])
{
	char *at = text;

	hint_address_format(address, text);
	at += strlen(text);
	*at++ = ' ';
	for (int i = 0; i < HINT_KEY_BYTES; i++)
		at += snprintf(at, 3, "%02x", key[i]);
}

static int
contact_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	    c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
hint_contact_parse(const char *text, struct hint_address *ret,
    uint8_t ret_key[HINT_KEY_BYTES])
{
	const char *space = strchr(text, ' ');

	if (space == NULL || strlen(space + 1) != (size_t)2 * HINT_KEY_BYTES ||
	    !hint_address_parse(text, (size_t)(space - text), ret))
		return false;
	for (int i = 0; i < HINT_KEY_BYTES; i++) {
		int high = contact_digit(space[1 + 2 * i]);
		int low = contact_digit(space[2 + 2 * i]);

		if (high < 0 || low < 0)
			return false;
		ret_key[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}
