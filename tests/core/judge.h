/*
 * The judge: the invariants of the whole system, judged by what clients were
 * told and what the store shows, never by a core's memory.
 *
 *  1. At any real moment at most one hold of a key is valid: from its grant
 *     until its release, its loss, its client's end, or the deadline that the
 *     client was last told, whichever is first. Or several that share it, all
 *     under the same limit, and not more than that.
 *  2. Tokens of a key strictly rise; those who share it may have the same.
 *  3. A holder was told of its loss before another is granted the key, unless
 *     its host is dead or paused: then the client's own deadline has passed.
 *  4. No client is left with a hold beyond the deadline it was told.
 *  5. No deadline is later than what the store's own record of the session
 *     allows: a lease less a margin after the send of the beat it shows.
 *  6. Every request gets one final reply, within its deadline plus one store
 *     deadline.
 *  7. A grant is in the store when the client hears of it.
 *
 * Keys that somebody changed by hand are exempt.
 */
#ifndef DDBLOCKD_TESTS_JUDGE_H
#define DDBLOCKD_TESTS_JUDGE_H

#include "core/core.h"
#include "model_net.h"

enum judge_state {
	JUDGE_VALID = 1,
	JUDGE_LOST,
	JUDGE_ENDED,		/* released, or the client has gone */
};

struct judge_hold {
	struct judge_hold *next;
	enum judge_state state;
	bool deserted;		/* the daemon is dead: nobody will tell it */
	unsigned host;
	unsigned client;
	uint64_t id;
	uint32_t namespace_index;
	char key[MODEL_KEY_MAX];
	enum lock_mode mode;
	uint32_t n_max;			/* shared: the limit, 0: none */
	uint64_t token;
	uint64_t until_ms;		/* boot time of its host */
	uint64_t since;			/* real */
	uint64_t ended;			/* real */
	struct ident session;
};

struct judge_request {
	struct judge_request *next;
	unsigned host;
	unsigned client;
	uint64_t id;
	enum core_verb verb;
	uint32_t namespace_index;
	char key[MODEL_KEY_MAX];
	enum lock_mode mode;
	uint32_t n_max;
	uint64_t hold;
	uint64_t limit;			/* real; NET_NEVER */
};

typedef void judge_fail_fn(void *arg, const char *what);

struct judge {
	struct net *net;
	const struct core_namespace *namespaces;
	bool alive[NET_HOSTS_MAX];
	struct judge_hold *holds;	/* the newest first */
	struct judge_request *requests;	/* unanswered */
	judge_fail_fn *fail;
	void *arg;
};

void judge_done(struct judge *);

void judge_asked(struct judge *, const struct judge_request *);
/* The request that this answers; the caller frees it. Fails if none. */
struct judge_request *judge_replied(struct judge *, unsigned host,
    unsigned client, uint64_t id);

void judge_granted(struct judge *, uint64_t now, const struct judge_hold *);
void judge_lost(struct judge *, uint64_t now, unsigned host, uint64_t hold);
void judge_released(struct judge *, uint64_t now, unsigned host,
    uint64_t hold);
void judge_renewed(struct judge *, unsigned host, uint64_t hold,
    uint64_t until_ms);
void judge_renewed_all(struct judge *, unsigned host,
    uint32_t namespace_index, uint64_t until_ms);
void judge_gone(struct judge *, uint64_t now, unsigned host, unsigned client);

/* The host's daemon is dead: no reply will come, but clients hold on. */
void judge_host_died(struct judge *, unsigned host);

/* Everything that was due at @now has happened. */
void judge_moment(struct judge *, uint64_t now);

/* The valid or newest hold of @key by @client, or NULL. */
struct judge_hold *judge_find(const struct judge *, unsigned client,
    const char *key);
struct judge_hold *judge_find_id(const struct judge *, unsigned host,
    uint64_t hold);

#endif
