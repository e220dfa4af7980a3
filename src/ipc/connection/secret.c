/*
 * What a journal has of secrets. See secret.h.
 */
#include "config.h"

#include "ipc/connection/secret.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "ddblock.h"
#include "ipc/connection/wire.h"

_Static_assert(WIRE_KEY == 32, "the cipher's key");
_Static_assert(CORE_SECRET_DIGEST == 32, "SHA-256");

static bool
secret_digest(struct ident clear, uint8_t ret[CORE_SECRET_DIGEST])
{
	return EVP_Digest(&clear, sizeof(clear), ret, NULL, EVP_sha256(),
	    NULL) == 1;
}

/* A seal is put on and taken off in the same way. */
static bool
secret_seal(const struct server *s, const uint8_t digest[CORE_SECRET_DIGEST],
    struct ident *i)
{
	const uint8_t *key = wire_key(s);
	struct ident pad[2];	/* the first half is enough */

	if (key == NULL || HMAC(EVP_sha256(), key, WIRE_KEY, digest,
	    CORE_SECRET_DIGEST, (unsigned char *)pad, NULL) == NULL)
		return false;
	i->high ^= pad[0].high;
	i->low ^= pad[0].low;
	explicit_bzero(pad, sizeof(pad));
	return true;
}

int
secret_learn(const struct server *s, struct ident clear,
    struct core_secret *ret)
{
	*ret = (struct core_secret){ .clear = clear };
	if (!secret_digest(clear, ret->digest))
		return DDBLOCK_E_SYSTEM;
	ret->sealed = clear;
	if (!secret_seal(s, ret->digest, &ret->sealed))
		ret->sealed = (struct ident){ 0, 0 };
	return 0;
}

bool
secret_reveal(const struct server *s, const struct core_secret *secret,
    struct ident *ret)
{
	uint8_t digest[CORE_SECRET_DIGEST];

	*ret = secret->clear;
	if (!ident_is_none(*ret))
		return true;
	*ret = secret->sealed;
	return !ident_is_none(*ret) && secret_seal(s, secret->digest, ret) &&
	    secret_digest(*ret, digest) &&
	    memcmp(digest, secret->digest, sizeof(digest)) == 0;
}

/* ---- bytes -------------------------------------------------------------- */

bool
secret_hides(const struct server *s)
{
	return wire_key(s) != NULL;
}

/* Random at first, then the next one; the cipher counts blocks in the first
 * four bytes. */
bool
secret_nonce(struct server *s, uint8_t ret[SECRET_NONCE])
{
	if (ident_is_none(s->nonce) && s->calls.secret(s->arg, &s->nonce) < 0)
		return false;
	s->nonce.low++;
	memcpy(ret, &s->nonce.low, sizeof(s->nonce.low));
	memcpy(ret + 8, &s->nonce.high, sizeof(s->nonce.high));
	memmove(ret + 4, ret, SECRET_NONCE - 4);
	memset(ret, 0, 4);
	return true;
}

bool
secret_turn(struct server *s, const uint8_t nonce[SECRET_NONCE],
    const void *from, void *to, size_t length)
{
	const uint8_t *key = wire_key(s);
	int n;

	if (key == NULL || length > INT_MAX)
		return false;
	/* To begin with a cipher costs more than to use it. */
	if (s->cipher == NULL) {
		s->cipher = EVP_CIPHER_CTX_new();
		if (s->cipher == NULL || EVP_EncryptInit_ex(s->cipher,
		    EVP_chacha20(), NULL, key, nonce) != 1) {
			secret_stop(s);
			return false;
		}
	}
	return EVP_EncryptInit_ex(s->cipher, NULL, NULL, NULL, nonce) == 1 &&
	    EVP_EncryptUpdate(s->cipher, to, &n, from, (int)length) == 1;
}

void
secret_stop(struct server *s)
{
	EVP_CIPHER_CTX_free(s->cipher);
	s->cipher = NULL;
	s->nonce = (struct ident){ 0, 0 };
}
