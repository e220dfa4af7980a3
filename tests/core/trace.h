/*
 * What happened, line by line: "[time] host event". A scenario compares the
 * lines of the kinds it is about with what it expects; a '*' in an expected
 * line stands for any run of characters.
 */
#ifndef DDBLOCKD_TESTS_TRACE_H
#define DDBLOCKD_TESTS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_kind {
	TRACE_ASK = 1,		/* what a client does */
	TRACE_REPLY = 2,	/* what it is answered */
	TRACE_NOTICE = 4,	/* danger, safe, lost */
	TRACE_BEAT = 8,		/* our sessions' renewals */
	TRACE_STORE = 16,	/* other operations, and outcomes */
	TRACE_LATE = 32,	/* an effect after the outcome */
	TRACE_SCRIPT = 64,	/* kill, pause, cut, and by hand */
};

#define TRACE_TOLD (TRACE_REPLY | TRACE_NOTICE)
#define TRACE_ALL 127

struct trace_line {
	unsigned kind;
	char *text;
};

struct trace {
	struct trace_line *lines;
	size_t n_lines;
	size_t size;
};

void trace_done(struct trace *);
void trace_add(struct trace *, enum trace_kind, uint64_t real_ms,
    const char *host, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/*
 * Are the lines of these @kinds, from number @from on, the @expected ones? If
 * not, *@ret_diff is a malloc'd text that says where they part.
 */
bool trace_equals(const struct trace *, size_t from, unsigned kinds,
    const char *expected, char **ret_diff);

/* How many lines from @from on match @pattern, with '*' as above? */
size_t trace_count(const struct trace *, size_t from, const char *pattern);

/* All of it, for people. */
void trace_print(const struct trace *);

#endif
