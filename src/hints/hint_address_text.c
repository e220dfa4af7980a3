/*
 * Addresses as text. libc's inet_pton() would do most of it, but in a header of
 * sockets, which pure code does not include. See hint_address.h.
 */
#include "hints/hint_address.h"

#include <stdio.h>
#include <string.h>

#define GROUPS 8	/* of an IPv6 address */

struct hint_text {
	const char *at;
	const char *end;
};

static bool
hint_text_take(struct hint_text *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

/* A number up to @most, without leading zeros, and no sign. */
static bool
hint_text_number(struct hint_text *t, unsigned most, unsigned *ret)
{
	const char *from = t->at;
	unsigned value = 0;

	while (t->at < t->end && *t->at >= '0' && *t->at <= '9') {
		value = 10 * value + (unsigned)(*t->at++ - '0');
		if (value > most)
			return false;
	}
	if (t->at == from || (*from == '0' && t->at > from + 1))
		return false;
	*ret = value;
	return true;
}

static bool
hint_text_v4(struct hint_text *t, uint8_t ret[4])
{
	for (int i = 0; i < 4; i++) {
		unsigned value;

		if ((i > 0 && !hint_text_take(t, '.')) ||
		    !hint_text_number(t, 255, &value))
			return false;
		ret[i] = (uint8_t)value;
	}
	return true;
}

/* One to four hexadecimal digits. */
static bool
hint_text_group(struct hint_text *t, uint8_t ret[2])
{
	const char *from = t->at;
	unsigned value = 0;

	for (; t->at < t->end && t->at < from + 4; t->at++) {
		const char c = *t->at;

		if (c >= '0' && c <= '9')
			value = 16 * value + (unsigned)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			value = 16 * value + (unsigned)((c | 0x20) - 'a' + 10);
		else
			break;
	}
	ret[0] = (uint8_t)(value >> 8);
	ret[1] = (uint8_t)value;
	return t->at > from;
}

/* Is an IPv4 address next? */
static bool
hint_text_is_dotted(const struct hint_text *t)
{
	const char *p = t->at;

	while (p < t->end && *p >= '0' && *p <= '9')
		p++;
	return p > t->at && p < t->end && *p == '.';
}

/* Groups and one "::", up to the bracket. */
static bool
hint_text_v6(struct hint_text *t, uint8_t ret[HINT_IP_BYTES])
{
	uint8_t bytes[HINT_IP_BYTES + 4];
	size_t n = 0, gap = SIZE_MAX;

	if (t->end - t->at >= 2 && t->at[0] == ':' && t->at[1] == ':') {
		t->at += 2;
		gap = 0;
	}
	while (t->at < t->end && *t->at != ']') {
		if (n > 0 && n != gap && !hint_text_take(t, ':'))
			return false;
		if (n > 0 && n != gap && hint_text_take(t, ':')) {
			if (gap != SIZE_MAX)
				return false;
			gap = n;
			continue;
		}
		if (n >= HINT_IP_BYTES)
			return false;
		if (hint_text_is_dotted(t)) {
			if (!hint_text_v4(t, bytes + n))
				return false;
			n += 4;
			break;	/* it is the end */
		}
		if (!hint_text_group(t, bytes + n))
			return false;
		n += 2;
	}
	if (gap == SIZE_MAX ? n != HINT_IP_BYTES : n > HINT_IP_BYTES - 2)
		return false;
	if (gap == SIZE_MAX)
		gap = n;
	memset(ret, 0, HINT_IP_BYTES);
	memcpy(ret, bytes, gap);
	memcpy(ret + HINT_IP_BYTES - (n - gap), bytes + gap, n - gap);
	return true;
}

bool
hint_address_parse(const char *text, size_t length, struct hint_address *ret)
{
	struct hint_address a = { .ip = { [10] = 0xff, 0xff } };
	struct hint_text t = { text, text + length };
	unsigned port;

	if (hint_text_take(&t, '[')) {
		if (!hint_text_v6(&t, a.ip) || !hint_text_take(&t, ']'))
			return false;
	} else if (!hint_text_v4(&t, a.ip + HINT_IP_BYTES - 4)) {
		return false;
	}
	if (!hint_text_take(&t, ':') ||
	    !hint_text_number(&t, UINT16_MAX, &port) || t.at != t.end)
		return false;
	a.port = (uint16_t)port;
	*ret = a;
	return true;
}

/* ---- writing ------------------------------------------------------------ */

static unsigned
hint_address_group(const struct hint_address *a, int i)
{
	return (unsigned)(a->ip[2 * i] << 8 | a->ip[2 * i + 1]);
}

/* The first of the longest rows of two or more zeros; its length, or 0. */
static int
hint_address_zeros(const struct hint_address *a, int *ret_from)
{
	int longest = 0;

	for (int i = 0; i < GROUPS; i++) {
		int n = 0;

		while (i + n < GROUPS && hint_address_group(a, i + n) == 0)
			n++;
		if (n >= 2 && n > longest) {
			longest = n;
			*ret_from = i;
		}
	}
	return longest;
}

void
hint_address_format(const struct hint_address *a,
    char text[HINT_ADDRESS_TEXT_MAX])
{
	int from = GROUPS, zeros = hint_address_zeros(a, &from);
	size_t n = 0;

	if (hint_address_is_v4(a)) {
		(void)snprintf(text, HINT_ADDRESS_TEXT_MAX, "%u.%u.%u.%u:%u",
		    a->ip[12], a->ip[13], a->ip[14], a->ip[15],
		    (unsigned)a->port);
		return;
	}
	text[n++] = '[';
	for (int i = 0; i < GROUPS; i++) {
		if (i == from) {
			text[n++] = ':';
			text[n++] = ':';
			i += zeros - 1;
			continue;
		}
		n += (size_t)snprintf(text + n, HINT_ADDRESS_TEXT_MAX - n,
		    "%s%x", i == 0 || i == from + zeros ? "" : ":",
		    hint_address_group(a, i));
	}
	(void)snprintf(text + n, HINT_ADDRESS_TEXT_MAX - n, "]:%u",
	    (unsigned)a->port);
}
