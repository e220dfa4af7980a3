/*
 * How an endpoint fares.
 */

#include "aws/health.h"
#include "test.h"

#define NOW UINT64_C(5000000)	/* long after the boot */

/* An answer at @now_ms, after @took_ms. */
static void
learn(struct health *h, enum aws_class class, uint64_t took_ms,
    uint64_t now_ms)
{
	struct aws_answer a = {
		.status = 200, .text = "", .sent_ms = now_ms - took_ms,
	};
	struct aws_error e = { .class = class, .text = "said the endpoint" };

	health_learn(h, &a, &e, now_ms);
}

TEST(test_nothing_is_known_at_first)
{
	static const struct health h;

	ck_assert_uint_eq(health_latency_ms(&h, 50, NOW), 0);
	ck_assert_uint_eq(h.succeeded + h.failed, 0);
}

TEST(test_a_condition_is_no_failure)
{
	static struct health h;

	learn(&h, AWS_CLASS_OK, 3, NOW);
	learn(&h, AWS_CLASS_CONDITION, 3, NOW);
	ck_assert_uint_eq(h.succeeded, 2);
	ck_assert_uint_eq(h.failed, 0);
	learn(&h, AWS_CLASS_THROTTLED, 3, NOW + 1);
	learn(&h, AWS_CLASS_REFUSED, 3, NOW + 2);
	learn(&h, AWS_CLASS_CLOCK, 3, NOW + 3);
	learn(&h, AWS_CLASS_TRANSIENT, 3, NOW + 4);
	ck_assert_uint_eq(h.succeeded, 2);
	ck_assert_uint_eq(h.failed, 4);
	ck_assert_uint_eq(h.failed_ms, NOW + 4);
	ck_assert_str_eq(h.text, "said the endpoint");
	/* A success does not make one forget. */
	learn(&h, AWS_CLASS_OK, 3, NOW + 5);
	ck_assert_str_eq(h.text, "said the endpoint");
}

TEST(test_what_did_not_come_has_no_latency)
{
	struct aws_answer a = { .text = "", .sent_ms = NOW - 4000 };
	struct aws_error e = { .class = AWS_CLASS_TRANSIENT };
	static struct health h;

	health_learn(&h, &a, &e, NOW);
	ck_assert_uint_eq(h.failed, 1);
	ck_assert_uint_eq(health_latency_ms(&h, 99, NOW), 0);
}

TEST(test_percentiles)
{
	static struct health h;

	for (int i = 0; i < 98; i++)
		learn(&h, AWS_CLASS_OK, 4, NOW);
	learn(&h, AWS_CLASS_OK, 900, NOW);
	learn(&h, AWS_CLASS_OK, 5000, NOW);
	ck_assert_uint_eq(health_latency_ms(&h, 1, NOW), 4);
	ck_assert_uint_eq(health_latency_ms(&h, 50, NOW), 4);
	ck_assert_uint_eq(health_latency_ms(&h, 98, NOW), 4);
	ck_assert_uint_eq(health_latency_ms(&h, 99, NOW), 1024);
	ck_assert_uint_eq(health_latency_ms(&h, 100, NOW), 5792);
}

/* Never too short, and too long by a fifth at most. */
TEST(test_a_bucket_is_near)
{
	for (uint64_t took_ms = 0; took_ms <= 70000; took_ms++) {
		struct health h = { .succeeded = 0 };
		uint64_t said_ms;

		learn(&h, AWS_CLASS_OK, took_ms, NOW);
		said_ms = health_latency_ms(&h, 50, NOW);
		ck_assert_uint_gt(said_ms, 0);
		if (took_ms > 65536)	/* no request has so long */
			continue;
		ck_assert_uint_ge(said_ms, took_ms);
		ck_assert_uint_le(said_ms, took_ms + took_ms / 5 + 1);
	}
}

TEST(test_what_is_old_is_forgotten)
{
	static struct health h;

	learn(&h, AWS_CLASS_OK, 4000, NOW);
	h.half_ms = NOW;
	ck_assert_uint_ge(health_latency_ms(&h, 50, NOW + 1), 4000);
	/* A half later it is the older half, and counts; */
	learn(&h, AWS_CLASS_OK, 8, NOW + HEALTH_HALF_MS);
	ck_assert_uint_eq(health_latency_ms(&h, 50, NOW + HEALTH_HALF_MS), 8);
	ck_assert_uint_ge(health_latency_ms(&h, 99, NOW + HEALTH_HALF_MS),
	    4000);
	/* another later it does not, whether or not there is news, */
	ck_assert_uint_eq(health_latency_ms(&h, 99,
	    NOW + 2 * HEALTH_HALF_MS), 8);
	learn(&h, AWS_CLASS_OK, 8, NOW + 2 * HEALTH_HALF_MS);
	ck_assert_uint_eq(health_latency_ms(&h, 99,
	    NOW + 2 * HEALTH_HALF_MS), 8);
	/* and after two without any nothing is known of late. */
	ck_assert_uint_eq(health_latency_ms(&h, 50,
	    NOW + 4 * HEALTH_HALF_MS), 0);
	learn(&h, AWS_CLASS_OK, 16, NOW + 9 * HEALTH_HALF_MS);
	ck_assert_uint_eq(health_latency_ms(&h, 1, NOW + 9 * HEALTH_HALF_MS),
	    16);
}
