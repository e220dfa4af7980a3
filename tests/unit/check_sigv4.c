/*
 * Signatures against the published vectors, step by step.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aws/sigv4.h"
#include "common/error.h"
#include "test.h"

#define FILE_MAX 8192
#define CASES_MAX 64

static char cases[CASES_MAX][256];
static int n_cases;

static void
read_case(const char *name, const char *suffix, char to[FILE_MAX])
{
	char path[1024];
	size_t length;
	FILE *file;

	ck_assert_int_lt(snprintf(path, sizeof(path), "%s/%s.%s", SIGV4_DATA,
	    name, suffix), (int)sizeof(path));
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s", path);
	length = fread(to, 1, FILE_MAX - 1, file);
	ck_assert_uint_lt(length, FILE_MAX - 1);
	to[length] = '\0';
	fclose(file);
}

/* Cuts @text into a request; everything points into it. */
static void
parse_request(char *text, struct sigv4_request *q,
    struct sigv4_header headers[SIGV4_HEADERS_MAX])
{
	char *body = strstr(text, "\n\n");
	char *line, *next, *space;

	q->body = "";
	if (body != NULL) {
		*body = '\0';
		q->body = body + 2;
	}
	q->body_length = strlen(q->body);
	next = strchr(text, '\n');
	*next++ = '\0';

	/* "GET /a path?query HTTP/1.1" */
	space = strrchr(text, ' ');
	*space = '\0';
	space = strchr(text, ' ');
	*space = '\0';
	q->method = text;
	q->path = space + 1;
	q->query = "";
	line = strchr(space + 1, '?');
	if (line != NULL) {
		*line = '\0';
		q->query = line + 1;
	}

	q->headers = headers;
	q->n_headers = 0;
	for (line = next; line != NULL && *line != '\0'; line = next) {
		char *colon = strchr(line, ':');

		/* A line that begins with a blank goes on with the last. */
		next = line;
		do {
			next = strchr(next + 1, '\n');
		} while (next != NULL && next[1] == ' ');
		if (next != NULL)
			*next++ = '\0';
		*colon = '\0';
		ck_assert_uint_lt(q->n_headers, SIGV4_HEADERS_MAX);
		headers[q->n_headers].name = line;
		headers[q->n_headers++].value = colon + 1;
	}
}

/* Where the credentials bring a token, the request has no header of it yet. */
static void
add_token(const char *canonical, struct sigv4_request *q,
    struct sigv4_header headers[SIGV4_HEADERS_MAX], char token[FILE_MAX])
{
	const char *line = strstr(canonical, "\nx-amz-security-token:");

	for (size_t i = 0; i < q->n_headers; i++)
		if (strcasecmp(headers[i].name, "X-Amz-Security-Token") == 0)
			return;
	if (line == NULL)
		return;
	line = strchr(line, ':') + 1;
	snprintf(token, FILE_MAX, "%.*s", (int)strcspn(line, "\n"), line);
	headers[q->n_headers].name = "X-Amz-Security-Token";
	headers[q->n_headers++].value = token;
}

static int
find_cases(void)
{
	DIR *folder = opendir(SIGV4_DATA);
	struct dirent *entry;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		size_t length = strlen(entry->d_name);

		if (length < 5 || n_cases == CASES_MAX ||
		    strcmp(entry->d_name + length - 4, ".req") != 0)
			continue;
		snprintf(cases[n_cases++], sizeof(cases[0]), "%.*s",
		    (int)length - 4, entry->d_name);
	}
	if (folder != NULL)
		closedir(folder);
	return n_cases;
}

TEST_LOOP(test_published_vector, 0, find_cases())
{
	const char *name = cases[_i], *date = "20150830T123600Z";
	struct sigv4_header headers[SIGV4_HEADERS_MAX];
	char request[FILE_MAX], expected[FILE_MAX], token[FILE_MAX];
	struct sigv4_request q;
	struct sigv4 s;
	struct buffer b;

	buffer_init(&b, SIGV4_TEXT_MAX);
	ck_assert_int_eq(sigv4_init(&s, "AKIDEXAMPLE",
	    "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1",
	    "service"), 0);
	read_case(name, "req", request);
	parse_request(request, &q, headers);
	read_case(name, "creq", expected);
	add_token(expected, &q, headers, token);

	ck_assert_int_eq(sigv4_canonical(&s, &q, &b), 0);
	ck_assert_msg(strcmp(b.data, expected) == 0, "%s:\n%s\n\n%s", name,
	    b.data, expected);

	buffer_clear(&b);
	ck_assert_int_eq(sigv4_string_to_sign(&s, &q, date, &b), 0);
	read_case(name, "sts", expected);
	ck_assert_msg(strcmp(b.data, expected) == 0, "%s:\n%s\n\n%s", name,
	    b.data, expected);

	read_case(name, "authz", expected);
	for (int i = 0; i < 2; i++) { /* the second with the key kept */
		buffer_clear(&b);
		ck_assert_int_eq(sigv4_sign(&s, &q, date, &b), 0);
		ck_assert_msg(strcmp(b.data, expected) == 0, "%s:\n%s\n\n%s",
		    name, b.data, expected);
	}
	buffer_done(&b);
	sigv4_done(&s);
}

TEST(test_cases_are_there)
{
	ck_assert_int_ge(n_cases, 28);
}

static void
sign(struct sigv4 *s, const char *date, struct buffer *b)
{
	struct sigv4_header header = { "x-amz-date", date };
	struct sigv4_request q = {
		.method = "POST", .path = "/", .query = "",
		.headers = &header, .n_headers = 1, .body = "{}",
		.body_length = 2,
	};

	buffer_clear(b);
	ck_assert_int_eq(sigv4_sign(s, &q, date, b), 0);
}

/* The key that is kept is that of the day. */
TEST(test_next_day_has_another_key)
{
	struct buffer first, second, fresh;
	struct sigv4 s, t;

	buffer_init(&first, SIGV4_TEXT_MAX);
	buffer_init(&second, SIGV4_TEXT_MAX);
	buffer_init(&fresh, SIGV4_TEXT_MAX);
	ck_assert_int_eq(sigv4_init(&s, "A", "secret", "r", "s"), 0);
	ck_assert_int_eq(sigv4_init(&t, "A", "secret", "r", "s"), 0);
	sign(&s, "20240229T235959Z", &first);
	sign(&s, "20240301T000000Z", &second);
	sign(&t, "20240301T000000Z", &fresh);
	ck_assert_str_ne(first.data, second.data);
	ck_assert_str_eq(second.data, fresh.data);
	sign(&s, "20240229T235959Z", &second);
	ck_assert_str_eq(first.data, second.data);
	buffer_done(&first);
	buffer_done(&second);
	buffer_done(&fresh);
	sigv4_done(&s);
	sigv4_done(&t);
}

TEST(test_too_many_headers)
{
	struct sigv4_header headers[SIGV4_HEADERS_MAX + 1];
	struct sigv4_request q = {
		.method = "GET", .path = "/", .query = "",
		.headers = headers, .n_headers = SIGV4_HEADERS_MAX + 1,
		.body = "",
	};
	struct sigv4 s;
	struct buffer b;

	ck_assert_int_eq(sigv4_init(&s, "A", "secret", "r", "s"), 0);
	for (size_t i = 0; i <= SIGV4_HEADERS_MAX; i++)
		headers[i] = (struct sigv4_header){ "a", "b" };
	buffer_init(&b, SIGV4_TEXT_MAX);
	ck_assert_int_eq(sigv4_canonical(&s, &q, &b), DDBLOCK_E_LIMIT);
	q.n_headers--;
	ck_assert_int_eq(sigv4_canonical(&s, &q, &b), 0);
	buffer_done(&b);
	sigv4_done(&s);
}

TEST(test_dates)
{
	static const struct {
		uint64_t wall_s;
		const char *date;
	} rows[] = {
		{ 0, "19700101T000000Z" },
		{ 951782399, "20000228T235959Z" },
		{ 951782400, "20000229T000000Z" },
		{ 951868800, "20000301T000000Z" },
		{ 1440938160, "20150830T123600Z" },
		{ 1709164799, "20240228T235959Z" },
		{ 1709251199, "20240229T235959Z" },
		{ 1735689599, "20241231T235959Z" },
		{ 1735689600, "20250101T000000Z" },
		{ 4107542399, "21000228T235959Z" },
		{ 4107542400, "21000301T000000Z" },
	};
	char date[SIGV4_DATE_SIZE];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sigv4_date(rows[i].wall_s, date);
		ck_assert_str_eq(date, rows[i].date);
	}
}
