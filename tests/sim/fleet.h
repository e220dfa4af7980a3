/*
 * A fleet of thousands of hosts on one table, for a named day: each host is the
 * real core with the real record format and policy of attempts, as in a plan's
 * world (world.h), and the table is the same model of DynamoDB, but with the
 * capacity of its partitions. A plan judges safety, with every fault; a fleet
 * shows scale: what is asked of the table, and how long clients wait.
 */
#ifndef DDBLOCKD_TESTS_FLEET_H
#define DDBLOCKD_TESTS_FLEET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define FLEET_HOSTS_MIN 2
#define FLEET_HOSTS_MAX 10000
#define FLEET_PARTITIONS_MAX 64
#define FLEET_MINUTES_MAX 1440

struct fleet_options {
	unsigned n_hosts;
	const char *day;
	uint64_t seed;
	uint32_t minutes;	/* 0: as many as the day has */
	uint32_t partitions;	/* of the table */
	uint32_t burst_s;	/* so much of what was not used is kept */
	uint64_t poll_ms, lease_ms;	/* 0: the product's defaults */
	uint32_t line_max;	/* hosts that wait for a lock in order */
	bool json;
};

/* The defaults of all but the first two. */
void fleet_options_init(struct fleet_options *);

/* Is there such a day? */
bool fleet_has_day(const char *name);
void fleet_list_days(FILE *);

/*
 * Run the day, and print what it shows. Ends the process if memory runs out.
 * False: an invariant is broken; it says which.
 */
bool fleet_run(const struct fleet_options *, FILE *);

#endif
