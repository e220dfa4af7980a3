/*
 * The values of a row's fields, which are texts on their way.
 */
#ifndef DDBLOCKD_CLI_BASE_ROW_VALUE_H
#define DDBLOCKD_CLI_BASE_ROW_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "ddblock.h"

/* False, and *@ret is as it was: there is no such field, or it is something
 * else. */
bool row_number(const struct ddblock_row *, const char *name, uint64_t *ret);
bool row_time(const struct ddblock_row *, const char *name, uint64_t *ret_ms);

/* The same; @none if that is false. */
uint64_t row_number_or(const struct ddblock_row *, const char *name,
    uint64_t none);

#endif
