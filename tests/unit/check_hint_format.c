/*
 * The layout of a hint: where each field is, what is refused, and that what is
 * read has one form only.
 */
#include "hint_fixture.h"

static struct hint_head
head(void)
{
	return (struct hint_head){ hint_test_id(1), hint_test_id(2),
		UINT64_C(0x0102030405060708) };
}

TEST(test_head)
{
	static const uint8_t expected[HINT_HEAD_BYTES] = {
		'd', 'd', 'h', 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
		1, 2, 3, 4, 5, 6, 7, 8,
	};
	const struct hint_head wrote = head();
	uint8_t bytes[HINT_BYTES] = { 0 };
	struct hint_head got;

	hint_format_write_head(&wrote, bytes);
	ck_assert_mem_eq(bytes, expected, sizeof(expected));
	ck_assert(hint_format_read_head(bytes, sizeof(bytes), &got));
	ck_assert(hint_id_equal(&got.sender, &wrote.sender));
	ck_assert(hint_id_equal(&got.receiver, &wrote.receiver));
	ck_assert_uint_eq(got.sequence, wrote.sequence);
}

TEST(test_head_refused)
{
	const struct hint_head wrote = head();
	uint8_t bytes[HINT_BYTES + 1] = { 0 };
	struct hint_head got = { .sequence = 42 };

	hint_format_write_head(&wrote, bytes);
	for (size_t length = 0; length <= sizeof(bytes); length++)
		ck_assert_int_eq(hint_format_read_head(bytes, length, &got),
		    length == HINT_BYTES);
	got.sequence = 42;
	for (size_t i = 0; i < 4; i++) {
		bytes[i] ^= 1;
		ck_assert(!hint_format_read_head(bytes, HINT_BYTES, &got));
		bytes[i] ^= 1;
	}
	memset(bytes + 36, 0, 8);	/* no sequence begins with 0 */
	ck_assert(!hint_format_read_head(bytes, HINT_BYTES, &got));
	ck_assert_uint_eq(got.sequence, 42);
}

/* How many digests each kind may have. */
static const struct {
	int kind;
	uint8_t least;
	uint8_t most;
} kinds[] = {
	{ 0, 1, 0 }, { HINT_FREED, 1, 16 }, { HINT_WANTED, 1, 16 },
	{ HINT_BROKEN, 1, 16 }, { HINT_CHANGED, 1, 16 }, { HINT_PING, 1, 1 },
	{ HINT_PONG, 1, 1 }, { HINT_WATCHING, 1, 16 }, { HINT_USED, 1, 16 },
	{ 9, 1, 0 },
	{ 255, 1, 0 },
};

TEST_ROWS(test_kind, kinds)
{
	for (uint8_t n = 0; n <= HINT_DIGESTS_MAX + 1; n++) {
		const bool sound = n >= kinds[_i].least && n <= kinds[_i].most;
		struct hint_body body = hint_test_body(
		    (enum hint_kind)kinds[_i].kind, n), got;
		uint8_t bytes[HINT_BODY_BYTES];

		ck_assert_int_eq(hint_format_is_sound(&body), sound);
		hint_format_write_body(&body, bytes);
		ck_assert_uint_eq(bytes[0], (uint8_t)kinds[_i].kind);
		ck_assert_uint_eq(bytes[1], n);
		ck_assert_int_eq(hint_format_read_body(bytes, &got), sound);
		if (sound)
			ck_assert_mem_eq(&got, &body, sizeof(body));
	}
}

/* A byte that has no meaning is zero. */
TEST(test_padding)
{
	struct hint_body body = hint_test_body(HINT_FREED, 3), got;
	uint8_t bytes[HINT_BODY_BYTES];

	hint_format_write_body(&body, bytes);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		const bool padding = i == 2 || i == 3 ||
		    i >= 4 + 3 * HINT_DIGEST_BYTES;

		ck_assert(!padding || bytes[i] == 0);
		bytes[i] ^= 0x80;
		if (i >= 2)
			ck_assert_int_eq(hint_format_read_body(bytes, &got),
			    !padding);
		bytes[i] ^= 0x80;
	}
	ck_assert(hint_format_read_body(bytes, &got));
}
