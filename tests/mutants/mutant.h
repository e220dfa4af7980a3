/*
 * Mutants outside the simulated code: each file chooses for itself, by the
 * environment variable DDBLOCK_MUTANT, so that programs, archives and shared
 * libraries need nothing from one another. No header of the system is asked
 * for anything, because the file that follows may first say what it wants of
 * them.
 */
#ifndef DDBLOCKD_TESTS_MUTANTS_MUTANT_H
#define DDBLOCKD_TESTS_MUTANTS_MUTANT_H

#include <stdbool.h>

extern char *getenv(const char *);

static const char *mutant_name;

__attribute__((constructor(101)))
static void
mutant_from_environment(void)
{
	mutant_name = getenv("DDBLOCK_MUTANT");
}

static inline bool
mutant_is(const char *name)
{
	return mutant_name != (void *)0 &&
	    __builtin_strcmp(mutant_name, name) == 0;
}

#endif
