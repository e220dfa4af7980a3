/*
 * Which mutant is at work.
 */
#include "mutant.h"

#include <string.h>

int mutant_chosen = MUTANT_NONE;

bool
mutant_choose(const char *name)
{
	for (int i = MUTANT_NONE + 1; i < MUTANTS; i++) {
		if (strcmp(mutant_names[i], name) != 0)
			continue;
		mutant_chosen = i;
		return true;
	}
	return false;
}
