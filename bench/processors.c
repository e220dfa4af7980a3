/*
 * The processors that a bench and its child processes may run on.
 */
#define _GNU_SOURCE 1 /* sched_setaffinity() */

#include "bench.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

static cpu_set_t processors_known;

static void
processors_learn(void)
{
	if (sched_getaffinity(0, sizeof(processors_known),
	    &processors_known) != 0)
		die("which processors there are: %s", strerror(errno));
}

static void
processors_set(pid_t pid, const cpu_set_t *set)
{
	if (sched_setaffinity(pid, sizeof(*set), set) != 0)
		die("sched_setaffinity: %s", strerror(errno));
}

static unsigned
processors_last(void)
{
	unsigned last = CPU_SETSIZE - 1;

	while (!CPU_ISSET(last, &processors_known))
		last--;
	return last;
}

void
processors_stay(void)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	if (cpu < 0)
		die("on which processor this is: %s", strerror(errno));
	processors_learn();
	CPU_ZERO(&one);
	CPU_SET((unsigned)cpu, &one);
	processors_set(0, &one);
}

bool
processors_take_first(void)
{
	unsigned first = 0;
	cpu_set_t one;

	processors_learn();
	while (!CPU_ISSET(first, &processors_known))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	processors_set(0, &one);
	return CPU_COUNT(&processors_known) > 1;
}

void
processors_leave_last(void)
{
	cpu_set_t others;

	processors_learn();
	others = processors_known;
	if (CPU_COUNT(&others) > 1)
		CPU_CLR(processors_last(), &others);
	processors_set(0, &others);
}

void
processors_take_last(pid_t pid)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(processors_last(), &one);
	processors_set(pid, &one);
}

void
processors_all(void)
{
	processors_set(0, &processors_known);
}
