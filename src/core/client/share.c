/*
 * What a client has of what all share, and whether its user may have more.
 *
 * Requests that give something back, or keep what is held, are asked nothing.
 */
#include "core/client/room.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/share.h"
#include "core/rate.h"
#include "ddblock.h"

static void
share_move_linger(const struct linger *l, struct tenant *from,
    struct tenant *to)
{
	if (l == NULL)
		return;
	from->n_lingering--;
	to->n_lingering++;
	from->n_asked -= l->asked;
	to->n_asked += l->asked;
}

int
share_set_tenant(struct core *core, struct client *c, uint32_t user)
{
	struct tenant *from = c->tenant, *to;

	to = tenant_join(core, user);
	if (to == NULL)
		return DDBLOCK_E_NOMEM;
	for (int i = 0; i < SHARES; i++) {
		from->shares.has[i] -= c->shares.has[i];
		to->shares.has[i] += c->shares.has[i];
	}
	share_move_linger(c->linger, from, to);
	c->tenant = to;
	tenant_leave(core, from);
	return 0;
}

/* ---- what a request costs --------------------------------------------- */

/* About: with the locks that it waits for. */
static size_t
share_request_bytes(const struct core_request *ask)
{
	size_t bytes = sizeof(struct request);

	if (ask->change != NULL)
		bytes += contents_size(&ask->change->contents);
	if (ask->verb != CORE_ACQUIRE)
		return bytes;
	if (ask->n_keys == 0)
		bytes += SHARE_LOCK_BYTES + ask->key.length;
	for (uint32_t i = 0; i < ask->n_keys; i++)
		bytes += SHARE_LOCK_BYTES + ask->keys[i].length;
	return bytes;
}

void
share_take(struct core *core, struct request *r, size_t bytes)
{
	r->bytes += bytes;
	share_add(core, r->client, 0, (int64_t)bytes);
}

/* ---- may it have more? ------------------------------------------------ */

static uint64_t
share_limit(const struct core *core, enum share item)
{
	switch (item) {
	case SHARE_LOCKS:
		return core->limits.locks_max;
	case SHARE_WATCHES:
		return core->limits.watches_max;
	case SHARE_BYTES:
		return core->limits.memory_max;
	case SHARES:
		break;
	}
	return 0;
}

/* An administrator may have what there is: of locks and watches there is a
 * bound of its own. */
static bool
share_is_full(const struct core *core, const struct request *r,
    enum share item)
{
	const struct tenant *t = r->client->tenant;
	uint64_t max = share_limit(core, item);
	uint64_t all = core->shares.has[item];

	if (max == 0 || (t->privileged && item != SHARE_BYTES))
		return false;
	return t->privileged ? all >= max :
	    !share_allows(t->shares.has[item], all, max);
}

/* Which of them does this one need to have more of? */
static enum share
share_full(const struct core *core, const struct request *r)
{
	enum core_verb verb = r->reply.verb;

	if (verb == CORE_ACQUIRE && share_is_full(core, r, SHARE_LOCKS))
		return SHARE_LOCKS;
	if (verb == CORE_WATCH && share_is_full(core, r, SHARE_WATCHES))
		return SHARE_WATCHES;
	return share_is_full(core, r, SHARE_BYTES) ? SHARE_BYTES : SHARES;
}

static void
share_tell(const struct tenant *t, enum share full, char *text,
    size_t size)
{
	static const struct {
		const char *does, *unit, *setting;
	} words[SHARES] = {
		[SHARE_LOCKS] = { "hold", "locks", "locks_max" },
		[SHARE_WATCHES] = { "watch", "locks", "watches_max" },
		[SHARE_BYTES] = { "take", "bytes of memory", "memory_max" },
	};

	(void)snprintf(text, size, "this user's programs %s %" PRIu64
	    " %s, as many as are left for the others (%s)", words[full].does,
	    t->shares.has[full], words[full].unit, words[full].setting);
}

void
share_tell_rate(const struct namespace *ns, uint64_t wait_ms, char *text,
    size_t size)
{
	(void)snprintf(text, size, "this user's programs have asked the store "
	    "for as much as is left for the others (request_rate of namespace "
	    "%s); the next request is in %" PRIu64 " ms", ns->settings.name,
	    wait_ms);
}

/* Until the store may be asked for it; an ACQUIRE waits for that itself, for as
 * long as it may. */
static uint64_t
share_wait_ms(const struct core *core, const struct request *r,
    const struct core_request *ask)
{
	uint64_t wait_ms;

	if (r->ns->settings.request_rate == 0)
		return 0;
	wait_ms = rate_next_ms(core, r->ns, r->client->tenant->user) -
	    core->now_ms;
	if (ask->verb != CORE_ACQUIRE)
		return wait_ms;
	return ask->wait_ms > 0 || wait_ms < r->ns->settings.try_ms ? 0 :
	    wait_ms;
}

static bool
share_asks_nothing(const struct core_request *ask)
{
	switch (ask->verb) {
	case CORE_RENEW:
		return ask->change == NULL;
	case CORE_ACQUIRE:
	case CORE_GET:
	case CORE_LIST:
	case CORE_BREAK:
	case CORE_WATCH:
		return false;
	case CORE_CANCEL:
	case CORE_RELEASE:
	case CORE_DOWNGRADE:
	case CORE_UNWATCH:
	case CORE_RESUME:
		break;
	}
	return true;
}

bool
share_admit(struct core *core, struct request *r,
    const struct core_request *ask)
{
	enum share full;
	char text[OUTCOME_TEXT_MAX];
	uint64_t wait_ms;

	if (share_asks_nothing(ask))
		return true;
	full = ask->again ? SHARES : share_full(core, r);
	wait_ms = ask->again ? 0 : share_wait_ms(core, r, ask);
	if (full == SHARES && wait_ms == 0) {
		share_take(core, r, share_request_bytes(ask));
		return true;
	}
	if (full != SHARES)
		share_tell(r->client->tenant, full, text, sizeof(text));
	else
		share_tell_rate(r->ns, wait_ms, text, sizeof(text));
	request_reply(core, r, DDBLOCK_E_LIMIT, 0, text);
	return false;
}
