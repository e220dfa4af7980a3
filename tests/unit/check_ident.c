/*
 * The text form of names: there and back, and no other text is a name.
 */
#include <string.h>

#include "core/ident.h"
#include "test.h"

#define TEXT "0123456789abcdeffedcba9876543210"

TEST(test_format)
{
	struct ident id = { 0x0123456789abcdef, 0xfedcba9876543210 };
	char text[IDENT_TEXT_LENGTH + 1];

	memset(text, 'x', sizeof(text));
	ident_format(id, text);
	ck_assert_str_eq(text, TEXT);
	ident_format((struct ident){ 0, 0 }, text);
	ck_assert_str_eq(text, "00000000000000000000000000000000");
	ident_format((struct ident){ 0, 10 }, text);
	ck_assert_str_eq(text, "0000000000000000000000000000000a");
}

TEST(test_parse)
{
	struct ident id;

	ck_assert(ident_parse(TEXT, IDENT_TEXT_LENGTH, &id));
	ck_assert_uint_eq(id.high, 0x0123456789abcdef);
	ck_assert_uint_eq(id.low, 0xfedcba9876543210);
	/* The length counts: no NUL is needed. */
	ck_assert(ident_parse(TEXT ".more", IDENT_TEXT_LENGTH, &id));
	ck_assert(ident_parse("ffffffffffffffffffffffffffffffff",
	    IDENT_TEXT_LENGTH, &id));
	ck_assert_uint_eq(id.high, UINT64_MAX);
	ck_assert_uint_eq(id.low, UINT64_MAX);
}

/* One name has one text: no upper case, no other length, no other sign. */
TEST(test_parse_refuses)
{
	static const char *const bad[] = {
		"",
		"0123456789abcdeffedcba987654321",
		TEXT "0",
		"0123456789abcdeffedcba987654321g",
		"0123456789ABCDEFfedcba9876543210",
		" 123456789abcdeffedcba9876543210",
		"-123456789abcdeffedcba9876543210",
		"0x23456789abcdeffedcba9876543210",
		"0123456789abcdef.edcba9876543210",
		"0123456789abcde/fedcba9876543210",
		"0123456789abcde:fedcba9876543210",
		"0123456789abcde`fedcba9876543210",
	};
	struct ident id = { 7, 8 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!ident_parse(bad[i], strlen(bad[i]), &id),
		    "%s", bad[i]);
	ck_assert(!ident_parse(TEXT, IDENT_TEXT_LENGTH - 1, &id));
	/* Untouched by what failed. */
	ck_assert_uint_eq(id.high, 7);
	ck_assert_uint_eq(id.low, 8);
}

TEST(test_compare)
{
	struct ident a = { 1, 2 };

	ck_assert(ident_equal(a, (struct ident){ 1, 2 }));
	ck_assert(!ident_equal(a, (struct ident){ 1, 3 }));
	ck_assert(!ident_equal(a, (struct ident){ 3, 2 }));
	ck_assert(!ident_equal(a, (struct ident){ 2, 1 }));
	ck_assert(!ident_is_none(a));
	ck_assert(!ident_is_none((struct ident){ 1, 0 }));
	ck_assert(!ident_is_none((struct ident){ 0, 1 }));
	ck_assert(ident_is_none((struct ident){ 0, 0 }));
}
