/*
 * The plan of a seed, for one daemon that has the store for itself, as with
 * SQLite: the record is as it saw it last, no other host waits, and a released
 * lock may be kept for a while.
 */
#include "plan.h"

/* The step of another host or user, which does not exist here; or a watch:
 * where one daemon writes, a watch trusts that its writes have landed, but here
 * they may still land. */
static bool
alone_is_left_out(enum step_kind kind)
{
	return kind == STEP_TABLE_EXPIRE || kind == STEP_WATCH ||
	    kind == STEP_UNWATCH ||
	    (kind >= STEP_HAND_DELETE && kind <= STEP_HAND_SPEND);
}

void
plan_alone(struct plan *p)
{
	size_t n = 0;

	if (p->bridge || p->n_peers > 0 ||
	    p->namespaces[0].format != FORMAT_NATIVE)
		return;
	p->n_hosts = 1;
	for (size_t i = 0; i < p->n_steps; i++) {
		if (alone_is_left_out(p->steps[i].kind))
			continue;
		p->steps[n] = p->steps[i];
		p->steps[n++].host = 0;
	}
	p->n_steps = n;
	p->ns.sole_writer = true;
	p->ns.no_foreign_waiters = true;
	p->ns.keeps_idle = true;
	p->ns.idle_ms = p->seed % 4 == 0 ? 0 :
	    p->seed * 7919 % 5000;
	/* Listings wait for each other. */
	if (p->seed % 3 == 0) {
		p->ns.list_capacity = 1;
		p->scan_page = 2;
	}
}
