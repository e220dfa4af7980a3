/*
 * The native record format: a holder as a text, and back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dialect/json.h"
#include "dialect/native/native.h"

void
native_format_holder(const struct holder *h, char text[NATIVE_HOLDER_SIZE])
{
	char *at = text;

	ident_format(h->session, at);
	at += IDENT_TEXT_LENGTH;
	*at++ = '.';
	ident_format(h->grant, at);
	at += IDENT_TEXT_LENGTH;
	(void)snprintf(at, NATIVE_HOLDER_SIZE - (size_t)(at - text),
	    ".%" PRIu64 ".%c", h->lease_ms, h->fail_closed ? 'c' : '-');
}

bool
native_parse_holder(const char *text, size_t length, struct holder *ret)
{
	const size_t start = 2 * (IDENT_TEXT_LENGTH + 1);
	struct holder h = { 0 };
	const char *dot;
	size_t left;

	if (length < start || text[IDENT_TEXT_LENGTH] != '.' ||
	    text[start - 1] != '.' ||
	    !ident_parse(text, IDENT_TEXT_LENGTH, &h.session) ||
	    !ident_parse(text + IDENT_TEXT_LENGTH + 1, IDENT_TEXT_LENGTH,
	    &h.grant))
		return false;
	dot = memchr(text + start, '.', length - start);
	if (dot == NULL || !json_read_number(text + start,
	    (size_t)(dot - text) - start, TOKEN_MAX, &h.lease_ms) ||
	    h.lease_ms == 0)
		return false;
	left = length - (size_t)(dot + 1 - text);
	if (left != 1 || (dot[1] != '-' && dot[1] != 'c'))
		return false;
	h.fail_closed = dot[1] == 'c';
	*ret = h;
	return true;
}
