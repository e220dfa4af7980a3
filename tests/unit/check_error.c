/*
 * The error table: words, codes and exit statuses find each other.
 */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "common/error.h"
#include "test.h"

static const int codes[] = {
#define X(name, exit_status, again, text, note) DDBLOCK_E_##name,
#include "common/err.def"
#undef X
};

#define CODES (sizeof(codes) / sizeof(codes[0]))

TEST(test_known)
{
	ck_assert_str_eq(error_word(0), "OK");
	ck_assert_int_eq(error_exit_status(0), 0);
	ck_assert_str_eq(error_word(DDBLOCK_E_LOCK_BUSY), "LOCK_BUSY");
	ck_assert_int_eq(error_exit_status(DDBLOCK_E_LOCK_BUSY), 1);
	ck_assert_int_eq(error_exit_status(DDBLOCK_E_LOCK_LOST), 4);
	ck_assert_str_eq(error_text(DDBLOCK_E_STORE_FULL),
	    "the store has no room left");
	ck_assert_int_eq(error_from_word("STORE_BROKEN", 12),
	    DDBLOCK_E_STORE_BROKEN);
}

TEST(test_every_code)
{
	for (size_t i = 0; i < CODES; i++) {
		const char *word = error_word(codes[i]);
		const char *text = error_text(codes[i]);

		ck_assert_int_eq(codes[i], -(int)i - 1);
		ck_assert_int_eq(error_from_word(word, strlen(word)),
		    codes[i]);
		for (const char *c = word; *c != '\0'; c++)
			ck_assert(isupper((unsigned char)*c) || *c == '_');
		ck_assert_uint_gt(strlen(text), 0);
		ck_assert_int_ne(text[strlen(text) - 1], '.');
		/* 126 and more have meanings of their own to shells. */
		ck_assert_int_gt(error_exit_status(codes[i]), 0);
		ck_assert_int_lt(error_exit_status(codes[i]), 126);
	}
}

/* Every number has a text. */
TEST(test_no_such_code)
{
	static const int others[] = { 1, INT_MAX, INT_MIN + 1,
		-(int)CODES - 1 };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		ck_assert_str_eq(error_word(others[i]), "INTERNAL");
		ck_assert_str_eq(error_text(others[i]),
		    error_text(DDBLOCK_E_INTERNAL));
		ck_assert_int_eq(error_exit_status(others[i]), 70);
	}
}

TEST(test_no_such_word)
{
	ck_assert_int_eq(error_from_word("", 0), 0);
	ck_assert_int_eq(error_from_word("OK", 2), 0);
	ck_assert_int_eq(error_from_word("LOCK_BUS", 8), 0);
	ck_assert_int_eq(error_from_word("LOCK_BUSYX", 10), 0);
	ck_assert_int_eq(error_from_word("lock_busy", 9), 0);
	/* The length counts, not a NUL. */
	ck_assert_int_eq(error_from_word("LOCK_BUSY and more", 9),
	    DDBLOCK_E_LOCK_BUSY);
}
