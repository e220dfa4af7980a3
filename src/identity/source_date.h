/*
 * When credentials expire, as services write it (pure).
 */
#ifndef DDBLOCKD_IDENTITY_SOURCE_DATE_H
#define DDBLOCKD_IDENTITY_SOURCE_DATE_H

#include <stdbool.h>
#include <stdint.h>

#define SOURCE_DATE_SIZE 64	/* more than any has */

/*
 * "2026-11-23T02:04:05Z" in ms since 1970: with any fraction of a second, with
 * "Z", "UTC" (as older releases of the AWS CLI cache it) or an offset
 * ("+00:00", "-0730"), and nothing else. False: it is no such date, or one
 * before 1970.
 */
bool source_date_read(const char *text, uint64_t *ret_ms);

/* The same with "Z" and whole seconds. */
void source_date_write(uint64_t wall_ms, char text[SOURCE_DATE_SIZE]);

#endif
