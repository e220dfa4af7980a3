/*
 * A binary heap of timers.
 */
#include "core/heap.h"

#include <assert.h>
#include <stdlib.h>

#include "common/error.h"

void
heap_init(struct heap *h)
{
	*h = (struct heap){ .first_ms = TIMER_NEVER };
}

static void
heap_note_first(struct heap *h)
{
	h->first_ms = h->n_timers == 0 ? TIMER_NEVER : h->timers[0]->at_ms;
}

void
heap_done(struct heap *h)
{
	free(h->timers);
	heap_init(h);
}

int
heap_reserve(struct heap *h)
{
	uint32_t size = h->size < 64 ? 64 : h->size * 2;
	struct timer **timers;

	if (h->reserved < h->size) {
		h->reserved++;
		return 0;
	}
	if (size > HEAP_TIMERS_MAX)
		return DDBLOCK_E_NOMEM;
	timers = realloc(h->timers, size * sizeof(struct timer *));
	if (timers == NULL)
		return DDBLOCK_E_NOMEM;
	h->timers = timers;
	h->size = size;
	h->reserved++;
	return 0;
}

void
heap_release(struct heap *h, struct timer *t)
{
	assert(h->reserved > 0);
	heap_unset(h, t);
	h->reserved--;
}

static bool
heap_before(const struct timer *a, const struct timer *b)
{
	if (a->at_ms != b->at_ms)
		return a->at_ms < b->at_ms;
	/* The one that was set later, unless there were very many between. */
	return b->serial - a->serial <= UINT32_MAX / 2;
}

static void
heap_place(struct heap *h, struct timer *t, uint32_t position)
{
	h->timers[position - 1] = t;
	t->position = position & HEAP_TIMERS_MAX;
}

static void
heap_rise(struct heap *h, struct timer *t)
{
	uint32_t position = t->position;

	while (position > 1) {
		struct timer *parent = h->timers[position / 2 - 1];

		if (!heap_before(t, parent))
			break;
		heap_place(h, parent, position);
		position /= 2;
	}
	heap_place(h, t, position);
}

static void
heap_sink(struct heap *h, struct timer *t)
{
	uint32_t position = t->position;

	for (;;) {
		uint32_t child = position * 2;

		if (child > h->n_timers)
			break;
		if (child < h->n_timers &&
		    heap_before(h->timers[child], h->timers[child - 1]))
			child++;
		if (!heap_before(h->timers[child - 1], t))
			break;
		heap_place(h, h->timers[child - 1], position);
		position = child;
	}
	heap_place(h, t, position);
}

void
heap_set(struct heap *h, struct timer *t, uint64_t at_ms)
{
	assert(t->kind != 0);
	if (t->position != 0 && t->at_ms == at_ms)
		return;
	t->at_ms = at_ms;
	t->serial = ++h->serial;
	if (t->position == 0) {
		assert(h->n_timers < h->reserved);
		h->n_timers++;
		heap_place(h, t, h->n_timers);
	}
	heap_rise(h, t);
	heap_sink(h, t);
	heap_note_first(h);
}

void
heap_unset(struct heap *h, struct timer *t)
{
	uint32_t position = t->position;
	struct timer *last;

	if (position == 0)
		return;
	assert(position <= h->n_timers && h->timers[position - 1] == t);
	last = h->timers[h->n_timers - 1];
	h->n_timers--;
	t->position = 0;
	if (last != t) {
		heap_place(h, last, position);
		heap_rise(h, last);
		heap_sink(h, last);
	}
	heap_note_first(h);
}

struct timer *
heap_first(const struct heap *h)
{
	return h->n_timers == 0 ? NULL : h->timers[0];
}
