/*
 * The clocks of a host: one that no one sets and whose rate is a little wrong,
 * and one that people set.
 */
#include "world_state.h"

static uint64_t
host_boot_at(const struct host *h, uint64_t real)
{
	uint64_t rate = (uint64_t)(1000000 + h->rate_ppm);

	if (h->frozen_at < real)
		real = h->frozen_at;
	return h->offset_ms + (real - h->stood_ms) * rate / 1000000;
}

uint64_t
host_boot_ms(const struct host *h)
{
	return host_boot_at(h, h->world->now);
}

uint64_t
host_real_ms(const struct host *h, uint64_t boot_ms)
{
	uint64_t rate = (uint64_t)(1000000 + h->rate_ppm);
	uint64_t real;

	if (boot_ms == CORE_FOREVER)
		return WORLD_NEVER;
	if (boot_ms <= h->offset_ms)
		return h->stood_ms;
	/* Rounded down, then up to the first that reads so much. */
	real = (boot_ms - h->offset_ms) * 1000000 / rate + h->stood_ms;
	while (h->offset_ms + (real - h->stood_ms) * rate / 1000000 < boot_ms)
		real++;
	return real;
}

uint64_t
host_wall_ms(const struct host *h)
{
	return (uint64_t)((int64_t)(WORLD_WALL_MS + h->world->now) +
	    h->wall_ms);
}
