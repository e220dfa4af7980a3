/*
 * The shared config and credentials files: their form, the owner of each
 * section, and the refused files. That botocore reads them the same way is seen
 * in tests/aws/test_chain.py.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "identity/profile.h"
#include "identity/profile_words.h"
#include "test.h"

static struct profiles *
nobody(void)
{
	struct profiles *p;

	ck_assert_int_eq(profiles_new(&p), 0);
	return p;
}

static void
read_file(struct profiles *p, enum profile_file file, const char *text)
{
	char error[256] = "";

	ck_assert_msg(profiles_read(p, file, "FILE", text, strlen(text), error,
	    sizeof(error)) == 0, "%s", error);
}

static struct profiles *
profiles_of(const char *config, const char *credentials)
{
	struct profiles *p = nobody();

	read_file(p, PROFILE_CONFIG, config);
	read_file(p, PROFILE_CREDENTIALS, credentials);
	return p;
}

static const char *
get(const struct profiles *p, const char *profile, const char *key)
{
	return profiles_get(p, PROFILE_SECTION_PROFILE, profile, key);
}

static void
refused_bytes(const char *text, size_t length, const char *expected)
{
	struct profiles *p = profiles_of("[default]\nregion = before\n", "");
	char error[256] = "";

	ck_assert_int_eq(profiles_read(p, PROFILE_CONFIG, "FILE", text, length,
	    error, sizeof(error)), DDBLOCK_E_BAD_REQUEST);
	ck_assert_msg(strstr(error, expected) != NULL, "%s", error);
	ck_assert_msg(strstr(error, "secret") == NULL, "%s", error);
	/* Nothing has changed. */
	ck_assert_str_eq(get(p, "default", "region"), "before");
	profiles_free(p);
}

static void
refused(const char *text, const char *expected)
{
	refused_bytes(text, strlen(text), expected);
}

TEST(test_sections_of_both_files)
{
	struct profiles *p = profiles_of(
	    "[default]\nregion = a\n"
	    "[profile one]\nregion = b\n"
	    "[profile \"with blank\"]\nregion = c\n"
	    "[one]\nregion = not a profile\n"
	    "[preview]\nregion = neither\n"
	    "[profile a b]\nregion = nor this\n"
	    "[profile 'open]\nregion = nor that\n"
	    "[sso-session s]\nsso_region = d\n",
	    "[one]\nregion = e\n[profile two]\nregion = f\n[sso-session t]\n");

	ck_assert_str_eq(get(p, "default", "region"), "a");
	ck_assert_str_eq(get(p, "one", "region"), "e");
	ck_assert_str_eq(profiles_get_from(p, PROFILE_CONFIG,
	    PROFILE_SECTION_PROFILE, "one", "region"), "b");
	ck_assert_str_eq(get(p, "with blank", "region"), "c");
	ck_assert_str_eq(get(p, "profile two", "region"), "f");
	ck_assert(!profiles_has(p, PROFILE_SECTION_PROFILE, "preview"));
	ck_assert(!profiles_has(p, PROFILE_SECTION_PROFILE, "a"));
	ck_assert(!profiles_has(p, PROFILE_SECTION_PROFILE, "two"));
	ck_assert(profiles_has(p, PROFILE_SECTION_PROFILE, "sso-session t"));
	ck_assert(!profiles_has(p, PROFILE_SECTION_SSO_SESSION, "t"));
	ck_assert_str_eq(profiles_get(p, PROFILE_SECTION_SSO_SESSION, "s",
	    "sso_region"), "d");
	ck_assert_ptr_null(get(p, "default", "output"));
	ck_assert_ptr_null(get(p, "nobody", "region"));
	profiles_free(p);
}

/* The same name in other quotes: the whole of the last counts. */
TEST(test_last_of_the_same_name)
{
	struct profiles *p = profiles_of(
	    "[profile a]\nregion = 1\noutput = x\n[profile 'a']\nregion = 2\n"
	    "[default]\nregion = 3\n[profile default]\noutput = y\n", "");

	ck_assert_str_eq(get(p, "a", "region"), "2");
	ck_assert_ptr_null(get(p, "a", "output"));
	ck_assert_ptr_null(get(p, "default", "region"));
	ck_assert_str_eq(get(p, "default", "output"), "y");
	profiles_free(p);
}

TEST(test_values)
{
	struct profiles *p = profiles_of(
	    "\n# first\n [ default ]\n"
	    "[default] behind\r\n"
	    "AWS_Access_Key_Id=k # stays\r\n"
	    "  ; comment = 1\r\n"
	    "colon: a=b\r\n"
	    "equals = a:b\n"
	    "empty =\n"
	    "no_break\302\240=\302\240x\302\240\n"
	    "long = first\n"
	    "  # comment\n"
	    "\n"
	    "   second = 2\n"
	    "\n"
	    "old = mac\r"
	    "last = end", "");

	ck_assert_str_eq(get(p, "default", "aws_access_key_id"), "k # stays");
	ck_assert_str_eq(get(p, "default", "colon"), "a=b");
	ck_assert_str_eq(get(p, "default", "equals"), "a:b");
	ck_assert_str_eq(get(p, "default", "empty"), "");
	ck_assert_str_eq(get(p, "default", "no_break"), "x");
	ck_assert_str_eq(get(p, "default", "long"), "first\n\nsecond = 2");
	ck_assert_str_eq(get(p, "default", "old"), "mac");
	ck_assert_str_eq(get(p, "default", "last"), "end");
	ck_assert_ptr_null(get(p, "default", "comment"));
	profiles_free(p);
}

TEST(test_groups)
{
	struct profiles *p = profiles_of(
	    "[services s]\n"
	    "dynamodb =\n"
	    "  endpoint_url = http://one\n"
	    "  # comment\n"
	    "\n"
	    "  Other = 2 = 3\n"
	    "  endpoint_url = http://two\n"
	    "sts = plain\n"
	    "[profile p]\ns3 =\n  a = b\n",
	    "[p]\ns3 = mine\n");
	const char *of_dynamodb = profiles_get_nested(p,
	    PROFILE_SECTION_SERVICES, "s", "dynamodb", "endpoint_url");

	ck_assert_str_eq(of_dynamodb, "http://two");
	ck_assert_str_eq(profiles_get_nested(p, PROFILE_SECTION_SERVICES, "s",
	    "dynamodb", "Other"), "2 = 3");
	ck_assert_ptr_null(profiles_get_nested(p, PROFILE_SECTION_SERVICES,
	    "s", "dynamodb", "other"));
	ck_assert_ptr_null(profiles_get_nested(p, PROFILE_SECTION_SERVICES,
	    "s", "sts", "endpoint_url"));
	ck_assert_ptr_null(profiles_get(p, PROFILE_SECTION_SERVICES, "s",
	    "dynamodb"));
	/* The other file has a value there, not a group. */
	ck_assert_str_eq(get(p, "p", "s3"), "mine");
	ck_assert_ptr_null(profiles_get_nested(p, PROFILE_SECTION_PROFILE, "p",
	    "s3", "a"));
	profiles_free(p);
}

TEST(test_default_section_holds_everywhere)
{
	struct profiles *p = profiles_of(
	    "[DEFAULT]\nregion = a\n[profile x]\noutput = b\n"
	    "[DEFAULT]\nsts =\n  k = v\n",
	    "[y]\nregion = c\n");

	ck_assert_str_eq(get(p, "x", "region"), "a");
	ck_assert_str_eq(get(p, "y", "region"), "c");
	ck_assert_str_eq(profiles_get_nested(p, PROFILE_SECTION_PROFILE, "x",
	    "sts", "k"), "v");
	ck_assert(!profiles_has(p, PROFILE_SECTION_PROFILE, "DEFAULT"));
	ck_assert(!profiles_has(p, PROFILE_SECTION_PROFILE, "default"));
	profiles_free(p);
}

TEST(test_what_is_refused)
{
	refused("region = secret\n[default]\n", "FILE, line 1: ");
	refused("\357\273\277[default]\n", "line 1: ");
	refused("[default]\n\nthe secret\n", "line 3: a setting has the form");
	refused("[default]\n= secret\n", "line 2: there is no name");
	refused("[default]\na = 1\n[b]\n[default]\n", "line 4: this section");
	refused("[a]\n[b]\nx = 1\n[c]\ny = 1\nY = secret\n", "line 6: ");
	refused("[DEFAULT]\nx = 1\n[a]\n[DEFAULT]\nx = 2\n", "line 5: ");
	refused("[a]\nx =\n  y = 1\n  secret\n", "line 2: ");
	refused("[a\nb = 1\n", "line 1: it belongs to no section");
	refused("[]\n", "line 1: ");
	refused("[a]\r\nb = 1\rsecret\n", "line 3: ");
	refused_bytes("[a]\nb = \0secret\n", 16, "line 2: there is a NUL");
	refused("[a]\nb = \300\200\n", "line 2: it is not UTF-8");
	refused("[a]\n\nb = \355\240\200\n", "line 3: it is not UTF-8");
}

/* Huge lines, many sections: an answer, in time. */
TEST(test_huge_files)
{
	char *text = malloc(PROFILE_TEXT_MAX + 2), error[256];
	struct profiles *p = nobody();
	size_t length = 0;

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', PROFILE_TEXT_MAX + 1);
	memcpy(text, "[default]\na =", 13);
	ck_assert_int_eq(profiles_read(p, PROFILE_CONFIG, "FILE", text,
	    PROFILE_TEXT_MAX, error, sizeof(error)), 0);
	ck_assert_uint_eq(strlen(get(p, "default", "a")),
	    PROFILE_TEXT_MAX - 13);
	ck_assert_int_eq(profiles_read(p, PROFILE_CONFIG, "FILE", text,
	    PROFILE_TEXT_MAX + 1, error, sizeof(error)),
	    DDBLOCK_E_BAD_REQUEST);

	for (uint32_t i = 0; length < PROFILE_TEXT_MAX - 64; i++)
		length += (size_t)snprintf(text + length, 64,
		    "[profile %x]\na =\n b=%x\n c\v=d\n", i, i);
	ck_assert_int_eq(profiles_read(p, PROFILE_CONFIG, "FILE", text, length,
	    error, sizeof(error)), DDBLOCK_E_BAD_REQUEST);
	length = 0;
	for (uint32_t i = 0; length < PROFILE_TEXT_MAX - 64; i++)
		length += (size_t)snprintf(text + length, 64,
		    "[profile %x]\na =\n b=%x\n c=d\n", i, i);
	ck_assert_int_eq(profiles_read(p, PROFILE_CONFIG, "FILE", text, length,
	    error, sizeof(error)), 0);
	ck_assert_str_eq(profiles_get_nested(p, PROFILE_SECTION_PROFILE,
	    "777", "a", "b"), "777");
	free(text);
	profiles_free(p);
}

/* Any bytes are read or refused. */
TEST(test_junk)
{
	static const char pieces[] = "[]=:#; \t\r\n\v\0\"'\\ab\302\240\205\377";
	uint32_t random = 12345;
	size_t n_read = 0;

	for (int i = 0; i < 20000; i++) {
		struct profiles *p = nobody();
		char text[64] = "[a]\n", error[256] = "";
		size_t length = 4;

		while (length < sizeof(text) && (random >> 9) % 40 != 0) {
			random = random * 1664525 + 1013904223;
			text[length++] = pieces[(random >> 16) %
			    (sizeof(pieces) - 1)];
		}
		random = random * 1664525 + 1013904223;
		if (profiles_read(p, (enum profile_file)(i % 2), "FILE", text,
		    length, error, sizeof(error)) == 0)
			n_read++;
		else
			ck_assert_str_ne(error, "");
		profiles_free(p);
	}
	ck_assert_uint_gt(n_read, 100);
	ck_assert_uint_lt(n_read, 19900);
}

TEST(test_words)
{
	static const struct {
		const char *text;
		int n;
		const char *words[4];
	} rows[] = {
		{ "", 0, { NULL } },
		{ "  \t", 0, { NULL } },
		{ "a", 1, { "a" } },
		{ " a  bc\t", 2, { "a", "bc" } },
		{ "'a b' c", 2, { "a b", "c" } },
		{ "a'b'\"c\"d", 1, { "abcd" } },
		{ "'' \"\"", 2, { "", "" } },
		{ "\"a\\\"b\\\\c\\d\"", 1, { "a\"b\\c\\d" } },
		{ "'a\\'", 1, { "a\\" } },
		{ "a\\ b \\'", 2, { "a b", "'" } },
		{ "1 2 3 4 5", 5, { "1", "2", "3", "4" } },
		{ "a\nb", 2, { "a", "b" } },
		{ "'a", DDBLOCK_E_BAD_REQUEST, { NULL } },
		{ "a \"b\\\"", DDBLOCK_E_BAD_REQUEST, { NULL } },
		{ "a\\", DDBLOCK_E_BAD_REQUEST, { NULL } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[64], *words[4];

		(void)snprintf(text, sizeof(text), "%s", rows[i].text);
		ck_assert_int_eq(profile_words(text, words, 4), rows[i].n);
		for (int j = 0; j < rows[i].n && j < 4; j++)
			ck_assert_str_eq(words[j], rows[i].words[j]);
	}
}
