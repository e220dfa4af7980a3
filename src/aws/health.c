/*
 * How an endpoint fares.
 *
 * Latencies are counted by size in two halves of time. The older half is
 * dropped when the newer is five minutes old: so what is said of them is of the
 * last five to ten minutes, without a list of them.
 */
#include "aws/health.h"

#include <stdio.h>

/* Buckets for each doubling: 1 ms to a minute are 64 of them. */
#define HEALTH_PARTS 4

/* The longest duration that bucket @i counts. */
static uint64_t
health_bound_ms(uint32_t i)
{
	/* 2^(1/4), 2^(2/4), 2^(3/4), 2, by 1024. */
	static const uint64_t factors[HEALTH_PARTS] = {
		1218, 1448, 1722, 2048,
	};

	return (factors[i % HEALTH_PARTS] << i / HEALTH_PARTS) / 1024;
}

static uint32_t
health_bucket(uint64_t duration_ms)
{
	uint32_t i = 0;

	while (i < HEALTH_BUCKETS - 1 && health_bound_ms(i) < duration_ms)
		i++;
	return i;
}

/* How many of the two halves have had their time at @now_ms. */
static uint64_t
health_halves_over(const struct health *h, uint64_t now_ms)
{
	return now_ms < h->half_ms ? 0 :
	    (now_ms - h->half_ms) / HEALTH_HALF_MS;
}

static void
health_turn(struct health *h, uint64_t now_ms)
{
	uint64_t over = health_halves_over(h, now_ms);

	if (over == 0)
		return;
	h->halves[1] = h->halves[0];
	if (over > 1)
		h->halves[1] = (struct health_half){ .n = 0 };
	h->halves[0] = (struct health_half){ .n = 0 };
	h->half_ms += over * HEALTH_HALF_MS;
}

void
health_learn(struct health *h, const struct aws_answer *answer,
    const struct aws_error *error, uint64_t now_ms)
{
	health_turn(h, now_ms);
	if (error->class == AWS_CLASS_OK ||
	    error->class == AWS_CLASS_CONDITION) {
		h->succeeded++;
	} else {
		h->failed++;
		h->failed_ms = now_ms;
		(void)snprintf(h->text, sizeof(h->text), "%s", error->text);
	}
	if (answer->status == 0 || now_ms < answer->sent_ms)
		return;
	h->halves[0].n++;
	h->halves[0].buckets[health_bucket(now_ms - answer->sent_ms)]++;
}

uint64_t
health_latency_ms(const struct health *h, uint32_t percent, uint64_t now_ms)
{
	uint64_t over = health_halves_over(h, now_ms);
	const struct health_half *a = &h->halves[0], *b = &h->halves[1];
	uint64_t n = 0, wanted, seen = 0;
	uint32_t i;

	/* As health_turn() would, without a change. */
	if (over < 2)
		n += a->n;
	if (over < 1)
		n += b->n;
	if (n == 0)
		return 0;
	wanted = (n * percent + 99) / 100;
	for (i = 0; i < HEALTH_BUCKETS; i++) {
		seen += a->buckets[i] + (over < 1 ? b->buckets[i] : 0);
		if (seen >= wanted && seen > 0)
			break;
	}
	return health_bound_ms(i);
}
