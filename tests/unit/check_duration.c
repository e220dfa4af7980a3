/*
 * Durations as Go writes and reads them.
 */
#include "dialect/duration.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *text;
	uint64_t ns;
} durations[] = {	/* as Go writes them */
	{ "0s", 0 }, { "1ns", 1 }, { "999ns", 999 },
	{ "1\xc2\xb5s", 1000 }, { "1.1\xc2\xb5s", 1100 },
	{ "2.2ms", 2200000 }, { "300ms", 300000000 },
	{ "999.999999ms", 999999999 }, { "1s", 1000000000 },
	{ "1.5s", 1500000000 }, { "3.000000001s", 3000000001 },
	{ "20s", 20000000000 }, { "1m0s", 60000000000 },
	{ "4m5.001s", 245001000000 }, { "1h0m0s", 3600000000000 },
	{ "5h6m7.001s", 18367001000000 }, { "25h0m0s", 90000000000000 },
	{ "2562047h47m16.854775807s", INT64_MAX },
};

TEST_ROWS(test_durations, durations)
{
	char text[DURATION_SIZE];
	uint64_t ns;

	duration_format(durations[_i].ns, text);
	ck_assert_str_eq(text, durations[_i].text);
	ck_assert(duration_parse(text, strlen(text), &ns));
	ck_assert_uint_eq(ns, durations[_i].ns);
}

/* And the other forms that it reads. */
static const struct {
	const char *text;
	bool good;
	uint64_t ns;
} readings[] = {
	{ "0", true, 0 }, { "+5s", true, 5000000000 },
	{ "10us", true, 10000 }, { "10\xce\xbcs", true, 10000 },
	{ "1h1h", true, 7200000000000 }, { "1.s", true, 1000000000 },
	{ ".5s", true, 500000000 }, { "0.1h", true, 360000000000 },
	{ "0.100000000000000000000h", true, 360000000000 },
	{ "3.1415926535897932384626433s", true, 3141592653 },
	{ "", false, 0 }, { "+", false, 0 }, { "-5s", false, 0 },
	{ "5", false, 0 }, { "s", false, 0 }, { ".s", false, 0 },
	{ "5 s", false, 0 }, { "5d", false, 0 }, { "5S", false, 0 },
	{ "+-5s", false, 0 }, { "00", false, 0 }, { ".", false, 0 },
	{ "1.2.3s", false, 0 },
	{ "2562047h47m16.854775808s", false, 0 },
	{ "9223372036854775808ns", false, 0 },
	{ "99999999999999999999s", false, 0 }, { "3000000h", false, 0 },
};

TEST_ROWS(test_readings, readings)
{
	uint64_t ns = 1;
	bool good = duration_parse(readings[_i].text,
	    strlen(readings[_i].text), &ns);

	ck_assert_msg(good == readings[_i].good, "%s", readings[_i].text);
	if (good)
		ck_assert_uint_eq(ns, readings[_i].ns);
}
