/*
 * A core with small limits, so that an input of some lines reaches them.
 */
#include "settings.h"

#include "fuzz.h"

static const struct core_namespace namespaces[FUZZ_NAMESPACES] = {
	{
		.name = "default", .lease_ms = 20000, .heartbeat_ms = 5000,
		.danger_ms = 10000, .margin_ms = 1000, .drift_ppm = 10000,
		.poll_ms = 1000, .request_ms = 2000, .try_ms = 1000,
		.audit_ms = 60000, .handover_max = 8,
	},
	{
		.name = "other", .lease_ms = 10000, .heartbeat_ms = 2500,
		.danger_ms = 5000, .margin_ms = 1000, .drift_ppm = 10000,
		.poll_ms = 500, .request_ms = 2000, .try_ms = 1000,
		.audit_ms = 60000, .handover_max = 1, .sole_writer = true,
		.no_foreign_waiters = true, .keeps_idle = true,
		.idle_ms = 2000,
	},
};

const struct core_config fuzz_core_config = {
	.namespaces = namespaces, .n_namespaces = FUZZ_NAMESPACES,
	.limits = {
		.clients_max = 8, .requests_per_client_max = 16,
		.holds_per_client_max = 32, .watches_per_client_max = 8,
		.watches_max = 16, .locks_max = 64, .requests_max = 64,
		.observations_max = 16, .in_doubt_max = 16,
		.per_step_max = 3,
	},
	.host = "h",
};

/* Two processes that begin at one time never have the same sessions; and an
 * input that is run again has the same ones again. */
static uint64_t fuzz_n_cores;

void
fuzz_reset_cores(void)
{
	fuzz_n_cores = 0;
}

struct core *
fuzz_new_core(uint64_t now_ms)
{
	const uint64_t seed[CORE_SEED_WORDS] = { ++fuzz_n_cores, 2, 3, 4, 5,
		6 };
	struct core *core;

	FUZZ_CHECK(core_new(&fuzz_core_config, seed, now_ms, &core) == 0);
	return core;
}

struct core *
fuzz_inherit(const void *memory, size_t size, uint64_t now_ms,
    struct core_inherited *ret)
{
	struct core_legacy legacy = { .memory = memory, .size = size };
	struct core *core = fuzz_new_core(now_ms);

	for (uint32_t i = 0; i < FUZZ_NAMESPACES; i++)
		legacy.namespaces[i] = i + 1;
	if (core_inherit(core, &legacy, ret) == 0)
		return core;
	core_free(core);
	return NULL;
}
