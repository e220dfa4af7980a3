/*
 * OpenMetrics 1.0, the text that Prometheus reads: families of samples. Pure.
 * Failures stick in the buffer (buffer_failed()).
 */
#ifndef DDBLOCKD_COMMON_OPENMETRICS_H
#define DDBLOCKD_COMMON_OPENMETRICS_H

#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/histogram.h"

#define OPENMETRICS_LABELS_MAX 6
#define OPENMETRICS_TYPE                                                       \
	"application/openmetrics-text; version=1.0.0; charset=utf-8"
#define OPENMETRICS_END "# EOF\n"

enum openmetrics_kind {
	OPENMETRICS_GAUGE = 1,
	OPENMETRICS_COUNTER,
	OPENMETRICS_HISTOGRAM,
	OPENMETRICS_INFO,
};

/* What a value counts; the text has base units. */
enum openmetrics_unit {
	OPENMETRICS_NUMBER = 1,		/* things */
	OPENMETRICS_MS,			/* as seconds */
	OPENMETRICS_BYTES,
	OPENMETRICS_MILLIUNITS,		/* as capacity units */
};

struct openmetrics_family {
	const char *name;	/* without _total and the like */
	enum openmetrics_kind kind;
	enum openmetrics_unit unit;
	enum histogram_scale scale;	/* HISTOGRAM */
	const char *help;		/* a sentence */
};

/* Those with a value of NULL or "" are left out: it is the same. */
struct openmetrics_label {
	const char *name;
	const char *value;		/* UTF-8 */
};

struct openmetrics_labels {
	struct openmetrics_label all[OPENMETRICS_LABELS_MAX];
	size_t n;
};

void openmetrics_label(struct openmetrics_labels *, const char *name,
    const char *value);

/* "seconds"; NULL: what is counted has none. */
const char *openmetrics_unit_name(enum openmetrics_unit);
/* "counter" */
const char *openmetrics_kind_name(enum openmetrics_kind);

/* The lines before its samples, once. */
void openmetrics_begin(struct buffer *, const struct openmetrics_family *);

/* One of its samples, but for a HISTOGRAM. Of INFO @value is 1. */
void openmetrics_sample(struct buffer *, const struct openmetrics_family *,
    const struct openmetrics_labels *, uint64_t value);

/* All the samples of one histogram. */
void openmetrics_histogram(struct buffer *, const struct openmetrics_family *,
    const struct openmetrics_labels *, const struct histogram *);

#endif
