/*
 * Shares: of what all users of a host have together, each may have as much as
 * it leaves to the others, and the last sixteenth is for administrators. So one
 * user never has more than half, two never more than two thirds, and there is
 * something left for one more.
 */
#ifndef DDBLOCKD_COMMON_SHARE_H
#define DDBLOCKD_COMMON_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* Of @max, what users may have together. */
uint64_t share_of_users(uint64_t max);

/* Of @max all users have @all, and this one @has: may it have one more? */
bool share_allows(uint64_t has, uint64_t all, uint64_t max);

#endif
