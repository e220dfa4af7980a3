/*
 * Data and an attribute, as numbers.
 */
#include "sim_contents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIM_CONTENTS_NOTE "note"

const struct change *
sim_contents_ask(bool data, bool note)
{
	static const struct attribute notes[] = {
		{ .name = { SIM_CONTENTS_NOTE,
		    sizeof(SIM_CONTENTS_NOTE) - 1 } },
	};
	static const struct change changes[2][2] = {
		{ { .sets_data = false }, { .contents.attributes = notes,
		    .contents.n_attributes = 1 } },
		{ { .sets_data = true }, { .contents.attributes = notes,
		    .contents.n_attributes = 1, .sets_data = true } },
	};

	return data || note ? &changes[data][note] : NULL;
}

const struct change *
kept_clear(void)
{
	static const struct change clear = { .clears = true };

	return &clear;
}

const struct change *
sim_contents_fill(const struct change *c, uint64_t request,
    struct sim_contents_room *room)
{
	struct key value = { room->value, 0 };

	if (c == NULL)
		return NULL;
	value.length = (size_t)snprintf(room->value, sizeof(room->value),
	    "%" PRIu64, request);
	room->change = *c;
	if (c->sets_data)
		room->change.contents.data = value;
	if (c->contents.n_attributes > 0) {
		room->note = c->contents.attributes[0];
		room->note.value = value;
		room->change.contents.attributes = &room->note;
	}
	return &room->change;
}

void
sim_contents_brought(const struct change *c, uint64_t request,
    uint64_t ret[FACT_SLOTS])
{
	ret[FACT_DATA] = c != NULL && c->sets_data ? request : 0;
	ret[FACT_NOTE] = c != NULL && c->contents.n_attributes > 0 ?
	    request : 0;
}

uint64_t
sim_contents_number(const void *bytes, size_t length)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%.*s", (int)length,
	    (const char *)bytes);
	return length == 0 ? 0 : strtoull(text, NULL, 10);
}

void
sim_contents_read(const struct contents *c, uint64_t ret[FACT_SLOTS])
{
	ret[FACT_DATA] = ret[FACT_NOTE] = 0;
	if (c == NULL)
		return;
	ret[FACT_DATA] = sim_contents_number(c->data.bytes, c->data.length);
	for (size_t i = 0; i < c->n_attributes; i++)
		ret[FACT_NOTE] =
		    sim_contents_number(c->attributes[i].value.bytes,
		    c->attributes[i].value.length);
}
