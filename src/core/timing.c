/*
 * The timeline of a lease: its defaults and the rules between its times.
 *
 * Every quotient that stretches a wait or a margin is rounded up: a
 * millisecond too long costs nothing, one too short breaks the promise.
 */
#include "core/timing.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/core.h"
#include "ddblock.h"

#define TIMING_PPM UINT64_C(1000000)
#define TIMING_FOREVER (UINT64_MAX / 4)	/* may be added to any boot time */

#define TIMING_SECOND UINT64_C(1000)
#define TIMING_HOUR (3600 * TIMING_SECOND)
#define TIMING_DAY (24 * TIMING_HOUR)

/* From here on a margin of under a second is asking for trouble. */
#define TIMING_LONG_LEASE (10 * TIMING_SECOND)

struct timing_bound {
	const char *setting;
	uint64_t value;
	uint64_t least;
	uint64_t most;
};

/* @value * @ppm / 1,000,000, rounded up; @ppm is at most 1,000,000. */
static uint64_t
timing_part(uint64_t value, uint32_t ppm)
{
	uint64_t whole = value / TIMING_PPM * ppm;
	uint64_t rest = value % TIMING_PPM * ppm;

	return whole + (rest + TIMING_PPM - 1) / TIMING_PPM;
}

uint64_t
timing_heartbeat_ms(uint64_t lease_ms)
{
	return lease_ms / 4;
}

uint64_t
timing_danger_ms(uint64_t lease_ms)
{
	return lease_ms / 2;
}

uint64_t
timing_margin_ms(uint64_t lease_ms, uint32_t drift_ppm)
{
	uint64_t margin_ms = timing_part(lease_ms, 50000);
	uint64_t drift_ms = timing_part(lease_ms, drift_ppm);

	if (lease_ms >= TIMING_LONG_LEASE && margin_ms < TIMING_SECOND)
		margin_ms = TIMING_SECOND;
	return margin_ms > drift_ms ? margin_ms : drift_ms;
}

/* The next in line looks every poll, and then has to say so. */
uint64_t
timing_reserve_ms(uint64_t poll_ms)
{
	return poll_ms + (poll_ms + 3) / 4;
}

uint64_t
timing_try_ms(uint64_t request_ms)
{
	return request_ms < TIMING_SECOND ? request_ms : TIMING_SECOND;
}

uint64_t
timing_observe_ms(uint64_t lease_ms, uint32_t drift_ppm)
{
	/* The lease comes from a record that anybody may have written. */
	if (lease_ms >= TIMING_FOREVER / 2)
		return TIMING_FOREVER;
	return lease_ms + timing_part(lease_ms, drift_ppm);
}

__attribute__((format(printf, 3, 4)))
static int
timing_fail(char *text, size_t text_size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, text_size, format, arguments);
	va_end(arguments);
	return DDBLOCK_E_BAD_REQUEST;
}

/* Each by itself. */
static int
timing_check_bounds(const struct core_namespace *n, const char **ret_setting,
    char *text, size_t text_size)
{
	const struct timing_bound bounds[] = {
		{ "lease", n->lease_ms, 100, TIMING_DAY },
		{ "heartbeat", n->heartbeat_ms, 10, TIMING_DAY },
		{ "danger", n->danger_ms, 10, TIMING_DAY },
		{ "margin", n->margin_ms, 1, TIMING_DAY },
		{ "poll", n->poll_ms, 10, TIMING_HOUR },
		{ "request_timeout", n->request_ms, 10, TIMING_HOUR / 12 },
		{ "try_timeout", n->try_ms, 10, TIMING_HOUR / 12 },
		{ "audit", n->audit_ms, 10, TIMING_DAY },
		{ "idle", n->idle_ms, 0, TIMING_HOUR },
	};

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		const struct timing_bound *b = &bounds[i];

		if (b->value >= b->least && b->value <= b->most)
			continue;
		*ret_setting = b->setting;
		return timing_fail(text, text_size,
		    "%s (%" PRIu64 " ms) must be from %" PRIu64 " ms to %"
		    PRIu64 " ms", b->setting, b->value, b->least, b->most);
	}
	if (n->drift_ppm > TIMING_PPM / 4) {
		*ret_setting = "drift";
		return timing_fail(text, text_size,
		    "drift must be at most 25 %%");
	}
	if (n->handover_max < 1 || n->handover_max > TOKENS_MAX) {
		*ret_setting = "handover_max";
		return timing_fail(text, text_size,
		    "handover_max must be from 1 to %d", TOKENS_MAX);
	}
	if (n->line_max > LINE_PLACES_MAX) {
		*ret_setting = "line";
		return timing_fail(text, text_size,
		    "line must be at most %d", LINE_PLACES_MAX);
	}
	return 0;
}

/* The time of a store operation, and of requests that wait for less. */
static int
timing_check_requests(const struct core_namespace *n, const char **ret_setting,
    char *text, size_t text_size)
{
	/* heartbeat < danger <= lease - margin: this does not wrap. */
	uint64_t most_ms = n->lease_ms - n->margin_ms - n->heartbeat_ms;

	if (n->request_ms > most_ms) {
		*ret_setting = "request_timeout";
		return timing_fail(text, text_size,
		    "request_timeout (%" PRIu64 " ms) must be at most lease - "
		    "margin - heartbeat (%" PRIu64 " ms), or one slow renewal "
		    "loses the lease", n->request_ms, most_ms);
	}
	if (n->try_ms > n->request_ms) {
		*ret_setting = "try_timeout";
		return timing_fail(text, text_size,
		    "try_timeout (%" PRIu64 " ms) must be at most "
		    "request_timeout (%" PRIu64 " ms): a try is one request to "
		    "the store", n->try_ms, n->request_ms);
	}
	return 0;
}

/* The margin: everything else is measured from it. */
static int
timing_check_margin(const struct core_namespace *n, const char **ret_setting,
    char *text, size_t text_size)
{
	uint64_t drift_ms = timing_part(n->lease_ms, n->drift_ppm);

	*ret_setting = "margin";
	if (n->margin_ms >= n->lease_ms)
		return timing_fail(text, text_size,
		    "margin (%" PRIu64 " ms) must be less than lease (%" PRIu64
		    " ms)", n->margin_ms, n->lease_ms);
	if (n->margin_ms < drift_ms)
		return timing_fail(text, text_size,
		    "margin (%" PRIu64 " ms) must be at least drift x lease "
		    "(%" PRIu64 " ms), or a holder with a slow clock hears of "
		    "the loss too late", n->margin_ms, drift_ms);
	if (n->lease_ms >= TIMING_LONG_LEASE && n->margin_ms < TIMING_SECOND)
		return timing_fail(text, text_size,
		    "margin (%" PRIu64 " ms) must be at least 1000 ms when "
		    "lease is 10 s or more", n->margin_ms);
	return 0;
}

int
timing_check(const struct core_namespace *n, const char **ret_setting,
    char *text, size_t text_size)
{
	const char *setting = NULL;
	int r;

	r = timing_check_bounds(n, &setting, text, text_size);
	if (r == 0)
		r = timing_check_margin(n, &setting, text, text_size);
	if (r < 0) {
		*ret_setting = setting;
		return r;
	}

	if (n->heartbeat_ms * 2 > n->lease_ms) {
		*ret_setting = "heartbeat";
		return timing_fail(text, text_size,
		    "heartbeat (%" PRIu64 " ms) x 2 must be at most lease (%"
		    PRIu64 " ms)", n->heartbeat_ms, n->lease_ms);
	}
	if (n->heartbeat_ms >= n->danger_ms) {
		*ret_setting = "danger";
		return timing_fail(text, text_size,
		    "danger (%" PRIu64 " ms) must be more than heartbeat (%"
		    PRIu64 " ms), or every renewal comes too late for it",
		    n->danger_ms, n->heartbeat_ms);
	}
	if (n->danger_ms > n->lease_ms - n->margin_ms) {
		*ret_setting = "danger";
		return timing_fail(text, text_size,
		    "danger (%" PRIu64 " ms) must be at most lease - margin (%"
		    PRIu64 " ms), where the lock is lost", n->danger_ms,
		    n->lease_ms - n->margin_ms);
	}
	return timing_check_requests(n, ret_setting, text, text_size);
}
