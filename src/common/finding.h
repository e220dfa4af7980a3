/*
 * What a look at something found: how it is, in words, and what to do. The
 * daemon makes them, `ddblock check` and `ddblockd --check` show them.
 */
#ifndef DDBLOCKD_COMMON_FINDING_H
#define DDBLOCKD_COMMON_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

#define FINDING_TEXT_MAX 768
#define FINDING_ADVICE_MAX 384

enum finding_state {
	FINDING_OK = 0,
	FINDING_WARNING,	/* it works, but not as well as it might */
	FINDING_ERROR,		/* locks cannot be acquired, or not kept */
};

struct finding {
	const char *check;	/* a word, never freed: "credentials" */
	enum finding_state state;
	char text[FINDING_TEXT_MAX];
	char advice[FINDING_ADVICE_MAX];	/* empty: none */
};

/* "ok", "warning", "error" */
const char *finding_word(enum finding_state);

/* The finding, without advice. */
void finding_set(struct finding *, const char *check, enum finding_state,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

void finding_advise(struct finding *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Lines of at most 79 columns for people. @advice may be NULL or empty. Texts
 * are shown as they are: make them fit for a terminal before.
 */
void finding_show(struct buffer *, const char *check, const char *state,
    const char *text, const char *advice);

/*
 * The words of @text, in lines of at most 79 columns; the cursor is at @cursor,
 * and further lines begin at @indent. A word that is longer than a line has one
 * of its own.
 */
void finding_wrap(struct buffer *, const char *text, size_t cursor,
    size_t indent);

/* One line of how many there were. */
void finding_show_sums(struct buffer *, uint64_t n_findings,
    uint64_t n_errors, uint64_t n_warnings);

#endif
