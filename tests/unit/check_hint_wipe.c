/*
 * No key of a hint is left in memory that was given back: every block that is
 * freed here or grown, by libcrypto, too, is searched for them first.
 */
#include "config.h"

#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "hint_fixture.h"

static uint8_t secrets[3][HINT_KEY_BYTES];	/* private, to, from */
static volatile unsigned leaks;	/* to the compiler, free() changes nothing */

static void
look_into(const void *p)
{
	for (size_t i = 0; p != NULL && i < 3; i++)
		leaks += memmem(p, malloc_usable_size((void *)(uintptr_t)p),
		    secrets[i], HINT_KEY_BYTES) != NULL;
}

void __real_free(void *p);
void __wrap_free(void *p);

void
__wrap_free(void *p)
{
	look_into(p);
	__real_free(p);
}

static void *
crypto_malloc(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return malloc(size);
}

static void *
crypto_realloc(void *p, size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	look_into(p);
	return realloc(p, size);
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
watch_libcrypto(void)
{
	if (CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc,
	    crypto_free) != 1)
		abort();
}

static void
learn_secrets(const struct hint_host *a, const struct hint_host *b)
{
	struct hint_crypto *crypto;
	struct hint_identity identity;
	struct hint_pair pair;

	memset(secrets[0], 0x41, HINT_KEY_BYTES);
	ck_assert_int_eq(hint_crypto_new(&crypto), 0);
	ck_assert_int_eq(hint_identity_init(&identity, &a->party.id,
	    secrets[0]), 0);
	ck_assert_int_eq(hint_keys_derive(crypto, &identity, &b->party, &pair),
	    0);
	memcpy(secrets[1], pair.to_peer, HINT_KEY_BYTES);
	memcpy(secrets[2], pair.from_peer, HINT_KEY_BYTES);
	hint_keys_wipe(&pair);
	hint_identity_done(&identity);
	hint_crypto_free(crypto);
}

TEST(test_it_looks)
{
	char *p = malloc(HINT_KEY_BYTES);

	ck_assert_ptr_nonnull(p);
	memset(secrets, 7, sizeof(secrets));
	memset(p, 7, HINT_KEY_BYTES);
	/* The compiler must not know that nobody reads it. */
	__asm__ volatile("" : : "r"(p) : "memory");
	leaks = 0;
	free(p);
	ck_assert_uint_eq(leaks, 3);
}

/* However it ends: the peer forgotten, changed, evicted; the session forgotten;
 * all of it. */
TEST_LOOP(test_keys, 0, 5)
{
	struct hints_limits limits = hints_limits_default;
	struct hint_host a, b, c;
	uint8_t bytes[HINT_BYTES];

	limits.peers_max = 1;
	hint_host_init(&a, 1, &limits);
	hint_host_init(&b, 2, &limits);
	hint_host_init(&c, 3, &limits);
	learn_secrets(&a, &b);
	leaks = 0;
	hint_host_meet(&a, &b);
	hint_host_meet(&b, &a);
	ck_assert_int_eq(hint_host_encode(&a, &b, HINT_FREED, 0, bytes), 0);
	ck_assert_int_eq(hint_host_decode(&b, bytes, HINT_BYTES, 0),
	    HINT_ACCEPTED);
	ck_assert_int_eq(hint_host_encode(&b, &a, HINT_FREED, 0, bytes), 0);
	ck_assert_int_eq(hint_host_decode(&a, bytes, HINT_BYTES, 0),
	    HINT_ACCEPTED);
	if (_i == 0)
		hints_forget_peer(a.hints, &a.party.id, &b.party.id);
	if (_i == 1) {
		b.party.public_key[0] ^= 1;
		hint_host_meet(&a, &b);
	}
	if (_i == 2)
		hint_host_meet(&a, &c);
	if (_i == 3)
		hints_forget_session(a.hints, &a.party.id);
	hints_free(a.hints);
	hints_free(b.hints);
	hints_free(c.hints);
	ck_assert_uint_eq(leaks, 0);
}
