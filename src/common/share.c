/*
 * Who may have how much of what all share.
 */
#include "common/share.h"

#define SHARE_RESERVE 16

uint64_t
share_of_users(uint64_t max)
{
	return max - max / SHARE_RESERVE;
}

bool
share_allows(uint64_t has, uint64_t all, uint64_t max)
{
	uint64_t users = share_of_users(max);

	return all < users && has < users - all;
}
