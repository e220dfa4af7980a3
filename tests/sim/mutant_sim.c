/*
 * For the simulator: the mutant is chosen on the command line.
 */
#include "mutant.h"
#include "runner.h"

bool
runner_mutant(const char *name)
{
	return mutant_choose(name);
}
