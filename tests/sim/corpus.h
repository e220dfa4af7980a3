/*
 * The records that a table of an older client may have: none, ours, others',
 * given back, over; and each of these with one attribute gone, of another type
 * or of another value. All of them have the stage's key, and there is one at a
 * time.
 */
#ifndef DDBLOCKD_TESTS_CORPUS_H
#define DDBLOCKD_TESTS_CORPUS_H

#include "trace_stage.h"

#define CORPUS_MAX 2048
#define CORPUS_TEXT_MAX 4096

/* Others' holds, on either side of ours in the order of versions. */
extern const struct holder corpus_below, corpus_above;
/* What we mark records with. */
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
/* Write the stage's request: 0, or why the format has none such. */
int corpus_write(struct stage *, const struct operation *, uint64_t beat);
/* Was it done? */
bool corpus_send(struct stage *, const char *operation, const char *body);
/* What somebody does whose condition holds. */
void corpus_act(struct stage *, enum operation_kind, const struct holder *me,
    uint64_t beat, bool keep);

/* The table has this record, and no other. */
void corpus_put(struct stage *, struct json_object *item);
/* Our reader's view is the stage's: 0, or that it is none of the format's. */
int corpus_read(struct stage *);

#endif
