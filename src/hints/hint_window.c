/*
 * A sliding window without shifts: a number's bit is at its place in a ring,
 * and words that the window moves into are cleared. One word more than the
 * window has makes room for the one that is only partly left. See
 * hint_window.h.
 */
#include "hints/hint_window.h"

#include <string.h>

#define WORD(sequence) ((sequence) / 64 % HINT_WINDOW_WORDS)
#define BIT(sequence) (UINT64_C(1) << ((sequence) % 64))

enum hint_window_verdict
hint_window_check(const struct hint_window *w, uint64_t sequence)
{
	if (sequence > w->greatest)
		return HINT_WINDOW_NEW;
	if (w->greatest - sequence >= HINT_WINDOW)
		return HINT_WINDOW_LATE;
	return (w->words[WORD(sequence)] & BIT(sequence)) != 0 ?
	    HINT_WINDOW_SEEN : HINT_WINDOW_NEW;
}

void
hint_window_see(struct hint_window *w, uint64_t sequence)
{
	uint64_t from = w->greatest / 64, to = sequence / 64;

	if (to > from) {
		if (to - from >= HINT_WINDOW_WORDS)
			memset(w->words, 0, sizeof(w->words));
		else
			while (from < to)
				w->words[++from % HINT_WINDOW_WORDS] = 0;
	}
	if (sequence > w->greatest)
		w->greatest = sequence;
	w->words[WORD(sequence)] |= BIT(sequence);
}
