/*
 * When to repeat a call.
 */
#include "aws/retry.h"

#define RETRY_DOUBLINGS_MAX 16	/* beyond any cap */

void
retry_init(struct retry *s, uint32_t attempts_max, uint64_t cap_ms)
{
	*s = (struct retry){
		.attempts_max = attempts_max,
		.cap_ms = cap_ms,
	};
}

static uint64_t
retry_bound(const struct retry *s, enum aws_class class, uint32_t failed)
{
	uint64_t base_ms = class == AWS_CLASS_THROTTLED ?
	    RETRY_BASE_THROTTLED_MS : RETRY_BASE_MS;
	uint32_t doublings = failed - 1;

	if (doublings > RETRY_DOUBLINGS_MAX)
		doublings = RETRY_DOUBLINGS_MAX;
	base_ms <<= doublings;
	return base_ms < s->cap_ms ? base_ms : s->cap_ms;
}

bool
retry_next(struct retry *s, enum aws_class class, uint64_t now_ms,
    uint64_t deadline_ms, uint32_t random, uint64_t *ret_wait_ms)
{
	uint64_t bound_ms, room_ms;

	if (class != AWS_CLASS_THROTTLED && class != AWS_CLASS_TRANSIENT &&
	    class != AWS_CLASS_CLOCK)
		return false;
	if (s->attempts < UINT32_MAX)
		s->attempts++;
	if (s->attempts_max != RETRY_ATTEMPTS_UNLIMITED &&
	    s->attempts >= s->attempts_max)
		return false;
	if (now_ms + RETRY_ROOM_MS >= deadline_ms)
		return false;
	if (class == AWS_CLASS_CLOCK) {
		/* This is no overload: it was our time that was wrong. */
		if (s->clocks++ >= RETRY_CLOCK_MAX)
			return false;
		*ret_wait_ms = 0;
		return true;
	}

	/*
	 * The time that is left bounds the jitter, rather than ending the
	 * operation: an attempt too soon is worth more than none.
	 */
	bound_ms = retry_bound(s, class, s->attempts);
	room_ms = deadline_ms - now_ms - RETRY_ROOM_MS;
	if (bound_ms > room_ms)
		bound_ms = room_ms;
	*ret_wait_ms = bound_ms * random >> 32;
	return true;
}

uint64_t
retry_longest(const struct retry *s, uint64_t now_ms, uint64_t deadline_ms)
{
	uint64_t room_ms = now_ms + RETRY_ROOM_MS < deadline_ms ?
	    deadline_ms - now_ms - RETRY_ROOM_MS : 0;

	return s->cap_ms < room_ms ? s->cap_ms : room_ms;
}

uint64_t
retry_heed(const struct retry *s, uint64_t wait_ms, uint64_t asked_ms,
    uint64_t now_ms, uint64_t deadline_ms)
{
	uint64_t more_ms = s->cap_ms < RETRY_AFTER_MAX_MS ?
	    s->cap_ms : RETRY_AFTER_MAX_MS;
	uint64_t room_ms = now_ms + RETRY_ROOM_MS < deadline_ms ?
	    deadline_ms - now_ms - RETRY_ROOM_MS : 0;

	if (asked_ms > wait_ms + more_ms)
		asked_ms = wait_ms + more_ms;
	if (asked_ms > room_ms)
		asked_ms = room_ms;
	return asked_ms > wait_ms ? asked_ms : wait_ms;
}
