/*
 * The records that a table of an older client may have: none, ours, others',
 * released, ended; and each of these with one attribute absent, of another type
 * or of another value. All of them have the stage's key; there is one record at
 * a time.
 */
#ifndef DDBLOCKD_TESTS_CORPUS_H
#define DDBLOCKD_TESTS_CORPUS_H

#include "trace_stage.h"

#define CORPUS_MAX 2048
#define CORPUS_TEXT_MAX 4096

/* Others' holds, on either side of ours in the order of versions. */
extern const struct holder corpus_below, corpus_above;
/* Our mark in records. */
extern const struct ident corpus_mark;

struct corpus {
	struct stage *stage;
	struct json_object *items[CORPUS_MAX];	/* NULL: there is none */
	size_t n;
};

void corpus_fill(struct corpus *, struct stage *);
void corpus_done(struct corpus *);

struct operation corpus_operation(const struct stage *, enum operation_kind,
    const struct holder *me);
/* Write the stage's request: 0, or why the format does not support it. */
int corpus_write(struct stage *, const struct operation *, uint64_t beat);
/* Was it done? */
bool corpus_send(struct stage *, const char *operation, const char *body);
/* Execute a request whose condition holds. */
void corpus_act(struct stage *, enum operation_kind, const struct holder *me,
    uint64_t beat, bool keep);

/* The table has this record, and no other. */
void corpus_put(struct stage *, struct json_object *item);
/*
 * Read the record into the stage's view: 0, or the error if it is not in the
 * format.
 */
int corpus_read(struct stage *);

#endif
