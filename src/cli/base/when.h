/*
 * Moments as people write them, as with journalctl(1).
 */
#ifndef DDBLOCKD_CLI_BASE_WHEN_H
#define DDBLOCKD_CLI_BASE_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * "02:00", "02:00:30" (of today), "2026-11-28", "2026-11-28 02:00" (of the time
 * zone of the user, or of UTC with " UTC" behind it), "today", "yesterday",
 * "now", "@1764295200", and so long ago: "1h", "1h 30min ago", "2 days ago".
 * @now_us and the result: microseconds since 1970. False: it is no moment.
 */
bool when_parse(const char *text, uint64_t now_us, uint64_t *ret_us);

#define WHEN_WANTED                                                            \
	"a time, such as 02:00, \"2026-11-28 02:00\", yesterday or 1h"

#endif
