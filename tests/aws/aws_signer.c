/*
 * Signs what it is asked to, for test_sigv4.py: one JSON object a line comes
 * in, the value of the Authorization header goes out. One process for all of
 * them, as the daemon signs with one key for long.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aws/sigv4.h"

static const char *
text_of(struct json_object *o, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(o, key, &value)) {
		fprintf(stderr, "aws_signer: no %s\n", key);
		exit(2);
	}
	return json_object_get_string(value);
}

static void
fill_headers(struct json_object *o, struct sigv4_request *q,
    struct sigv4_header headers[SIGV4_HEADERS_MAX])
{
	struct json_object *list = NULL;

	if (!json_object_object_get_ex(o, "headers", &list) ||
	    json_object_array_length(list) > SIGV4_HEADERS_MAX) {
		fprintf(stderr, "aws_signer: wrong headers\n");
		exit(2);
	}
	q->headers = headers;
	q->n_headers = json_object_array_length(list);
	for (size_t i = 0; i < q->n_headers; i++) {
		struct json_object *pair = json_object_array_get_idx(list, i);

		headers[i].name = json_object_get_string(
		    json_object_array_get_idx(pair, 0));
		headers[i].value = json_object_get_string(
		    json_object_array_get_idx(pair, 1));
	}
}

static void
sign(struct json_object *o, struct buffer *b)
{
	struct sigv4_header headers[SIGV4_HEADERS_MAX];
	const char *body = text_of(o, "body");
	struct sigv4_request q = {
		.method = text_of(o, "method"), .path = text_of(o, "path"),
		.query = text_of(o, "query"), .body = body,
		.body_length = strlen(body),
	};
	struct sigv4 s;

	fill_headers(o, &q, headers);
	buffer_clear(b);
	if (sigv4_init(&s, text_of(o, "access_key_id"), text_of(o, "secret"),
	    text_of(o, "region"), text_of(o, "service")) < 0 ||
	    sigv4_sign(&s, &q, text_of(o, "date"), b) < 0) {
		fprintf(stderr, "aws_signer: not signed\n");
		exit(2);
	}
	sigv4_done(&s);
	puts(b->data);
}

int
main(void)
{
	struct buffer b;
	char *line = NULL;
	size_t size = 0;

	buffer_init(&b, SIGV4_TEXT_MAX);
	while (getline(&line, &size, stdin) > 0) {
		struct json_object *o = json_tokener_parse(line);

		if (o == NULL) {
			fprintf(stderr, "aws_signer: not JSON\n");
			return 2;
		}
		sign(o, &b);
		json_object_put(o);
	}
	free(line);
	buffer_done(&b);
	return 0;
}
