/*
 * A plan in memory: its defaults, its steps in order of time, and the
 * conditions for a world to follow it.
 */
#include "plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/timing.h"

#define PLAN_REQUEST_MS 5000
#define PLAN_TIME_MAX UINT64_C(316224000000)	/* ten years */

static void *
plan_realloc(void *old, size_t n, size_t size)
{
	void *p = reallocarray(old, n, size);

	if (p == NULL) {
		(void)fprintf(stderr, "plan: out of memory\n");
		exit(1);
	}
	return p;
}

void
plan_derive(struct core_namespace *n)
{
	n->heartbeat_ms = timing_heartbeat_ms(n->lease_ms);
	n->danger_ms = timing_danger_ms(n->lease_ms);
	n->margin_ms = timing_margin_ms(n->lease_ms, n->drift_ppm);
	n->request_ms = n->heartbeat_ms < PLAN_REQUEST_MS ? n->heartbeat_ms :
	    PLAN_REQUEST_MS;
	n->try_ms = timing_try_ms(n->request_ms);
}

void
plan_init(struct plan *p)
{
	*p = (struct plan){
		.seed = 1,
		.n_hosts = 3,
		.n_namespaces = 1,
		.ns = {
			.name = "default",
			.lease_ms = 20000,
			.drift_ppm = 10000,
			.poll_ms = 1000,
			.audit_ms = 60000,
			.handover_max = 100,
			.line_max = LINE_PLACES_MAX,
		},
		.limits = {
			.clients_max = 20000,
			.requests_per_client_max = 1024,
			.holds_per_client_max = 100000,
			.watches_per_client_max = 1000,
			.watches_max = 100000,
			.locks_max = 1000000,
			.requests_max = 1000000,
			.observations_max = 10000,
			.in_doubt_max = 10000,
			.per_step_max = 2,
		},
		.retention_s = 7 * 86400,
		.latency_ms = 5,
		.latency_max_ms = 5,
		.lateness_ms = 0,
		.expect = { PLAN_WHATEVER, PLAN_WHATEVER, PLAN_WHATEVER },
		.trace_to_ms = PLAN_FOREVER,
	};
	/* A host that has been up for a while. */
	for (unsigned i = 0; i < PLAN_HOSTS_MAX; i++)
		p->hosts[i].offset_ms = 3600000;
	for (unsigned i = 0; i < PLAN_PEERS_MAX; i++)
		p->peers[i].host.offset_ms = 3600000;
	plan_derive(&p->ns);
}

void
plan_done(struct plan *p)
{
	free(p->steps);
	free(p->trace);
	p->steps = NULL;
	p->trace = NULL;
	p->n_steps = p->size = 0;
}

struct plan_step *
plan_add(struct plan *p, enum step_kind kind, uint64_t at_ms)
{
	struct plan_step *s;

	if (p->n_steps == p->size) {
		p->size = 2 * p->size + 64;
		p->steps = plan_realloc(p->steps, p->size, sizeof(*p->steps));
	}
	s = &p->steps[p->n_steps++];
	*s = (struct plan_step){ .kind = kind, .at_ms = at_ms };
	return s;
}

/* By merging, because equal times keep their order. */
static void
plan_merge(struct plan_step *steps, struct plan_step *room, size_t n)
{
	size_t half = n / 2;
	size_t left = 0;
	size_t right = half;

	if (n < 2)
		return;
	plan_merge(steps, room, half);
	plan_merge(steps + half, room, n - half);
	for (size_t i = 0; i < n; i++) {
		if (left < half && (right == n ||
		    steps[left].at_ms <= steps[right].at_ms))
			room[i] = steps[left++];
		else
			room[i] = steps[right++];
	}
	memcpy(steps, room, n * sizeof(*steps));
}

/* Most are: what is left of a sorted plan is sorted. */
static bool
plan_is_sorted(const struct plan *p)
{
	for (size_t i = 1; i < p->n_steps; i++) {
		if (p->steps[i - 1].at_ms > p->steps[i].at_ms)
			return false;
	}
	return true;
}

void
plan_sort(struct plan *p)
{
	struct plan_step *room;

	if (plan_is_sorted(p))
		return;
	room = plan_realloc(NULL, p->n_steps, sizeof(*room));
	plan_merge(p->steps, room, p->n_steps);
	free(room);
}

void
plan_copy(struct plan *to, const struct plan *from, const bool *drop)
{
	*to = *from;
	to->steps = NULL;
	to->n_steps = to->size = 0;
	if (from->trace != NULL) {
		size_t n = strlen(from->trace) + 1;

		to->trace = plan_realloc(NULL, n, 1);
		memcpy(to->trace, from->trace, n);
	}
	if (from->n_steps == 0)
		return;
	to->size = from->n_steps;
	to->steps = plan_realloc(NULL, to->size, sizeof(*to->steps));
	for (size_t i = 0; i < from->n_steps; i++) {
		if (drop == NULL || !drop[i])
			to->steps[to->n_steps++] = from->steps[i];
	}
}

bool
plan_is_peer(unsigned host)
{
	return host >= PLAN_PEER_FIRST;
}

bool
plan_has_machine(const struct plan *p, unsigned host)
{
	return plan_is_peer(host) ? host - PLAN_PEER_FIRST < p->n_peers :
	    host < p->n_hosts;
}

const struct plan_host *
plan_machine(const struct plan *p, unsigned host)
{
	return plan_is_peer(host) ? &p->peers[host - PLAN_PEER_FIRST].host :
	    &p->hosts[host];
}

char
plan_machine_name(unsigned host)
{
	return (char)(plan_is_peer(host) ? 'P' + (host - PLAN_PEER_FIRST) :
	    'A' + host);
}

bool
plan_is_of_client(const struct plan_step *s)
{
	return s->kind <= STEP_CLOSE || s->kind == STEP_BREAK ||
	    s->kind == STEP_RAISE;
}

bool
plan_is_fault(const struct plan_step *s)
{
	return s->kind >= STEP_KILL && s->kind != STEP_BOOT &&
	    s->kind != STEP_SHOW && s->kind != STEP_TALLY;
}

/* ---- conditions ------------------------------------------------ */

__attribute__((format(printf, 3, 4)))
static int
plan_fail(char *text, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, size, format, arguments);
	va_end(arguments);
	return -1;
}

static int
plan_check_hosts(const struct plan *p, char *text, size_t size)
{
	int32_t most = (int32_t)(p->ns.drift_ppm / 2);

	/* Older clients may be among themselves. */
	if ((p->n_hosts < 1 && p->n_peers == 0) || p->n_hosts > PLAN_HOSTS_MAX)
		return plan_fail(text, size, "hosts must be from 1 to %d",
		    PLAN_HOSTS_MAX);
	for (unsigned i = 0; i < PLAN_MACHINES_MAX; i++) {
		const struct plan_host *h = plan_machine(p, i);

		if (plan_has_machine(p, i) &&
		    (h->rate_ppm > most || h->rate_ppm < -most))
			return plan_fail(text, size, "the rate of %c must be "
			    "within half of the drift",
			    plan_machine_name(i));
	}
	return 0;
}

/* Its skew is a promise about all clocks that are read there. */
static int
plan_check_skew(const struct plan *p, uint32_t namespace_index, char *text,
    size_t size)
{
	const struct plan_namespace *n = &p->namespaces[namespace_index];
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (unsigned i = 0; i < PLAN_MACHINES_MAX; i++) {
		const struct plan_host *h = plan_machine(p, i);

		if (!plan_has_machine(p, i))
			continue;
		first = h->wall_ms < first ? h->wall_ms : first;
		last = h->wall_ms > last ? h->wall_ms : last;
	}
	if ((n->format == FORMAT_DLOCK || n->local_time) && first <= last &&
	    (uint64_t)(last - first) > n->skew_ms)
		return plan_fail(text, size, "wall clocks differ by more than "
		    "the skew of namespace %" PRIu32, namespace_index);
	return 0;
}

static int
plan_check_peers(const struct plan *p, char *text, size_t size)
{
	for (uint32_t i = 0; i < p->n_namespaces; i++)
		if (plan_check_skew(p, i, text, size) < 0)
			return -1;
	for (unsigned i = 0; i < p->n_peers; i++)
		if (p->peers[i].kind == PEER_NONE)
			return plan_fail(text, size, "%c is no older client",
			    plan_machine_name(PLAN_PEER_FIRST + i));
	return 0;
}

/* Steps and faults of an older client. */
static int
plan_check_peer_step(const struct plan *p, const struct plan_step *s,
    char *text, size_t size)
{
	enum peer_kind kind = p->peers[s->host - PLAN_PEER_FIRST].kind;
	enum plan_format format = p->namespaces[s->namespace_index].format;
	bool reads_lease = format != FORMAT_AWSLABS ||
	    p->namespaces[s->namespace_index].go_lease ==
	    (kind == PEER_DYNAMOLOCK);

	switch (s->kind) {
	case STEP_LOCK:
		if (plan_peer_format(kind) == format && reads_lease)
			return 0;
		return plan_fail(text, size, "a client of %s knows nothing of "
		    "%s", plan_peer_name(kind), plan_format_name(format));
	case STEP_KILL:
	case STEP_BOOT:
	case STEP_PAUSE:
	case STEP_SUSPEND:
	case STEP_CUT:
	case STEP_DOWN:
	case STEP_MESSAGE:
		return 0;
	default:
		return plan_fail(text, size, "%s: not with an older client",
		    plan_step_name(s->kind));
	}
}

/* Do records have times of hosts' wall clocks? */
static bool
plan_needs_walls(const struct plan *p)
{
	for (uint32_t i = 0; i < p->n_namespaces; i++)
		if (p->namespaces[i].format == FORMAT_DLOCK ||
		    p->namespaces[i].local_time)
			return true;
	return false;
}

/* Its host's phase says where a lock is. */
static bool
plan_is_misplaced(const struct plan *p, const struct plan_step *s)
{
	return p->bridge && s->namespace_index > 0 &&
	    plan_is_of_client(s);
}

/* The words about a write by hand belong to it. */
static int
plan_check_hand(const struct plan_step *s, char *text, size_t size)
{
	const char *what = NULL;

	if (s->of > 0 && s->kind != STEP_HAND_WAITER_MARK)
		what = "of";
	else if (s->shared && s->kind != STEP_HAND_WAITER_MARK)
		what = "mode";
	else if (s->lease_ms > 0 && s->kind != STEP_HAND_HOLD)
		what = "lease";
	else if (s->count > 0 && s->kind != STEP_HAND_SPEND)
		what = "left";
	else if (s->token > 0 && s->kind != STEP_HAND_TOKEN)
		what = "token";
	return what == NULL ? 0 : plan_fail(text, size, "%s: not with %s",
	    plan_step_name(s->kind), what);
}

/* What lasts longer than the world's would be judged by too short a time. */
static bool
plan_reload_exceeds(const struct plan *p, const struct plan_step *s)
{
	return s->poll_ms > p->ns.poll_ms || s->idle_ms > p->ns.idle_ms ||
	    s->audit_ms > p->ns.audit_ms ||
	    s->handover_max > p->ns.handover_max ||
	    s->locks_max > p->limits.locks_max ||
	    s->holds_max > p->limits.holds_per_client_max;
}

static int
plan_check_step(const struct plan *p, const struct plan_step *s, char *text,
    size_t size)
{
	const char *name = plan_step_name(s->kind);

	bool nowhere = s->kind >= STEP_TABLE_CUT && s->kind <= STEP_HAND_REPAIR;

	if (!plan_has_machine(p, s->host) && !nowhere)
		return plan_fail(text, size, "%s: there is no host %c", name,
		    plan_machine_name(s->host));
	if (s->client > PLAN_CLIENTS_MAX)
		return plan_fail(text, size, "%s: there are at most %d "
		    "clients", name, PLAN_CLIENTS_MAX);
	if (s->namespace_index >= p->n_namespaces)
		return plan_fail(text, size, "%s: there is no namespace %"
		    PRIu32, name, s->namespace_index);
	if (plan_is_misplaced(p, s))
		return plan_fail(text, size, "%s: its host's phase says in "
		    "which namespace", name);
	if (s->limit > 0 && !s->shared && s->kind != STEP_DOWNGRADE)
		return plan_fail(text, size, "%s: a limit is for shared use",
		    name);
	if (s->at_ms > p->end_ms)
		return plan_fail(text, size, "%s at %" PRIu64 " ms is after "
		    "the end", name, s->at_ms);
	if (plan_reload_exceeds(p, s))
		return plan_fail(text, size, "%s: nothing may be more than in "
		    "the world", name);
	if (s->kind == STEP_WALL && plan_needs_walls(p))
		return plan_fail(text, size, "%s: records have its times",
		    name);
	if (plan_is_peer(s->host))
		return plan_check_peer_step(p, s, text, size);
	if (s->kind >= STEP_HAND_DELETE && s->kind <= STEP_HAND_SPEND)
		return plan_check_hand(s, text, size);
	return 0;
}

int
plan_check(const struct plan *p, char *ret_text, size_t text_size)
{
	const char *setting;
	int r;

	if (timing_check(&p->ns, &setting, ret_text, text_size) < 0)
		return -1;
	if (p->n_namespaces < 1 || p->n_namespaces > PLAN_NAMESPACES_MAX)
		return plan_fail(ret_text, text_size,
		    "namespaces must be 1 or 2");
	if (p->latency_ms > p->latency_max_ms)
		return plan_fail(ret_text, text_size,
		    "the least latency is above the most");
	if (p->retention_s < 3600)
		return plan_fail(ret_text, text_size,
		    "retention must be at least 1h");
	if (p->end_ms == 0 || p->end_ms > PLAN_TIME_MAX)
		return plan_fail(ret_text, text_size,
		    "a plan has an end, within ten years");
	if (p->quiet_ms > p->end_ms)
		return plan_fail(ret_text, text_size,
		    "it is quiet before the end");
	r = plan_check_hosts(p, ret_text, text_size);
	if (r == 0)
		r = plan_check_peers(p, ret_text, text_size);
	if (r == 0)
		r = plan_check_bridge(p, ret_text, text_size);
	for (size_t i = 0; r == 0 && i < p->n_steps; i++)
		r = plan_check_step(p, &p->steps[i], ret_text, text_size);
	return r;
}
