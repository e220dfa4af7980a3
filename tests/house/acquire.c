/*
 * One uncontended exclusive ACQUIRE in the core, from the request to the reply,
 * with the address of each function that is entered or left: tests/house.py
 * counts the moves between files. Built with -finstrument-functions.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/core.h"

#define QUIET __attribute__((no_instrument_function))

void __cyg_profile_func_enter(void *, void *) QUIET;
void __cyg_profile_func_exit(void *, void *) QUIET;

static bool counting;

void
__cyg_profile_func_enter(void *function, void *caller)
{
	(void)caller;
	if (counting)
		printf("+%p\n", function);
}

void
__cyg_profile_func_exit(void *function, void *caller)
{
	(void)caller;
	if (counting)
		printf("-%p\n", function);
}

/* The step's operation; NULL: it has none. */
QUIET static struct operation *
submitted(const struct core_update *update)
{
	for (struct core_action *a = update->actions; a != NULL; a = a->next) {
		if (a->type == CORE_SUBMIT)
			return &((struct core_submit *)a)->operation;
	}
	return NULL;
}

QUIET static struct core_update
step(struct core *core, struct core_event *event)
{
	struct core_update update;

	event->now_ms++;
	if (core_step(core, event, &update) < 0)
		exit(1);
	return update;
}

QUIET static struct core_update
store(struct core *core, struct operation *o, const struct outcome *outcome,
    uint64_t now_ms)
{
	struct core_event event = { .type = CORE_STORED, .now_ms = now_ms };

	if (o == NULL)
		exit(1);
	event.stored.operation = o;
	event.stored.outcome = outcome;
	return step(core, &event);
}

QUIET static struct core *
begin(void)
{
	const struct core_namespace ns = { .name = "default",
		.lease_ms = 20000, .heartbeat_ms = 5000, .danger_ms = 10000,
		.margin_ms = 1000, .drift_ppm = 10000, .poll_ms = 1000,
		.request_ms = 5000, .try_ms = 1000, .audit_ms = 60000,
		.handover_max = 100, .life = LOCK_LIFE_SESSION };
	const struct core_config config = { .namespaces = &ns,
		.n_namespaces = 1, .host = "house",
		.limits = { .clients_max = 9, .requests_per_client_max = 9,
			.holds_per_client_max = 9, .watches_per_client_max = 9,
			.watches_max = 9, .locks_max = 9, .requests_max = 9,
			.observations_max = 9, .in_doubt_max = 9,
			.per_step_max = 9 } };
	const uint64_t seed[CORE_SEED_WORDS] = { 1, 2, 3, 4 };
	struct core *core;

	if (core_new(&config, seed, 1, &core) < 0)
		exit(1);
	return core;
}

QUIET static bool
is_granted(const struct core_update *update)
{
	for (struct core_action *a = update->actions; a != NULL; a = a->next) {
		if (a->type == CORE_REPLY &&
		    ((struct core_reply *)a)->code == 0)
			return true;
	}
	return false;
}

QUIET int
main(void)
{
	struct core *core = begin();
	struct core_event event = { .type = CORE_TIMER, .now_ms = 1 };
	struct core_update update = step(core, &event);
	struct operation *o = submitted(&update);
	struct outcome outcome = { .kind = OUTCOME_DONE, .sent_ms = 2,
		.session = { .exists = true, .lease_ms = 20000 } };
	struct holder me;
	bool granted;

	(void)store(core, o, &outcome, 3);
	event = (struct core_event){ .type = CORE_REQUEST, .now_ms = 4,
		.request = { .client = 1, .request = 1, .verb = CORE_ACQUIRE,
			.key = { "jobs/nightly", 12 }, .wait_ms = 1000,
			.terms = { .mode = LOCK_MODE_EXCLUSIVE } } };
	counting = true;
	update = step(core, &event);
	o = submitted(&update);
	if (o == NULL)
		return 1;
	me = o->me;
	outcome = (struct outcome){ .kind = OUTCOME_DONE, .sent_ms = 5,
		.lock = { .exists = true, .holders = &me, .n_holders = 1,
			.mode = LOCK_MODE_EXCLUSIVE, .token = 1000 } };
	update = store(core, o, &outcome, 6);
	counting = false;
	granted = is_granted(&update);
	core_free(core);
	return granted ? 0 : 1;
}
