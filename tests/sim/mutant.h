/*
 * Mutants: copies of the product's sources with seeded defects (mutate.py), of
 * which at most one is active. A program chooses it once, at its start.
 */
#ifndef DDBLOCKD_TESTS_MUTANT_H
#define DDBLOCKD_TESTS_MUTANT_H

#include <stdbool.h>

#include "mutants.h"	/* made by mutate.py */

extern int mutant_chosen;	/* MUTANT_NONE */
extern const char *const mutant_names[MUTANTS];

static inline bool
mutant_is(int mutant)
{
	return mutant_chosen == mutant;
}

/* False: there is no such mutant. */
bool mutant_choose(const char *name);

#endif
