/*
 * Virtual time for a whole program: clocks stand still but for fuzz_advance().
 */
#ifndef DDBLOCKD_TESTS_FUZZ_CLOCK_H
#define DDBLOCKD_TESTS_FUZZ_CLOCK_H

#include <stdint.h>

#define FUZZ_BOOT_MS UINT64_C(50000)

/* Back to FUZZ_BOOT_MS. */
void fuzz_reset_clock(void);
void fuzz_advance(uint64_t ms);

#endif
