/*
 * What the headers of an answer say of it.
 *
 * DynamoDB sends a CRC-32 of each body, and compresses only what was asked for;
 * SDKs repeat where the sum differs. A success whose content is no JSON comes
 * from a portal or a proxy that speaks for the service. Of an error this does
 * not matter: an unknown error proves nothing there (errors.h).
 */
#include "aws/response.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#define RESPONSE_DIGITS_MAX 10		/* of 32 bits */
#define RESPONSE_RETRY_DIGITS_MAX 9	/* eleven days in ms */

/* The value of the header @name, without the space around it; false: this is
 * another one. A value that is too long is cut. */
static bool
response_value(const char *line, size_t length, const char *name,
    char ret[RESPONSE_VALUE_MAX])
{
	size_t n = strlen(name);

	if (length <= n || line[n] != ':' || strncasecmp(line, name, n) != 0)
		return false;
	line += n + 1;
	length -= n + 1;
	while (length > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		length--;
	}
	while (length > 0 && (unsigned char)line[length - 1] <= ' ')
		length--;
	if (length > RESPONSE_VALUE_MAX - 1)
		length = RESPONSE_VALUE_MAX - 1;
	memcpy(ret, line, length);
	ret[length] = '\0';
	return true;
}

static bool
response_number(const char *text, size_t digits_max, uint64_t *ret)
{
	size_t length = strlen(text);
	uint64_t value = 0;

	if (length == 0 || length > digits_max)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	*ret = value;
	return true;
}

static void
response_take_crc32(struct response *r, const char *text)
{
	uint64_t value = 0;

	r->has_crc32 = true;
	if (!response_number(text, RESPONSE_DIGITS_MAX, &value) ||
	    value > UINT32_MAX)
		r->bad_crc32 = true;
	else
		r->crc32 = (uint32_t)value;
}

void
response_begin(struct response *r)
{
	r->date_s = 0;
	r->retry_after_ms = 0;
	r->has_crc32 = false;
	r->bad_crc32 = false;
	r->type[0] = '\0';
	r->encoding[0] = '\0';
}

static void
response_take_date(struct response *r, const char *text)
{
	if (strcmp(text, r->known_date) != 0) {
		time_t date = curl_getdate(text, NULL);

		r->known_date_s = date > 0 ? (int64_t)date : 0;
		memcpy(r->known_date, text, strlen(text) + 1);
	}
	r->date_s = r->known_date_s;
}

void
response_take_line(struct response *r, const char *line, size_t length)
{
	char value[RESPONSE_VALUE_MAX];

	if (length >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		response_begin(r);
	} else if (response_value(line, length, "date", value)) {
		response_take_date(r, value);
	} else if (response_value(line, length, "x-amz-crc32", value)) {
		response_take_crc32(r, value);
	} else if (response_value(line, length, "x-amz-retry-after", value)) {
		if (!response_number(value, RESPONSE_RETRY_DIGITS_MAX,
		    &r->retry_after_ms))
			r->retry_after_ms = 0;
	} else if (response_value(line, length, "content-type", value)) {
		memcpy(r->type, value, sizeof(r->type));
	} else if (response_value(line, length, "content-encoding", value) &&
	    strcasecmp(value, "identity") != 0) {
		memcpy(r->encoding, value, sizeof(r->encoding));
	}
}

/* Emulators say "application/json", or nothing at all. */
static bool
response_is_json(const char *type)
{
	return type[0] == '\0' ||
	    strncasecmp(type, "application/x-amz-json-", 23) == 0 ||
	    strncasecmp(type, "application/json", 16) == 0;
}

/* What a header said, fit to print. */
static const char *
response_printable(const char *value, char ret[RESPONSE_VALUE_MAX])
{
	size_t i;

	for (i = 0; value[i] != '\0'; i++)
		ret[i] = value[i] >= ' ' && value[i] <= '~' ? value[i] : '?';
	ret[i] = '\0';
	return ret;
}

bool
response_check(const struct response *r, int status, const char *body,
    size_t body_length, char *text)
{
	char value[RESPONSE_VALUE_MAX];
	uint32_t crc32_here;

	if (r->encoding[0] != '\0') {
		(void)snprintf(text, RESPONSE_TEXT_MAX, "the answer is "
		    "compressed (%s), although the request did not ask for "
		    "that: a proxy must not change answers",
		    response_printable(r->encoding, value));
		return false;
	}
	if (status >= 200 && status < 300 && !response_is_json(r->type)) {
		(void)snprintf(text, RESPONSE_TEXT_MAX, "the answer is %s and "
		    "not DynamoDB's: something in between answers for it",
		    response_printable(r->type, value));
		return false;
	}
	if (!r->has_crc32)
		return true;
	crc32_here = (uint32_t)crc32_z(0, (const unsigned char *)body,
	    body_length);
	if (!r->bad_crc32 && r->crc32 == crc32_here)
		return true;
	(void)snprintf(text, RESPONSE_TEXT_MAX,
	    "the answer was damaged on its way (CRC-32)");
	return false;
}
