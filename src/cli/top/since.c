/*
 * In the time zone of the user.
 */
#include <config.h>

#include "cli/top/since.h"

#include <time.h>

#define SINCE_DAY_MS UINT64_C(86400000)

void
since_local(char *ret, size_t size, uint64_t wall_ms, uint64_t now_wall_ms)
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;

	ret[0] = '\0';
	if (localtime_r(&s, &tm) == NULL)
		return;
	if (wall_ms + SINCE_DAY_MS > now_wall_ms)
		(void)strftime(ret, size, "%H:%M:%S", &tm);
	else
		(void)strftime(ret, size, "%b %d", &tm);
}
