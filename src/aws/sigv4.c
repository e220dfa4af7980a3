/*
 * AWS Signature Version 4.
 *
 * The order of the work is that of the specification: canonical request,
 * string to sign, key of the day, signature. All texts are ASCII; headers are
 * lowered byte by byte, so that the locale has no say.
 */
#include "aws/sigv4.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/error.h"

#define SIGV4_ALGORITHM "AWS4-HMAC-SHA256"
#define SIGV4_QUERY_MAX 64	/* name=value pairs */

static int
sigv4_init_texts(struct sigv4 *s, const char *access_key_id,
    const char *secret, const char *region, const char *service)
{
	s->access_key_id = strdup(access_key_id);
	s->secret = strdup(secret);
	s->region = strdup(region);
	s->service = strdup(service);
	buffer_init(&s->scope, SIGV4_TEXT_MAX);
	buffer_init_secret(&s->canonical, SIGV4_TEXT_MAX);
	buffer_init(&s->text, SIGV4_TEXT_MAX);
	return s->access_key_id != NULL && s->secret != NULL &&
	    s->region != NULL && s->service != NULL ? 0 : DDBLOCK_E_NOMEM;
}

/* To look up an algorithm costs libcrypto more than to hash with it. */
static int
sigv4_init_algorithms(struct sigv4 *s)
{
	char digest[] = "SHA256";
	const OSSL_PARAM parameters[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest,
		    0),
		OSSL_PARAM_construct_end(),
	};
	EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);

	s->sha256 = EVP_MD_fetch(NULL, digest, NULL);
	s->hash = EVP_MD_CTX_new();
	s->mac = hmac != NULL ? EVP_MAC_CTX_new(hmac) : NULL;
	EVP_MAC_free(hmac);
	return s->sha256 != NULL && s->hash != NULL && s->mac != NULL &&
	    EVP_MAC_CTX_set_params(s->mac, parameters) == 1 ?
	    0 : DDBLOCK_E_SYSTEM;
}

int
sigv4_init(struct sigv4 *s, const char *access_key_id, const char *secret,
    const char *region, const char *service)
{
	int r;

	*s = (struct sigv4){ .sha256 = NULL };
	r = sigv4_init_texts(s, access_key_id, secret, region, service);
	if (r == 0)
		r = sigv4_init_algorithms(s);
	if (r < 0)
		sigv4_done(s);
	return r;
}

void
sigv4_done(struct sigv4 *s)
{
	if (s->secret != NULL)
		explicit_bzero(s->secret, strlen(s->secret));
	free(s->secret);
	free(s->access_key_id);
	free(s->region);
	free(s->service);
	buffer_done(&s->scope);
	buffer_done(&s->canonical);
	buffer_done(&s->text);
	EVP_MAC_CTX_free(s->mac);
	EVP_MD_CTX_free(s->hash);
	EVP_MD_free(s->sha256);
	*s = (struct sigv4){ .sha256 = NULL };
}

static void
sigv4_put_digits(char *to, size_t n, uint64_t value)
{
	while (n > 0) {
		to[--n] = (char)('0' + value % 10);
		value /= 10;
	}
}

void
sigv4_date(uint64_t wall_s, char ret_date[SIGV4_DATE_SIZE])
{
	/* Days since 1 March of year 0: leap days come last in such a year. */
	uint64_t days = wall_s / 86400 + 719468, second = wall_s % 86400;
	uint64_t era = days / 146097, day = days % 146097;
	uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	uint64_t month;

	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153;
	day -= (153 * month + 2) / 5;
	year += era * 400 + (month >= 10 ? 1 : 0);
	month = month < 10 ? month + 3 : month - 9;

	memcpy(ret_date, "00000000T000000Z", SIGV4_DATE_SIZE);
	sigv4_put_digits(ret_date, 4, year);
	sigv4_put_digits(ret_date + 4, 2, month);
	sigv4_put_digits(ret_date + 6, 2, day + 1);
	sigv4_put_digits(ret_date + 9, 2, second / 3600);
	sigv4_put_digits(ret_date + 11, 2, second / 60 % 60);
	sigv4_put_digits(ret_date + 13, 2, second % 60);
}

static void
sigv4_append_hex(struct buffer *b, const unsigned char *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	char hex[2 * EVP_MAX_MD_SIZE];

	for (size_t i = 0; i < length; i++) {
		hex[2 * i] = digits[bytes[i] >> 4];
		hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	(void)buffer_append(b, hex, 2 * length);
}

static int
sigv4_append_hash(struct sigv4 *s, struct buffer *b, const void *bytes,
    size_t length)
{
	unsigned char hash[EVP_MAX_MD_SIZE];
	unsigned int hash_length;

	if (EVP_DigestInit_ex(s->hash, s->sha256, NULL) != 1 ||
	    EVP_DigestUpdate(s->hash, bytes, length) != 1 ||
	    EVP_DigestFinal_ex(s->hash, hash, &hash_length) != 1)
		return DDBLOCK_E_SYSTEM;
	sigv4_append_hex(b, hash, hash_length);
	return buffer_failed(b);
}

static bool
sigv4_unreserved(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	    (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
	    c == '~';
}

/* Percent-encode what must be; %XX and the bytes in @keep stay. */
static void
sigv4_append_encoded(struct buffer *b, const char *text, size_t length,
    const char *keep)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (sigv4_unreserved(c) || c == '%' ||
		    (c != '\0' && strchr(keep, c) != NULL))
			(void)buffer_append(b, &text[i], 1);
		else
			(void)buffer_printf(b, "%%%02X", c);
	}
}

/* "name" counts as "name=". */
static int
sigv4_append_pair(struct buffer *b, const char *pair, size_t length)
{
	const char *equals = memchr(pair, '=', length);
	size_t name_length = equals != NULL ? (size_t)(equals - pair) : length;

	sigv4_append_encoded(b, pair, name_length, "");
	(void)buffer_append(b, "=", 1);
	if (equals != NULL)
		sigv4_append_encoded(b, equals + 1, length - name_length - 1,
		    "");
	return buffer_append(b, "", 1);
}

/*
 * Bytewise by name, then by value. '=' would sort after digits and '-', so
 * the name's end is made to sort before everything.
 */
static int
sigv4_compare_pairs(const void *a, const void *b)
{
	const char *x = *(const char *const *)a;
	const char *y = *(const char *const *)b;

	while (*x != '\0' && *x == *y) {
		x++;
		y++;
	}
	return (*x == '=' ? 0 : (unsigned char)*x) -
	    (*y == '=' ? 0 : (unsigned char)*y);
}

static int
sigv4_append_query(struct buffer *out, const char *query)
{
	const char *pairs[SIGV4_QUERY_MAX];
	struct buffer text;
	size_t n = 0, offset = 0;
	int r = 0;

	buffer_init(&text, SIGV4_TEXT_MAX);
	while (*query != '\0' && r == 0) {
		size_t length = strcspn(query, "&");

		if (length > 0 && n++ == SIGV4_QUERY_MAX)
			r = DDBLOCK_E_LIMIT;
		else if (length > 0)
			r = sigv4_append_pair(&text, query, length);
		query += length + (query[length] == '&');
	}
	if (r == 0 && n > 0) {
		/* Only now does the text stay where it is. */
		for (size_t i = 0; i < n; i++) {
			pairs[i] = text.data + offset;
			offset += strlen(pairs[i]) + 1;
		}
		qsort(pairs, n, sizeof(pairs[0]), sigv4_compare_pairs);
		for (size_t i = 0; i < n; i++)
			r = buffer_printf(out, "%s%s", i > 0 ? "&" : "",
			    pairs[i]);
	}
	buffer_done(&text);
	return r;
}

static void
sigv4_append_lower(struct buffer *b, const char *name)
{
	size_t length = strlen(name);

	if (buffer_append(b, name, length) < 0)
		return;
	for (char *c = b->data + b->length - length; *c != '\0'; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	}
}

/* Without blanks at the ends, and with one space for each run inside. */
static void
sigv4_append_value(struct buffer *b, const char *value)
{
	static const char blanks[] = " \t\r\n";
	bool first = true;

	for (value += strspn(value, blanks); *value != '\0';
	    value += strspn(value, blanks)) {
		size_t length = strcspn(value, blanks);

		if (!first)
			(void)buffer_append(b, " ", 1);
		(void)buffer_append(b, value, length);
		value += length;
		first = false;
	}
}

static int
sigv4_compare_names(const char *a, const char *b)
{
	return strcasecmp(a, b); /* ASCII names: the locale does not matter */
}

/* By name; the same names stay in their order. */
static int
sigv4_sort_headers(const struct sigv4_request *q,
    const struct sigv4_header *ret_sorted[SIGV4_HEADERS_MAX])
{
	if (q->n_headers > SIGV4_HEADERS_MAX)
		return DDBLOCK_E_LIMIT;
	for (size_t i = 0; i < q->n_headers; i++) {
		size_t at = i;

		while (at > 0 && sigv4_compare_names(ret_sorted[at - 1]->name,
		    q->headers[i].name) > 0) {
			ret_sorted[at] = ret_sorted[at - 1];
			at--;
		}
		ret_sorted[at] = &q->headers[i];
	}
	return 0;
}

static bool
sigv4_same_as_last(const struct sigv4_header *const *sorted, size_t i)
{
	return i > 0 &&
	    sigv4_compare_names(sorted[i - 1]->name, sorted[i]->name) == 0;
}

/* Of headers that are sorted already. */
static void
sigv4_append_signed_names(struct buffer *b,
    const struct sigv4_header *const *sorted, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (sigv4_same_as_last(sorted, i))
			continue;
		if (i > 0)
			(void)buffer_append(b, ";", 1);
		sigv4_append_lower(b, sorted[i]->name);
	}
}

static void
sigv4_append_headers(struct buffer *b,
    const struct sigv4_header *const *sorted, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (sigv4_same_as_last(sorted, i)) {
			(void)buffer_append(b, ",", 1);
		} else {
			if (i > 0)
				(void)buffer_append(b, "\n", 1);
			sigv4_append_lower(b, sorted[i]->name);
			(void)buffer_append(b, ":", 1);
		}
		sigv4_append_value(b, sorted[i]->value);
	}
	(void)buffer_append_text(b, "\n\n");
}

int
sigv4_canonical(struct sigv4 *s, const struct sigv4_request *q,
    struct buffer *b)
{
	const struct sigv4_header *sorted[SIGV4_HEADERS_MAX];
	int r = sigv4_sort_headers(q, sorted);

	if (r < 0)
		return r;
	(void)buffer_append_text(b, q->method);
	(void)buffer_append(b, "\n", 1);
	sigv4_append_encoded(b, q->path, strlen(q->path), "/");
	(void)buffer_append(b, "\n", 1);
	r = sigv4_append_query(b, q->query);
	if (r < 0)
		return r;
	(void)buffer_append(b, "\n", 1);
	sigv4_append_headers(b, sorted, q->n_headers);
	sigv4_append_signed_names(b, sorted, q->n_headers);
	(void)buffer_append(b, "\n", 1);
	return sigv4_append_hash(s, b, q->body, q->body_length);
}

static int
sigv4_hmac(struct sigv4 *s, const void *text, size_t length,
    unsigned char ret[SIGV4_KEY_SIZE])
{
	size_t mac_length = 0;

	return EVP_MAC_update(s->mac, text, length) == 1 &&
	    EVP_MAC_final(s->mac, ret, &mac_length, SIGV4_KEY_SIZE) == 1 &&
	    mac_length == SIGV4_KEY_SIZE ? 0 : DDBLOCK_E_SYSTEM;
}

/* The key of the day, through one key for each part; it stays in @s->mac. */
static int
sigv4_derive_key(struct sigv4 *s, const char *date)
{
	const char *parts[] = { s->day, s->region, s->service,
	    "aws4_request" };
	unsigned char key[SIGV4_KEY_SIZE];
	struct buffer first;
	int r;

	buffer_init_secret(&first, SIGV4_TEXT_MAX);
	(void)buffer_append_text(&first, "AWS4");
	r = buffer_append_text(&first, s->secret);
	if (r == 0 && EVP_MAC_init(s->mac, (unsigned char *)first.data,
	    first.length, NULL) != 1)
		r = DDBLOCK_E_SYSTEM;
	buffer_done(&first);
	memcpy(s->day, date, SIGV4_DAY_LENGTH);
	for (size_t i = 0; r == 0 && i < 4; i++) {
		r = sigv4_hmac(s, parts[i], strlen(parts[i]), key);
		if (r == 0 && EVP_MAC_init(s->mac, key, sizeof(key), NULL) != 1)
			r = DDBLOCK_E_SYSTEM;
	}
	explicit_bzero(key, sizeof(key));
	buffer_clear(&s->scope);
	if (r == 0)
		r = buffer_printf(&s->scope, "%s/%s/%s/aws4_request", s->day,
		    s->region, s->service);
	if (r < 0)
		s->day[0] = '\0';
	return r;
}

/* Ready to sign for the day of @date. */
static int
sigv4_begin(struct sigv4 *s, const char *date)
{
	if (memcmp(s->day, date, SIGV4_DAY_LENGTH) != 0)
		return sigv4_derive_key(s, date);
	/* From the start, with the same key. */
	return EVP_MAC_init(s->mac, NULL, 0, NULL) == 1 ?
	    0 : DDBLOCK_E_SYSTEM;
}

int
sigv4_string_to_sign(struct sigv4 *s, const struct sigv4_request *q,
    const char date[SIGV4_DATE_SIZE], struct buffer *b)
{
	int r = sigv4_begin(s, date);

	buffer_clear(&s->canonical);
	if (r == 0)
		r = sigv4_canonical(s, q, &s->canonical);
	if (r < 0)
		return r;
	(void)buffer_append_text(b, SIGV4_ALGORITHM "\n");
	(void)buffer_append_text(b, date);
	(void)buffer_append(b, "\n", 1);
	(void)buffer_append_text(b, s->scope.data);
	(void)buffer_append(b, "\n", 1);
	return sigv4_append_hash(s, b, s->canonical.data,
	    s->canonical.length);
}

int
sigv4_sign(struct sigv4 *s, const struct sigv4_request *q,
    const char date[SIGV4_DATE_SIZE], struct buffer *authorization)
{
	const struct sigv4_header *sorted[SIGV4_HEADERS_MAX];
	unsigned char mac[SIGV4_KEY_SIZE];
	int r;

	buffer_clear(&s->text);
	r = sigv4_string_to_sign(s, q, date, &s->text);
	if (r == 0)
		r = sigv4_hmac(s, s->text.data, s->text.length, mac);
	if (r < 0)
		return r;

	(void)sigv4_sort_headers(q, sorted); /* went well above */
	(void)buffer_append_text(authorization,
	    SIGV4_ALGORITHM " Credential=");
	(void)buffer_append_text(authorization, s->access_key_id);
	(void)buffer_append(authorization, "/", 1);
	(void)buffer_append_text(authorization, s->scope.data);
	(void)buffer_append_text(authorization, ", SignedHeaders=");
	sigv4_append_signed_names(authorization, sorted, q->n_headers);
	(void)buffer_append_text(authorization, ", Signature=");
	sigv4_append_hex(authorization, mac, sizeof(mac));
	return buffer_failed(authorization);
}
