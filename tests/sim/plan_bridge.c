/*
 * A fleet that goes from an older format to the native format, over a bridge:
 * the conditions on its configurations, and that no two hosts are ever two
 * phases apart. The holds of a phase's daemon may be valid after its end until
 * their lease is over, so the phase lasts that long, too.
 */
#include "plan.h"

#include <inttypes.h>

/* A time in which a host is in one phase. */
struct stay {
	enum plan_phase phase;
	uint64_t from_ms, until_ms;
};

void
plan_namespace(const struct plan *p, uint32_t namespace_index,
    struct core_namespace *ret)
{
	uint64_t lease_ms = p->namespaces[namespace_index].lease_ms;

	*ret = p->ns;
	if (lease_ms == 0)
		return;
	ret->lease_ms = lease_ms;
	plan_derive(ret);
}

/* ---- phases ----------------------------------------------------------- */

uint64_t
plan_rest_ms(const struct plan *p, enum plan_phase phase)
{
	struct core_namespace n;

	plan_namespace(p, phase != PHASE_OLD, &n);
	return n.lease_ms + n.lease_ms * n.drift_ppm / 1000000 + 1;
}

/* The first step from @next on that moves the host on: an older client knows
 * one phase, and is in none while its process is dead. */
static const struct plan_step *
bridge_find(const struct plan *p, unsigned machine, enum step_kind kind,
    size_t *next)
{
	while (*next < p->n_steps) {
		const struct plan_step *s = &p->steps[(*next)++];

		if (s->host == machine && s->kind == kind)
			return s;
	}
	return NULL;
}

/* Its next stay after @stay, which is zero before the first; @next counts the
 * steps that were looked at. False: there is no other. */
static bool
bridge_next_stay(const struct plan *p, unsigned machine, size_t *next,
    struct stay *stay)
{
	bool is_peer = plan_is_peer(machine);
	const struct plan_step *s;

	if (stay->until_ms == PLAN_FOREVER)
		return false;
	if (stay->until_ms == 0) {
		stay->phase = plan_machine(p, machine)->phase;
	} else if (is_peer) {
		s = bridge_find(p, machine, STEP_BOOT, next);
		if (s == NULL)
			return false;
		stay->from_ms = s->at_ms;
	} else {
		s = &p->steps[*next - 1];
		stay->phase = s->phase;
		stay->from_ms = s->at_ms;
	}
	s = bridge_find(p, machine, is_peer ? STEP_KILL : STEP_MOVE, next);
	stay->until_ms = s == NULL ? PLAN_FOREVER : s->at_ms + 1;
	/* An older client's holds end with it. */
	if (s != NULL && !is_peer)
		stay->until_ms += plan_rest_ms(p, stay->phase);
	return true;
}

/* Is a host in @phase while @stay lasts? */
static bool
bridge_meets(const struct plan *p, const struct stay *stay,
    enum plan_phase phase, unsigned *ret_machine)
{
	for (unsigned i = 0; i < PLAN_MACHINES_MAX; i++) {
		struct stay other = { 0 };
		size_t next = 0;

		if (!plan_has_machine(p, i))
			continue;
		while (bridge_next_stay(p, i, &next, &other)) {
			if (other.phase == phase &&
			    other.from_ms < stay->until_ms &&
			    stay->from_ms < other.until_ms) {
				*ret_machine = i;
				return true;
			}
		}
	}
	return false;
}

static int
bridge_check_phases(const struct plan *p, char *text, size_t size)
{
	for (unsigned i = 0; i < p->n_hosts; i++) {
		struct stay stay = { 0 };
		unsigned other = 0;
		size_t next = 0;

		while (bridge_next_stay(p, i, &next, &stay)) {
			if (stay.phase != PHASE_NATIVE ||
			    !bridge_meets(p, &stay, PHASE_OLD, &other))
				continue;
			(void)snprintf(text, size, "%c is native from %" PRIu64
			    " ms on, and %c has only the old records",
			    plan_machine_name(i), stay.from_ms,
			    plan_machine_name(other));
			return -1;
		}
	}
	return 0;
}

/* ---- configurations --------------------------------------------------- */

static bool
bridge_has_moves(const struct plan *p)
{
	for (unsigned i = 0; i < p->n_hosts; i++)
		if (p->hosts[i].phase != PHASE_OLD)
			return true;
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].kind == STEP_MOVE)
			return true;
	return p->namespaces[0].lease_ms > 0 || p->namespaces[1].lease_ms > 0;
}

int
plan_check_bridge(const struct plan *p, char *text, size_t size)
{
	const struct plan_namespace *n = p->namespaces;

	if (!p->bridge && bridge_has_moves(p)) {
		(void)snprintf(text, size,
		    "phases, and a second lease, are of a world with a bridge");
		return -1;
	}
	if (!p->bridge)
		return 0;
	if (p->n_namespaces != 2 || n[1].format != FORMAT_NATIVE ||
	    n[0].format == FORMAT_NATIVE || n[0].format == FORMAT_JS_CLOSED ||
	    n[0].lease_ms > 0) {
		(void)snprintf(text, size, "a bridge goes from namespace 0, "
		    "whose holds end with a lease, to a native one");
		return -1;
	}
	return bridge_check_phases(p, text, size);
}
