/*
 * The settings of a namespace, for tests of a core whose store is a few lines.
 */
#ifndef DDBLOCKD_TESTS_CORE_FIXTURE_H
#define DDBLOCKD_TESTS_CORE_FIXTURE_H

#include "core/core.h"

static const struct core_namespace core_fixture = {
	.name = "default", .lease_ms = 20000, .heartbeat_ms = 5000,
	.danger_ms = 10000, .margin_ms = 1000, .drift_ppm = 10000,
	.poll_ms = 1000, .request_ms = 5000, .try_ms = 1000,
	.audit_ms = 60000, .handover_max = 100, .life = LOCK_LIFE_SESSION,
};

#endif
