/*
 * Once per period (every): counted from the sends of the acquires, whose values
 * are those of the endpoint's clock in whole seconds, as the operation began.
 */
#include "judge_every.h"

#include <inttypes.h>

#define JUDGE_SECONDS_MS 2500	/* of two values, and of two hosts */

/* Is anything known of when it began? Not if a clock stood still, or somebody
 * meddled. */
static bool
judge_every_is_known(const struct judge *j, const struct judge_hold *h)
{
	return h->grant != NULL && h->terms.every_ms > 0 &&
	    h->grant->first_sent_ms != JUDGE_NEVER &&
	    !judge_hold_is_exempt(h) &&
	    j->hosts[h->client->host].frozen_until == 0;
}

static void
judge_every_count(const struct judge *j, const struct judge_hold *h)
{
	if (judge_every_is_known(j, h) &&
	    h->lock->ran_ms < h->grant->first_sent_ms)
		h->lock->ran_ms = h->grant->first_sent_ms;
}

/* T14: its period is over. */
void
judge_every_granted(struct judge *j, const struct judge_hold *h)
{
	struct judge_lock *l = h->lock;
	uint64_t slack_ms = j->rules.request_ms + JUDGE_SECONDS_MS;

	if (h->grant != NULL && h->terms.every_ms > 0)
		h->grant->once = true;
	if (judge_every_is_known(j, h) && l->ran_ms > 0 &&
	    h->grant->n_told > 1)
		judge_find(j, "T14", "c%" PRIu64 " is granted %s by the grant "
		    "of another run", h->client->id, judge_lock_name(l));
	if (judge_every_is_known(j, h) && l->ran_ms > 0 &&
	    h->grant->first_sent_ms + slack_ms < l->ran_ms + h->terms.every_ms)
		judge_find(j, "T14", "c%" PRIu64 " is granted %s by a request "
		    "of %" PRIu64 ", and one of %" PRIu64 " counts",
		    h->client->id, judge_lock_name(l),
		    h->grant->first_sent_ms, l->ran_ms);
	if (!h->terms.at_end)
		judge_every_count(j, h);
}

/* It counts by its release. */
void
judge_every_released(struct judge *j, const struct judge_hold *h, int code)
{
	if (code == 0 && h->terms.at_end && h->state == HOLD_RELEASED)
		judge_every_count(j, h);
}
