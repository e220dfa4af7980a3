/*
 * The words of a command without a shell, as botocore splits them.
 */
#include <stdio.h>

#include "common/error.h"
#include "identity/argv.h"
#include "test.h"

TEST(test_words)
{
	static const struct {
		const char *command, *words;
	} rows[] = {
		{ "a b", "a|b" },
		{ "  a\tb\nc  ", "a|b|c" },
		{ "'a b' \"c d\"", "a b|c d" },
		{ "a'b'\"c\"d", "abcd" },
		{ "\"a\\\"b\\\\c\\d\"", "a\"b\\c\\d" },
		{ "'a\\'", "a\\" },
		{ "a\\ b \\'", "a b|'" },
		{ "'' x", "|x" },
		{ "a#b $HOME *", "a#b|$HOME|*" },
		{ "a 'b", NULL }, { "\"", NULL }, { "a\\", NULL },
		{ "", NULL }, { "  ", NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char all[128] = "";
		struct argv w;
		const char *text;
		int r = argv_split(&w, rows[i].command, &text);

		if (rows[i].words == NULL) {
			ck_assert_int_eq(r, DDBLOCK_E_BAD_REQUEST);
			continue;
		}
		ck_assert_int_eq(r, 0);
		ck_assert_ptr_null(w.words[w.n_words]);
		for (size_t j = 0, at = 0; j < w.n_words; j++)
			at += (size_t)snprintf(all + at, sizeof(all) - at,
			    "%s%s", j > 0 ? "|" : "", w.words[j]);
		ck_assert_str_eq(all, rows[i].words);
		argv_done(&w);
	}
}
