/*
 * A daemon's internal state that the judge needs.
 */
#ifndef DDBLOCKD_TESTS_PEEK_H
#define DDBLOCKD_TESTS_PEEK_H

#include <stdint.h>

#include "core/core.h"
#include "core/ident.h"

struct core;

/* The element of this hold; false: it has none any more. */
bool peek_grant(const struct core *, uint64_t hold,
    char ret[IDENT_TEXT_LENGTH + 1]);

/* The @i-th lock of a multi-lock hold; a bridge's locks come first. */
bool peek_part(const struct core *, uint64_t hold, uint32_t i,
    struct core_part *ret);

#endif
