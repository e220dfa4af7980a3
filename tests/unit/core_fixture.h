/*
 * A core with one namespace, for tests whose store is a few lines.
 */
#ifndef DDBLOCKD_TESTS_CORE_FIXTURE_H
#define DDBLOCKD_TESTS_CORE_FIXTURE_H

#include "core/core.h"
#include "test.h"

static const struct core_namespace core_fixture = {
	.name = "default", .lease_ms = 20000, .heartbeat_ms = 5000,
	.danger_ms = 10000, .margin_ms = 1000, .drift_ppm = 10000,
	.poll_ms = 1000, .request_ms = 5000, .try_ms = 1000,
	.audit_ms = 60000, .handover_max = 100, .life = LOCK_LIFE_SESSION,
};

/* The same one every time. @ns: core_fixture, or made of it. */
static inline struct core *
core_fixture_new(const struct core_namespace *ns,
    const struct core_limits *limits, uint64_t now_ms)
{
	const struct core_config config = { .namespaces = ns,
		.n_namespaces = 1, .host = "A", .limits = *limits };
	const uint64_t seed[CORE_SEED_WORDS] = { 1, 2, 3, 4, 5, 6 };
	struct core *core;

	ck_assert_int_eq(core_new(&config, seed, now_ms, &core), 0);
	return core;
}

#endif
