/*
 * The situations that histories have met: counted, printed and required.
 */
#include "coverage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/lease/room.h"
#include "core/lock/room.h"
#include "judge.h"

#define EYE_LOCKS_MAX 64
#define EYE_OTHERS_MAX 64

/* An object that was there at the last look. */
struct seen {
	uint64_t name;		/* a hash of its name */
	unsigned state;		/* plus one; 0 is "there is none" */
	bool again;		/* it is still there */
};

struct seen_all {
	struct seen seen[EYE_LOCKS_MAX];
	size_t n;
};

struct coverage_eye {
	struct seen_all grants, locks, sessions, observations;
};

struct coverage_eye *
coverage_eye_new(void)
{
	struct coverage_eye *e = calloc(1, sizeof(*e));

	if (e == NULL)
		exit(1);
	return e;
}

void
coverage_eye_free(struct coverage_eye *e)
{
	free(e);
}

/* FNV-1a. */
static uint64_t
coverage_hash(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static void
coverage_see(struct seen_all *all, uint64_t name, unsigned state,
    uint64_t counts[COVERAGE_STATES][COVERAGE_STATES])
{
	struct seen *s;

	for (size_t i = 0; i < all->n; i++) {
		s = &all->seen[i];
		if (s->name != name)
			continue;
		if (s->state != state)
			counts[s->state][state]++;
		s->state = state;
		s->again = true;
		return;
	}
	if (all->n == EYE_LOCKS_MAX)
		return;
	counts[0][state]++;
	all->seen[all->n++] = (struct seen){ name, state, true };
}

/* Forget what was not met again. */
static void
coverage_sweep(struct seen_all *all,
    uint64_t counts[COVERAGE_STATES][COVERAGE_STATES])
{
	size_t kept = 0;

	for (size_t i = 0; i < all->n; i++) {
		if (!all->seen[i].again)
			counts[all->seen[i].state][0]++;
		else
			all->seen[kept++] = all->seen[i];
	}
	all->n = kept;
	for (size_t i = 0; i < kept; i++)
		all->seen[i].again = false;
}

static enum coverage_use
coverage_use(const struct lock *l)
{
	const struct grant *g = l->grants;

	if (g == NULL)
		return COVERAGE_LOCK_IDLE;
	if (g->mode == LOCK_MODE_EXCLUSIVE)
		return COVERAGE_LOCK_EXCLUSIVE;
	if (g->limit > 0)
		return g->next == NULL ? COVERAGE_LOCK_SEMAPHORE :
		    COVERAGE_LOCK_SEMAPHORE_MANY;
	return g->uses == NULL || g->uses->next == NULL ?
	    COVERAGE_LOCK_SHARED : COVERAGE_LOCK_SHARED_MANY;
}

static void
coverage_look_at_lock(struct coverage *c, struct coverage_eye *e,
    uint64_t name, const struct lock *l)
{
	const struct grant *g;

	coverage_see(&e->locks, name, coverage_use(l), c->locks);
	LL_FOREACH(l->grants, g)
	{
		coverage_see(&e->grants, coverage_hash(name, &g->id,
		    sizeof(g->id)), g->state, c->grants_moved);
	}
}

void
coverage_look(struct coverage *c, struct coverage_eye *e,
    const struct core *core)
{
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		const struct namespace *ns = &core->namespaces[i];
		const struct lease *s;
		const struct observation *o;
		const struct lock *l;

		for (l = lock_next(ns, NULL); l != NULL; l = lock_next(ns, l))
			coverage_look_at_lock(c, e, coverage_hash(i + 1,
			    l->key, l->key_length), l);
		for (s = ns->sessions; s != NULL; s = s->next)
			coverage_see(&e->sessions, coverage_hash(i + 1,
			    &s->id, sizeof(s->id)), s->state, c->sessions);
		for (o = ns->observations; o != NULL; o = o->hh.next)
			coverage_see(&e->observations, coverage_hash(i + 1,
			    &o->id, sizeof(o->id)), o->state + 1u,
			    c->observations);
	}
	coverage_sweep(&e->grants, c->grants_moved);
	coverage_sweep(&e->locks, c->locks);
	coverage_sweep(&e->sessions, c->sessions);
	coverage_sweep(&e->observations, c->observations);
}

/* ---- holds ------------------------------------------------------------ */

const char *
coverage_hold_name(enum coverage_hold hold)
{
	static const char *const names[COVERAGE_HOLDS] = {
		[COVERAGE_HOLD_MULTI] = "several",
		[COVERAGE_HOLD_MULTI_LIMITED] = "several with a limit",
		[COVERAGE_HOLD_MAX] = "max-hold",
		[COVERAGE_HOLD_KEEPALIVE] = "keepalive",
		[COVERAGE_HOLD_DANGER] = "danger",
		[COVERAGE_HOLD_MANUAL] = "manual",
		[COVERAGE_HOLD_REENTRANT] = "reentrant",
		[COVERAGE_HOLD_CLOSED] = "fail-closed",
		[COVERAGE_HOLD_CLOSED_LEFT] = "fail-closed, left",
		[COVERAGE_HOLD_STAYS] = "stays",
		[COVERAGE_HOLD_STAYS_LEFT] = "stays, left",
		[COVERAGE_HOLD_BRINGS] = "brings data",
		[COVERAGE_HOLD_NOTES] = "notes an attribute",
		[COVERAGE_HOLD_LEAVES] = "leaves data",
		[COVERAGE_HOLD_PROCESS] = "process",
		[COVERAGE_HOLD_PROCESS_LEFT] = "process, left",
		[COVERAGE_HOLD_AT_LEAST] = "at least",
		[COVERAGE_HOLD_EVERY] = "every",
		[COVERAGE_HOLD_EVERY_AT_END] = "every, at its end",
		[COVERAGE_HOLD_RESUMES] = "resumes",
		[COVERAGE_HOLD_RESUMES_CUT] = "resumes, cut off",
	};

	return names[hold];
}

void
coverage_granted(struct coverage_history *h, const struct plan_step *s)
{
	bool several = strchr(s->key, '+') != NULL;
	const bool met[COVERAGE_HOLDS] = {
		[COVERAGE_HOLD_MULTI] = several,
		[COVERAGE_HOLD_MULTI_LIMITED] = several && s->limit > 0,
		[COVERAGE_HOLD_MAX] = s->max_hold_ms > 0,
		[COVERAGE_HOLD_KEEPALIVE] = s->keepalive_ms > 0,
		[COVERAGE_HOLD_DANGER] = s->danger_ms > 0,
		[COVERAGE_HOLD_MANUAL] = s->manual,
		[COVERAGE_HOLD_REENTRANT] = s->reentrant,
		[COVERAGE_HOLD_CLOSED] = s->fail_closed,
		[COVERAGE_HOLD_STAYS] = s->stays,
		[COVERAGE_HOLD_BRINGS] = s->brings,
		[COVERAGE_HOLD_NOTES] = s->notes,
		[COVERAGE_HOLD_LEAVES] = s->leaves,
		[COVERAGE_HOLD_PROCESS] = s->process_ms > 0,
		[COVERAGE_HOLD_AT_LEAST] = s->at_least_ms > 0,
		[COVERAGE_HOLD_EVERY] = s->every_ms > 0 && !s->at_end,
		[COVERAGE_HOLD_EVERY_AT_END] = s->every_ms > 0 && s->at_end,
		[COVERAGE_HOLD_RESUMES] = s->resumes,
	};

	for (size_t i = 0; i < COVERAGE_HOLDS; i++)
		h->holds_hit[i] |= met[i];
}

void
coverage_left(struct coverage_history *h, const struct plan_step *s,
    bool cut_off)
{
	h->holds_hit[COVERAGE_HOLD_CLOSED_LEFT] |= s->fail_closed;
	h->holds_hit[COVERAGE_HOLD_STAYS_LEFT] |= s->stays;
	h->holds_hit[COVERAGE_HOLD_PROCESS_LEFT] |= s->process_ms > 0;
	h->holds_hit[COVERAGE_HOLD_RESUMES_CUT] |= s->resumes && cut_off;
}

/* ---- adding up -------------------------------------------------------- */

static void
coverage_least(uint64_t *least, uint64_t value)
{
	if (*least == 0 || value < *least)
		*least = value;
}

static uint64_t
coverage_keys(const struct plan *p)
{
	uint64_t seen[256];
	size_t n = 0;

	for (size_t i = 0; i < p->n_steps; i++) {
		const struct plan_step *s = &p->steps[i];
		uint64_t name = coverage_hash(s->namespace_index + 1, s->key,
		    strlen(s->key));
		size_t j = 0;

		if (s->kind != STEP_LOCK)
			continue;
		while (j < n && seen[j] != name)
			j++;
		if (j == n && n < 256)
			seen[n++] = name;
	}
	return n;
}

void
coverage_add_history(struct coverage *c, const struct plan *p,
    const struct coverage_history *h)
{
	uint64_t hit_permille = h->operations == 0 ? 0 :
	    1000 * h->operations_hit / h->operations;

	c->histories++;
	c->operations += h->operations;
	c->operations_hit += h->operations_hit;
	c->messages += h->messages;
	c->grants += h->grants;
	c->virtual_ms += p->end_ms;
	coverage_least(&c->hosts_min, p->n_hosts);
	coverage_least(&c->keys_min, coverage_keys(p));
	coverage_least(&c->leases_min, p->end_ms / p->ns.lease_ms);
	coverage_least(&c->operations_min, h->operations);
	coverage_least(&c->hit_permille_min, hit_permille);
	if (h->operations < COVERAGE_HISTORY_OPERATIONS ||
	    hit_permille < COVERAGE_HISTORY_HIT_PERMILLE)
		c->meagre++;
	for (size_t i = 0; i < MESSAGE_FAULTS; i++)
		c->messages_hit[i] += h->messages_hit[i];
	for (size_t i = 0; i < STEP_KINDS; i++)
		c->steps_hit[i] += h->steps_hit[i];
	for (size_t i = 0; i < COVERAGE_HOLDS; i++)
		c->holds_hit[i] += h->holds_hit[i];
	c->together += h->steps_hit[STEP_WATCH] && h->steps_hit[STEP_BREAK] &&
	    h->holds_hit[COVERAGE_HOLD_MULTI];
}

static void
coverage_add_fleet(struct coverage *c, const struct plan *p,
    const struct judge_counts *counts)
{
	uint64_t met[COVERAGE_FLEETS] = {
		[COVERAGE_FLEET_HISTORIES] = 1,
		[COVERAGE_FLEET_BOTH] = counts->bridged,
		[COVERAGE_FLEET_OLD_TO_BOTH] = counts->old_to_both,
		[COVERAGE_FLEET_BOTH_TO_OLD] = counts->both_to_old,
		[COVERAGE_FLEET_BOTH_TO_NATIVE] = counts->both_to_native,
		[COVERAGE_FLEET_NATIVE_TO_BOTH] = counts->native_to_both,
		[COVERAGE_FLEET_LOST_OLD] = counts->lost_old,
		[COVERAGE_FLEET_LOST_BEYOND] = counts->lost_beyond,
	};

	for (size_t i = 0; i < p->n_steps; i++)
		met[COVERAGE_FLEET_MOVES] += p->steps[i].kind == STEP_MOVE;
	for (size_t i = 0; i < COVERAGE_FLEETS; i++)
		c->fleets[p->namespaces[0].format][i] += met[i];
}

void
coverage_add_foreign(struct coverage *c, const struct plan *p,
    const struct coverage_history *h, const struct judge_counts *counts)
{
	enum plan_format format = p->namespaces[0].format;
	const uint64_t met[COVERAGE_FOREIGNS] = {
		[COVERAGE_FOREIGN_HISTORIES] = 1,
		[COVERAGE_FOREIGN_GRANTS] = counts->grants,
		[COVERAGE_FOREIGN_BELIEFS] = counts->beliefs,
		[COVERAGE_FOREIGN_MISTAKES] = counts->mistakes,
		[COVERAGE_FOREIGN_CLASHES] = counts->clashes,
		[COVERAGE_FOREIGN_CAME_BACK] = counts->came_back,
		[COVERAGE_FOREIGN_MARKS] = counts->marks,
		[COVERAGE_FOREIGN_BREAKS] = counts->breaks,
		[COVERAGE_FOREIGN_FROM_PEERS] = counts->taken_from_peers,
		[COVERAGE_FOREIGN_BY_PEERS] = counts->taken_by_peers,
	};

	for (size_t i = 0; i < COVERAGE_FOREIGNS; i++)
		c->foreign[format][i] += met[i];
	for (size_t i = 0; i < STEP_KINDS; i++)
		c->foreign_steps[format][i] += h->steps_hit[i];
	for (size_t i = 0; i < COVERAGE_HOLDS; i++)
		c->foreign_holds[format][i] += h->holds_hit[i];
	if (p->bridge)
		coverage_add_fleet(c, p, counts);
}

void
coverage_add(struct coverage *to, const struct coverage *from)
{
	/* All members are counts, except the few that are minima. */
	uint64_t least[5] = { to->hosts_min, to->keys_min, to->leases_min,
		to->operations_min, to->hit_permille_min };
	uint64_t *a = (uint64_t *)(void *)to;
	const uint64_t *b = (const uint64_t *)(const void *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
		a[i] += b[i];
	to->hosts_min = least[0];
	to->keys_min = least[1];
	to->leases_min = least[2];
	to->operations_min = least[3];
	to->hit_permille_min = least[4];
	if (from->histories == 0)
		return;
	coverage_least(&to->hosts_min, from->hosts_min);
	coverage_least(&to->keys_min, from->keys_min);
	coverage_least(&to->leases_min, from->leases_min);
	coverage_least(&to->operations_min, from->operations_min);
	coverage_least(&to->hit_permille_min, from->hit_permille_min);
}

/* ---- tables ----------------------------------------------------------- */

static const char *const coverage_grants[] = { "(none)", "asking", "unsure",
	"held", "releasing" };
static const char *const coverage_locks[] = { "(none)", "idle", "exclusive",
	"shared", "by many", "semaphore", "of several" };
static const char *const coverage_sessions[] = { "(none)", "opening", "valid",
	"lost", "closing" };
static const char *const coverage_observations[] = { "(none)", "new", "alive",
	"absent", "dead" };

static void
coverage_print_states(const char *title, const char *const *names, size_t n,
    const uint64_t counts[COVERAGE_STATES][COVERAGE_STATES], FILE *to)
{
	(void)fprintf(to, "%s\n", title);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			if (counts[i][j] > 0)
				(void)fprintf(to, "  %-10s -> %-10s %10"
				    PRIu64 "\n", names[i], names[j],
				    counts[i][j]);
}

static void
coverage_print_hits(const struct coverage *c, FILE *to)
{
	double all = c->histories > 0 ? (double)c->histories : 1;

	(void)fprintf(to, "faults, steps and holds, of all histories\n");
	for (int i = 1; i < MESSAGE_FAULTS; i++)
		(void)fprintf(to, "  message %-20s %6.1f %%\n",
		    plan_fault_name((enum message_fault)i),
		    100 * (double)c->messages_hit[i] / all);
	for (int i = 1; i < STEP_KINDS; i++)
		if (i != STEP_MESSAGE && i != STEP_MOVE)
			(void)fprintf(to, "  %-28s %6.1f %%\n",
			    plan_step_name((enum step_kind)i),
			    100 * (double)c->steps_hit[i] / all);
	for (int i = 0; i < COVERAGE_HOLDS; i++)
		(void)fprintf(to, "  hold: %-22s %6.1f %%\n",
		    coverage_hold_name((enum coverage_hold)i),
		    100 * (double)c->holds_hit[i] / all);
	(void)fprintf(to, "  %-28s %6.1f %%\n", "watch, break and several",
	    100 * (double)c->together / all);
}

static void
coverage_print_foreign(const struct coverage *c, FILE *to)
{
	(void)fprintf(to, "with older clients       histories     grants    "
	    "beliefs   mistakes    clashes  came back      marks     breaks "
	    "from peers   by peers\n");
	for (int i = FORMAT_AWSLABS; i < FORMATS; i++) {
		(void)fprintf(to, "  %-22s",
		    plan_format_name((enum plan_format)i));
		for (int j = 0; j < COVERAGE_FOREIGNS; j++)
			(void)fprintf(to, " %10" PRIu64, c->foreign[i][j]);
		(void)fputc('\n', to);
	}
}

static void
coverage_print_fleets(const struct coverage *c, FILE *to)
{
	(void)fprintf(to, "over a bridge            histories      moves     "
	    "grants   old-both   both-old both-nativ nativ-both   lost old "
	    "lost other\n");
	for (int i = FORMAT_AWSLABS; i < FORMATS; i++) {
		if (i == FORMAT_JS_CLOSED)
			continue;
		(void)fprintf(to, "  %-22s",
		    plan_format_name((enum plan_format)i));
		for (int j = 0; j < COVERAGE_FLEETS; j++)
			(void)fprintf(to, " %10" PRIu64, c->fleets[i][j]);
		(void)fputc('\n', to);
	}
}

void
coverage_print(const struct coverage *c, FILE *to)
{
	(void)fprintf(to, "operations and outcomes        done   conflict    "
	    "unknown    refused\n");
	for (int i = 1; i < COVERAGE_OPERATIONS; i++) {
		(void)fprintf(to, "  %-22s",
		    operation_kind_name((enum operation_kind)i));
		for (int j = 1; j < COVERAGE_OUTCOMES; j++)
			(void)fprintf(to, " %10" PRIu64, c->outcomes[i][j]);
		(void)fputc('\n', to);
	}
	coverage_print_states("grants", coverage_grants, 5, c->grants_moved,
	    to);
	coverage_print_states("locks", coverage_locks, 7, c->locks, to);
	coverage_print_states("sessions", coverage_sessions, 5, c->sessions,
	    to);
	coverage_print_states("observations", coverage_observations, 5,
	    c->observations, to);
	coverage_print_hits(c, to);
	coverage_print_foreign(c, to);
	coverage_print_fleets(c, to);
	(void)fprintf(to, "%" PRIu64 " histories: at least %" PRIu64
	    " hosts, %" PRIu64 " keys, %" PRIu64 " leases, %" PRIu64
	    " operations each, of which %.1f %% met a fault (%" PRIu64
	    " with fewer than wanted); in all %" PRIu64 " grants, and %"
	    PRIu64 " of %" PRIu64 " operations (%.1f %%) met a fault\n",
	    c->histories, c->hosts_min, c->keys_min, c->leases_min,
	    c->operations_min,
	    (double)c->hit_permille_min / 10, c->meagre, c->grants,
	    c->operations_hit, c->operations, c->operations > 0 ? 100 *
	    (double)c->operations_hit / (double)c->operations : 0);
}
