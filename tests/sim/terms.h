/*
 * The terms of a condition of DynamoDB, for tests that drop them one by one. In
 * each pair of parentheses there is AND or OR, not both.
 */
#ifndef DDBLOCKD_TESTS_TERMS_H
#define DDBLOCKD_TESTS_TERMS_H

#include <stdbool.h>
#include <stddef.h>

#define TERMS_MAX 32
#define TERMS_GROUPS_MAX 8
#define TERMS_TEXT_MAX 4096

struct term {
	size_t at, length;
	unsigned group;		/* of what stands in one pair of parentheses */
};

struct terms {
	struct term of[TERMS_MAX];
	size_t n;
	bool any[TERMS_GROUPS_MAX];	/* one of the group is enough: OR */
	unsigned n_groups;
};

void terms_find(const char *condition, struct terms *ret);

/*
 * What stands in the place of @term when nothing is asked for there. Its names
 * and values stay in use, for DynamoDB wants all of them to be. BETWEEN is two
 * terms, and each is dropped in a @way of its own. False: there are no more
 * ways.
 */
bool term_drop(const char *term, bool any, unsigned way,
    char ret[TERMS_TEXT_MAX]);

#endif
