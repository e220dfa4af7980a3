/*
 * Names of regions (pure): they go into host names and headers.
 */
#ifndef DDBLOCKD_AWS_REGION_H
#define DDBLOCKD_AWS_REGION_H

#include <stdbool.h>

#define REGION_NAME_MAX 32
#define REGION_LOOPBACK "us-east-1"	/* signs for an emulator on this host,
					 * if no other is set */

/* Can it be the name of a region? */
bool region_is_name(const char *text);

#endif
