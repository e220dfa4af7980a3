/*
 * Memory runs out at each allocation of ours and of libcrypto's in turn: what
 * cannot be done says so, nothing is left behind (the sanitizers look), and
 * what there was goes on.
 */
#include <openssl/crypto.h>
#include <stdlib.h>

#include "ddblock.h"
#include "hint_fixture.h"

#define TRIES_MAX 10000

static long until_failure;	/* negative: none fails */
static bool failed;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static bool
fails(void)
{
	if (until_failure < 0 || until_failure-- > 0)
		return false;
	failed = true;
	return true;
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

static void *
crypto_malloc(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return fails() ? NULL : malloc(size);
}

static void *
crypto_realloc(void *p, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return fails() ? NULL : realloc(p, size);
}

static void
crypto_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	free(p);
}

/* Before libcrypto allocates anything. */
__attribute__((constructor)) static void
starve_libcrypto(void)
{
	until_failure = -1;
	if (CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc,
	    crypto_free) != 1)
		abort();
}

/* A life of one host, as far as it goes; 0: to its end. */
static int
live(const struct hint_host *peer, const uint8_t *from_peer)
{
	const struct siphash_key key = { { 1, 2 } };
	const struct hint_id id = hint_test_id(1);
	const struct hint_body body = hint_test_body(HINT_FREED, 1);
	uint8_t private_key[HINT_KEY_BYTES], public_key[HINT_KEY_BYTES];
	uint8_t bytes[HINT_BYTES];
	struct hint_address to;
	struct hints *h = NULL;
	struct hint hint;
	int r;

	memset(private_key, 0x41, sizeof(private_key));
	r = hints_new(&hints_limits_default, &peer->address, &key, &h);
	if (r == 0)
		r = hints_add_session(h, &id, private_key, public_key);
	if (r == 0)
		r = hints_add_peer(h, &id, &peer->party, &peer->address);
	/* What fails to be opened for want of memory is lost, no more. */
	if (r == 0 && hints_decode(h, from_peer, HINT_BYTES, HINT_NOW,
	    &hint) != HINT_ACCEPTED)
		r = DDBLOCK_E_SYSTEM;
	if (r == 0) {
		r = hints_encode(h, &id, &peer->party.id, &body, HINT_NOW,
		    bytes, &to);
		if (r == DDBLOCK_E_DENIED)	/* our own address */
			r = 0;
	}
	until_failure = -1;
	if (r < 0 && h != NULL) {
		/* Nothing is broken for good. The session may be there. */
		(void)hints_add_session(h, &id, private_key, public_key);
		ck_assert_int_eq(hints_add_peer(h, &id, &peer->party,
		    &peer->address), 0);
		ck_assert_int_ne(hints_decode(h, from_peer, HINT_BYTES,
		    HINT_NOW, &hint), HINT_FORGED);
	}
	hints_free(h);
	return r;
}

TEST(test_each_allocation)
{
	struct hint_host host, peer;
	uint8_t bytes[HINT_BYTES];
	long n = 0, n_refused = 0;
	int r;

	hint_host_init(&host, 1, &hints_limits_default);
	hint_host_init(&peer, 2, &hints_limits_default);
	hint_host_meet(&peer, &host);
	hint_host_send(&peer, &host, bytes);
	/* Once, so that libcrypto has all that it makes for good. */
	ck_assert_int_eq(live(&peer, bytes), 0);
	do {
		until_failure = n++;
		failed = false;
		r = live(&peer, bytes);
		n_refused += r < 0;
		ck_assert(r == 0 || r == DDBLOCK_E_NOMEM ||
		    r == DDBLOCK_E_SYSTEM || r == DDBLOCK_E_UNSUPPORTED);
	} while (failed && n < TRIES_MAX);
	ck_assert_int_eq(r, 0);
	ck_assert_int_lt(n, TRIES_MAX);
	/* Some of libcrypto's are for its caches only. */
	ck_assert_int_gt(n_refused, 20);
	hints_free(host.hints);
	hints_free(peer.hints);
}
