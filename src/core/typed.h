/*
 * Values in DynamoDB's JSON: {"N":"42"}, {"L":[{"S":"a"},{"BOOL":true}]}.
 * Checked here, so that its client is told of an error, by every store alike,
 * and so that nothing else than a value can get into a request.
 */
#ifndef DDBLOCKD_CORE_TYPED_H
#define DDBLOCKD_CORE_TYPED_H

#include <stdbool.h>
#include <stddef.h>

#define TYPED_DEPTH_MAX 31	/* DynamoDB's 32, but for the map they are in */

/* Is it one value, and nothing else? If not, why, for people. */
bool typed_check(const char *text, size_t length, const char **ret_reason);

#endif
