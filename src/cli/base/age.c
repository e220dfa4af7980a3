/*
 * How long a lock has been held, for people.
 */
#include <config.h>

#include "cli/base/age.h"

#include <inttypes.h>

#include "cli/base/row_value.h"
#include "common/buffer.h"
#include "common/clock.h"

void
age_write(struct buffer *b, uint64_t ms)
{
	const uint64_t s = ms / 1000, m = s / 60, h = m / 60;

	if (m == 0)
		(void)buffer_printf(b, "%" PRIu64 "s", s);
	else if (h == 0)
		(void)buffer_printf(b, "%" PRIu64 "m%" PRIu64 "s", m, s % 60);
	else if (h < 24)
		(void)buffer_printf(b, "%" PRIu64 "h%" PRIu64 "m", h, m % 60);
	else
		(void)buffer_printf(b, "%" PRIu64 "d%" PRIu64 "h", h / 24,
		    h % 24);
}

void
age_of_holder(struct buffer *b, const char *before,
    const struct ddblock_row *row)
{
	uint64_t now_ms = clock_wall_ms();
	uint64_t ms, from_s;

	if (!row_time(row, "held", &ms)) {
		if (!row_number(row, "acquired_at", &from_s) ||
		    from_s > now_ms / 1000)
			return;
		ms = now_ms - from_s * 1000;
	}
	(void)buffer_append_text(b, before);
	age_write(b, ms);
}
