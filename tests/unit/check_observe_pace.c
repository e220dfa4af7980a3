/*
 * When another host's session is read again: once a heartbeat, and so that a
 * beat is first seen soon after it was written.
 *
 * A session that beats is played here by itself, with the looks at it: no core
 * takes a step.
 */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "core/lease/room.h"
#include "test.h"

#define POLL_MS UINT64_C(1000)
#define HEARTBEAT_MS UINT64_C(5000)
#define LEASE_MS UINT64_C(20000)
#define WAY_MS UINT64_C(10)	/* to the store, or back */
#define BEATS 200
#define SEEN_MS (POLL_MS + 4 * WAY_MS)	/* two looks are so far apart */

struct beat {
	uint64_t number;
	uint64_t landed_ms;
};

/* A session, and what a waiting host makes of it. */
struct play {
	struct beat beats[BEATS];
	struct core core;
	struct namespace ns;
	struct observation o;
	uint32_t dice;
	uint64_t looks[BEATS];	/* at which each was there */
	uint64_t lag_max_ms;	/* of those that were seen to come */
	unsigned seen;
};

/* Beats every @heartbeat_ms of a clock that is fast by @rate_ppm; all are
 * numbered by the time of that clock. */
static struct play *
play_new(uint64_t heartbeat_ms, int64_t rate_ppm)
{
	struct play *p = calloc(1, sizeof(*p));

	ck_assert_ptr_nonnull(p);
	for (uint64_t i = 0; i < BEATS; i++) {
		uint64_t ms = i * heartbeat_ms;

		p->beats[i].number = 77000000 + ms;
		p->beats[i].landed_ms = 1000000 + WAY_MS + ms -
		    (uint64_t)((int64_t)ms * rate_ppm / 1000000);
	}
	p->ns.has_sessions = true;
	p->ns.settings.poll_ms = POLL_MS;
	p->ns.settings.drift_ppm = 10000;
	p->o.ns = &p->ns;
	p->o.lease_ms = LEASE_MS;
	return p;
}

/* From here on all beats are later by @ms, also in their numbers. */
static void
play_shift(struct play *p, unsigned from, uint64_t ms)
{
	for (unsigned i = from; i < BEATS; i++) {
		p->beats[i].number += ms;
		p->beats[i].landed_ms += ms;
	}
}

static uint64_t
play_jitter(struct play *p)
{
	p->dice = p->dice * 1103515245 + 12345;
	return POLL_MS - (p->dice >> 16) % (POLL_MS / 8 + 1);
}

/* The answer to a look at what the item says then; as observe.c notes it. */
static void
play_answer(struct play *p, const struct session_record *record)
{
	observe_keep_pace(&p->core, &p->o, record);
	if (p->o.state != OBSERVATION_ALIVE || p->o.beat != record->beat)
		p->o.since_ms = p->core.now_ms;
	p->o.state = OBSERVATION_ALIVE;
	p->o.beat = record->beat;
}

/* Look from @from_ms on, until the last beat. */
static void
play_run(struct play *p, uint64_t from_ms)
{
	uint64_t at_ms = from_ms;
	unsigned i = 0;

	while (at_ms + 2 * WAY_MS < p->beats[BEATS - 1].landed_ms) {
		struct session_record record = { .exists = true,
			.lease_ms = LEASE_MS };
		uint64_t lag_ms;

		while (p->beats[i + 1].landed_ms <= at_ms + WAY_MS)
			i++;
		record.beat = p->beats[i].number;
		p->o.submit.operation.submitted_ms = at_ms;
		p->core.now_ms = at_ms + 2 * WAY_MS;
		p->seen += p->o.state == OBSERVATION_ALIVE &&
		    p->o.beat != record.beat;
		play_answer(p, &record);
		p->looks[i]++;
		lag_ms = p->o.since_ms - p->beats[i].landed_ms;
		if (p->seen > 0 && lag_ms > p->lag_max_ms)
			p->lag_max_ms = lag_ms;
		at_ms = observe_next_ms(&p->core, &p->o, play_jitter(p));
		ck_assert_uint_gt(at_ms, p->core.now_ms);
		ck_assert_uint_le(at_ms, p->core.now_ms + LEASE_MS);
	}
}

/* How often it was looked at while one of these beats was there. */
static uint64_t
play_looks(const struct play *p, unsigned first, unsigned end)
{
	uint64_t n = 0;

	for (unsigned i = first; i < end; i++)
		n += p->looks[i];
	return n;
}

/* Whatever the phase of the first look: at most so many looks in ten heartbeats
 * once two beats were seen to come, never more than two in one, and no beat is
 * seen late. */
static void
play_check_rhythm(uint64_t heartbeat_ms, int64_t rate_ppm, uint64_t in_ten)
{
	for (uint64_t phase_ms = 0; phase_ms < heartbeat_ms; phase_ms += 37) {
		struct play *p = play_new(heartbeat_ms, rate_ppm);

		p->dice = (uint32_t)phase_ms;
		play_run(p, 1000000 + 2 * heartbeat_ms + phase_ms);
		ck_assert_uint_le(p->lag_max_ms, SEEN_MS);
		for (unsigned i = 8; i < BEATS - 2; i++)
			ck_assert_uint_le(p->looks[i], 2);
		ck_assert_uint_le(play_looks(p, 8, 188), 18 * in_ten);
		free(p);
	}
}

TEST(test_once_a_heartbeat)
{
	play_check_rhythm(HEARTBEAT_MS, 0, 12);
}

/* Of two clocks the one may be as slow as the drift allows, or as fast. */
TEST(test_clocks_that_drift)
{
	play_check_rhythm(HEARTBEAT_MS, -10000, 14);
	play_check_rhythm(HEARTBEAT_MS, 10000, 12);
}

/* A heartbeat of its own, which the beats tell. */
TEST(test_another_heartbeat)
{
	play_check_rhythm(2500, 0, 12);
	play_check_rhythm(8000, 0, 12);
	play_check_rhythm(10000, 0, 12);
}

/* A beat is sent late, or two in a row are, and the next a heartbeat after:
 * none is seen late, and soon one look shows each. */
TEST(test_late_beats)
{
	for (uint64_t late_ms = 100; late_ms < 4900; late_ms += 97) {
		struct play *p = play_new(HEARTBEAT_MS, 0);

		p->dice = (uint32_t)late_ms;
		for (unsigned i = 3; i < 150; i += 7)
			play_shift(p, i, late_ms);
		for (unsigned i = 60; i < 150; i += 7)
			play_shift(p, i, late_ms);
		play_run(p, 1000000 + late_ms);
		ck_assert_uint_le(p->lag_max_ms, SEEN_MS);
		ck_assert_uint_le(play_looks(p, 155, 195), 52);
		free(p);
	}
}

/* A client renews: a beat comes before it is due. It is seen when it was due,
 * and those that follow as if nothing had been. */
TEST(test_beat_out_of_turn)
{
	for (uint64_t early_ms = 100; early_ms < 4900; early_ms += 97) {
		struct play *p = play_new(HEARTBEAT_MS, 0);

		p->dice = (uint32_t)early_ms;
		for (unsigned i = 20; i < BEATS; i++) {
			p->beats[i].number -= early_ms;
			p->beats[i].landed_ms -= early_ms;
		}
		play_run(p, 1000000);
		ck_assert_uint_le(p->lag_max_ms, early_ms + SEEN_MS);
		p->lag_max_ms = 0;
		ck_assert_uint_le(play_looks(p, 30, 190), 208);
		free(p);
	}
}

/* One was long on its way: those that follow are not seen later for that. Also
 * if it is the first that was seen to come. */
TEST(test_late_on_its_way)
{
	for (uint64_t late_ms = 100; late_ms < 3000; late_ms += 97) {
		struct play *p = play_new(HEARTBEAT_MS, 0);

		p->dice = (uint32_t)late_ms;
		p->beats[3].landed_ms += late_ms;
		for (unsigned i = 20; i < 150; i += 10)
			p->beats[i].landed_ms += late_ms;
		play_run(p, 1000000 + 2 * HEARTBEAT_MS + 100);
		ck_assert_uint_le(p->lag_max_ms, SEEN_MS + POLL_MS / 2);
		ck_assert_uint_le(play_looks(p, 155, 195), 52);
		free(p);
	}
}

/* Its clock stands still for a time, or jumps: it is found again. */
TEST(test_clock_that_stands_still)
{
	for (uint64_t ms = 500; ms < 60000; ms += 511) {
		struct play *p = play_new(HEARTBEAT_MS, 0);

		for (unsigned i = 20; i < BEATS; i++)
			p->beats[i].landed_ms += ms;
		for (unsigned i = 60; i < BEATS; i++)
			p->beats[i].number += ms * 1000;
		for (unsigned i = 100; i < BEATS; i++)
			p->beats[i].number -= ms * 1000;
		play_run(p, 1000000);
		ck_assert_uint_le(p->lag_max_ms, SEEN_MS);
		ck_assert_uint_le(play_looks(p, 30, 55), 30);
		ck_assert_uint_le(play_looks(p, 70, 95), 30);
		ck_assert_uint_le(play_looks(p, 110, 190), 96);
		free(p);
	}
}

/* With a poll of half a heartbeat or more nothing is left out. */
TEST(test_long_poll)
{
	struct play *p = play_new(2 * POLL_MS - 1, 0);

	play_run(p, 1000000);
	ck_assert_uint_ge(play_looks(p, 4, 190), 2 * 186 * 9 / 10);
	free(p);
}

static uint64_t
play_any(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> (*state >> 58);
}

/* Anybody may have written it: whatever it says, the next look is a poll ahead
 * at least, and at most a lease. */
TEST(test_any_numbers)
{
	struct play *p = play_new(HEARTBEAT_MS, 0);
	uint64_t state = 1;

	p->core.now_ms = UINT64_C(1) << 40;
	for (unsigned i = 0; i < 200000; i++) {
		struct session_record record = { .exists = play_any(&state) > 3,
			.beat = play_any(&state) };
		uint64_t most_ms, at_ms;

		if (i % 3 == 0)
			record.beat = p->o.beat + play_any(&state) % 8000;
		if (i % 1000 == 0) {
			memset(&p->o, 0, sizeof(p->o));
			p->o.ns = &p->ns;
			p->o.lease_ms = play_any(&state);
		}
		p->o.submit.operation.submitted_ms = p->core.now_ms;
		p->core.now_ms += play_any(&state) % 7000;
		play_answer(p, &record);
		at_ms = observe_next_ms(&p->core, &p->o, POLL_MS);
		most_ms = p->o.lease_ms > POLL_MS ? p->o.lease_ms : POLL_MS;
		ck_assert_uint_ge(at_ms - p->core.now_ms, POLL_MS);
		ck_assert_uint_le(at_ms - p->core.now_ms, most_ms);
	}
	free(p);
}
