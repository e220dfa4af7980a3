/*
 * Durations as Go writes and reads them: "20s", "1m0s", "1.5s", "300ms".
 */
#ifndef DDBLOCKD_DIALECT_DURATION_H
#define DDBLOCKD_DIALECT_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DURATION_SIZE 32	/* of any text, with its NUL */

/* As time.Duration.String() does. */
void duration_format(uint64_t ns, char text[DURATION_SIZE]);

/* As time.ParseDuration() does. False: not a duration, or negative. */
bool duration_parse(const char *text, size_t length, uint64_t *ret_ns);

#endif
