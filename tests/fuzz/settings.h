/*
 * A core with small limits, so that an input of some lines reaches them.
 */
#ifndef DDBLOCKD_TESTS_FUZZ_SETTINGS_H
#define DDBLOCKD_TESTS_FUZZ_SETTINGS_H

#include "core/succession.h"

#define FUZZ_NAMESPACES 2

extern const struct core_config fuzz_core_config;

/* An input begins. */
void fuzz_reset_cores(void);

struct core *fuzz_new_core(uint64_t now_ms);

/* One that goes on from a journal that is good; NULL: it refuses. */
struct core *fuzz_inherit(const void *memory, size_t size, uint64_t now_ms,
    struct core_inherited *ret);

#endif
