/*
 * Texts as JSON has them.
 */
#include <string.h>

#include "common/json_quote.h"
#include "test.h"

static void
quoted(const char *bytes, size_t length, const char *wanted)
{
	struct buffer b;

	buffer_init(&b, 1000);
	json_quote(&b, bytes, length);
	ck_assert_int_eq(buffer_failed(&b), 0);
	ck_assert_str_eq(b.data, wanted);
	buffer_done(&b);
}

TEST(test_texts)
{
	quoted("", 0, "\"\"");
	quoted("jobs/nightly", 12, "\"jobs/nightly\"");
	quoted("\"", 1, "\"\\\"\"");
	quoted("a\\b\"c", 5, "\"a\\\\b\\\"c\"");
	quoted("\n", 1, "\"\\u000a\"");
	quoted("a\0b\x1f\x7f", 5, "\"a\\u0000b\\u001f\\u007f\"");
	quoted("\xc3\xa9\xf0\x9f\x94\x92", 6,
	    "\"\xc3\xa9\xf0\x9f\x94\x92\"");
	/* Control characters of two bytes; the next is none. */
	quoted("a\xc2\x80\xc2\x9b\xc2\xa0", 7,
	    "\"a\\u0080\\u009b\xc2\xa0\"");
	/* The length counts: no NUL is needed. */
	quoted("abc", 2, "\"ab\"");
}

/* Each byte is one that cannot be read. */
TEST(test_no_utf8)
{
	quoted("\xff", 1, "\"\\ufffd\"");
	quoted("a\xc3", 2, "\"a\\ufffd\"");
	quoted("\xc3\xa9", 1, "\"\\ufffd\"");
	quoted("\xed\xa0\x80z", 4, "\"\\ufffd\\ufffd\\ufffdz\"");
}

TEST(test_no_room)
{
	struct buffer b;

	buffer_init(&b, 4);
	json_quote(&b, "abc", 3);
	ck_assert_int_ne(buffer_failed(&b), 0);
	buffer_done(&b);
}
