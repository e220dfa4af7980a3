/*
 * Two hosts of hints for tests: their sessions 1 and 2, known to each other.
 */
#ifndef DDBLOCKD_TESTS_HINT_FIXTURE_H
#define DDBLOCKD_TESTS_HINT_FIXTURE_H

#include <string.h>

#include "hints/hints.h"
#include "test.h"

/* Each byte is this one. */
static inline struct hint_id
hint_test_id(uint8_t n)
{
	struct hint_id id;

	memset(id.bytes, n, sizeof(id.bytes));
	return id;
}

static inline struct hint_address
hint_test_address(const char *text)
{
	struct hint_address a;

	ck_assert_msg(hint_address_parse(text, strlen(text), &a), "%s", text);
	return a;
}

/* A host with one session. */
struct hint_host {
	struct hints *hints;
	struct hint_party party;
	struct hint_address address;
};

static inline void
hint_host_session(struct hint_host *host, uint8_t id, uint8_t private_byte)
{
	uint8_t private_key[HINT_KEY_BYTES];

	memset(private_key, private_byte, sizeof(private_key));
	host->party.id = hint_test_id(id);
	ck_assert_int_eq(hints_add_session(host->hints, &host->party.id,
	    private_key, host->party.public_key), 0);
}

/* Its address is 10.0.0.ID, its private key of bytes 0x40 + ID. */
static inline void
hint_host_init(struct hint_host *host, uint8_t id,
    const struct hints_limits *limits)
{
	const struct siphash_key key = { { id, 2 } };

	*host = (struct hint_host){
		.address = hint_test_address("10.0.0.0:7400"),
	};
	host->address.ip[HINT_IP_BYTES - 1] = id;
	ck_assert_int_eq(hints_new(limits, &host->address, &key,
	    &host->hints), 0);
	hint_host_session(host, id, (uint8_t)(0x40 + id));
}

static inline void
hint_host_meet(struct hint_host *host, const struct hint_host *other)
{
	ck_assert_int_eq(hints_add_peer(host->hints, &host->party.id,
	    &other->party, &other->address), 0);
}

/* Two that know each other. */
static inline void
hint_hosts_init(struct hint_host *a, struct hint_host *b)
{
	hint_host_init(a, 1, &hints_limits_default);
	hint_host_init(b, 2, &hints_limits_default);
	hint_host_meet(a, b);
	hint_host_meet(b, a);
}

static inline struct hint_body
hint_test_body(enum hint_kind kind, uint8_t n_digests)
{
	struct hint_body body = { .kind = kind, .n_digests = n_digests };

	for (uint8_t i = 0; i < n_digests && i < HINT_DIGESTS_MAX; i++)
		body.digests[i] = UINT64_C(0xa0a1a2a3a4a5a600) + i;
	return body;
}

static inline int
hint_host_encode(struct hint_host *from, const struct hint_host *to,
    enum hint_kind kind, uint64_t now_ms, uint8_t ret[HINT_BYTES])
{
	const struct hint_body body = hint_test_body(kind, 1);
	struct hint_address address;

	return hints_encode(from->hints, &from->party.id, &to->party.id,
	    &body, now_ms, ret, &address);
}

static inline enum hint_verdict
hint_host_decode(struct hint_host *at, const uint8_t *bytes, size_t length,
    uint64_t now_ms)
{
	struct hint hint;

	return hints_decode(at->hints, bytes, length, now_ms, &hint);
}

/* The time of most tests. */
#define HINT_NOW UINT64_C(1000000)

static inline void
hint_host_send(struct hint_host *from, const struct hint_host *to,
    uint8_t ret[HINT_BYTES])
{
	ck_assert_int_eq(hint_host_encode(from, to, HINT_FREED, HINT_NOW,
	    ret), 0);
}

static inline uint64_t
hint_decoded(const struct hints_counters *n)
{
	return n->accepted + n->malformed + n->not_ours + n->unknown +
	    n->over_rate + n->forged + n->replayed + n->late;
}

/* The verdict, and that it was counted as that and as nothing else. */
static inline void
hint_host_expect(struct hint_host *at, const uint8_t *bytes, size_t length,
    enum hint_verdict verdict)
{
	struct hints_counters *n = hints_counters(at->hints);
	const uint64_t *const counters[] = {
		[HINT_ACCEPTED] = &n->accepted,
		[HINT_MALFORMED] = &n->malformed,
		[HINT_NOT_OURS] = &n->not_ours, [HINT_UNKNOWN] = &n->unknown,
		[HINT_OVER_RATE] = &n->over_rate, [HINT_FORGED] = &n->forged,
		[HINT_REPLAYED] = &n->replayed, [HINT_LATE] = &n->late,
	};
	const uint64_t before = *counters[verdict], all = hint_decoded(n);

	ck_assert_int_eq(hint_host_decode(at, bytes, length, HINT_NOW),
	    verdict);
	ck_assert_uint_eq(*counters[verdict], before + 1);
	ck_assert_uint_eq(hint_decoded(n), all + 1);
}

#define HINT_EXPECT(at, bytes, verdict)                                        \
	hint_host_expect(at, bytes, HINT_BYTES, verdict)

#endif
