/*
 * Hints between hosts: what is believed is what a peer sent, once and
 * unchanged; all else changes nothing but a counter.
 */
#include "config.h"

#include <endian.h>
#include <stdlib.h>

#include "ddblock.h"
#include "hint_fixture.h"
#include "hints/hint_window.h"

static struct hint_host a, b, c;

static void
setup(void)
{
	hint_hosts_init(&a, &b);
	hint_host_init(&c, 3, &hints_limits_default);
}

static void
teardown(void)
{
	hints_free(a.hints);
	hints_free(b.hints);
	hints_free(c.hints);
	hints_free(NULL);
}

TEST_FIXTURE(setup, teardown)

/* ---- what is accepted --------------------------------------------------- */

static const enum hint_kind kinds[] = {
	HINT_FREED, HINT_WANTED, HINT_BROKEN, HINT_CHANGED, HINT_PING,
	HINT_PONG, HINT_WATCHING, HINT_USED,
};

TEST_ROWS(test_both_directions, kinds)
{
	struct hint_host *const hosts[] = { &a, &b };
	const uint8_t n = kinds[_i] == HINT_PING || kinds[_i] == HINT_PONG ?
	    1 : HINT_DIGESTS_MAX;
	const struct hint_body body = hint_test_body(kinds[_i], n);

	for (int i = 0; i < 6; i++) {
		struct hint_host *from = hosts[i % 2], *to = hosts[1 - i % 2];
		uint8_t bytes[HINT_BYTES];
		struct hint_address address;
		struct hint hint;

		ck_assert_int_eq(hints_encode(from->hints, &from->party.id,
		    &to->party.id, &body, HINT_NOW, bytes, &address), 0);
		ck_assert(hint_address_equal(&address, &to->address));
		ck_assert_int_eq(hints_decode(to->hints, bytes, HINT_BYTES,
		    HINT_NOW, &hint), HINT_ACCEPTED);
		ck_assert(hint_id_equal(&hint.head.sender, &from->party.id));
		ck_assert(hint_id_equal(&hint.head.receiver, &to->party.id));
		ck_assert_mem_eq(&hint.body, &body, sizeof(body));
	}
	ck_assert_uint_eq(hints_counters(a.hints)->sent, 3);
	ck_assert_uint_eq(hints_counters(a.hints)->accepted, 3);
}

/* Neither kind nor lock nor number of locks is in the clear: two hints differ
 * in all that is sealed, by more than their numbers. */
TEST(test_sealed)
{
	const struct hint_body body = hint_test_body(HINT_FREED, 8);
	uint8_t first[HINT_BYTES], second[HINT_BYTES];
	struct hint_address to;
	const uint64_t digest = htobe64(body.digests[0]);
	int same = 0;

	ck_assert_int_eq(hints_encode(a.hints, &a.party.id, &b.party.id, &body,
	    HINT_NOW, first, &to), 0);
	ck_assert_int_eq(hints_encode(a.hints, &a.party.id, &b.party.id, &body,
	    HINT_NOW, second, &to), 0);
	for (int i = HINT_HEAD_BYTES; i < HINT_BYTES; i++)
		same += first[i] == second[i];
	ck_assert_int_lt(same, 16);
	ck_assert_ptr_null(memmem(first, HINT_BYTES, &digest, 4));
}

TEST(test_any_order)
{
	uint8_t bytes[100][HINT_BYTES];

	for (int i = 0; i < 100; i++)
		hint_host_send(&a, &b, bytes[i]);
	for (int i = 99; i >= 0; i -= 2)
		HINT_EXPECT(&b, bytes[i], HINT_ACCEPTED);
	for (int i = 0; i < 100; i++)
		HINT_EXPECT(&b, bytes[i], i % 2 != 0 ? HINT_REPLAYED :
		    HINT_ACCEPTED);
}

/* ---- what is not -------------------------------------------------------- */

/* Whatever is changed: the head says another pair, form or number, or the seal
 * is wrong; and the hint itself is good afterwards. */
TEST(test_tampered)
{
	uint8_t bytes[HINT_BYTES];

	hint_host_send(&a, &b, bytes);
	for (size_t i = 0; i < 8 * sizeof(bytes); i++) {
		const size_t at = i / 8;
		const uint8_t bit = (uint8_t)(1 << i % 8);
		enum hint_verdict verdict;

		bytes[at] ^= bit;
		/* Each at a time of its own, for the rates. */
		verdict = hint_host_decode(&b, bytes, sizeof(bytes),
		    HINT_NOW + i * 1000);
		bytes[at] ^= bit;
		if (at < 4 || (at == 43 && bit == 1))	/* 1 becomes 0 */
			ck_assert_int_eq(verdict, HINT_MALFORMED);
		else if (at < 20)
			ck_assert_int_eq(verdict, HINT_UNKNOWN);
		else if (at < 36)
			ck_assert_int_eq(verdict, HINT_NOT_OURS);
		else
			ck_assert_int_eq(verdict, HINT_FORGED);
	}
	ck_assert_uint_eq(hints_counters(b.hints)->accepted, 0);
	ck_assert_int_eq(hint_host_decode(&b, bytes, sizeof(bytes),
	    HINT_NOW + 8 * sizeof(bytes) * 1000), HINT_ACCEPTED);
}

TEST(test_lengths)
{
	uint8_t bytes[2 * HINT_BYTES] = { 0 };

	hint_host_send(&a, &b, bytes);
	for (size_t length = 0; length <= sizeof(bytes); length++) {
		uint8_t *exact = malloc(length > 0 ? length : 1);

		ck_assert_ptr_nonnull(exact);
		memcpy(exact, bytes, length);
		if (length != HINT_BYTES)
			hint_host_expect(&b, exact, length, HINT_MALFORMED);
		free(exact);
	}
	HINT_EXPECT(&b, bytes, HINT_ACCEPTED);
}

TEST(test_replayed)
{
	uint8_t first[HINT_BYTES], bytes[HINT_BYTES];
	uint64_t now_ms = HINT_NOW;

	hint_host_send(&a, &b, first);
	HINT_EXPECT(&b, first, HINT_ACCEPTED);
	HINT_EXPECT(&b, first, HINT_REPLAYED);
	for (int i = 1; i < HINT_WINDOW; i++) {
		now_ms += 100;
		ck_assert_int_eq(hint_host_encode(&a, &b, HINT_WANTED, now_ms,
		    bytes), 0);
		ck_assert_int_eq(hint_host_decode(&b, bytes, HINT_BYTES,
		    now_ms), HINT_ACCEPTED);
	}
	HINT_EXPECT(&b, first, HINT_REPLAYED);
	ck_assert_int_eq(hint_host_encode(&a, &b, HINT_WANTED, now_ms + 100,
	    bytes), 0);
	ck_assert_int_eq(hint_host_decode(&b, bytes, HINT_BYTES, now_ms + 100),
	    HINT_ACCEPTED);
	HINT_EXPECT(&b, first, HINT_LATE);
}

/* A stranger cannot move the window: neither by a great number, nor by one that
 * is to come. */
TEST(test_forged_moves_nothing)
{
	uint8_t bytes[HINT_BYTES], forged[HINT_BYTES];

	hint_host_send(&a, &b, bytes);
	memcpy(forged, bytes, sizeof(forged));
	HINT_EXPECT(&b, bytes, HINT_ACCEPTED);
	memset(forged + 36, 0xff, 8);
	HINT_EXPECT(&b, forged, HINT_FORGED);
	HINT_EXPECT(&b, forged, HINT_FORGED);
	hint_host_send(&a, &b, bytes);
	memset(forged + 36, 0, 8);
	forged[43] = 2;
	HINT_EXPECT(&b, forged, HINT_FORGED);
	HINT_EXPECT(&b, bytes, HINT_ACCEPTED);
}

/* Its own, back; also with the names exchanged. */
TEST(test_reflected)
{
	uint8_t bytes[HINT_BYTES], swapped[HINT_BYTES];

	hint_host_send(&a, &b, bytes);
	HINT_EXPECT(&a, bytes, HINT_NOT_OURS);
	memcpy(swapped, bytes, sizeof(swapped));
	memcpy(swapped + 4, bytes + 20, HINT_ID_BYTES);
	memcpy(swapped + 20, bytes + 4, HINT_ID_BYTES);
	HINT_EXPECT(&a, swapped, HINT_FORGED);
	HINT_EXPECT(&b, bytes, HINT_ACCEPTED);
}

/* What is for another is not believed with the names changed. */
TEST(test_of_others)
{
	uint8_t bytes[HINT_BYTES];

	hint_host_meet(&a, &c);
	hint_host_meet(&c, &a);
	hint_host_meet(&c, &b);
	hint_host_meet(&b, &c);
	hint_host_send(&a, &b, bytes);
	HINT_EXPECT(&c, bytes, HINT_NOT_OURS);
	memcpy(bytes + 20, c.party.id.bytes, HINT_ID_BYTES);
	HINT_EXPECT(&c, bytes, HINT_FORGED);
	hint_host_send(&c, &b, bytes);
	memcpy(bytes + 4, a.party.id.bytes, HINT_ID_BYTES);
	HINT_EXPECT(&b, bytes, HINT_FORGED);
}

/* A host that says that it is another, and has not its key. */
TEST(test_impostor)
{
	struct hint_host impostor = { .address = a.address };
	const struct siphash_key key = { { 7, 8 } };
	uint8_t bytes[HINT_BYTES];

	ck_assert_int_eq(hints_new(&hints_limits_default, &a.address, &key,
	    &impostor.hints), 0);
	hint_host_session(&impostor, 1, 0x99);
	hint_host_meet(&impostor, &b);
	hint_host_send(&impostor, &b, bytes);
	HINT_EXPECT(&b, bytes, HINT_FORGED);
	hints_free(impostor.hints);
}

/* A sealed body that has no meaning here: of a later version, perhaps. It was
 * seen all the same. */
TEST(test_no_meaning)
{
	struct hint_head head = { a.party.id, b.party.id, 77 };
	uint8_t bytes[HINT_BYTES] = { 0 }, random[HINT_KEY_BYTES];
	struct hint_crypto *crypto;
	struct hint_identity identity;
	struct hint_pair pair;

	memset(random, 0x41, sizeof(random));
	ck_assert_int_eq(hint_crypto_new(&crypto), 0);
	ck_assert_int_eq(hint_identity_init(&identity, &a.party.id, random),
	    0);
	ck_assert_int_eq(hint_keys_derive(crypto, &identity, &b.party, &pair),
	    0);
	hint_format_write_head(&head, bytes);
	bytes[HINT_HEAD_BYTES] = 200;
	bytes[HINT_HEAD_BYTES + 1] = 1;
	ck_assert_int_eq(hint_keys_seal(crypto, pair.to_peer, 77, bytes), 0);
	hint_identity_done(&identity);
	hint_crypto_free(crypto);
	HINT_EXPECT(&b, bytes, HINT_MALFORMED);
	HINT_EXPECT(&b, bytes, HINT_REPLAYED);
}

TEST(test_stranger)
{
	uint8_t bytes[HINT_BYTES];
	struct hint hint;

	hint_host_meet(&c, &b);
	hint_host_send(&c, &b, bytes);
	ck_assert_int_eq(hints_decode(b.hints, bytes, HINT_BYTES, HINT_NOW,
	    &hint), HINT_UNKNOWN);
	ck_assert(hint_id_equal(&hint.head.sender, &c.party.id));
	ck_assert_uint_eq(hint.body.n_digests, 0);
	/* Its item was read: now it is a peer, and nothing was used up. */
	hint_host_meet(&b, &c);
	HINT_EXPECT(&b, bytes, HINT_ACCEPTED);
	hints_forget_peer(b.hints, &b.party.id, &c.party.id);
	hints_forget_peer(b.hints, &b.party.id, &c.party.id);
	HINT_EXPECT(&b, bytes, HINT_UNKNOWN);
	hints_forget_session(b.hints, &b.party.id);
	hints_forget_session(b.hints, &b.party.id);
	HINT_EXPECT(&b, bytes, HINT_NOT_OURS);
}

/* ---- sessions and peers ------------------------------------------------- */

TEST(test_refused)
{
	const struct hint_body good = hint_test_body(HINT_FREED, 1);
	const struct hint_body bad = hint_test_body(HINT_FREED,
	    HINT_DIGESTS_MAX + 1);
	uint8_t bytes[HINT_BYTES] = { 0 }, key[HINT_KEY_BYTES] = { 1 };
	struct hint_address to;

	ck_assert_int_eq(hints_add_session(a.hints, &a.party.id, key, bytes),
	    DDBLOCK_E_BAD_REQUEST);
	ck_assert_int_eq(hints_add_peer(a.hints, &c.party.id, &b.party,
	    &b.address), DDBLOCK_E_BAD_REQUEST);
	ck_assert_int_eq(hints_add_peer(a.hints, &a.party.id, &a.party,
	    &b.address), DDBLOCK_E_BAD_REQUEST);
	ck_assert_int_eq(hints_encode(a.hints, &a.party.id, &c.party.id, &good,
	    HINT_NOW, bytes, &to), DDBLOCK_E_BAD_REQUEST);
	ck_assert_int_eq(hints_encode(a.hints, &a.party.id, &b.party.id, &bad,
	    HINT_NOW, bytes, &to), DDBLOCK_E_BAD_REQUEST);
	ck_assert_uint_eq(bytes[0], 0);
	for (unsigned i = 1; i < HINTS_SESSIONS_MAX; i++) {
		struct hint_id id = hint_test_id(0xee);

		id.bytes[0] = (uint8_t)i;
		ck_assert_int_eq(hints_add_session(a.hints, &id, key, bytes),
		    0);
	}
	ck_assert_int_eq(hints_add_session(a.hints, &c.party.id, key, bytes),
	    DDBLOCK_E_LIMIT);
}

/* Two namespaces of one daemon: each session has its own key and peers. */
TEST(test_two_sessions)
{
	struct hint_host second = { .hints = a.hints, .address = a.address };
	uint8_t first_bytes[HINT_BYTES], second_bytes[HINT_BYTES];

	hint_host_session(&second, 4, 0x77);
	ck_assert_mem_ne(second.party.public_key, a.party.public_key,
	    HINT_KEY_BYTES);
	hint_host_meet(&second, &b);
	hint_host_meet(&b, &second);
	hint_host_send(&a, &b, first_bytes);
	hint_host_send(&second, &b, second_bytes);
	HINT_EXPECT(&b, first_bytes, HINT_ACCEPTED);
	HINT_EXPECT(&b, second_bytes, HINT_ACCEPTED);
	hint_host_send(&b, &second, second_bytes);
	hints_forget_session(a.hints, &a.party.id);
	HINT_EXPECT(&a, second_bytes, HINT_ACCEPTED);
	hint_host_send(&b, &a, first_bytes);
	HINT_EXPECT(&a, first_bytes, HINT_NOT_OURS);
}

/* A new process goes on with the session, and has another key. */
TEST(test_taken_over)
{
	struct hint_host successor = { .address = a.address };
	const struct siphash_key key = { { 7, 8 } };
	uint8_t before[HINT_BYTES], bytes[HINT_BYTES];

	hint_host_send(&a, &b, before);
	HINT_EXPECT(&b, before, HINT_ACCEPTED);
	hint_host_meet(&b, &a);	/* the same item again */
	HINT_EXPECT(&b, before, HINT_REPLAYED);
	ck_assert_int_eq(hints_new(&hints_limits_default, &a.address, &key,
	    &successor.hints), 0);
	hint_host_session(&successor, 1, 0x55);
	hint_host_meet(&successor, &b);
	hint_host_send(&successor, &b, bytes);	/* number 1 again */
	HINT_EXPECT(&b, bytes, HINT_REPLAYED);
	hint_host_meet(&b, &successor);
	HINT_EXPECT(&b, before, HINT_FORGED);
	HINT_EXPECT(&b, bytes, HINT_ACCEPTED);
	HINT_EXPECT(&b, before, HINT_REPLAYED);
	hints_free(successor.hints);
}

/* No number is used twice with a key, though the peer is forgotten between, or
 * its item shows an older key for a time. */
TEST(test_no_number_twice)
{
	uint8_t first[HINT_BYTES], bytes[HINT_BYTES];
	struct hint_host other_key = b;

	hint_host_send(&a, &b, first);
	hints_forget_peer(a.hints, &a.party.id, &b.party.id);
	hint_host_meet(&a, &b);
	hint_host_send(&a, &b, bytes);
	ck_assert_mem_ne(first, bytes, HINT_HEAD_BYTES);
	other_key.party.public_key[0] ^= 1;
	hint_host_meet(&a, &other_key);
	hint_host_meet(&a, &b);
	hint_host_send(&a, &b, bytes);
	ck_assert_uint_eq(bytes[43], 3);
	HINT_EXPECT(&b, first, HINT_ACCEPTED);
	HINT_EXPECT(&b, bytes, HINT_ACCEPTED);
}

/* The one used longest ago gives way; sending and receiving are uses. */
TEST(test_too_many_peers)
{
	struct hints_limits limits = hints_limits_default;
	struct hint_host few, others[4];
	uint8_t bytes[HINT_BYTES];

	limits.peers_max = 3;
	hint_host_init(&few, 9, &limits);
	for (uint8_t i = 0; i < 4; i++) {
		hint_host_init(&others[i], (uint8_t)(10 + i),
		    &hints_limits_default);
		hint_host_meet(&others[i], &few);
		if (i < 3)
			hint_host_meet(&few, &others[i]);
	}
	hint_host_send(&few, &others[0], bytes);
	hint_host_send(&others[1], &few, bytes);
	HINT_EXPECT(&few, bytes, HINT_ACCEPTED);
	ck_assert_uint_eq(hints_counters(few.hints)->evicted, 0);
	hint_host_meet(&few, &others[3]);
	ck_assert_uint_eq(hints_counters(few.hints)->evicted, 1);
	hint_host_send(&others[2], &few, bytes);
	HINT_EXPECT(&few, bytes, HINT_UNKNOWN);
	hint_host_meet(&few, &others[2]);	/* in the place of 0 */
	HINT_EXPECT(&few, bytes, HINT_ACCEPTED);
	ck_assert_int_eq(hint_host_encode(&few, &others[0], HINT_FREED,
	    HINT_NOW, bytes), DDBLOCK_E_BAD_REQUEST);
	/* A forged one is no use. */
	hint_host_send(&others[1], &few, bytes);
	bytes[100] ^= 1;
	HINT_EXPECT(&few, bytes, HINT_FORGED);
	hint_host_meet(&few, &others[0]);
	HINT_EXPECT(&few, bytes, HINT_UNKNOWN);
	for (int i = 0; i < 4; i++)
		hints_free(others[i].hints);
	hints_free(few.hints);
}

/* A public key without a secret: nothing is sent or believed, and it is tried
 * once only. */
TEST(test_useless_key)
{
	struct hint_host useless = { .party = { .id = hint_test_id(6) },
		.address = c.address };
	uint8_t bytes[HINT_BYTES] = { 'd', 'd', 'h', 1 };

	hint_host_meet(&b, &useless);
	ck_assert_int_eq(hint_host_encode(&b, &useless, HINT_FREED, HINT_NOW,
	    bytes), DDBLOCK_E_UNSUPPORTED);
	ck_assert_uint_eq(hints_counters(b.hints)->unsent_peer, 1);
	memset(bytes + 4, 6, HINT_ID_BYTES);
	memset(bytes + 20, 2, HINT_ID_BYTES);
	bytes[43] = 1;
	HINT_EXPECT(&b, bytes, HINT_FORGED);
}

