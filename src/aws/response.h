/*
 * The headers of an answer, and whether its body is the one that was sent. A
 * damaged answer, or one of another server, is no answer at all: then it is not
 * known whether the request was carried out.
 */
#ifndef DDBLOCKD_AWS_RESPONSE_H
#define DDBLOCKD_AWS_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESPONSE_VALUE_MAX 64
#define RESPONSE_TEXT_MAX 256

struct response {
	int64_t date_s;			/* 0: it has none */
	uint64_t retry_after_ms;	/* of x-amz-retry-after; 0: none */
	bool has_crc32;
	bool bad_crc32;			/* that is no number */
	uint32_t crc32;
	char type[RESPONSE_VALUE_MAX];		/* of the content; "": none */
	char encoding[RESPONSE_VALUE_MAX];	/* "": as it is */

	/* The last date that was taken apart: most say the same. */
	char known_date[RESPONSE_VALUE_MAX];
	int64_t known_date_s;
};

/* Of another answer, of which nothing came yet. A zeroed one will do first. */
void response_begin(struct response *);

/*
 * One line of the head, as it came: not NUL-terminated, CR and LF included. A
 * status line starts again: what came before it was an interim answer's.
 */
void response_take_line(struct response *, const char *line, size_t length);

/*
 * Is @body undamaged, and from the service? If not, the reason is in @text
 * (RESPONSE_TEXT_MAX), without a word of the body.
 */
bool response_check(const struct response *, int status, const char *body,
    size_t body_length, char *text);

#endif
