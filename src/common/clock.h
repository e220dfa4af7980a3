/*
 * The clocks. The only place that reads one.
 */
#ifndef DDBLOCKD_COMMON_CLOCK_H
#define DDBLOCKD_COMMON_CLOCK_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

/* CLOCK_BOOTTIME: goes on while the host sleeps, and is never set. */
uint64_t clock_boot_ms(void);
uint64_t clock_boot_us(void);

/* CLOCK_MONOTONIC, for the service manager, and for what something costs. */
uint64_t clock_monotonic_us(void);
uint64_t clock_monotonic_ns(void);

/* CLOCK_REALTIME, for SigV4, display and the record formats whose times are
 * those of hosts' clocks: never for a lease of ours. */
uint64_t clock_wall_ms(void);

/* Processor time of this process. */
uint64_t clock_cpu_ms(void);

/* So long, and that time, as event loops and timers want them. Of more than 68
 * years, 68: where a time has 32 bits there is none later. */
struct timeval clock_interval(uint64_t ms);
struct timespec clock_moment(uint64_t ms);

/*
 * Does the kernel call CLOCK_REALTIME synchronised? 1: it does; 0: it does
 * not; negative: it does not say, for this errno.
 */
int clock_is_synchronised(void);

#endif
