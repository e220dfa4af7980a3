/*
 * Names of regions.
 */
#include "aws/region.h"

#include <string.h>

bool
region_is_name(const char *text)
{
	size_t length = strlen(text);

	return length > 0 && length <= REGION_NAME_MAX && strspn(text,
	    "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}
