/*
 * The clocks. The only place that reads one.
 */
#ifndef DDBLOCKD_COMMON_CLOCK_H
#define DDBLOCKD_COMMON_CLOCK_H

#include <stdint.h>

/* CLOCK_BOOTTIME: goes on while the host sleeps, and nobody sets it. */
uint64_t clock_boot_ms(void);
uint64_t clock_boot_us(void);

/* CLOCK_REALTIME, for SigV4 and display only: never for a lease. */
uint64_t clock_wall_ms(void);

#endif
