/*
 * The contents that clients of a history keep in locks: data, and one
 * attribute. A value is the number of the request that brought it, so that each
 * is unique.
 */
#ifndef DDBLOCKD_TESTS_SIM_CONTENTS_H
#define DDBLOCKD_TESTS_SIM_CONTENTS_H

#include "core/core.h"
#include "fact.h"

/* A change whose values are not filled in yet; NULL: no change. */
const struct change *sim_contents_ask(bool data, bool note);

/* All contents are removed. */
const struct change *kept_clear(void);

struct sim_contents_room {
	struct change change;
	struct attribute note;
	char value[24];
};

/* The same with the values of that request, for as long as @room is. */
const struct change *sim_contents_fill(const struct change *, uint64_t request,
    struct sim_contents_room *room);

/* The contents that such a change of that request brings. */
void sim_contents_brought(const struct change *, uint64_t request,
    uint64_t ret[FACT_SLOTS]);

/* The contents that are told; NULL: none. */
void sim_contents_read(const struct contents *, uint64_t ret[FACT_SLOTS]);

uint64_t sim_contents_number(const void *bytes, size_t length);

#endif
