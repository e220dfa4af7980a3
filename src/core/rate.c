/*
 * The pace of requests to a store, for each user.
 */
#include "core/rate.h"

#include <stdlib.h>

#include "common/share.h"
#include "core/tenant.h"

#define RATE_BURST_US 1000000
#define RATE_LOOKS 2	/* at others, with each place that is taken */

static uint64_t
rate_now_us(const struct core *core)
{
	return core->now_ms * 1000;
}

static struct rate *
rate_find(const struct namespace *ns, uint32_t user)
{
	struct rate *rate;

	HASH_FIND(hh, ns->rates, &user, sizeof(user), rate);
	return rate;
}

static void
rate_free(struct namespace *ns, struct rate *rate)
{
	HASH_DEL(ns->rates, rate);
	DL_DELETE(ns->rates_in_line, rate);
	free(rate);
}

void
rate_free_all(struct namespace *ns)
{
	while (ns->rates_in_line != NULL)
		rate_free(ns, ns->rates_in_line);
}

/* One that has all its places again is as none. The one that was looked at
 * longest ago comes first. */
static void
rate_forget_idle(const struct core *core, struct namespace *ns)
{
	struct rate *rate;

	for (int i = 0; i < RATE_LOOKS && ns->rates_in_line != NULL; i++) {
		rate = ns->rates_in_line;
		if (rate->next_us + RATE_BURST_US <= rate_now_us(core)) {
			rate_free(ns, rate);
			continue;
		}
		DL_DELETE(ns->rates_in_line, rate);
		DL_APPEND(ns->rates_in_line, rate);
	}
}

static struct rate *
rate_new(struct namespace *ns, uint32_t user)
{
	struct rate *rate = calloc(1, sizeof(*rate));

	if (rate == NULL)
		return NULL;
	rate->user = user;
	HASH_ADD(hh, ns->rates, user, sizeof(rate->user), rate);
	if (rate->hh.tbl == NULL) {
		free(rate);
		return NULL;
	}
	DL_APPEND(ns->rates_in_line, rate);
	return rate;
}

/* Its own limit, while it has a client; 0: none. */
static uint32_t
rate_own(const struct namespace *ns, uint32_t user)
{
	const struct tenant *t = tenant_find(ns->core, user);

	return t == NULL ? 0 : t->rate_max;
}

bool
rate_is_limited(const struct namespace *ns, uint32_t user)
{
	return rate_own(ns, user) > 0;
}

/* From one place of its share to the next. */
static uint64_t
rate_share_us(const struct namespace *ns, uint32_t user)
{
	const struct tenant *t = tenant_find(ns->core, user);
	uint64_t rate = ns->settings.request_rate;

	if (rate == 0)
		return 0;
	if (t != NULL && t->privileged)
		return 1000000 / rate;
	return UINT64_C(1000000) * (HASH_COUNT(ns->rates) + 1) /
	    share_of_users(rate);
}

static uint64_t
rate_own_us(const struct namespace *ns, uint32_t user)
{
	uint32_t own = rate_own(ns, user);

	return own == 0 ? 0 : (1000000 + own - 1) / own;
}

bool
rate_is_own(const struct namespace *ns, uint32_t user)
{
	uint64_t own_us = rate_own_us(ns, user);

	return own_us > 0 && own_us >= rate_share_us(ns, user);
}

/* From one place to the next. */
static uint64_t
rate_interval_us(const struct namespace *ns, uint32_t user)
{
	uint64_t share_us = rate_share_us(ns, user);
	uint64_t own_us = rate_own_us(ns, user);

	return own_us > share_us ? own_us : share_us;
}

/* NULL: it has all its places. */
static uint64_t
rate_at_ms(const struct core *core, const struct rate *rate)
{
	if (rate == NULL || rate->next_us <= rate_now_us(core))
		return core->now_ms;
	return (rate->next_us + 999) / 1000;
}

uint64_t
rate_next_place_ms(const struct core *core, const struct namespace *ns,
    uint32_t user)
{
	return rate_at_ms(core, rate_find(ns, user));
}

uint64_t
rate_take_places(struct core *core, struct namespace *ns, uint32_t user,
    uint64_t n)
{
	struct rate *rate;
	uint64_t at_ms;

	rate_forget_idle(core, ns);
	rate = rate_find(ns, user);
	if (rate == NULL)
		rate = rate_new(ns, user);
	/* Without memory it goes at once. */
	if (rate == NULL)
		return core->now_ms;
	at_ms = rate_at_ms(core, rate);
	if (rate->next_us + RATE_BURST_US < rate_now_us(core))
		rate->next_us = rate_now_us(core) - RATE_BURST_US;
	rate->next_us += n * rate_interval_us(ns, user);
	return at_ms;
}
