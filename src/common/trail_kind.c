/*
 * The kinds of lines in the audit trail. See trail_kind.h.
 */
#include "common/trail_kind.h"

#include <assert.h>
#include <string.h>

static const struct {
	const char *word;
	const char *message_id;
} trail_rows[TRAIL_KINDS] = {
#define TRAIL(id, word, message_id) [TRAIL_##id] = { #word, message_id },
#include "common/trail.def"
};

const char *
trail_kind_word(enum trail_kind kind)
{
	assert(kind > TRAIL_NONE && kind < TRAIL_KINDS);
	return trail_rows[kind].word;
}

const char *
trail_kind_message_id(enum trail_kind kind)
{
	assert(kind > TRAIL_NONE && kind < TRAIL_KINDS);
	return trail_rows[kind].message_id;
}

enum trail_kind
trail_kind_find(const char *word, size_t length)
{
	for (int i = TRAIL_NONE + 1; i < TRAIL_KINDS; i++) {
		if (strlen(trail_rows[i].word) == length &&
		    memcmp(trail_rows[i].word, word, length) == 0)
			return (enum trail_kind)i;
	}
	return TRAIL_NONE;
}
