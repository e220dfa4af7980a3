/*
 * The timeline of a lease: defaults, rounding, and every rule of
 * timing_check() from both sides.
 */
#include <string.h>

#include "core/core.h"
#include "core/timing.h"
#include "ddblock.h"
#include "test.h"

static struct core_namespace
timing_defaults(uint64_t lease_ms, uint32_t drift_ppm)
{
	struct core_namespace n = {
		.name = "default",
		.lease_ms = lease_ms,
		.heartbeat_ms = timing_heartbeat_ms(lease_ms),
		.danger_ms = timing_danger_ms(lease_ms),
		.margin_ms = timing_margin_ms(lease_ms, drift_ppm),
		.drift_ppm = drift_ppm,
		.poll_ms = 1000,
		.request_ms = lease_ms / 4,
		.try_ms = timing_try_ms(lease_ms / 4),
		.audit_ms = 60000,
		.handover_max = 100,
	};

	return n;
}

static void
timing_expect(const struct core_namespace *n, const char *setting)
{
	const char *found = "(none)";
	char text[256] = "";
	int r = timing_check(n, &found, text, sizeof(text));

	if (setting == NULL) {
		ck_assert_msg(r == 0, "%s: %s", found, text);
		ck_assert_str_eq(found, "(none)");
	} else {
		ck_assert_int_eq(r, DDBLOCK_E_BAD_REQUEST);
		ck_assert_str_eq(found, setting);
		ck_assert_ptr_nonnull(strstr(text, setting));
	}
}

TEST(test_defaults)
{
	ck_assert_uint_eq(timing_heartbeat_ms(20000), 5000);
	ck_assert_uint_eq(timing_danger_ms(20000), 10000);
	ck_assert_uint_eq(timing_margin_ms(20000, 10000), 1000);
	ck_assert_uint_eq(timing_margin_ms(10000, 10000), 1000);
	ck_assert_uint_eq(timing_margin_ms(9999, 10000), 500);
	ck_assert_uint_eq(timing_margin_ms(60000, 10000), 3000);
	ck_assert_uint_eq(timing_margin_ms(60000, 100000), 6000);
	ck_assert_uint_eq(timing_margin_ms(1001, 0), 51);
}

TEST(test_defaults_fit_together)
{
	const uint64_t leases[] = { 100, 101, 999, 1000, 2000, 9999, 10000,
		20000, 60000, 3600000, 86400000 };
	const uint32_t drifts[] = { 0, 1, 10000, 100000, 250000 };

	for (size_t i = 0; i < sizeof(leases) / sizeof(leases[0]); i++) {
		for (size_t j = 0; j < 5; j++) {
			struct core_namespace n = timing_defaults(leases[i],
			    drifts[j]);

			if (n.request_ms > 5000)
				n.request_ms = 5000;
			timing_expect(&n, NULL);
		}
	}
}

TEST(test_observe_rounds_up_and_saturates)
{
	ck_assert_uint_eq(timing_observe_ms(20000, 10000), 20200);
	ck_assert_uint_eq(timing_observe_ms(20000, 0), 20000);
	ck_assert_uint_eq(timing_observe_ms(101, 10000), 103);
	ck_assert_uint_eq(timing_observe_ms(3000000000, 10000), 3030000000);
	/* For any value in a record, now + this is still in the future. */
	ck_assert_uint_gt(timing_observe_ms(UINT64_MAX, 10000),
	    UINT64_C(1) << 60);
	ck_assert_uint_lt(timing_observe_ms(UINT64_MAX, 250000),
	    UINT64_MAX / 2);
}

TEST(test_rules_between_settings)
{
	struct core_namespace n;

	n = timing_defaults(20000, 10000);
	n.danger_ms = 19000;
	n.request_ms = 1000;
	n.heartbeat_ms = 10000;
	timing_expect(&n, NULL);
	n.heartbeat_ms = 10001;
	timing_expect(&n, "heartbeat");

	n = timing_defaults(20000, 10000);
	n.danger_ms = 5001;
	timing_expect(&n, NULL);
	n.danger_ms = 5000;
	timing_expect(&n, "danger");
	n.danger_ms = 19000;
	timing_expect(&n, NULL);
	n.danger_ms = 19001;
	timing_expect(&n, "danger");

	n = timing_defaults(20000, 10000);
	n.request_ms = 14000;
	timing_expect(&n, NULL);
	n.request_ms = 14001;
	timing_expect(&n, "request_timeout");

	n.request_ms = 2000;
	n.try_ms = 2000;
	timing_expect(&n, NULL);
	n.try_ms = 2001;
	timing_expect(&n, "try_timeout");
}

TEST(test_margin)
{
	struct core_namespace n;

	n = timing_defaults(20000, 10000);
	n.margin_ms = 999;
	timing_expect(&n, "margin");
	n.margin_ms = 20000;
	timing_expect(&n, "margin");
	n.margin_ms = UINT64_MAX;
	timing_expect(&n, "margin");

	n = timing_defaults(9000, 10000);
	n.margin_ms = 90;
	timing_expect(&n, NULL);
	n.margin_ms = 89;
	timing_expect(&n, "margin");

	n = timing_defaults(9000, 0);
	n.margin_ms = 0;
	timing_expect(&n, "margin");
}

#define EXPECT_BAD(field, value, setting) do { \
	struct core_namespace bad = timing_defaults(20000, 10000); \
	bad.field = (value); \
	timing_expect(&bad, (setting)); \
} while (0)

TEST(test_bounds)
{
	EXPECT_BAD(lease_ms, 0, "lease");
	EXPECT_BAD(lease_ms, 99, "lease");
	EXPECT_BAD(lease_ms, 86400001, "lease");
	EXPECT_BAD(lease_ms, UINT64_MAX, "lease");
	EXPECT_BAD(heartbeat_ms, 0, "heartbeat");
	EXPECT_BAD(heartbeat_ms, UINT64_MAX, "heartbeat");
	EXPECT_BAD(danger_ms, UINT64_MAX, "danger");
	EXPECT_BAD(poll_ms, 0, "poll");
	EXPECT_BAD(poll_ms, 3600001, "poll");
	EXPECT_BAD(request_ms, 0, "request_timeout");
	EXPECT_BAD(request_ms, 300001, "request_timeout");
	EXPECT_BAD(try_ms, 0, "try_timeout");
	EXPECT_BAD(try_ms, 300001, "try_timeout");
	EXPECT_BAD(audit_ms, 0, "audit");
	EXPECT_BAD(idle_ms, 3600001, "idle");
	EXPECT_BAD(drift_ppm, 250001, "drift");
	EXPECT_BAD(drift_ppm, UINT32_MAX, "drift");
	EXPECT_BAD(handover_max, 0, "handover_max");
	EXPECT_BAD(handover_max, 1025, "handover_max");
	EXPECT_BAD(line_max, 33, "line");
}
