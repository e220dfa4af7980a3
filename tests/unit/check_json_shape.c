/*
 * What is JSON before json-c is asked: texts one by one, and many that differ
 * by a byte from a good one: what passes, json-c takes apart to its end when it
 * is strict.
 */
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "common/json_shape.h"
#include "dialect/json.h"
#include "test.h"

static const struct {
	const char *text;
	bool good;
} shape_cases[] = {
	{ "{}", true },
	{ " {\t\"a\" : [ ] }\r\n", true },
	{ "{\"a\":{\"S\":\"x\"},\"b\":[1,-2.5e+3,0,true,false,null]}", true },
	{ "{\"\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"}", true },
	{ "{\"\xc3\xa9\":\"\xf0\x9f\x98\x80\x7f\"}", true },
	{ "{\"a\":[[],{}],\"b\":{}}", true },
	{ "", false },
	{ "[]", false },
	{ "\"a\"", false },
	{ "{", false },
	{ "{}}", false },
	{ "{} {}", false },
	{ "{]", false },
	{ "{\"a\":[}", false },
	{ "{\"a\"}", false },
	{ "{\"a\":}", false },
	{ "{\"a\":1,}", false },
	{ "{,}", false },
	{ "{\"a\":[1,]}", false },
	{ "{\"a\":[1 2]}", false },
	{ "{\"a\":1 \"b\":2}", false },
	{ "{a:1}", false },
	{ "{'a':1}", false },
	{ "{\"a\":01}", false },
	{ "{\"a\":+1}", false },
	{ "{\"a\":1.}", false },
	{ "{\"a\":.5}", false },
	{ "{\"a\":1e}", false },
	{ "{\"a\":NaN}", false },
	{ "{\"a\":Infinity}", false },
	{ "{\"a\":True}", false },
	{ "{\"a\":\"\\x\"}", false },
	{ "{\"a\":\"\\u00g0\"}", false },
	{ "{\"a\":\"\\", false },
	{ "{\"a\":\"\n\"}", false },
	{ "{\"a\":\"\xc3\"}", false },
	{ "{\"a\":\"\xed\xa0\x80\"}", false },
	{ "{\"a\":\"\xc0\x80\"}", false },
	{ "{\"a\":1/*c*/}", false },
	{ "\xef\xbb\xbf{}", false },
};

TEST_ROWS(test_shape, shape_cases)
{
	/* Not a byte behind it is looked at. */
	size_t length = strlen(shape_cases[_i].text);
	char *text = malloc(length > 0 ? length : 1);

	ck_assert_ptr_nonnull(text);
	memcpy(text, shape_cases[_i].text, length);
	ck_assert_int_eq(json_shape_is_object(text, length),
	    shape_cases[_i].good);
	free(text);
}

TEST(test_nul)
{
	ck_assert(!json_shape_is_object("{}\0", 3));
	ck_assert(!json_shape_is_object("{\"a\0\":1}", 8));
	ck_assert(!json_shape_is_object("{\"a\":\"\\\0\"}", 9));
}

/* It is asked for the answers of DynamoDB: json-c alone takes these. */
TEST(test_answers)
{
	static const char *const texts[] = {
		"{} x", "{'a':1}", "{\"a\":\"\xc3\"}", "{\"a\":1,}",
	};
	struct json_object *o = json_read_object(NULL, "{\"a\":1}", 7);

	ck_assert_ptr_nonnull(o);
	json_object_put(o);
	for (size_t i = 0; i < ROWS(texts); i++)
		ck_assert_ptr_null(json_read_object(NULL, texts[i],
		    strlen(texts[i])));
}

TEST(test_depth)
{
	static char text[2 * JSON_SHAPE_DEPTH_MAX + 8];

	for (size_t depth = JSON_SHAPE_DEPTH_MAX;
	    depth <= JSON_SHAPE_DEPTH_MAX + 1; depth++) {
		size_t n = 0;

		memcpy(text, "{\"a\":", 5);
		n = 5;
		memset(text + n, '[', depth - 1);
		n += depth - 1;
		memset(text + n, ']', depth - 1);
		n += depth - 1;
		text[n++] = '}';
		ck_assert_int_eq(json_shape_is_object(text, n),
		    depth == JSON_SHAPE_DEPTH_MAX);
	}
}

/* An endpoint's way to a tree of gigabytes. */
TEST(test_values)
{
	const size_t most = JSON_SHAPE_VALUES_MAX - 2;	/* in two more */
	char *text = malloc(3 * (most + 1) + 16);
	size_t n;

	ck_assert_ptr_nonnull(text);
	for (size_t more = 0; more <= 1; more++) {
		memcpy(text, "{\"a\":[", 6);
		n = 6;
		for (size_t i = 0; i < most + more; i++) {
			memcpy(text + n, i > 0 ? ",{}" : " {}", 3);
			n += 3;
		}
		memcpy(text + n, "]}", 2);
		ck_assert_int_eq(json_shape_is_object(text, n + 2), more == 0);
	}
	free(text);
}

static bool
strict_takes(struct json_tokener *tokener, const char *text, size_t length)
{
	struct json_object *o;
	bool good;

	json_tokener_reset(tokener);
	o = json_tokener_parse_ex(tokener, text, (int)length);
	good = json_tokener_get_error(tokener) == json_tokener_success &&
	    json_object_is_type(o, json_type_object) &&
	    json_tokener_get_parse_end(tokener) == length;
	json_object_put(o);
	return good;
}

static bool
is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Each byte at each place of texts that end before, in and behind a word, with
 * another special one behind it, or none. */
TEST(test_plain)
{
	char text[24];

	for (size_t length = 1; length < sizeof(text); length++) {
		for (size_t at = 0; at < length * 256; at++) {
			size_t place = at / 256;
			unsigned char c = (unsigned char)(at % 256);

			memset(text, at % 2 == 0 ? ' ' : 0x7f, length);
			text[place] = (char)c;
			ck_assert_uint_eq(json_shape_plain(text, length),
			    is_plain(c) ? length : place);
			text[length - 1] = '"';
			ck_assert_uint_eq(json_shape_plain(text, length),
			    is_plain(c) || place == length - 1 ?
			    length - 1 : place);
		}
	}
	ck_assert_uint_eq(json_shape_plain("", 0), 0);
}

/* Each byte of each good text becomes each other one. */
TEST(test_other_bytes)
{
	struct json_tokener *tokener = json_tokener_new_ex(
	    JSON_SHAPE_DEPTH_MAX + 1);
	unsigned n_good = 0;
	char text[128];

	ck_assert_ptr_nonnull(tokener);
	/* Version 0.18 takes nothing but ASCII then. */
	json_tokener_set_flags(tokener, JSON_TOKENER_VALIDATE_UTF8 |
	    (json_c_version_num() < 0x1200 ? JSON_TOKENER_STRICT : 0));
	for (size_t i = 0; i < ROWS(shape_cases) && shape_cases[i].good; i++) {
		size_t length = strlen(shape_cases[i].text);

		/* It stops at an end that is followed by space. */
		if (shape_cases[i].text[length - 1] != '}')
			continue;
		ck_assert_uint_lt(length, sizeof(text));
		for (size_t at = 0; at < length * 256; at++) {
			memcpy(text, shape_cases[i].text, length);
			text[at / 256] = (char)(at % 256);
			if (!json_shape_is_object(text, length))
				continue;
			n_good++;
			ck_assert_msg(text[length - 1] != '}' ||
			    strict_takes(tokener, text, length), "%.*s",
			    (int)length, text);
		}
	}
	ck_assert_uint_gt(n_good, 1000);
	json_tokener_free(tokener);
}
