/*
 * The line codec: the accepted lines, the refused lines and why, and that every
 * written line is read back unchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "ipc/codec.h"
#include "test.h"

#define LINE_SIZE 4096

/* A parsed line and the memory it lies in. */
struct parsed {
	char memory[LINE_SIZE];
	struct codec_line line;
	const char *reason;
	int code;
};

static void
parse_bytes(struct parsed *p, const char *bytes, size_t length, bool client)
{
	ck_assert_uint_lt(length, LINE_SIZE);
	memcpy(p->memory, bytes, length);
	p->reason = NULL;
	p->code = codec_parse(p->memory, length, client, &p->line,
	    &p->reason);
	ck_assert(p->code == 0 || p->reason != NULL);
}

static void
parse(struct parsed *p, const char *text, bool client)
{
	parse_bytes(p, text, strlen(text), client);
}

static void
expect_text(const struct codec_text *t, const char *text)
{
	ck_assert_ptr_nonnull(t);
	ck_assert_uint_eq(t->length, strlen(text));
	ck_assert_str_eq(t->bytes, text);
}

TEST(test_request_is_taken_apart)
{
	struct parsed p;

	parse(&p, "#a1 ACQUIRE jobs/nightly wait=30s ns=other", true);
	ck_assert_int_eq(p.code, 0);
	ck_assert_int_eq(p.line.kind, CODEC_REQUEST);
	expect_text(&p.line.tag, "a1");
	expect_text(&p.line.word, "ACQUIRE");
	ck_assert_uint_eq(p.line.n_arguments, 3);
	ck_assert_uint_eq(p.line.arguments[0].name.length, 0);
	expect_text(&p.line.arguments[0].value, "jobs/nightly");
	expect_text(codec_find(&p.line, "wait"), "30s");
	expect_text(codec_find(&p.line, "ns"), "other");
	ck_assert_ptr_null(codec_find(&p.line, "wai"));
	ck_assert_ptr_null(codec_find(&p.line, ""));
}

TEST(test_spaces_and_return_at_the_end_mean_nothing)
{
	struct parsed p;

	parse(&p, "TRY  a   ns=b \r", true);
	ck_assert_int_eq(p.code, 0);
	ck_assert_uint_eq(p.line.n_arguments, 2);
	expect_text(&p.line.arguments[0].value, "a");
	expect_text(codec_find(&p.line, "ns"), "b");
}

TEST(test_values_are_decoded)
{
	struct parsed p;

	parse(&p, "TRY a%20b%3dc%0A%25 %3Ax x%2Ey=%00z e=", true);
	ck_assert_int_eq(p.code, 0);
	expect_text(&p.line.arguments[0].value, "a b=c\n%");
	expect_text(&p.line.arguments[1].value, ":x");
	ck_assert_uint_eq(codec_find(&p.line, "x.y")->length, 2);
	ck_assert(memcmp(codec_find(&p.line, "x.y")->bytes, "\0z", 3) == 0);
	expect_text(codec_find(&p.line, "e"), "");
}

TEST(test_what_is_not_a_request_is_refused)
{
	static const char *const bad[] = {
		"", "\r", "   ", "#", "# PING", "#t", "#t ",
		"#0123456789abcdef0123456789abcdefg PING",
		"#\xc3\xa9 PING",
		"TRY a\tb", "TRY a\x7f", "TRY a\rb",
		"TRY %", "TRY %4", "TRY %zz", "TRY a=%4", "TRY %g0=a",
		"TRY =a", "TRY a=b=c", "TRY :a", "TRY a=:b",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct parsed p;

		parse(&p, bad[i], true);
		ck_assert_msg(p.code == DDBLOCK_E_BAD_REQUEST, "%s", bad[i]);
	}
}

TEST(test_nul_is_refused_wherever_it_stands)
{
	struct parsed p;

	parse_bytes(&p, "TRY a\0b", 7, true);
	ck_assert_int_eq(p.code, DDBLOCK_E_BAD_REQUEST);
	parse_bytes(&p, "#a\0b TRY", 8, true);
	ck_assert_int_eq(p.code, DDBLOCK_E_BAD_REQUEST);
	parse_bytes(&p, "\0", 1, true);
	ck_assert_int_eq(p.code, DDBLOCK_E_BAD_REQUEST);
}

TEST(test_failure_keeps_the_tag)
{
	struct parsed p;

	parse(&p, "#t7 TRY %zz", true);
	ck_assert_int_eq(p.code, DDBLOCK_E_BAD_REQUEST);
	expect_text(&p.line.tag, "t7");
	parse(&p, "#t7 TRY \x01", true);
	expect_text(&p.line.tag, "t7");
	parse(&p, "#t7", true);
	ck_assert_uint_eq(p.line.tag.length, 0);
}

TEST(test_limits)
{
	struct buffer b;
	struct parsed p;

	buffer_init(&b, LINE_SIZE);
	(void)buffer_append_text(&b, "#0123456789abcdef0123456789abcdef X");
	for (int i = 0; i < CODEC_ARGUMENTS_MAX; i++)
		(void)buffer_append_text(&b, " v");
	parse_bytes(&p, b.data, b.length, true);
	ck_assert_int_eq(p.code, 0);
	ck_assert_uint_eq(p.line.n_arguments, CODEC_ARGUMENTS_MAX);
	ck_assert_uint_eq(p.line.tag.length, CODEC_TAG_MAX);

	(void)buffer_append_text(&b, " v");
	parse_bytes(&p, b.data, b.length, true);
	ck_assert_int_eq(p.code, DDBLOCK_E_BAD_REQUEST);
	ck_assert_uint_eq(p.line.n_arguments, 0);
	buffer_done(&b);
}

TEST(test_lines_of_the_daemon)
{
	struct parsed p;

	parse(&p, "#1 OK id=7 :all is well", false);
	ck_assert_int_eq(p.line.kind, CODEC_OK);
	expect_text(codec_find(&p.line, "id"), "7");
	expect_text(&p.line.text, "all is well");

	parse(&p, "ERR LOCK_BUSY owner=a", false);
	ck_assert_int_eq(p.line.kind, CODEC_ERR);
	expect_text(&p.line.word, "LOCK_BUSY");
	ck_assert_int_eq(error_from_word(p.line.word.bytes,
	    p.line.word.length), DDBLOCK_E_LOCK_BUSY);

	parse(&p, "#1 + key=a", false);
	ck_assert_int_eq(p.line.kind, CODEC_ROW);
	expect_text(&p.line.tag, "1");
	expect_text(codec_find(&p.line, "key"), "a");

	parse(&p, "!LOCK_LOST id=7 reason=stolen", false);
	ck_assert_int_eq(p.line.kind, CODEC_EVENT);
	expect_text(&p.line.word, "LOCK_LOST");
}

TEST(test_what_is_no_line_of_the_daemon_is_refused)
{
	static const char *const bad[] = {
		"", "PING", "ERR", "!", "#1 !LOST", "OKAY", "OK :\xff",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct parsed p;

		parse(&p, bad[i], false);
		ck_assert_msg(p.code == DDBLOCK_E_BAD_REQUEST, "%s", bad[i]);
	}
}

TEST(test_text_is_utf8_without_nul)
{
	ck_assert(codec_is_text("", 0));
	ck_assert(codec_is_text("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92", 10));
	ck_assert(!codec_is_text("a\0b", 3));
	ck_assert(!codec_is_text("\x80", 1));
	ck_assert(!codec_is_text("\xc3", 1));
	ck_assert(!codec_is_text("\xc0\x80", 2));	/* overlong */
	ck_assert(!codec_is_text("\xe0\x80\x80", 3));	/* overlong */
	ck_assert(!codec_is_text("\xed\xa0\x80", 3));	/* surrogate */
	ck_assert(!codec_is_text("\xf4\x90\x80\x80", 4)); /* too high */
	ck_assert(!codec_is_text("\xf0\x9f\x94", 3));
	ck_assert(!codec_is_text("\xff", 1));
}

/* It goes into records and logs, a line of its own. */
TEST(test_a_line_has_no_end)
{
	ck_assert(codec_is_line("a \xc3\xa9", 4));
	ck_assert(!codec_is_line("a\nb", 3));
	ck_assert(!codec_is_line("a\rb", 3));
	ck_assert(!codec_is_line("a\x1b[2J", 5));
	ck_assert(!codec_is_line("a\x7f", 2));
	ck_assert(!codec_is_line("a\xff", 2));
}

TEST(test_durations)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} good[] = {
		{ "500ms", 500 }, { "30s", 30000 }, { "5m", 300000 },
		{ "1h", 3600000 }, { "1.5s", 1500 }, { "30", 30000 },
		{ "1d", 86400000 }, { "0.5d", 43200000 },
		{ "3660d", UINT64_C(316224000000) },
		{ "0", 0 }, { "0s", 0 }, { "0.25", 250 }, { "1.5h", 5400000 },
		{ "0.0001s", 1 }, { "1.999999999s", 2000 },
		{ "316224000", UINT64_C(316224000000) },
	};
	static const char *const bad[] = {
		"", "s", "ms", ".", ".5s", "5.s", "-1s", "+1s", "1w", "1 s",
		"1s ", "s1", "1ss", "1e3", "1.2.3", "316224001", "87841h",
		"d", "3661d", "1D", "213503982335d",
		"18446744073709551615h", "18446744073709551616", "forever",
		"0.0000000001s",
	};
	uint64_t ms = 42;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ck_assert_msg(codec_parse_duration(good[i].text,
		    strlen(good[i].text), &ms), "%s", good[i].text);
		ck_assert_uint_eq(ms, good[i].ms);
	}
	ms = 42;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!codec_parse_duration(bad[i], strlen(bad[i]),
		    &ms), "%s", bad[i]);
	ck_assert_uint_eq(ms, 42);
}

TEST(test_durations_are_written_rounded_down)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "+ t=0s\n" }, { 1, "+ t=1ms\n" }, { 999, "+ t=999ms\n" },
		{ 1000, "+ t=1s\n" }, { 1099, "+ t=1s\n" },
		{ 18999, "+ t=18.9s\n" }, { 30000, "+ t=30s\n" },
		{ UINT64_MAX, "+ t=18446744073709551.6s\n" },
	};
	struct buffer b;

	buffer_init(&b, 100);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buffer_clear(&b);
		codec_begin(&b, NULL, "+");
		codec_duration(&b, "t", rows[i].ms);
		codec_end(&b, NULL);
		ck_assert_str_eq(b.data, rows[i].text);
	}
	buffer_done(&b);
}

TEST(test_numbers_and_booleans)
{
	uint64_t n = 7;
	bool yes = false;

	ck_assert(codec_parse_number("18446744073709551615", 20, &n));
	ck_assert_uint_eq(n, UINT64_MAX);
	ck_assert(codec_parse_number("0", 1, &n));
	ck_assert(!codec_parse_number("18446744073709551616", 20, &n));
	ck_assert(!codec_parse_number("", 0, &n));
	ck_assert(!codec_parse_number("-1", 2, &n));
	ck_assert(!codec_parse_number("1x", 2, &n));
	ck_assert(codec_parse_boolean("yes", 3, &yes) && yes);
	ck_assert(codec_parse_boolean("no", 2, &yes) && !yes);
	ck_assert(!codec_parse_boolean("true", 4, &yes));
	ck_assert(!codec_parse_boolean("", 0, &yes));
}

TEST(test_a_line_is_written)
{
	struct buffer b;

	buffer_init(&b, 1000);
	codec_begin(&b, "t", "OK");
	codec_text_value(&b, NULL, ":a:b c");
	codec_value(&b, "raw", "\0%=\xff\xc3\xa9\xc2\x85", 8);
	codec_number(&b, "n", UINT64_MAX);
	codec_number(&b, "z", 0);
	codec_boolean(&b, "here", true);
	codec_end(&b, "two\nlines \xff\xc2\x9b");
	ck_assert_str_eq(b.data, "#t OK %3Aa:b%20c "
	    "raw=%00%25%3D%FF\xc3\xa9%C2%85 n=18446744073709551615 z=0 "
	    "here=yes :two?lines ???\n");
	buffer_done(&b);
}

TEST(test_a_full_buffer_says_so)
{
	struct buffer b;

	buffer_init(&b, 8);
	codec_begin(&b, NULL, "OK");
	codec_number(&b, "number", 1);
	codec_end(&b, NULL);
	ck_assert_int_eq(buffer_failed(&b), DDBLOCK_E_LIMIT);
	buffer_done(&b);
}

/* Random, but the same in every run. */
static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

TEST(test_what_is_written_is_read_back)
{
	uint64_t random = 88172645463325252u;
	char values[8][40];
	size_t lengths[8];

	for (int round = 0; round < 20000; round++) {
		size_t n = next_random(&random) % 8;
		struct parsed p;
		struct buffer b;

		buffer_init(&b, LINE_SIZE);
		codec_begin(&b, "tag", "VERB");
		for (size_t i = 0; i < n; i++) {
			bool named = next_random(&random) % 2 == 0;

			lengths[i] = (size_t)(next_random(&random) % 40) +
			    !named;
			lengths[i] = lengths[i] > 40 ? 40 : lengths[i];
			for (size_t k = 0; k < lengths[i]; k++)
				values[i][k] = (char)next_random(&random);
			codec_value(&b, named ? "na me" : NULL, values[i],
			    lengths[i]);
		}
		codec_end(&b, NULL);
		ck_assert_int_eq(buffer_failed(&b), 0);
		ck_assert_ptr_eq(memchr(b.data, '\n', b.length),
		    b.data + b.length - 1);
		parse_bytes(&p, b.data, b.length - 1, true);
		ck_assert_int_eq(p.code, 0);
		ck_assert_uint_eq(p.line.n_arguments, n);
		for (size_t i = 0; i < n; i++) {
			struct codec_text *v = &p.line.arguments[i].value;

			ck_assert_uint_eq(v->length, lengths[i]);
			ck_assert(memcmp(v->bytes, values[i],
			    lengths[i]) == 0);
			ck_assert_int_eq(v->bytes[v->length], 0);
		}
		buffer_done(&b);
	}
}

/* Bytes that are mostly of the grammar, so that they get past its door; in
 * memory of exactly their size, so that the sanitizer sees a step outside. */
TEST(test_garbage_is_survived)
{
	static const char alphabet[] = "#%=: +!OKERabc019\xc3\xa9\r\0";
	uint64_t random = 362436069362436069u;

	for (int round = 0; round < 200000; round++) {
		size_t length = (size_t)(next_random(&random) % 30);
		char *line = malloc(length + 1);
		struct codec_line l;
		const char *reason;

		ck_assert_ptr_nonnull(line);
		for (size_t i = 0; i < length; i++)
			line[i] = alphabet[next_random(&random) %
			    sizeof(alphabet)];
		if (codec_parse(line, length, round % 2, &l, &reason) == 0) {
			ck_assert_uint_le(l.n_arguments, length);
			ck_assert_uint_le(l.tag.length, CODEC_TAG_MAX);
		}
		free(line);
	}
}
