/*
 * Hints between daemons. See hints.h.
 *
 * A datagram is looked at in the order of what that costs: its form, whose it
 * is, whether its number is new, its peer's rate, and only then the seal. What
 * is not authentic changes nothing but counters and the rate that it used.
 */
#include "hints/hints.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ddblock.h"
#include "hints/hint_peers.h"

/* A hint takes a microsecond to be opened, and 192 bytes on a wire. Of a peer
 * twice as many are looked at as it may send. */
#define HINTS_PEERS_MAX 4096
#define HINTS_PEER_PER_SECOND 400
#define HINTS_PEER_AT_ONCE 800
#define HINTS_UNKNOWN_PER_SECOND 2
#define HINTS_UNKNOWN_AT_ONCE 20
#define HINTS_ADDRESS_PER_SECOND 200
#define HINTS_ADDRESS_AT_ONCE 400
#define HINTS_ALL_PER_SECOND 5000

const struct hints_limits hints_limits_default = {
	.peers_max = HINTS_PEERS_MAX,
	.peer = { HINTS_PEER_PER_SECOND, HINTS_PEER_AT_ONCE },
	.unknown = { HINTS_UNKNOWN_PER_SECOND, HINTS_UNKNOWN_AT_ONCE },
	.address = { HINTS_ADDRESS_PER_SECOND, HINTS_ADDRESS_AT_ONCE },
	.all = { HINTS_ALL_PER_SECOND, HINTS_ALL_PER_SECOND },
};

struct hint_session {
	struct hint_session *prev, *next;
	struct hint_identity identity;
	/* Of all that it sends, to whatever peer: so a peer that was forgotten
	 * and comes back gets no number twice with one key. */
	uint64_t sequence;
};

struct hints {
	struct hints_limits limits;
	struct hint_address own;
	struct hint_crypto *crypto;
	struct hint_session *sessions;
	uint32_t n_sessions;
	struct hint_peers peers;
	struct hint_targets targets;
	struct hint_bucket all;
	struct hint_bucket unknown;
	struct hints_counters counters;
};

int
hints_new(const struct hints_limits *limits, const struct hint_address *own,
    const struct siphash_key *key, struct hints **ret)
{
	struct hints *h = calloc(1, sizeof(*h));
	int r;

	if (h == NULL)
		return DDBLOCK_E_NOMEM;
	h->limits = *limits;
	h->own = *own;
	h->targets.key = *key;
	r = hint_peers_init(&h->peers, key, limits->peers_max);
	if (r == 0)
		r = hint_crypto_new(&h->crypto);
	if (r < 0) {
		hints_free(h);
		return r;
	}
	*ret = h;
	return 0;
}

static void
hint_session_free(struct hints *h, struct hint_session *s)
{
	hint_peers_forget_session(&h->peers, s);
	DL_DELETE(h->sessions, s);
	h->n_sessions--;
	hint_identity_done(&s->identity);
	free(s);
}

void
hints_free(struct hints *h)
{
	if (h == NULL)
		return;
	while (h->sessions != NULL)
		hint_session_free(h, h->sessions);
	hint_peers_done(&h->peers);
	hint_crypto_free(h->crypto);
	free(h);
}

struct hints_counters *
hints_counters(struct hints *h)
{
	return &h->counters;
}

uint32_t
hints_n_peers(const struct hints *h)
{
	return h->peers.n;
}

/* ---- sessions and peers ------------------------------------------------- */

static struct hint_session *
hint_session_find(const struct hints *h, const struct hint_id *id)
{
	struct hint_session *s;

	DL_FOREACH(h->sessions, s)
	{
		if (hint_id_equal(&s->identity.party.id, id))
			return s;
	}
	return NULL;
}

int
hints_add_session(struct hints *h, const struct hint_id *id,
    const uint8_t random[HINT_KEY_BYTES], uint8_t ret_public[HINT_KEY_BYTES])
{
	struct hint_session *s;
	int r;

	if (hint_session_find(h, id) != NULL)
		return DDBLOCK_E_BAD_REQUEST;
	if (h->n_sessions == HINTS_SESSIONS_MAX)
		return DDBLOCK_E_LIMIT;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	r = hint_identity_init(&s->identity, id, random);
	if (r < 0) {
		free(s);
		return r;
	}
	DL_APPEND(h->sessions, s);
	h->n_sessions++;
	memcpy(ret_public, s->identity.party.public_key, HINT_KEY_BYTES);
	return 0;
}

void
hints_forget_session(struct hints *h, const struct hint_id *id)
{
	struct hint_session *s = hint_session_find(h, id);

	if (s == NULL)
		return;
	hint_session_free(h, s);
	hint_crypto_wipe(h->crypto);
}

/* As if it had never been heard of, but for its place and its rate. */
static void
hint_peer_begin(struct hint_peer *p, const uint8_t key[HINT_KEY_BYTES])
{
	memcpy(p->party.public_key, key, HINT_KEY_BYTES);
	hint_keys_wipe(&p->keys);
	p->window = (struct hint_window){ .greatest = 0 };
	p->state = HINT_PEER_NEW;
}

int
hints_add_peer(struct hints *h, const struct hint_id *session,
    const struct hint_party *party, const struct hint_address *address)
{
	struct hint_session *s = hint_session_find(h, session);
	struct hint_peer *p;
	bool evicted = false;

	if (s == NULL || hint_session_find(h, &party->id) != NULL)
		return DDBLOCK_E_BAD_REQUEST;
	p = hint_peers_find(&h->peers, session, &party->id);
	if (p == NULL) {
		p = hint_peers_add(&h->peers, session, &party->id, &evicted);
		if (p == NULL)
			return DDBLOCK_E_NOMEM;
		p->session = s;
		h->counters.evicted += evicted;
		hint_peer_begin(p, party->public_key);
	} else if (memcmp(p->party.public_key, party->public_key,
	    HINT_KEY_BYTES) != 0) {
		hint_peer_begin(p, party->public_key);
	}
	p->address = *address;
	p->verdict = hint_address_judge(address, &h->own);
	hint_peers_touch(&h->peers, p);
	return 0;
}

void
hints_forget_peer(struct hints *h, const struct hint_id *session,
    const struct hint_id *peer)
{
	struct hint_peer *p = hint_peers_find(&h->peers, session, peer);

	if (p != NULL)
		hint_peers_forget(&h->peers, p);
}

/* Derived at the first use. DDBLOCK_E_UNSUPPORTED: it never will be. */
static int
hint_peer_keys(struct hints *h, struct hint_peer *p)
{
	int r;

	if (p->state == HINT_PEER_NEW) {
		r = hint_keys_derive(h->crypto, &p->session->identity,
		    &p->party, &p->keys);
		if (r == DDBLOCK_E_BAD_REQUEST)
			p->state = HINT_PEER_UNUSABLE;
		else if (r < 0)
			return r;
		else
			p->state = HINT_PEER_READY;
	}
	return p->state == HINT_PEER_READY ? 0 : DDBLOCK_E_UNSUPPORTED;
}

/* ---- sending ------------------------------------------------------------ */

/* May one more go there? */
static int
hints_allow(struct hints *h, struct hint_peer *p, uint64_t now_ms)
{
	int r = p->verdict != HINT_ADDRESS_ALLOWED ? DDBLOCK_E_DENIED :
	    hint_peer_keys(h, p);

	if (r == DDBLOCK_E_DENIED || r == DDBLOCK_E_UNSUPPORTED)
		h->counters.unsent_peer++;
	if (r < 0)
		return r;
	if (!hint_targets_take(&h->targets, p->address.ip, &h->limits.address,
	    now_ms) || !hint_rate_take(&h->all, &h->limits.all, now_ms)) {
		h->counters.unsent_rate++;
		return DDBLOCK_E_LIMIT;
	}
	return 0;
}

int
hints_encode(struct hints *h, const struct hint_id *session,
    const struct hint_id *peer, const struct hint_body *body, uint64_t now_ms,
    uint8_t ret[HINT_BYTES], struct hint_address *ret_to)
{
	struct hint_peer *p = hint_peers_find(&h->peers, session, peer);
	struct hint_head head = { .sender = *session, .receiver = *peer };
	uint8_t hint[HINT_BYTES];
	int r;

	if (p == NULL || !hint_format_is_sound(body))
		return DDBLOCK_E_BAD_REQUEST;
	r = hints_allow(h, p, now_ms);
	if (r < 0)
		return r;
	head.sequence = ++p->session->sequence;
	hint_format_write_head(&head, hint);
	hint_format_write_body(body, hint + HINT_HEAD_BYTES);
	r = hint_keys_seal(h->crypto, p->keys.to_peer, head.sequence, hint);
	if (r < 0)
		return r;
	h->counters.sent++;
	hint_peers_touch(&h->peers, p);
	memcpy(ret, hint, HINT_BYTES);
	*ret_to = p->address;
	return 0;
}

/* ---- receiving ---------------------------------------------------------- */

static enum hint_verdict
hints_from_stranger(struct hints *h, struct hint *hint, uint64_t now_ms)
{
	if (hint_session_find(h, &hint->head.receiver) == NULL)
		return HINT_NOT_OURS;
	hint->look = hint_rate_take(&h->unknown, &h->limits.unknown, now_ms);
	return hint->look ? HINT_UNKNOWN : HINT_OVER_RATE;
}

static enum hint_verdict
hints_from_peer(struct hints *h, struct hint_peer *p, const uint8_t *bytes,
    uint64_t now_ms, struct hint *hint)
{
	const uint64_t sequence = hint->head.sequence;
	const enum hint_window_verdict seen =
	    hint_window_check(&p->window, sequence);
	uint8_t body[HINT_BODY_BYTES];

	if (seen != HINT_WINDOW_NEW)
		return seen == HINT_WINDOW_SEEN ? HINT_REPLAYED : HINT_LATE;
	if (!hint_rate_take(&p->bucket, &h->limits.peer, now_ms))
		return HINT_OVER_RATE;
	if (hint_peer_keys(h, p) < 0 || !hint_keys_open(h->crypto,
	    p->keys.from_peer, sequence, bytes, body)) {
		hint->look =
		    hint_rate_take(&h->unknown, &h->limits.unknown, now_ms);
		return HINT_FORGED;
	}
	hint_window_see(&p->window, sequence);
	hint_peers_touch(&h->peers, p);
	return hint_format_read_body(body, &hint->body) ?
	    HINT_ACCEPTED : HINT_MALFORMED;
}

static void
hints_count(struct hints_counters *c, enum hint_verdict verdict)
{
	uint64_t *const counters[] = {
		[HINT_ACCEPTED] = &c->accepted,
		[HINT_MALFORMED] = &c->malformed,
		[HINT_NOT_OURS] = &c->not_ours,
		[HINT_UNKNOWN] = &c->unknown,
		[HINT_OVER_RATE] = &c->over_rate,
		[HINT_FORGED] = &c->forged,
		[HINT_REPLAYED] = &c->replayed,
		[HINT_LATE] = &c->late,
	};

	++*counters[verdict];
}

enum hint_verdict
hints_decode(struct hints *h, const void *bytes, size_t length,
    uint64_t now_ms, struct hint *ret)
{
	enum hint_verdict verdict = HINT_MALFORMED;
	struct hint hint = { .body = { .n_digests = 0 } };
	struct hint_peer *p;

	if (hint_format_read_head(bytes, length, &hint.head)) {
		p = hint_peers_find(&h->peers, &hint.head.receiver,
		    &hint.head.sender);
		verdict = p == NULL ? hints_from_stranger(h, &hint, now_ms) :
		    hints_from_peer(h, p, bytes, now_ms, &hint);
	}
	hints_count(&h->counters, verdict);
	*ret = hint;
	return verdict;
}
