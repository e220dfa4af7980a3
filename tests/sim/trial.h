/*
 * One record of one format, and operations that the model of DynamoDB carries
 * out on it: for comparing a format's expressions with core/apply.h.
 */
#ifndef DDBLOCKD_TESTS_TRIAL_H
#define DDBLOCKD_TESTS_TRIAL_H

#include "core/apply.h"
#include "core/random.h"
#include "dialect/dialect.h"
#include "dynamo.h"

#define TRIAL_WALL_MS UINT64_C(1700000000000)
#define TRIAL_TABLE "locks"

struct trial {
	const struct dialect *dialect;
	struct dialect_table table;
	struct dynamo *dynamo;
	struct random random;
	uint64_t wall_ms;
	struct dialect_request request;
	struct dynamo_answer answer;
};

/* An empty table. */
void trial_init(struct trial *, const struct dialect *,
    const struct dialect_table *, uint64_t seed);
void trial_done(struct trial *);

/* A number below @limit; is it so in one of @n cases? */
uint64_t trial_below(struct trial *, uint64_t limit);
bool trial_one_in(struct trial *, uint64_t n);

/* Carry out a request as it stands. Was it done? If not, its condition was
 * false. */
bool trial_send(struct trial *, const char *operation, const char *body,
    size_t length);

/*
 * An attempt of @operation: 1 if its condition is true, and it is done; 0 if
 * not; or what the format refuses it with, before it is sent, or by what the
 * condition's failure shows.
 */
int trial_do(struct trial *, const struct operation *operation,
    const struct dialect_attempt *);

/* The record that @operation is about, into an empty view. */
void trial_look(struct trial *, const struct operation *operation,
    struct dialect_view *);

/* ---- are they the same? ------------------------------------------------ */

bool trial_same_text(const char *, const char *);
bool trial_same_order(const struct ident *, size_t, const struct ident *,
    size_t);
bool trial_same_idents(const struct ident *a, size_t n_a,
    const struct ident *b, size_t n_b);
/* With what each element says, or the names of the grants alone. */
bool trial_same_holders(const struct lock_record *, const struct lock_record *,
    bool whole);

#endif
