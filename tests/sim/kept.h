/*
 * What clients of a history keep in locks: data, and one attribute. A value is
 * the number of the request that brought it, so that each is there once.
 */
#ifndef DDBLOCKD_TESTS_KEPT_H
#define DDBLOCKD_TESTS_KEPT_H

#include "core/core.h"
#include "fact.h"

/* A change whose values are not filled in yet; NULL: none of either. */
const struct change *kept_ask(bool data, bool note);

struct kept_room {
	struct change change;
	struct attribute note;
	char value[24];
};

/* The same with the values of that request, for as long as @room is. */
const struct change *kept_fill(const struct change *, uint64_t request,
    struct kept_room *room);

/* What such a change of that request brings. */
void kept_brought(const struct change *, uint64_t request,
    uint64_t ret[FACT_SLOTS]);

/* What is told; NULL: nothing. */
void kept_read(const struct contents *, uint64_t ret[FACT_SLOTS]);

uint64_t kept_number(const void *bytes, size_t length);

#endif
