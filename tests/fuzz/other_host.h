/*
 * Another host at the same store: one session, whose operations nobody waits
 * for.
 */
#ifndef DDBLOCKD_TESTS_FUZZ_OTHER_HOST_H
#define DDBLOCKD_TESTS_FUZZ_OTHER_HOST_H

#include "fuzz.h"
#include "store/store.h"

#define OTHER_HOST_MAX 32	/* operations; what is more is not asked */
#define OTHER_HOST_KEY_MAX 16

/* Zeroed: it has not asked anything. */
struct other_host {
	struct operation operations[OTHER_HOST_MAX];
	char keys[OTHER_HOST_MAX][OTHER_HOST_KEY_MAX];
	size_t n;
};

/* The letters are those of fuzz_server.c. */
void other_host_ask(struct other_host *, struct store *, char how,
    struct fuzz_input key);

/* Is it one of its operations? */
bool other_host_asked(const struct other_host *, const struct operation *);

#endif
