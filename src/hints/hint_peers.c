/*
 * The table of peers. See hint_peers.h.
 */
#include "hints/hint_peers.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "ddblock.h"

int
hint_peers_init(struct hint_peers *p, const struct siphash_key *key,
    uint32_t max)
{
	size_t n_chains = 1;

	while (n_chains < max)
		n_chains *= 2;
	*p = (struct hint_peers){
		.key = *key, .n_chains = n_chains, .max = max > 0 ? max : 1,
	};
	p->chains = calloc(n_chains, sizeof(*p->chains));
	return p->chains != NULL ? 0 : DDBLOCK_E_NOMEM;
}

void
hint_peers_done(struct hint_peers *p)
{
	while (p->line != NULL)
		hint_peers_forget(p, p->line);
	free(p->chains);
	p->chains = NULL;
}

static struct hint_peer **
hint_peers_chain(const struct hint_peers *p, const struct hint_id *session,
    const struct hint_id *peer)
{
	struct hint_id ids[2] = { *session, *peer };

	return &p->chains[siphash(&p->key, ids, sizeof(ids)) &
	    (p->n_chains - 1)];
}

struct hint_peer *
hint_peers_find(const struct hint_peers *p, const struct hint_id *session,
    const struct hint_id *peer)
{
	struct hint_peer *found = *hint_peers_chain(p, session, peer);

	while (found != NULL && (!hint_id_equal(&found->session_id, session) ||
	    !hint_id_equal(&found->party.id, peer)))
		found = found->chain;
	return found;
}

struct hint_peer *
hint_peers_add(struct hint_peers *p, const struct hint_id *session,
    const struct hint_id *peer, bool *ret_evicted)
{
	struct hint_peer *new = calloc(1, sizeof(*new));
	struct hint_peer **chain = hint_peers_chain(p, session, peer);

	if (new == NULL)
		return NULL;
	*ret_evicted = p->n == p->max;
	if (*ret_evicted)
		hint_peers_forget(p, p->line);
	new->session_id = *session;
	new->party.id = *peer;
	new->chain = *chain;
	*chain = new;
	DL_APPEND(p->line, new);
	p->n++;
	return new;
}

void
hint_peers_forget(struct hint_peers *p, struct hint_peer *peer)
{
	struct hint_peer **at = hint_peers_chain(p, &peer->session_id,
	    &peer->party.id);

	while (*at != peer)
		at = &(*at)->chain;
	*at = peer->chain;
	DL_DELETE(p->line, peer);
	p->n--;
	hint_keys_wipe(&peer->keys);
	free(peer);
}

void
hint_peers_forget_session(struct hint_peers *p,
    const struct hint_session *session)
{
	struct hint_peer *peer, *next;

	DL_FOREACH_SAFE(p->line, peer, next)
	{
		if (peer->session == session)
			hint_peers_forget(p, peer);
	}
}

void
hint_peers_touch(struct hint_peers *p, struct hint_peer *peer)
{
	DL_DELETE(p->line, peer);
	DL_APPEND(p->line, peer);
}
