/*
 * One round of PINGs. See hint_round.h.
 */
#include "hints/hint_round.h"

#include <stdio.h>
#include <string.h>

#include "common/utf8.h"
#include "ddblock.h"
#include "hints/hint_contact.h"

void
hint_round_init(struct hint_round *r, const struct hint_address *own,
    const struct hint_address *public, const char *host, uint64_t digest)
{
	memset(r, 0, sizeof(*r));
	r->own = *own;
	r->public = *public;
	r->host = host;
	r->digest = digest;
}

/* Nothing is sent to it. */
static void
round_refuse(struct hint_round_peer *p, const char *reason)
{
	p->refused = reason;
	p->settled = true;
}

/* A session of our own address is one that a process of this host left behind;
 * or another host is told to have the same. False: it need not be asked. */
static bool
round_judge(const struct hint_round *r, const char *host,
    struct hint_round_peer *p)
{
	enum hint_address_verdict verdict =
	    hint_address_judge(&p->address, &r->own);

	if (hint_address_equal(&p->address, &r->public)) {
		if (host != NULL && strcmp(host, r->host) == 0)
			return false;
		verdict = HINT_ADDRESS_OWN;
	}
	if (verdict != HINT_ADDRESS_ALLOWED)
		round_refuse(p, hint_address_reason(verdict));
	return true;
}

void
hint_round_add(struct hint_round *r, const struct hint_round_session *s)
{
	struct hint_round_peer p = { .party.id = s->id };

	if (s->expired) {
		r->n_expired++;
		return;
	}
	if (s->contact == NULL || !hint_contact_parse(s->contact, &p.address,
	    p.party.public_key)) {
		r->n_without++;
		return;
	}
	if (!round_judge(r, s->host, &p))
		return;
	if (r->n == HINT_ROUND_MAX) {
		r->n_more++;
		return;
	}
	(void)snprintf(p.host, sizeof(p.host), "%s",
	    s->host != NULL ? s->host : "");
	utf8_make_shown(p.host, strlen(p.host));
	r->peers[r->n++] = p;
}

bool
hint_round_wants(const struct hint_round *r, uint32_t peer, unsigned try)
{
	const struct hint_round_peer *p = &r->peers[peer];

	return p->refused == NULL && p->sent_us[try] == 0 && !p->settled;
}

uint64_t
hint_round_digest(const struct hint_round *r, uint32_t peer, unsigned try)
{
	return r->digest + (uint64_t)peer * HINT_ROUND_TRIES + try;
}

void
hint_round_sent(struct hint_round *r, uint32_t peer, unsigned try, int code,
    uint64_t now_us)
{
	struct hint_round_peer *p = &r->peers[peer];

	p->limited = code == DDBLOCK_E_LIMIT;
	if (code == 0)
		p->sent_us[try] = now_us;
	else if (code == DDBLOCK_E_UNSUPPORTED)
		round_refuse(p, "a public key that is none");
}

uint32_t
hint_round_heard(struct hint_round *r, const struct hint_id *sender,
    uint64_t digest, uint64_t now_us)
{
	const uint64_t n = digest - r->digest;
	const unsigned try = n % HINT_ROUND_TRIES;
	struct hint_round_peer *p;
	uint64_t took_us;

	if (n / HINT_ROUND_TRIES >= r->n)
		return HINT_ROUND_NOBODY;
	p = &r->peers[n / HINT_ROUND_TRIES];
	if (!hint_id_equal(&p->party.id, sender) || p->sent_us[try] == 0)
		return HINT_ROUND_NOBODY;
	took_us = now_us - p->sent_us[try];
	if (!p->answered || took_us < p->took_us)
		p->took_us = took_us;
	p->answered = true;
	p->settled = p->settled || try == HINT_ROUND_TRIES - 1;
	return hint_round_wants(r, (uint32_t)(n / HINT_ROUND_TRIES),
	    HINT_ROUND_TRIES - 1) ? (uint32_t)(n / HINT_ROUND_TRIES) :
	    HINT_ROUND_NOBODY;
}

bool
hint_round_is_over(const struct hint_round *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		if (!r->peers[i].settled)
			return false;
	}
	return true;
}
