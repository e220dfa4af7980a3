/*
 * The keys of hints: the examples of RFC 7748, and what a second implementation
 * (tests/unit/data/hints/vector.py) makes of them by RFC 5869 and RFC 8439; and
 * each thing that goes into a key gives another.
 */
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "hint_fixture.h"

#define ALICE "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"
#define ALICE_PUBLIC                                                           \
	"8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
#define BOB "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"
#define BOB_PUBLIC                                                             \
	"de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"

/* By vector.py. */
#define DIGEST UINT64_C(0xca04530deb7e36ce)
#define ALICE_TO_BOB                                                           \
	"09befe5695ffc3eddec60cc26257713c0ef79b0ce3e2801c4506ef96caac1c1f"
#define BOB_TO_ALICE                                                           \
	"de71537bc398bf45cdc91abd38a36b9ce50314034ab489a8c9ee6e0d06aefb08"
#define HINT                                                                   \
	"64646801000102030405060708090a0b0c0d0e0f101112131415161718191a1b"     \
	"1c1d1e1f0102030405060708aa7bf48bc84547f6b826312f38b6b9dea4b17041"     \
	"686f4e44fefb9a6ad31ce8f69d8e1a8233f403d9ad72f1ccd146470ab85a473c"     \
	"21471f3cfbf92fe847e350343e849d663fa710e0f41e96b49213430dd0a412f1"     \
	"32353559a148d479cebcb1c57c70a78b18f65fb8c3112eb05e25f8fead1f8aee"     \
	"80f7997d7a29f13d2b0cad49f81b5b0259ad1e631453a6e04c963b624faf37f3"
#define HINT_SEQUENCE UINT64_C(0x0102030405060708)

static struct hint_crypto *crypto;
static struct hint_identity alice, bob;

static void
unhex(const char *text, uint8_t *ret, size_t length)
{
	ck_assert_uint_eq(strlen(text), 2 * length);
	for (size_t i = 0; i < length; i++) {
		const char digits[] = { text[2 * i], text[2 * i + 1], '\0' };

		ret[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

#define ASSERT_HEX(bytes, text)                                                \
	do {                                                                   \
		uint8_t expected_[sizeof(text) / 2];                           \
		unhex(text, expected_, sizeof(expected_));                     \
		ck_assert_mem_eq(bytes, expected_, sizeof(expected_));         \
	} while (0)

static void
identify(struct hint_identity *i, uint8_t first, const char *private_text)
{
	uint8_t private_key[HINT_KEY_BYTES];
	struct hint_id id;

	for (int j = 0; j < HINT_ID_BYTES; j++)
		id.bytes[j] = (uint8_t)(first + j);
	unhex(private_text, private_key, sizeof(private_key));
	ck_assert_int_eq(hint_identity_init(i, &id, private_key), 0);
}

static void
setup(void)
{
	ck_assert_int_eq(hint_crypto_new(&crypto), 0);
	identify(&alice, 0, ALICE);
	identify(&bob, HINT_ID_BYTES, BOB);
}

static void
teardown(void)
{
	ck_assert_uint_eq(ERR_peek_error(), 0);
	hint_identity_done(&alice);
	hint_identity_done(&bob);
	hint_crypto_free(crypto);
	hint_crypto_free(NULL);
}

TEST_FIXTURE(setup, teardown)

TEST(test_rfc_7748)
{
	ASSERT_HEX(alice.party.public_key, ALICE_PUBLIC);
	ASSERT_HEX(bob.party.public_key, BOB_PUBLIC);
}

TEST(test_pair)
{
	struct hint_pair a, b;

	ck_assert_int_eq(hint_keys_derive(crypto, &alice, &bob.party, &a), 0);
	ck_assert_int_eq(hint_keys_derive(crypto, &bob, &alice.party, &b), 0);
	ASSERT_HEX(a.to_peer, ALICE_TO_BOB);
	ASSERT_HEX(a.from_peer, BOB_TO_ALICE);
	ck_assert_mem_eq(a.to_peer, b.from_peer, HINT_KEY_BYTES);
	ck_assert_mem_eq(a.from_peer, b.to_peer, HINT_KEY_BYTES);
	hint_keys_wipe(&a);
	for (size_t i = 0; i < sizeof(a); i++)
		ck_assert_uint_eq(((const uint8_t *)&a)[i], 0);
}

/* Each bit of what a pair is made of counts: but for the highest of a public
 * key, which RFC 7748 masks, and which still counts as a part of the party. */
TEST(test_all_counts)
{
	struct hint_pair before, after;
	struct hint_party peer;

	ck_assert_int_eq(hint_keys_derive(crypto, &alice, &bob.party,
	    &before), 0);
	for (size_t i = 0; i < sizeof(peer); i++) {
		peer = bob.party;
		((uint8_t *)&peer)[i] ^= 0x80;
		ck_assert_int_eq(hint_keys_derive(crypto, &alice, &peer,
		    &after), 0);
		ck_assert_mem_ne(before.to_peer, after.to_peer,
		    HINT_KEY_BYTES);
		ck_assert_mem_ne(before.from_peer, after.from_peer,
		    HINT_KEY_BYTES);
	}
	alice.party.id.bytes[0] ^= 1;
	ck_assert_int_eq(hint_keys_derive(crypto, &alice, &bob.party, &after),
	    0);
	ck_assert_mem_ne(before.to_peer, after.to_peer, HINT_KEY_BYTES);
}

/* Points of small order (RFC 7748, 6.1): a secret that all know. */
static const char *const small[] = {
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
};

TEST_ROWS(test_small_order, small)
{
	struct hint_party peer = bob.party;
	struct hint_pair pair;

	unhex(small[_i], peer.public_key, HINT_KEY_BYTES);
	ck_assert_int_eq(hint_keys_derive(crypto, &alice, &peer, &pair),
	    DDBLOCK_E_BAD_REQUEST);
	ck_assert_uint_eq(ERR_peek_error(), 0);
}

static void
make(uint8_t hint[HINT_BYTES], struct hint_pair *pair)
{
	const struct hint_head head = { alice.party.id, bob.party.id,
		HINT_SEQUENCE };
	struct hint_body body = { .kind = HINT_FREED, .n_digests = 1 };

	ck_assert_int_eq(hint_keys_derive(crypto, &alice, &bob.party, pair),
	    0);
	body.digests[0] = DIGEST;
	hint_format_write_head(&head, hint);
	hint_format_write_body(&body, hint + HINT_HEAD_BYTES);
	ck_assert_int_eq(hint_keys_seal(crypto, pair->to_peer, head.sequence,
	    hint), 0);
}

TEST(test_seal)
{
	uint8_t hint[HINT_BYTES], body[HINT_BODY_BYTES] = { 0 };
	struct hint_body got;
	struct hint_pair pair;

	make(hint, &pair);
	ASSERT_HEX(hint, HINT);
	ck_assert(hint_keys_open(crypto, pair.to_peer, HINT_SEQUENCE, hint,
	    body));
	ck_assert(hint_format_read_body(body, &got));
	ck_assert_int_eq(got.kind, HINT_FREED);
	ck_assert_uint_eq(got.n_digests, 1);
	ck_assert_uint_eq(got.digests[0], DIGEST);
	hint_crypto_wipe(crypto);
	ck_assert(hint_keys_open(crypto, pair.to_peer, HINT_SEQUENCE, hint,
	    body));
}

/* Each bit, another number, another key; and nothing of it is read. */
TEST(test_open_refuses)
{
	static const uint8_t untouched[HINT_BODY_BYTES];
	uint8_t hint[HINT_BYTES], body[HINT_BODY_BYTES] = { 0 };
	struct hint_pair pair;

	make(hint, &pair);
	for (size_t i = 0; i < 8 * sizeof(hint); i++) {
		hint[i / 8] ^= (uint8_t)(1 << i % 8);
		ck_assert(!hint_keys_open(crypto, pair.to_peer, HINT_SEQUENCE,
		    hint, body));
		hint[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	ck_assert(!hint_keys_open(crypto, pair.to_peer, HINT_SEQUENCE + 1,
	    hint, body));
	ck_assert(!hint_keys_open(crypto, pair.to_peer,
	    HINT_SEQUENCE ^ UINT64_C(1) << 63, hint, body));
	ck_assert(!hint_keys_open(crypto, pair.from_peer, HINT_SEQUENCE, hint,
	    body));
	ck_assert_uint_eq(ERR_peek_error(), 0);
	ck_assert_mem_eq(body, untouched, sizeof(body));
	ck_assert(hint_keys_open(crypto, pair.to_peer, HINT_SEQUENCE, hint,
	    body));
}

