/*
 * Two rings, of hints and of datagrams.
 */
#include "daemon/hinter_waiting.h"

#include <string.h>

void
waiting_add_hint(struct hinter_waiting *w, const struct core_hint *hint,
    uint64_t now_ms)
{
	uint32_t i = w->next_hint;

	w->next_hint = (i + 1) % WAITING_HINTS;
	w->hints[i].hint = *hint;
	w->hints[i].until_ms = now_ms + WAITING_MS;
	w->hints[i].asked = false;
}

bool
waiting_ask(struct hinter_waiting *w, struct core_hint *ret)
{
	for (uint32_t i = 0; i < WAITING_HINTS; i++) {
		if (w->hints[i].until_ms == 0 || w->hints[i].asked)
			continue;
		w->hints[i].asked = true;
		*ret = w->hints[i].hint;
		return true;
	}
	return false;
}

bool
waiting_take_hint(struct hinter_waiting *w, struct ident session,
    uint64_t now_ms, struct core_hint *ret)
{
	for (uint32_t i = 0; i < WAITING_HINTS; i++) {
		bool in_time = now_ms < w->hints[i].until_ms;

		if (w->hints[i].until_ms == 0 ||
		    !ident_equal(w->hints[i].hint.session, session))
			continue;
		w->hints[i].until_ms = 0;
		*ret = w->hints[i].hint;
		if (in_time)
			return true;
	}
	return false;
}

void
waiting_add_letter(struct hinter_waiting *w, struct ident sender,
    const uint8_t bytes[HINT_BYTES], uint64_t now_ms)
{
	uint32_t i = w->next_letter;

	w->next_letter = (i + 1) % WAITING_LETTERS;
	memcpy(w->letters[i].bytes, bytes, HINT_BYTES);
	w->letters[i].sender = sender;
	w->letters[i].until_ms = now_ms + WAITING_MS;
	w->letters[i].ready = false;
}

bool
waiting_ready(struct hinter_waiting *w, struct ident sender)
{
	bool any = false;

	for (uint32_t i = 0; i < WAITING_LETTERS; i++) {
		if (w->letters[i].until_ms == 0 ||
		    !ident_equal(w->letters[i].sender, sender))
			continue;
		w->letters[i].ready = any = true;
	}
	return any;
}

bool
waiting_take_letter(struct hinter_waiting *w, uint64_t now_ms,
    uint8_t ret[HINT_BYTES])
{
	for (uint32_t i = 0; i < WAITING_LETTERS; i++) {
		bool in_time = now_ms < w->letters[i].until_ms;

		if (w->letters[i].until_ms == 0 || !w->letters[i].ready)
			continue;
		w->letters[i].until_ms = 0;
		memcpy(ret, w->letters[i].bytes, HINT_BYTES);
		if (in_time)
			return true;
	}
	return false;
}
