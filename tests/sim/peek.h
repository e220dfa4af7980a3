/*
 * What a daemon knows and does not say, but the judge wants to know.
 */
#ifndef DDBLOCKD_TESTS_PEEK_H
#define DDBLOCKD_TESTS_PEEK_H

#include <stdint.h>

#include "core/core.h"
#include "core/ident.h"

struct core;

/* The element that it means by this hold; false: by none any more. */
bool peek_grant(const struct core *, uint64_t hold,
    char ret[IDENT_TEXT_LENGTH + 1]);

/* Of what is held as one, the @i-th; a bridge's come first. */
bool peek_part(const struct core *, uint64_t hold, uint32_t i,
    struct core_part *ret);

#endif
