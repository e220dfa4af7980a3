/*
 * The keys of hints. See hint_keys.h.
 *
 * What fails here may be a stranger's doing, so no failure is left in
 * libcrypto's queue of errors, where TLS would find it and take it for its own.
 */
#include "config.h"

#include "hints/hint_keys.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* What keys are for: no other use of a secret gives the same. */
#define HINT_KEYS_CONTEXT "ddblock hints 1"

#define HINT_NONCE_BYTES 12

struct hint_crypto {
	EVP_CIPHER *cipher;
	EVP_CIPHER_CTX *seal;
	EVP_CIPHER_CTX *open;
	EVP_KDF_CTX *hkdf;
};

int
hint_crypto_new(struct hint_crypto **ret)
{
	struct hint_crypto *c = calloc(1, sizeof(*c));
	EVP_KDF *hkdf;

	if (c == NULL)
		return DDBLOCK_E_NOMEM;
	(void)ERR_set_mark();
	hkdf = EVP_KDF_fetch(NULL, OSSL_KDF_NAME_HKDF, NULL);
	c->hkdf = hkdf != NULL ? EVP_KDF_CTX_new(hkdf) : NULL;
	EVP_KDF_free(hkdf);
	c->cipher = EVP_CIPHER_fetch(NULL, "ChaCha20-Poly1305", NULL);
	c->seal = EVP_CIPHER_CTX_new();
	c->open = EVP_CIPHER_CTX_new();
	(void)ERR_pop_to_mark();
	if (c->hkdf == NULL || c->cipher == NULL || c->seal == NULL ||
	    c->open == NULL) {
		hint_crypto_free(c);
		return DDBLOCK_E_SYSTEM;
	}
	*ret = c;
	return 0;
}

void
hint_crypto_free(struct hint_crypto *c)
{
	if (c == NULL)
		return;
	EVP_KDF_CTX_free(c->hkdf);
	EVP_CIPHER_CTX_free(c->seal);
	EVP_CIPHER_CTX_free(c->open);
	EVP_CIPHER_free(c->cipher);
	free(c);
}

void
hint_crypto_wipe(struct hint_crypto *c)
{
	(void)EVP_CIPHER_CTX_reset(c->seal);
	(void)EVP_CIPHER_CTX_reset(c->open);
}

/* ---- key pairs ---------------------------------------------------------- */

int
hint_identity_init(struct hint_identity *i, const struct hint_id *id,
    const uint8_t random[HINT_KEY_BYTES])
{
	size_t length = HINT_KEY_BYTES;

	*i = (struct hint_identity){ .party = { .id = *id } };
	(void)ERR_set_mark();
	i->private_key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL,
	    random, HINT_KEY_BYTES);
	if (i->private_key == NULL || EVP_PKEY_get_raw_public_key(
	    i->private_key, i->party.public_key, &length) != 1)
		hint_identity_done(i);
	(void)ERR_pop_to_mark();
	return i->private_key != NULL ? 0 : DDBLOCK_E_SYSTEM;
}

void
hint_identity_done(struct hint_identity *i)
{
	EVP_PKEY_free(i->private_key);	/* which wipes it */
	*i = (struct hint_identity){ .private_key = NULL };
}

/* X25519. libcrypto refuses a secret that is all zeros, which is what a key of
 * small order gives with each private key. */
static int
hint_keys_agree(EVP_PKEY *ours, EVP_PKEY *theirs, uint8_t ret[HINT_KEY_BYTES])
{
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new(ours, NULL);
	size_t length = HINT_KEY_BYTES;
	int r = DDBLOCK_E_SYSTEM;

	if (c != NULL && EVP_PKEY_derive_init(c) == 1 &&
	    EVP_PKEY_derive_set_peer(c, theirs) == 1)
		r = EVP_PKEY_derive(c, ret, &length) == 1 &&
		    length == HINT_KEY_BYTES ? 0 : DDBLOCK_E_BAD_REQUEST;
	EVP_PKEY_CTX_free(c);
	return r;
}

/*
 * The key of one direction. The parties stand in it in the order of the
 * direction, which is canonical for both and makes the two keys differ: each
 * direction counts from 1, and a number is used once with a key.
 */
static int
hint_keys_expand(struct hint_crypto *c, uint8_t secret[HINT_KEY_BYTES],
    const struct hint_party *sender, const struct hint_party *receiver,
    uint8_t ret[HINT_KEY_BYTES])
{
	char digest[] = "SHA256", context[] = HINT_KEYS_CONTEXT;
	uint8_t info[2 * sizeof(struct hint_party)];
	const OSSL_PARAM parameters[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest,
		    0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret,
		    HINT_KEY_BYTES),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, context,
		    sizeof(context) - 1),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info,
		    sizeof(info)),
		OSSL_PARAM_construct_end(),
	};

	_Static_assert(sizeof(struct hint_party) ==
	    HINT_ID_BYTES + HINT_KEY_BYTES, "bytes and nothing between them");
	memcpy(info, sender, sizeof(*sender));
	memcpy(info + sizeof(*sender), receiver, sizeof(*receiver));
	EVP_KDF_CTX_reset(c->hkdf);
	return EVP_KDF_derive(c->hkdf, ret, HINT_KEY_BYTES, parameters) == 1 ?
	    0 : DDBLOCK_E_SYSTEM;
}

static int
hint_keys_make(struct hint_crypto *c, const struct hint_identity *own,
    const struct hint_party *peer, EVP_PKEY *public_key, struct hint_pair *ret)
{
	uint8_t secret[HINT_KEY_BYTES];
	struct hint_pair pair;
	int r = hint_keys_agree(own->private_key, public_key, secret);

	if (r == 0)
		r = hint_keys_expand(c, secret, &own->party, peer,
		    pair.to_peer);
	if (r == 0)
		r = hint_keys_expand(c, secret, peer, &own->party,
		    pair.from_peer);
	EVP_KDF_CTX_reset(c->hkdf);	/* which has the secret, too */
	if (r == 0)
		*ret = pair;
	hint_keys_wipe(&pair);
	explicit_bzero(secret, sizeof(secret));
	return r;
}

int
hint_keys_derive(struct hint_crypto *c, const struct hint_identity *own,
    const struct hint_party *peer, struct hint_pair *ret)
{
	EVP_PKEY *public_key;
	int r = DDBLOCK_E_SYSTEM;

	(void)ERR_set_mark();
	public_key = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL,
	    peer->public_key, HINT_KEY_BYTES);
	if (public_key != NULL)
		r = hint_keys_make(c, own, peer, public_key, ret);
	EVP_PKEY_free(public_key);
	(void)ERR_pop_to_mark();
	return r;
}

void
hint_keys_wipe(struct hint_pair *pair)
{
	explicit_bzero(pair, sizeof(*pair));
}

/* ---- hints -------------------------------------------------------------- */

static void
hint_keys_nonce(uint64_t sequence, uint8_t ret[HINT_NONCE_BYTES])
{
	memset(ret, 0, HINT_NONCE_BYTES);
	for (int i = 0; i < 8; i++)
		ret[4 + i] = (uint8_t)(sequence >> (56 - 8 * i));
}

int
hint_keys_seal(struct hint_crypto *c, const uint8_t key[HINT_KEY_BYTES],
    uint64_t sequence, uint8_t hint[HINT_BYTES])
{
	uint8_t nonce[HINT_NONCE_BYTES], *body = hint + HINT_HEAD_BYTES;
	int n;
	bool done;

	hint_keys_nonce(sequence, nonce);
	(void)ERR_set_mark();
	done = EVP_EncryptInit_ex2(c->seal, c->cipher, key, nonce, NULL) == 1 &&
	    EVP_EncryptUpdate(c->seal, NULL, &n, hint, HINT_HEAD_BYTES) == 1 &&
	    EVP_EncryptUpdate(c->seal, body, &n, body, HINT_BODY_BYTES) == 1 &&
	    n == HINT_BODY_BYTES &&
	    EVP_EncryptFinal_ex(c->seal, body + n, &n) == 1 && n == 0 &&
	    EVP_CIPHER_CTX_ctrl(c->seal, EVP_CTRL_AEAD_GET_TAG, HINT_TAG_BYTES,
		body + HINT_BODY_BYTES) == 1;
	(void)ERR_pop_to_mark();
	return done ? 0 : DDBLOCK_E_SYSTEM;
}

bool
hint_keys_open(struct hint_crypto *c, const uint8_t key[HINT_KEY_BYTES],
    uint64_t sequence, const uint8_t hint[HINT_BYTES],
    uint8_t ret_body[HINT_BODY_BYTES])
{
	const uint8_t *sealed = hint + HINT_HEAD_BYTES;
	uint8_t nonce[HINT_NONCE_BYTES], tag[HINT_TAG_BYTES];
	uint8_t body[HINT_BODY_BYTES];
	int n;
	bool done;

	hint_keys_nonce(sequence, nonce);
	memcpy(tag, sealed + HINT_BODY_BYTES, sizeof(tag));
	(void)ERR_set_mark();
	done = EVP_DecryptInit_ex2(c->open, c->cipher, key, nonce, NULL) == 1 &&
	    EVP_DecryptUpdate(c->open, NULL, &n, hint, HINT_HEAD_BYTES) == 1 &&
	    EVP_DecryptUpdate(c->open, body, &n, sealed,
		HINT_BODY_BYTES) == 1 && n == HINT_BODY_BYTES &&
	    EVP_CIPHER_CTX_ctrl(c->open, EVP_CTRL_AEAD_SET_TAG, sizeof(tag),
		tag) == 1 &&
	    EVP_DecryptFinal_ex(c->open, body + n, &n) == 1 && n == 0;
	(void)ERR_pop_to_mark();
	if (done)
		memcpy(ret_body, body, sizeof(body));
	return done;
}
