/*
 * The window of sequence numbers: its edges, jumps, and by chance against a set
 * that forgets nothing.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hints/hint_window.h"
#include "test.h"

static struct hint_window window;

/* It is seen, with this verdict, and the check alone changed nothing. (An
 * assertion costs more than what is tested.) */
static void
see(uint64_t sequence, enum hint_window_verdict expected)
{
	const struct hint_window before = window;
	const enum hint_window_verdict verdict =
	    hint_window_check(&window, sequence);

	if (verdict != expected ||
	    memcmp(&before, &window, sizeof(window)) != 0)
		ck_abort_msg("%" PRIu64 " after %" PRIu64 ": %d, not %d",
		    sequence, window.greatest, (int)verdict, (int)expected);
	if (verdict == HINT_WINDOW_NEW)
		hint_window_see(&window, sequence);
}

TEST(test_in_order)
{
	memset(&window, 0, sizeof(window));
	for (uint64_t i = 1; i < 10 * HINT_WINDOW; i++) {
		see(i, HINT_WINDOW_NEW);
		see(i, HINT_WINDOW_SEEN);
		if (i > 1)
			see(i - 1, HINT_WINDOW_SEEN);
	}
}

/* The oldest number of the window, and the one before it; wherever in a word
 * the greatest is. */
static void
look_at_edges(uint64_t greatest)
{
	memset(&window, 0, sizeof(window));
	see(greatest, HINT_WINDOW_NEW);
	see(greatest - HINT_WINDOW, HINT_WINDOW_LATE);
	for (uint64_t i = 1; i < HINT_WINDOW; i++)
		see(greatest - i, HINT_WINDOW_NEW);
	for (uint64_t i = 0; i < HINT_WINDOW; i++)
		see(greatest - i, HINT_WINDOW_SEEN);
	/* It moves by one: one number is forgotten, no other. */
	see(greatest + 1, HINT_WINDOW_NEW);
	see(greatest + 1 - HINT_WINDOW, HINT_WINDOW_LATE);
	see(greatest + 2 - HINT_WINDOW, HINT_WINDOW_SEEN);
}

TEST(test_edges)
{
	for (uint64_t i = 0; i < 130; i++)
		look_at_edges(100000 + i);
}

/* However far it moves, what it moves over is new. */
static void
jump(uint64_t to)
{
	memset(&window, 0, sizeof(window));
	for (uint64_t i = 1; i <= 500; i++)
		see(i, HINT_WINDOW_NEW);
	see(to, HINT_WINDOW_NEW);
	for (uint64_t i = 1; i <= to; i++)
		see(i, to - i >= HINT_WINDOW ?
		    HINT_WINDOW_LATE : i <= 500 || i == to ?
		    HINT_WINDOW_SEEN : HINT_WINDOW_NEW);
}

TEST(test_jump)
{
	for (uint64_t by = 1; by < 1200; by++)
		jump(500 + by);
}

TEST(test_end)
{
	memset(&window, 0, sizeof(window));
	see(UINT64_MAX, HINT_WINDOW_NEW);
	see(UINT64_MAX, HINT_WINDOW_SEEN);
	see(UINT64_MAX - HINT_WINDOW + 1, HINT_WINDOW_NEW);
	see(UINT64_MAX - HINT_WINDOW, HINT_WINDOW_LATE);
	see(1, HINT_WINDOW_LATE);
}

#define NUMBERS 20000

TEST_LOOP(test_by_chance, 1, 20)
{
	static bool seen[NUMBERS];
	unsigned short dice[3] = { 1, 2, (unsigned short)_i };
	uint64_t greatest = 0;

	memset(&window, 0, sizeof(window));
	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < 50000; i++) {
		const uint64_t reach = 1 + (uint64_t)nrand48(dice) % 1500;
		const uint64_t least = greatest > reach ? greatest - reach : 1;
		uint64_t n = least + (uint64_t)nrand48(dice) % (reach + 3);

		if (n >= NUMBERS)
			n = NUMBERS - 1;
		if (n > greatest)
			greatest = n;
		see(n, greatest - n >= HINT_WINDOW ?
		    HINT_WINDOW_LATE : seen[n] ? HINT_WINDOW_SEEN :
		    HINT_WINDOW_NEW);
		seen[n] = true;
	}
}
