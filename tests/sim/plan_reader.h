/*
 * Shared by the readers of a plan's sentences: the words of a line, and their
 * values. Private to them. A function with an int returns 0, or -1 after
 * reader_fail() has said why.
 */
#ifndef DDBLOCKD_TESTS_PLAN_READER_H
#define DDBLOCKD_TESTS_PLAN_READER_H

#include "plan_text.h"

#define WORDS_MAX 24

struct reader {
	struct plan *plan;
	unsigned line;
	char *text;
	size_t size;
	char *words[WORDS_MAX + 1];	/* NULL after the last */
	unsigned next;
	uint64_t said;			/* bits of plan_world_settings */
	bool quiet, end;
};

/* plan_reader.c */
int reader_fail(struct reader *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *reader_take(struct reader *);
const char *reader_look(const struct reader *);
int reader_number(struct reader *, const char *word, uint64_t most,
    uint64_t *ret);
int reader_count(struct reader *, const char *word, uint32_t *ret);
int reader_duration(struct reader *, const char *word, uint64_t *ret);
int reader_shift(struct reader *, const char *word, int64_t *ret);
int reader_host(struct reader *, const char *word, unsigned *ret);
int reader_phase(struct reader *, const char *word, enum plan_phase *ret);
int reader_key(struct reader *, const char *word, char *ret);
int reader_namespace(struct reader *, const char *word, uint32_t *ret);
/* The rest of the line: settings of @object. @said has a bit for each. */
int reader_settings(struct reader *, const struct setting *table,
    void *object, uint64_t *said);

/* plan_steps.c: "at TIME SUBJECT VERB ..." */
int reader_step(struct reader *);

#endif
