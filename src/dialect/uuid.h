/*
 * UUIDs as the versions of records: the name of a hold (ident_renewable()), in
 * whose last 32 bits there is room for the number of a renewal. The texts of a
 * hold's versions sort by their numbers.
 */
#ifndef DDBLOCKD_DIALECT_UUID_H
#define DDBLOCKD_DIALECT_UUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ident.h"

#define UUID_LENGTH 36

/* Lower-case, with a NUL. @beat is at most IDENT_RENEWALS_MAX. */
void uuid_format(struct ident hold, uint64_t beat, char text[UUID_LENGTH + 1]);

/* False if it is no UUID. The digits may be of either case. */
bool uuid_parse(const char *text, size_t length, struct ident *ret_hold,
    uint64_t *ret_beat);

#endif
