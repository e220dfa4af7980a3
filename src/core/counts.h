/*
 * What a namespace counts, as views show it. The rooms of the core count
 * (counters.NAME++, core/figures.h); nothing is decided by it.
 */
#ifndef DDBLOCKD_CORE_COUNTS_H
#define DDBLOCKD_CORE_COUNTS_H

#include <stdint.h>

#include "common/error.h"
#include "common/histogram.h"
#include "core/loss.h"

/* What a namespace counts, from the start on. */
struct core_counters {
#define COUNTER(name, ...) uint64_t name;
#include "common/counters.def"
};

/*
 * And more of that, for metrics: of the keys with one of its metrics_prefixes,
 * or with none of them.
 */
struct core_figures {
	char *prefix;			/* NULL: with none */
	uint64_t granted;
	uint64_t lost[CORE_LOSSES];	/* by enum core_loss */
	uint64_t endangered;		/* warnings of a loss */
	uint64_t failed[ERROR_CODES_MAX];	/* ACQUIREs that were answered
						 * with an error, by -code */
	struct histogram waited;	/* those that were granted */
	struct histogram held;		/* holds that have ended, or are lost */
};

#endif
