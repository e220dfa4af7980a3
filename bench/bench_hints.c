/*
 * What a hint costs: to be made and to be read, and what it takes to know which
 * lock is meant.
 */
#include "bench.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "hints/hints.h"

#define HINTS_AT_ONCE 1000	/* in a repetition */
#define HINTS_REPETITIONS 200

struct hint_end {
	struct hints *hints;
	struct hint_party party;
	struct hint_address address;
};

static void
hint_end_init(struct hint_end *end, uint8_t n)
{
	static const struct hint_rate any = { 1000000000, 1000000000 };
	const struct hints_limits limits = { .peers_max = 1000, .peer = any,
		.unknown = any, .address = any, .all = any };
	const struct siphash_key key = { { n, 1 } };
	const uint8_t private_key[HINT_KEY_BYTES] = { n };

	*end = (struct hint_end){ .address = { .ip = { [10] = 0xff, 0xff, 10,
		0, 0, n }, .port = 7400 }, .party.id.bytes = { n } };
	if (hints_new(&limits, &end->address, &key, &end->hints) < 0 ||
	    hints_add_session(end->hints, &end->party.id, private_key,
	    end->party.public_key) < 0)
		die("no host of hints");
}

static void
hint_end_meet(struct hint_end *end, const struct hint_end *other)
{
	if (hints_add_peer(end->hints, &end->party.id, &other->party,
	    &other->address) < 0)
		die("no peer");
}

/* About eight locks. */
static double
hints_measure(struct hint_end *from, struct hint_end *to)
{
	struct hint_body body = { .kind = HINT_FREED, .n_digests = 8 };
	uint8_t bytes[HINT_BYTES];
	struct hint_address address;
	struct hint hint;
	double start_us = now_us();

	for (int i = 0; i < HINTS_AT_ONCE; i++) {
		if (hints_encode(from->hints, &from->party.id, &to->party.id,
		    &body, 1, bytes, &address) < 0 ||
		    hints_decode(to->hints, bytes, sizeof(bytes), 1, &hint) !=
		    HINT_ACCEPTED)
			die("a hint was not accepted");
	}
	return (now_us() - start_us) / HINTS_AT_ONCE;
}

/* The least that an authentic datagram of this length would cost. */
static double
hints_bare(void)
{
	const uint8_t key[HINT_KEY_BYTES] = { 1 };
	uint8_t bytes[HINT_BYTES] = { 0 }, tag[EVP_MAX_MD_SIZE];
	double start_us = now_us();

	for (int i = 0; i < 2 * HINTS_AT_ONCE; i++) {
		if (HMAC(EVP_sha256(), key, sizeof(key), bytes, sizeof(bytes),
		    tag, NULL) == NULL)
			die("no HMAC");
		bytes[0] = tag[0];
	}
	return (now_us() - start_us) / HINTS_AT_ONCE;
}

void
bench_hints(void)
{
	struct hint_end from, to;
	struct pairs hints;

	hint_end_init(&from, 1);
	hint_end_init(&to, 2);
	hint_end_meet(&from, &to);
	hint_end_meet(&to, &from);
	pairs_init(&hints, HINTS_REPETITIONS);
	for (int i = 0; i < HINTS_REPETITIONS; i++) {
		const double hint_us = hints_measure(&from, &to);

		pairs_add(&hints, hint_us, hints_bare());
	}
	report_us("a hint, made and read, against two HMAC-SHA256", &hints,
	    AT_MOST, 1.5);
	pairs_done(&hints);
	hints_free(from.hints);
	hints_free(to.hints);
}
