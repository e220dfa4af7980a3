/*
 * Between the files of apply.h: for each kind of operation its condition and
 * its effect.
 */
#ifndef DDBLOCKD_CORE_APPLY_RULES_H
#define DDBLOCKD_CORE_APPLY_RULES_H

#include "core/apply.h"

#define APPLY_KINDS (OPERATION_SESSION_CLOSE + 1)

struct apply_rule {
	/* As apply_judge_lock(). NULL: there is no such operation. */
	int (*judge)(const struct apply *, const struct operation *,
	    const struct lock_record *);
	/* After APPLY_NEW: @r, a copy of the record, becomes the new one. */
	void (*make)(const struct apply *, const struct operation *,
	    void *memory, struct lock_record *r);
};

/* Holders that their sessions keep alive; a record that is renewed by itself.
 * By the kind of the operation. */
extern const struct apply_rule apply_rules[APPLY_KINDS];
extern const struct apply_rule apply_alone_rules[APPLY_KINDS];

/* Is that grant among the holders? No other has its name. */
bool apply_has(const struct lock_record *, const struct holder *);

/* APPLY_NEW, if there is room for @n tokens above that one. */
int apply_judge_tokens(uint64_t token, uint64_t n);

int apply_judge_read(const struct apply *, const struct operation *,
    const struct lock_record *);

#endif
