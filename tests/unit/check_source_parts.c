/*
 * Dates, JSON, XML and encodings of what sources are answered.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "identity/source_date.h"
#include "identity/source_internal.h"
#include "identity/source_json.h"
#include "identity/source_xml.h"
#include "test.h"

TEST(test_dates)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} rows[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2000-02-29T00:00:00Z", UINT64_C(951782400000) },
		{ "2026-11-23T02:04:05Z", UINT64_C(1795399445000) },
		{ "2026-11-23t02:04:05z", UINT64_C(1795399445000) },
		{ "2026-11-23 02:04:05UTC", UINT64_C(1795399445000) },
		{ "2026-11-23T02:04:05+00:00", UINT64_C(1795399445000) },
		{ "2026-11-23T04:04:05+02:00", UINT64_C(1795399445000) },
		{ "2026-11-22T19:34:05-0630", UINT64_C(1795399445000) },
		{ "2026-11-23T02:04:05.1Z", UINT64_C(1795399445100) },
		{ "2026-11-23T02:04:05.123456Z", UINT64_C(1795399445123) },
		{ "2026-11-23T02:04:05,999+00:00", UINT64_C(1795399445999) },
		{ "2016-12-31T23:59:60Z", UINT64_C(1483228800000) },
		{ "9999-12-31T23:59:59Z", UINT64_C(253402300799000) },
	};
	uint64_t ms;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_msg(source_date_read(rows[i].text, &ms), "%s",
		    rows[i].text);
		ck_assert_msg(ms == rows[i].ms, "%s: %llu", rows[i].text,
		    (unsigned long long)ms);
	}
}

TEST(test_no_dates)
{
	static const char *const rows[] = {
		"", "never", "1795399445", "2026-11-23", "2026-11-23T02:04Z",
		"2026-11-23T02:04:05", "2026-11-23T02:04:05ZZ",
		"2026-11-23T02:04:05 Z", "2026-13-23T02:04:05Z",
		"2026-00-23T02:04:05Z", "2026-02-29T02:04:05Z",
		"2100-02-29T02:04:05Z", "2026-11-31T02:04:05Z",
		"2026-11-23T24:04:05Z", "2026-11-23T02:60:05Z",
		"2026-11-23T02:04:61Z", "2026-11-23T02:04:05.Z",
		"2026-11-23T02:04:05+0", "2026-11-23T02:04:05+24:00",
		"2026-11-23T02:04:05+00:60", "1969-12-31T23:59:59Z",
		"1970-01-01T00:00:00+00:01", " 2026-11-23T02:04:05Z",
		"+026-11-23T02:04:05Z", "2026-11-23T02:04:05GMT",
	};
	uint64_t ms;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(!source_date_read(rows[i], &ms), "%s", rows[i]);
}

/* Each day from 1970 to 2100 is written as it is read. */
TEST(test_dates_there_and_back)
{
	char text[SOURCE_DATE_SIZE];
	uint64_t ms;

	for (uint64_t day = 0; day < 47500; day++) {
		uint64_t at = day * 86400000 + day * 1000 % 86400000;

		source_date_write(at, text);
		ck_assert_msg(source_date_read(text, &ms), "%s", text);
		ck_assert_uint_eq(ms, at);
	}
	source_date_write(UINT64_C(1795399445678), text);
	ck_assert_str_eq(text, "2026-11-23T02:04:05Z");
}

TEST(test_json)
{
	static const char text[] = " {\"a\":\"x\",\"n\":7,\"z\":0,"
	    "\"o\":{\"b\":\"y\"},\"e\":\"\",\"u\":\"a\\u0000b\","
	    "\"f\":\"f\xc3\xbcr\"}\n";
	struct json_object *json = source_json_parse(text, strlen(text));

	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(source_json_text(json, "a"), "x");
	ck_assert_ptr_null(source_json_text(json, "n"));
	ck_assert_ptr_null(source_json_text(json, "e"));
	ck_assert_ptr_null(source_json_text(json, "u"));
	ck_assert_ptr_null(source_json_text(json, "missing"));
	ck_assert_str_eq(source_json_text(json, "f"), "f\xc3\xbcr");
	ck_assert_uint_eq(source_json_number(json, "n"), 7);
	ck_assert_uint_eq(source_json_number(json, "z"), 0);
	ck_assert_uint_eq(source_json_number(json, "a"), 0);
	ck_assert_str_eq(source_json_text(source_json_member(json, "o"),
	    "b"), "y");
	ck_assert_ptr_null(source_json_member(json, "a"));
	source_json_done(json);
}

TEST(test_no_json)
{
	static const char *const rows[] = {
		"", " ", "[]", "\"x\"", "7", "null", "{", "{\"a\":1", "{} {}",
		"{}x", "{\"a\":1,}", "{\"a\":\"\xff\"}",
		"{\"a\":[[[[[[[[[1]]]]]]]]]}", "<a/>",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(source_json_parse(rows[i],
		    strlen(rows[i])) == NULL, "%s", rows[i]);
}

static int
xml(const char *text, const char *path, char *ret, size_t size)
{
	struct buffer found;
	int r;

	buffer_init(&found, 256);
	(void)buffer_append_text(&found, "+");
	r = source_xml_read(text, strlen(text), path, &found);
	(void)snprintf(ret, size, "%s", found.data);
	buffer_done(&found);
	return r;
}

TEST(test_xml)
{
	static const char *const rows[][3] = {
		{ "<a>x</a>", "a", "+x" },
		{ "<a></a>", "a", "+" },
		{ "<a/>", "a", "+" },
		{ "<?xml version=\"1.0\"?>\n<a><b>x</b></a>\n", "a/b", "+x" },
		{ "<a xmlns=\"https://sts/\" c='1'>\n <b >x</b >\n</a>",
		    "a/b", "+x" },
		{ "<a><c><b>no</b></c><b>x</b></a>", "a/b", "+x" },
		{ "<a><b>1</b><b>2</b></a>", "a/b", "+1" },
		{ "<a>&amp;&lt;&gt;&quot;&apos;</a>", "a", "+&<>\"'" },
		{ "<a>&#65;&#x42;&#xe9;&#x20AC;&#x1F512;</a>", "a",
		    "+AB\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92" },
		{ "<a><!-- <b>no</b> --><b>x<!-- y --></b></a>", "a/b",
		    "+x" },
		{ "<a>r\xc3\xa4</a>", "a", "+r\xc3\xa4" },
	};
	char found[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_msg(xml(rows[i][0], rows[i][1], found,
		    sizeof(found)) == 0, "%s", rows[i][0]);
		ck_assert_str_eq(found, rows[i][2]);
	}
}

TEST(test_no_xml)
{
	static const char *const rows[] = {
		"", "x", "<", "<a", "<a>", "<a>x", "<a>x</a", "<a>x</b>",
		"<a>x</a><a>y</a>", "<a>x</a>y", "y<a>x</a>", "<a>&x;</a>",
		"<a>&amp</a>", "<a>&#;</a>", "<a>&#x;</a>", "<a>&#0;</a>",
		"<a>&#xD800;</a>", "<a>&#x110000;</a>", "<a>&#6A;</a>",
		"<a>&#99999999999;</a>", "<a>\xff</a>", "<a b>x</a>",
		"<a b=c>x</a>", "<a b=\"<\">x</a>", "<a b=\"c>x</a>",
		"<!DOCTYPE a><a>x</a>", "<a><![CDATA[x]]></a>",
		"<a><?p x?></a>", "<1>x</1>", "<a>x</a><!--", "<a><b/>x</a>",
		"</a>", "<a>x</a></a>", "<b>x</b>", "<a><b>x</b></a>",
		"<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>"
		"</a></a></a></a></a></a></a></a></a></a></a></a></a></a></a>"
		"</a></a>",
	};
	char found[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_msg(xml(rows[i], "a", found, sizeof(found)) ==
		    DDBLOCK_E_BAD_REQUEST, "%s", rows[i]);
		ck_assert_str_eq(found, "+");
	}
}

/* No prefix of a good document is good, and nothing behind its end is read. */
TEST(test_xml_truncated)
{
	static const char text[] = "<?xml version=\"1.0\"?><a b=\"c\"><b>x"
	    "&amp;&#x20AC;\xc3\xa4</b><!-- - --></a>";
	struct buffer found;

	buffer_init(&found, 256);
	for (size_t n = 0; n < strlen(text); n++) {
		char *copy = malloc(n + 1);

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, text, n);
		ck_assert_int_eq(source_xml_read(copy, n, "a/b", &found),
		    DDBLOCK_E_BAD_REQUEST);
		ck_assert_uint_eq(found.length, 0);
		free(copy);
	}
	ck_assert_int_eq(source_xml_read(text, strlen(text), "a/b", &found),
	    0);
	buffer_done(&found);
}

TEST(test_xml_too_long)
{
	struct buffer found;

	buffer_init(&found, 4);
	ck_assert_int_eq(source_xml_read("<a>12345</a>", 12, "a", &found),
	    DDBLOCK_E_LIMIT);
	buffer_done(&found);
}

TEST(test_encode)
{
	struct buffer text;

	buffer_init(&text, 256);
	source_encode(&text, "AZaz09-._~");
	source_encode(&text, " +/&=%:,@*'\n\xc3\xa4");
	ck_assert_str_eq(text.data, "AZaz09-._~"
	    "%20%2B%2F%26%3D%25%3A%2C%40%2A%27%0A%C3%A4");
	buffer_done(&text);
}

/* A server that was sent a secret repeats it. */
TEST(test_quote)
{
	static const char token[] = "eyJhbGciOiJSUzI1.aGFsbG8_d29ybGQ";
	static const char given[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY";
	static const struct {
		const char *says;
		const char *quoted;
	} rows[] = {
		{ "it has expired", "it has expired" },
		{ "one\ntwo", "one" },
		{ "\303\244\t*****", "???***" },
		{ "eyJhbGciOiJSUzI1.aGFsbG8_d29ybGQ has expired",
		    "*** has expired" },
		{ "<eyJhbGciOiJSUzI1%2EaGFsbG8%5Fd29ybGQ>",
		    "<***%2E***%5F***>" },
		{ "of wJalrXUtnFEMI\\/K7MDENG\\/bPxRfiCY.",
		    "of ***\\/***\\/***." },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa wJalrXUtnFEMI",
		    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa **" },
	};
	struct source_memory memory;
	struct credentials before = { .expires_ms = 0 };
	struct source s;
	char text[128], quoted[42];

	source_memory_init(&memory);
	source_init(&s, &source_container);
	s.memory = &memory;
	ck_assert_int_eq(buffer_append_text(&s.token, token), 0);
	ck_assert_int_eq(credentials_set(&before, "AKIA", given, NULL, text,
	    sizeof(text)), 0);
	s.given = &before;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		source_quote(&s, rows[i].says, quoted, sizeof(quoted));
		ck_assert_str_eq(quoted, rows[i].quoted);
	}
	credentials_done(&before);
	source_done(&s);
	source_memory_done(&memory);
}
