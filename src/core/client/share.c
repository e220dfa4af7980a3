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

void
share_set_limits(struct core *core, uint64_t client,
    const struct core_user_limits *limits)
{
	struct client *c = client_find(core, client);

	if (c != NULL)
		tenant_set_rate(core, c->tenant, limits);
}

/* ---- what a request costs --------------------------------------------- */

static uint32_t
share_request_locks(const struct core_request *ask)
{
	if (ask->verb != CORE_ACQUIRE)
		return 0;
	return ask->n_keys == 0 ? 1 : ask->n_keys;
}

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
	share_count(core, r->client, SHARE_BYTES, (int64_t)bytes);
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
	case SHARE_ASKED:
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

/* Who waits may yet be granted what it asks for: that counts, too. So nothing
 * is granted beyond the limit, however much is asked for at once. */
static bool
share_is_limited(const struct request *r, const struct core_request *ask,
    char *text, size_t size)
{
	const uint64_t *has = r->client->tenant->shares.has;
	const struct core_user_limits *limits = ask->limits;
	const struct {
		const struct core_user_limit *limit;
		uint64_t has, needs;
		const char *does, *unit;
	} rows[] = {
		{ &limits->locks, has[SHARE_LOCKS] + has[SHARE_ASKED],
		    share_request_locks(ask), "have or have asked for",
		    "locks; locks_max" },
		{ &limits->watches, has[SHARE_WATCHES],
		    ask->verb == CORE_WATCH, "watch", "locks; watches_max" },
		{ &limits->bytes, has[SHARE_BYTES], share_request_bytes(ask),
		    "take", "bytes of memory; memory_max" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct core_user_limit *limit = rows[i].limit;

		if (limit->most == 0 || rows[i].needs == 0 ||
		    rows[i].has + rows[i].needs <= limit->most)
			continue;
		(void)snprintf(text, size, "this user's programs %s %" PRIu64
		    " %s of %s is %" PRIu64, rows[i].does, rows[i].has,
		    rows[i].unit, limit->by == NULL ? "the caller" :
		    limit->by, limit->most);
		return true;
	}
	return false;
}

void
share_tell_rate(const struct request *r, uint64_t wait_ms, char *text,
    size_t size)
{
	const struct tenant *t = r->client->tenant;
	const char *by = t->rate_by == NULL ? "the caller" : t->rate_by;

	if (rate_is_own(r->ns, t->user))
		(void)snprintf(text, size, "this user's programs have asked "
		    "the store for as much as they may; request_rate of %s "
		    "is %" PRIu32 "; the next request is in %" PRIu64 " ms",
		    by, t->rate_max, wait_ms);
	else
		(void)snprintf(text, size, "this user's programs have asked "
		    "the store for as much as is left for the others "
		    "(request_rate of namespace %s); the next request is in %"
		    PRIu64 " ms", r->ns->settings.name, wait_ms);
}

/* Until the store may be asked for it; an ACQUIRE waits for that itself, for as
 * long as it may. */
static uint64_t
share_wait_ms(const struct core *core, const struct request *r,
    const struct core_request *ask)
{
	uint64_t wait_ms;

	if (r->ns->settings.request_rate == 0 && !core->had_rates)
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
	case CORE_RAISE:
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

/* Why it has to be refused; false: it need not be. What was admitted before a
 * restart is. */
static bool
share_refuses(const struct core *core, const struct request *r,
    const struct core_request *ask, char *text, size_t size)
{
	enum share full;
	uint64_t wait_ms;

	if (ask->again)
		return false;
	if (ask->limits != NULL && share_is_limited(r, ask, text, size))
		return true;
	full = share_full(core, r);
	wait_ms = share_wait_ms(core, r, ask);
	if (full != SHARES)
		share_tell(r->client->tenant, full, text, size);
	else if (wait_ms > 0)
		share_tell_rate(r, wait_ms, text, size);
	return full != SHARES || wait_ms > 0;
}

bool
share_admit(struct core *core, struct request *r,
    const struct core_request *ask)
{
	char text[OUTCOME_TEXT_MAX];

	if (share_asks_nothing(ask))
		return true;
	if (share_refuses(core, r, ask, text, sizeof(text))) {
		request_reply(core, r, DDBLOCK_E_LIMIT, 0, text);
		return false;
	}
	r->bytes = share_request_bytes(ask);
	r->n_asked = share_request_locks(ask);
	share_add(core, r->client, SHARE_ASKED, r->n_asked,
	    (int64_t)r->bytes);
	return true;
}
