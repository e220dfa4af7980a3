/*
 * OpenMetrics text, and the buckets of histograms.
 */

#include <string.h>

#include "common/buffer.h"
#include "common/histogram.h"
#include "common/openmetrics.h"
#include "test.h"

static struct buffer text;

static const char *
said(void)
{
	ck_assert_int_eq(buffer_failed(&text), 0);
	return text.data;
}

static void
setup(void)
{
	buffer_init(&text, 1 << 16);
}

static void
teardown(void)
{
	buffer_done(&text);
}

TEST_FIXTURE(setup, teardown)

TEST(test_a_counter_counts_seconds)
{
	static const struct openmetrics_family f = { "busy_seconds",
		OPENMETRICS_COUNTER, OPENMETRICS_MS, 0,
		"A line\nof \"help\"." };
	struct openmetrics_labels labels = { .n = 0 };

	openmetrics_begin(&text, &f);
	openmetrics_sample(&text, &f, &labels, 1230);
	openmetrics_sample(&text, &f, &labels, 5);
	openmetrics_sample(&text, &f, &labels, 7000);
	ck_assert_str_eq(said(), "# TYPE busy_seconds counter\n"
	    "# UNIT busy_seconds seconds\n"
	    "# HELP busy_seconds A line\\nof \\\"help\\\".\n"
	    "busy_seconds_total 1.23\n"
	    "busy_seconds_total 0.005\n"
	    "busy_seconds_total 7\n");
}

TEST(test_labels_are_escaped_and_empty_ones_left_out)
{
	static const struct openmetrics_family f = { "things",
		OPENMETRICS_GAUGE, OPENMETRICS_NUMBER, 0, "Things." };
	struct openmetrics_labels labels = { .n = 0 };

	openmetrics_label(&labels, "a", "q\"b\\n\n");
	openmetrics_label(&labels, "none", NULL);
	openmetrics_label(&labels, "empty", "");
	openmetrics_label(&labels, "b", "x");
	openmetrics_sample(&text, &f, &labels, UINT64_MAX);
	ck_assert_str_eq(said(), "things{a=\"q\\\"b\\\\n\\n\",b=\"x\"} "
	    "18446744073709551615\n");
}

/* What is as long as a bound belongs to it; buckets count all below them. */
TEST(test_a_histogram_is_cumulative)
{
	static const struct openmetrics_family f = { "wait_seconds",
		OPENMETRICS_HISTOGRAM, OPENMETRICS_MS, HISTOGRAM_WORK, "W." };
	static const uint64_t ms[] = { 0, 1, 2, 10, 86400000, 86400001 };
	struct openmetrics_labels labels = { .n = 0 };
	struct histogram h = { .sum_ms = 0 };

	for (size_t i = 0; i < ROWS(ms); i++)
		histogram_add(&h, HISTOGRAM_WORK, ms[i]);
	openmetrics_label(&labels, "ns", "n");
	openmetrics_histogram(&text, &f, &labels, &h);
	ck_assert_ptr_nonnull(strstr(said(),
	    "wait_seconds_bucket{ns=\"n\",le=\"0.001\"} 2\n"
	    "wait_seconds_bucket{ns=\"n\",le=\"0.01\"} 4\n"
	    "wait_seconds_bucket{ns=\"n\",le=\"0.1\"} 4\n"
	    "wait_seconds_bucket{ns=\"n\",le=\"1.0\"} 4\n"));
	ck_assert_ptr_nonnull(strstr(said(),
	    "wait_seconds_bucket{ns=\"n\",le=\"86400.0\"} 5\n"
	    "wait_seconds_bucket{ns=\"n\",le=\"+Inf\"} 6\n"
	    "wait_seconds_count{ns=\"n\"} 6\n"
	    "wait_seconds_sum{ns=\"n\"} 172800.014\n"));
}

TEST(test_bounds_rise)
{
	for (int scale = 0; scale <= HISTOGRAM_WORK; scale++) {
		size_t n;
		const uint64_t *bounds = histogram_bounds_ms(
		    (enum histogram_scale)scale, &n);

		ck_assert_uint_gt(n, 4);
		for (size_t i = 1; i < n; i++)
			ck_assert_uint_gt(bounds[i], bounds[i - 1]);
	}
}
