/*
 * What a terminal, a line of the log and a shell are given of texts from
 * outside.
 */
#include <string.h>

#include "common/shell_quote.h"
#include "common/utf8.h"
#include "test.h"

TEST(test_shown)
{
	ck_assert(utf8_is_shown(""));
	ck_assert(utf8_is_shown(" ~a\xc2\xa0\xc3\xa9\xf0\x9f\x94\x92"));
	ck_assert(!utf8_is_shown("a\x1b[2J"));
	ck_assert(!utf8_is_shown("\n"));
	ck_assert(!utf8_is_shown("\x7f"));
	ck_assert(!utf8_is_shown("a\xc2\x80"));
	ck_assert(!utf8_is_shown("a\xc2\x9f"));
	ck_assert(!utf8_is_shown("\x9b"));
	ck_assert(!utf8_is_shown("a\xc3"));
	ck_assert_uint_eq(utf8_shown("\0a", 2), 0);
	ck_assert_uint_eq(utf8_shown("\xc3\xa9z", 3), 2);
}

static void
quoted(const char *text, const char *wanted)
{
	struct buffer b;

	buffer_init(&b, 1000);
	shell_quote(&b, text);
	ck_assert_int_eq(buffer_failed(&b), 0);
	ck_assert_str_eq(b.data, wanted);
	buffer_done(&b);
}

TEST(test_words)
{
	quoted("", "''");
	quoted("1b4e28ba-2fa1@x.y:/_%+,", "1b4e28ba-2fa1@x.y:/_%+,");
	quoted("1; id", "'1; id'");
	quoted("~x", "'~x'");
	quoted("a=b", "'a=b'");
	quoted("it's", "'it'\\''s'");
	quoted("'", "''\\'''");
	quoted("$(a)`b`\\\n", "'$(a)`b`\\\n'");
}
