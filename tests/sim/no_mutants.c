/*
 * The ordinary build has no seeded defects.
 */
#include "runner.h"

bool
runner_mutant(const char *name)
{
	(void)name;
	return false;
}
