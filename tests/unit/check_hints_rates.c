/*
 * How often hints are looked at and sent, and to which addresses.
 */
#include "ddblock.h"
#include "hint_fixture.h"

static struct hint_host a, b;

static void
setup(void)
{
	hint_hosts_init(&a, &b);
}

static void
teardown(void)
{
	hints_free(a.hints);
	hints_free(b.hints);
}

TEST_FIXTURE(setup, teardown)

TEST(test_rate_of_peer)
{
	struct hints_limits limits = hints_limits_default;
	uint8_t bytes[HINT_BYTES], again[HINT_BYTES];
	struct hint_host slow;

	limits.peer = (struct hint_rate){ .per_second = 1, .at_once = 3 };
	hint_host_init(&slow, 9, &limits);
	hint_host_meet(&slow, &a);
	hint_host_meet(&slow, &b);
	hint_host_meet(&a, &slow);
	hint_host_meet(&b, &slow);
	hint_host_send(&a, &slow, again);
	HINT_EXPECT(&slow, again, HINT_ACCEPTED);
	for (int i = 0; i < 100; i++)	/* replays cost it nothing */
		HINT_EXPECT(&slow, again, HINT_REPLAYED);
	for (int i = 0; i < 2; i++) {
		hint_host_send(&a, &slow, bytes);
		HINT_EXPECT(&slow, bytes, HINT_ACCEPTED);
	}
	hint_host_send(&a, &slow, bytes);
	HINT_EXPECT(&slow, bytes, HINT_OVER_RATE);
	hint_host_send(&b, &slow, again);	/* another peer has its own */
	HINT_EXPECT(&slow, again, HINT_ACCEPTED);
	ck_assert_int_eq(hint_host_decode(&slow, bytes, HINT_BYTES,
	    HINT_NOW + 1000), HINT_ACCEPTED);
	hints_free(slow.hints);
}

TEST(test_rate_of_strangers)
{
	const uint32_t at_once = hints_limits_default.unknown.at_once;
	uint8_t bytes[HINT_BYTES], good[HINT_BYTES];

	hint_host_send(&a, &b, good);
	memcpy(bytes, good, sizeof(bytes));
	for (uint32_t i = 0; i < 10 * at_once; i++) {
		memcpy(bytes + 4, &i, sizeof(i));
		HINT_EXPECT(&b, bytes, i < at_once ? HINT_UNKNOWN :
		    HINT_OVER_RATE);
	}
	HINT_EXPECT(&b, good, HINT_ACCEPTED);
}

/* Twenty sessions that name one address, with many ports. */
TEST(test_rate_of_address)
{
	const uint32_t most = hints_limits_default.address.at_once;
	const struct hint_body body = hint_test_body(HINT_FREED, 1);
	struct hint_address victim = hint_test_address("192.0.2.1:1");
	struct hint_party parties[20];
	uint8_t bytes[HINT_BYTES];
	struct hint_address to;
	uint32_t n = 0;

	for (uint8_t i = 0; i < 20; i++) {
		parties[i] = (struct hint_party){ .id = hint_test_id(
		    (uint8_t)(100 + i)), .public_key = { 9 } };
		victim.port++;
		ck_assert_int_eq(hints_add_peer(a.hints, &a.party.id,
		    &parties[i], &victim), 0);
	}
	for (uint32_t i = 0; i < 2 * most; i++) {
		const int r = hints_encode(a.hints, &a.party.id,
		    &parties[i % 20].id, &body, HINT_NOW, bytes, &to);

		ck_assert_int_eq(r, i < most ? 0 : DDBLOCK_E_LIMIT);
		n += r == 0;
	}
	ck_assert_uint_eq(hints_counters(a.hints)->sent, n);
	ck_assert_uint_eq(hints_counters(a.hints)->unsent_rate, most);
	hint_host_send(&a, &b, bytes);	/* elsewhere it goes on */
}

/* All together, to however many addresses. */
TEST(test_rate_of_all)
{
	struct hints_limits limits = hints_limits_default;
	uint8_t bytes[HINT_BYTES];
	struct hint_host slow;

	limits.all = (struct hint_rate){ .per_second = 1, .at_once = 2 };
	hint_host_init(&slow, 9, &limits);
	hint_host_meet(&slow, &a);
	hint_host_meet(&slow, &b);
	hint_host_send(&slow, &a, bytes);
	hint_host_send(&slow, &b, bytes);
	ck_assert_int_eq(hint_host_encode(&slow, &a, HINT_FREED, HINT_NOW,
	    bytes), DDBLOCK_E_LIMIT);
	ck_assert_int_eq(hint_host_encode(&slow, &a, HINT_FREED,
	    HINT_NOW + 1000, bytes), 0);
	hints_free(slow.hints);
}

TEST(test_address)
{
	struct hint_host lying = b;
	uint8_t bytes[HINT_BYTES];

	lying.address = hint_test_address("224.0.0.1:7400");
	hint_host_meet(&a, &lying);
	ck_assert_int_eq(hint_host_encode(&a, &b, HINT_FREED, HINT_NOW, bytes),
	    DDBLOCK_E_DENIED);
	ck_assert_uint_eq(hints_counters(a.hints)->unsent_peer, 1);
	ck_assert_uint_eq(hints_counters(a.hints)->sent, 0);
	/* It is believed all the same. */
	hint_host_send(&b, &a, bytes);
	HINT_EXPECT(&a, bytes, HINT_ACCEPTED);
	hint_host_meet(&a, &b);
	hint_host_send(&a, &b, bytes);
}
