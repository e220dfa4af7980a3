/*
 * The partitions of AWS, and what the names of their endpoints end in (pure).
 * The table is made from botocore's data by tests/aws/partitions.py.
 */
#ifndef DDBLOCKD_IDENTITY_PARTITIONS_H
#define DDBLOCKD_IDENTITY_PARTITIONS_H

#include <stdbool.h>

struct partition {
	const char *name;	/* "aws-cn" */
	const char *suffix;
	const char *dual_stack_suffix;
	bool has_fips;
	bool has_dual_stack;
	/* A region is one of these, a word, '-' and a number. */
	const char *const *prefixes;
	const char *const *others;	/* regions of another form */
};

/* Ends with one that has no name. What is in none is in the first. */
extern const struct partition partitions[];

/* Outside of "aws": those with endpoints for each account. */
extern const char *const partition_account_regions[];

#endif
