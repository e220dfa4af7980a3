/*
 * For otherwise unchanged programs: the environment variable DDBLOCK_MUTANT
 * chooses the mutant before main().
 */
#include "mutant.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor))
static void
mutant_from_environment(void)
{
	const char *name = getenv("DDBLOCK_MUTANT");

	if (name == NULL || mutant_choose(name))
		return;
	(void)fprintf(stderr, "no such mutant: %s\n", name);
	_Exit(EXIT_FAILURE);
}
