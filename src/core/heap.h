/*
 * Timers: a binary heap, so that the next deadline is found at once and any
 * change costs O(log n). Room is reserved when an object with a timer is made;
 * setting a timer then cannot fail.
 */
#ifndef DDBLOCKD_CORE_HEAP_H
#define DDBLOCKD_CORE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum timer_kind {
	TIMER_SESSION = 1,
	TIMER_NAMESPACE,
	TIMER_AUDIT,
	TIMER_LOCK,
	TIMER_REQUEST,
	TIMER_OBSERVATION,
	TIMER_IN_DOUBT,
	TIMER_LISTING,
	TIMER_WATCHES,
	TIMER_TERMS,
	TIMER_LINGER,
};

#define HEAP_TIMERS_MAX ((UINT32_C(1) << 28) - 1)

/* Embedded in the object that it belongs to. Zeroed with a kind: not set. Every
 * lock has one, hence its narrow members. */
struct timer {
	uint64_t at_ms;
	uint32_t serial;	/* breaks ties by the order of setting */
	uint32_t position : 28;	/* in the heap, from 1; 0: not set */
	enum timer_kind kind : 4;
};

struct heap {
	struct timer **timers;
	uint32_t n_timers;
	uint32_t size;
	uint32_t reserved;
	uint32_t serial;
	uint64_t first_ms;	/* the earliest timer's; TIMER_NEVER: none */
};

#define TIMER_NEVER UINT64_MAX

void heap_init(struct heap *);

void heap_done(struct heap *);

/* Room for one more timer. DDBLOCK_E_NOMEM */
int heap_reserve(struct heap *);

/* The object with this timer goes away: unset it and give the room back. */
void heap_release(struct heap *, struct timer *);

void heap_set(struct heap *, struct timer *, uint64_t at_ms);
void heap_unset(struct heap *, struct timer *);

/* The earliest timer, or NULL. */
struct timer *heap_first(const struct heap *);

#endif
