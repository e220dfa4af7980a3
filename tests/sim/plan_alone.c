/*
 * The plan of a seed, for one daemon that has the store for itself, as with
 * SQLite: the record is as it saw it last, no other host waits, and a released
 * lock may be kept for a while. What it sends lands soon or never.
 */
#include "plan.h"

/* The step of another host or user, which does not exist here; or of an
 * intermediary on the way. */
static bool
alone_is_left_out(const struct plan_step *s)
{
	return s->kind == STEP_TABLE_EXPIRE ||
	    (s->kind >= STEP_HAND_DELETE && s->kind <= STEP_HAND_SPEND) ||
	    (s->kind == STEP_MESSAGE && (s->fault == MESSAGE_TWICE ||
		s->fault == MESSAGE_LATE));
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
		if (alone_is_left_out(&p->steps[i]))
			continue;
		p->steps[n] = p->steps[i];
		p->steps[n++].host = 0;
	}
	p->n_steps = n;
	p->ns.sole_writer = true;
	p->ns.no_foreign_waiters = true;
	p->ns.keeps_idle = true;
	p->ns.idle_ms = p->seed % 4 == 0 ? 0 :
	    p->seed * 7919 % 60000;
	/* Listings wait for each other. */
	if (p->seed % 3 == 0) {
		p->ns.list_capacity = 1;
		p->scan_page = 2;
	}
}
