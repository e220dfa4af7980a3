/*
 * Moments as people write them.
 */
#include <stdlib.h>
#include <time.h>

#include "cli/base/when.h"
#include "test.h"

#define S UINT64_C(1000000)
/* Saturday, 2026-11-28 10:20:30 in Berlin: an hour east of Greenwich. */
#define NOW (1795857630 * S)

static void
in_berlin(void)
{
	ck_assert_int_eq(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
	tzset();
}

TEST_FIXTURE(in_berlin, NULL)

static const struct {
	const char *text;
	uint64_t wanted_s;
} moments[] = {
	{ "now", 1795857630 },
	{ "@1795857630", 1795857630 }, { "@0", 0 },
	{ "10:20:30", 1795857630 }, { "10:20", 1795857600 },
	{ "02:00", 1795827600 },
	{ "02:00 UTC", 1795831200 },
	{ "today", 1795820400 }, { "yesterday", 1795734000 },
	{ "2026-11-28", 1795820400 },
	{ "2026-11-28 02:00", 1795827600 },
	{ "2026-11-28T02:00:01Z", 1795831201 },
	{ "2026-11-28 02:00:00 UTC", 1795831200 },
	{ "2026-07-01 02:00", 1782864000 },	/* in summer */
	{ "1h", 1795854030 }, { "-1h", 1795854030 },
	{ "1h ago", 1795854030 }, { "1h 30min ago", 1795852230 },
	{ "90s", 1795857540 }, { "1h30m", 1795852230 },
	{ "2 days ago", 1795684830 }, { "1 week", 1795252830 },
};

TEST_ROWS(test_moments, moments)
{
	uint64_t us = 0;

	ck_assert(when_parse(moments[_i].text, NOW, &us));
	ck_assert_uint_eq(us / S, moments[_i].wanted_s);
	ck_assert_uint_eq(us % S, 0);
}

static const char *const nonsense[] = { "", " ", "soon", "25:00", "02:60",
	"2:00", "02:00x", "02:00 CET", "2026-02-30", "2026-13-01", "2026-1-1",
	"2026-11-28 ", "2026-11-28x", "2026-11-28 2:00", "10", "1h ag", "1x",
	"h", "@", "@-1", "@1x", "@123456789012", "99999999999999999999h",
	"999999999 weeks", "-", "1h -1h", "02:00:5" };

TEST_ROWS(test_nonsense, nonsense)
{
	uint64_t us = 77;

	ck_assert(!when_parse(nonsense[_i], NOW, &us));
	ck_assert_uint_eq(us, 77);
}
