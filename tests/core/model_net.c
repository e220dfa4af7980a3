/*
 * Each operation is one or more attempts. An attempt arrives (its effect), and
 * its answer comes back, or not. The first answer makes the outcome; without
 * one the outcome at the deadline is UNKNOWN, while what was sent may still
 * land, long after the core has forgotten it.
 */
#include "model_net.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

void
net_init(struct net *n, unsigned n_hosts, uint64_t seed)
{
	unsigned i;

	assert(n_hosts <= NET_HOSTS_MAX);
	*n = (struct net){ .n_hosts = n_hosts, .random = seed,
		.attempt_ms = 1000 };
	model_store_init(&n->store);
	for (i = 0; i < n_hosts; i++) {
		n->hosts[i].offset_ms = 1000000 * (i + 1);
		n->hosts[i].latency_ms = 5;
	}
}

uint64_t
net_random(struct net *n, uint64_t limit)
{
	uint64_t z = n->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % limit;
}

uint64_t
net_boot_ms(const struct net *n, unsigned host, uint64_t real_ms)
{
	const struct net_host *h = &n->hosts[host];
	uint64_t rate = (uint64_t)(1000000 + h->rate_ppm);

	return h->offset_ms + real_ms * rate / 1000000;
}

uint64_t
net_real_ms(const struct net *n, unsigned host, uint64_t boot_ms)
{
	const struct net_host *h = &n->hosts[host];
	uint64_t rate = (uint64_t)(1000000 + h->rate_ppm);
	uint64_t real;

	if (boot_ms == NET_NEVER)
		return NET_NEVER;
	if (boot_ms <= h->offset_ms)
		return 0;
	real = (boot_ms - h->offset_ms) * 1000000 / rate;
	while (net_boot_ms(n, host, real) < boot_ms)
		real++;
	return real;
}

/* ---- copies of operations --------------------------------------------- */

static void *
net_copy_bytes(const void *from, size_t length)
{
	void *p;

	if (length == 0)
		return NULL;
	p = malloc(length);
	if (p == NULL)
		abort();
	memcpy(p, from, length);
	return p;
}

static struct key
net_copy_key(struct key key)
{
	return (struct key){ net_copy_bytes(key.bytes, key.length),
		key.length };
}

static void
net_copy_operation(const struct operation *from, struct operation *to)
{
	struct key *keys = NULL;
	size_t i;

	*to = *from;
	to->key = net_copy_key(from->key);
	to->prefix = net_copy_key(from->prefix);
	to->cursor = net_copy_key(from->cursor);
	to->dead = net_copy_bytes(from->dead,
	    from->n_dead * sizeof(*from->dead));
	to->holders = net_copy_bytes(from->holders,
	    from->n_holders * sizeof(*from->holders));
	to->owner = from->owner == NULL ? NULL :
	    net_copy_bytes(from->owner, strlen(from->owner) + 1);
	keys = net_copy_bytes(from->keys, from->n_keys * sizeof(*keys));
	for (i = 0; i < from->n_keys; i++)
		keys[i] = net_copy_key(from->keys[i]);
	to->keys = keys;
}

/* The copies are ours, so the const of the seam's pointers is cast away. */
static void
net_free_operation(struct net_operation *o)
{
	struct operation *op = &o->copy;
	size_t i;

	for (i = 0; i < op->n_keys; i++)
		free((void *)(uintptr_t)op->keys[i].bytes);
	free((void *)(uintptr_t)op->keys);
	free((void *)(uintptr_t)op->key.bytes);
	free((void *)(uintptr_t)op->prefix.bytes);
	free((void *)(uintptr_t)op->cursor.bytes);
	free((void *)(uintptr_t)op->dead);
	free((void *)(uintptr_t)op->holders);
	free((void *)(uintptr_t)op->owner);
	for (i = 0; i < o->n_attempts; i++) {
		if (o->attempts[i].answer != NULL)
			model_answer_done(o->attempts[i].answer);
		free(o->attempts[i].answer);
	}
	free(o);
}

void
net_done(struct net *n)
{
	while (n->operations != NULL) {
		struct net_operation *next = n->operations->next;

		net_free_operation(n->operations);
		n->operations = next;
	}
	model_store_done(&n->store);
}

/* ---- sending ---------------------------------------------------------- */

static bool
net_is_cut(const struct net_host *h, uint64_t now)
{
	return now >= h->cut_from && now < h->cut_until;
}

static bool
net_is_down(const struct net_host *h, uint64_t now)
{
	return now >= h->down_from && now < h->down_until;
}

static uint64_t
net_trip_ms(struct net *n, unsigned host)
{
	const struct net_host *h = &n->hosts[host];

	return h->latency_ms +
	    (h->spread_ms == 0 ? 0 : net_random(n, h->spread_ms + 1));
}

static void
net_refuse(struct net_attempt *a, enum outcome_kind told, int code,
    uint64_t answers)
{
	a->arrives = NET_NEVER;
	a->answers = answers;
	a->told = told;
	a->code = code;
}

static void
net_spoil(struct net_attempt *a, const struct fault *f,
    enum operation_kind kind, uint64_t now)
{
	uint64_t trip = a->arrives - now;

	switch (f->fault) {
	case FAULT_LOSE_BEFORE:
		a->arrives = NET_NEVER;
		a->answers = NET_NEVER;
		break;
	case FAULT_LATE:
		a->arrives = now + f->ms;
		a->answers = NET_NEVER;
		break;
	case FAULT_LOSE_AFTER:
		a->answers = NET_NEVER;
		break;
	case FAULT_DELAY:
		a->arrives = now + f->ms;
		a->answers = a->arrives + trip;
		break;
	case FAULT_DELAY_ANSWER:
		if (now + f->ms > a->arrives)
			a->answers = now + f->ms;
		break;
	case FAULT_REFUSE:
		net_refuse(a, OUTCOME_REFUSED, f->code, a->answers);
		break;
	case FAULT_CONFLICT:
		/* A lock may change between a conflict and the read that
		 * explains it; a session has nothing of that kind. */
		if (kind >= OPERATION_ACQUIRE && kind <= OPERATION_UNWANT)
			a->told = OUTCOME_CONFLICT;
		break;
	default:
		break;
	}
}

static void
net_send(struct net *n, struct net_operation *o, uint64_t now)
{
	struct net_host *h = &n->hosts[o->host];
	struct net_attempt *a = &o->attempts[o->n_attempts];
	uint64_t beat;

	*a = (struct net_attempt){ .sent_real = now };
	a->sent_ms = net_boot_ms(n, o->host, now);
	a->arrives = now + net_trip_ms(n, o->host);
	a->answers = a->arrives + net_trip_ms(n, o->host);

	beat = o->n_attempts > 0 ? o->beats[o->n_attempts - 1] : o->copy.beat;
	o->beats[o->n_attempts] = a->sent_ms > beat ? a->sent_ms : beat + 1;

	if (net_is_down(h, now))
		net_refuse(a, OUTCOME_REFUSED, DDBLOCK_E_UNREACHABLE,
		    now + 1);
	else if (net_is_cut(h, now))
		a->arrives = a->answers = NET_NEVER;
	else if (o->n_attempts == 0)
		net_spoil(a, &o->fault, o->copy.kind, now);

	o->n_attempts++;
	o->retry_at = NET_NEVER;
	if (o->n_attempts == 1 && o->fault.fault != FAULT_NONE) {
		if (o->fault.retry_ms != 0)
			o->retry_at = now + o->fault.retry_ms;
	} else if (o->n_attempts < NET_ATTEMPTS_MAX) {
		o->retry_at = now + n->attempt_ms;
	}
	if (o->retry_at >= o->deadline)
		o->retry_at = NET_NEVER;
}

void
net_add_fault(struct net *n, const struct fault *f)
{
	assert(n->n_faults < NET_FAULTS_MAX);
	n->faults[n->n_faults] = *f;
	if (f->nth == 0)
		n->faults[n->n_faults].nth = 1;
	if (f->count == 0)
		n->faults[n->n_faults].count = 1;
	n->n_faults++;
}

/* Every fault counts each operation it is about; the first ripe one wins. */
static void
net_pick_fault(struct net *n, unsigned host, enum operation_kind kind,
    struct fault *ret)
{
	size_t i, kept = 0;

	*ret = (struct fault){ .fault = FAULT_NONE };
	for (i = 0; i < n->n_faults; i++) {
		struct fault *f = &n->faults[i];

		if (f->host == host && (f->kind == 0 || f->kind == kind)) {
			if (f->nth > 1) {
				f->nth--;
			} else if (ret->fault == FAULT_NONE) {
				*ret = *f;
				f->count--;
			}
		}
		if (f->count > 0)
			n->faults[kept++] = *f;
	}
	n->n_faults = kept;
}

void
net_submit(struct net *n, unsigned host, struct operation *op, uint64_t now)
{
	struct net_operation **end, *o = calloc(1, sizeof(*o));

	if (o == NULL)
		abort();
	n->hosts[host].submitted[op->kind]++;
	o->host = host;
	o->original = op;
	net_copy_operation(op, &o->copy);
	o->deadline = net_real_ms(n, host, op->deadline_ms);
	net_pick_fault(n, host, op->kind, &o->fault);
	for (end = &n->operations; *end != NULL; end = &(*end)->next)
		;
	*end = o;
	net_send(n, o, now);
}

void
net_forget_host(struct net *n, unsigned host)
{
	struct net_operation *o;

	for (o = n->operations; o != NULL; o = o->next) {
		if (o->host == host) {
			o->original = NULL;
			o->retry_at = NET_NEVER;
		}
	}
}

/* ---- what happens next ------------------------------------------------ */

static uint64_t
net_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
net_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The attempt whose answer comes first, before the deadline; or NULL. */
static struct net_attempt *
net_first_answer(struct net_operation *o)
{
	struct net_attempt *first = NULL;
	size_t i;

	for (i = 0; i < o->n_attempts; i++) {
		struct net_attempt *a = &o->attempts[i];

		if (a->answers >= o->deadline || a->answers == NET_NEVER)
			continue;
		if (first == NULL || a->answers < first->answers)
			first = a;
	}
	return first;
}

static uint64_t
net_outcome_at(const struct net *n, struct net_operation *o)
{
	const struct net_attempt *a;

	if (o->original == NULL)
		return NET_NEVER;
	a = net_first_answer(o);
	return net_max(a == NULL ? o->deadline : a->answers,
	    n->hosts[o->host].paused_until);
}

static uint64_t
net_retry_at(const struct net *n, const struct net_operation *o)
{
	if (o->original == NULL || o->retry_at == NET_NEVER)
		return NET_NEVER;
	return net_max(o->retry_at, n->hosts[o->host].paused_until);
}

static uint64_t
net_arrives_at(const struct net_operation *o)
{
	uint64_t at = NET_NEVER;
	size_t i;

	for (i = 0; i < o->n_attempts; i++)
		at = net_min(at, o->attempts[i].arrives);
	return at;
}

uint64_t
net_next(const struct net *n)
{
	uint64_t at = NET_NEVER;
	struct net_operation *o;

	for (o = n->operations; o != NULL; o = o->next) {
		at = net_min(at, net_arrives_at(o));
		at = net_min(at, net_outcome_at(n, o));
		at = net_min(at, net_retry_at(n, o));
	}
	return at;
}

bool
net_is_quiet(const struct net *n)
{
	return n->operations == NULL;
}

static void
net_arrive(struct net *n, struct net_operation *o, uint64_t now)
{
	struct model_try try = { .wall_s = MODEL_WALL_S + now / 1000 };
	struct net_attempt *a = NULL;
	size_t i;

	for (i = 0; i < o->n_attempts && a == NULL; i++)
		if (o->attempts[i].arrives <= now)
			a = &o->attempts[i];
	assert(a != NULL);
	a->arrives = NET_NEVER;
	if (net_is_cut(&n->hosts[o->host], now))
		a->answers = NET_NEVER;

	try.sent_ms = a->sent_ms;
	try.beats = o->beats;
	try.attempt = (size_t)(a - o->attempts);
	try.repeated = try.attempt > 0;
	a->answer = calloc(1, sizeof(*a->answer));
	if (a->answer == NULL)
		abort();
	if (o->fault.fault == FAULT_UNPROCESSED)
		try.unprocessed = o->fault.ms;
	if (a->told == OUTCOME_CONFLICT) {
		/* Say what is there, but do nothing. */
		struct operation read = o->copy;

		read.kind = OPERATION_READ;
		model_store_apply(&n->store, &read, &try, a->answer);
		a->answer->kind = OUTCOME_CONFLICT;
	} else {
		model_store_apply(&n->store, &o->copy, &try, a->answer);
	}
	if (o->original == NULL || now >= o->deadline)
		n->late(n->arg, o->host, &o->copy, a->answer->kind);
}

/* ---- outcomes --------------------------------------------------------- */

struct net_rows {
	struct lock_record *records;
	struct scan_row *rows;
};

static void
net_fill_many(struct outcome *out, const struct model_answer *a,
    struct net_rows *rows)
{
	size_t i;

	rows->records = calloc(a->n_locks + 1, sizeof(*rows->records));
	rows->rows = calloc(a->n_locks + 1, sizeof(*rows->rows));
	if (rows->records == NULL || rows->rows == NULL)
		abort();
	for (i = 0; i < a->n_locks; i++) {
		model_view_lock(&a->locks[i], &rows->records[i]);
		rows->rows[i].key = (struct key){ a->locks[i].key,
			strlen(a->locks[i].key) };
		rows->rows[i].record = rows->records[i];
	}
	if (a->processed != NULL) {
		out->locks = rows->records;
		out->processed = a->processed;
	} else {
		out->rows = rows->rows;
		out->n_rows = a->n_locks;
		out->next_cursor = (struct key){ a->cursor,
			strlen(a->cursor) };
		out->n_examined = a->n_examined;
		out->read_milliunits = a->read_milliunits;
	}
}

static void
net_fill_answer(struct outcome *out, struct net_operation *o,
    const struct net_attempt *a, struct net_rows *rows)
{
	enum operation_kind kind = o->copy.kind;

	out->kind = a->told != 0 ? a->told : a->answer->kind;
	out->code = a->code;
	if (a->answer == NULL)
		return;		/* refused on the way */
	if (out->code == 0)
		out->code = a->answer->code;
	out->sent_ms = o->attempts[a->answer->attempt].sent_ms;
	if (kind == OPERATION_READ || kind == OPERATION_READ_MANY ||
	    kind == OPERATION_SCAN || kind == OPERATION_SESSION_READ)
		out->sent_ms = a->sent_ms;
	if (a->answer->locks != NULL)
		net_fill_many(out, a->answer, rows);
	else if (kind >= OPERATION_SESSION_OPEN)
		model_view_session(&a->answer->session, &out->session);
	else
		model_view_lock(&a->answer->lock, &out->lock);
}

static void
net_fill_unanswered(struct outcome *out, const struct net_operation *o,
    uint64_t now)
{
	size_t i;

	for (i = 0; i < o->n_attempts; i++) {
		if (o->attempts[i].answers <= now)
			continue;
		out->unanswered = true;
		out->unanswered_ms = o->attempts[i].sent_ms;
	}
	/* A refusal after an attempt that may land is no refusal. */
	if (out->unanswered && out->kind == OUTCOME_REFUSED)
		out->kind = OUTCOME_UNKNOWN;
}

static void
net_give_outcome(struct net *n, struct net_operation *o, uint64_t now)
{
	struct net_attempt *a = net_first_answer(o);
	struct operation *original = o->original;
	struct net_rows rows = { NULL, NULL };
	struct outcome out = { .kind = OUTCOME_UNKNOWN };

	if (a != NULL && net_is_cut(&n->hosts[o->host], a->answers)) {
		a->answers = NET_NEVER;
		return;
	}
	if (a == NULL)
		out.code = DDBLOCK_E_UNREACHABLE;
	else
		net_fill_answer(&out, o, a, &rows);
	net_fill_unanswered(&out, o, now);
	o->original = NULL;
	n->outcome(n->arg, o->host, original, &out);
	free(rows.records);
	free(rows.rows);
}

static void
net_sweep(struct net *n)
{
	struct net_operation **at = &n->operations;

	while (*at != NULL) {
		struct net_operation *o = *at;

		if (o->original == NULL && net_arrives_at(o) == NET_NEVER) {
			*at = o->next;
			net_free_operation(o);
		} else {
			at = &o->next;
		}
	}
}

/* Arrivals first, then answers, then repetitions: one of them. */
static void
net_fire_one(struct net *n, uint64_t now)
{
	struct net_operation *o;

	for (o = n->operations; o != NULL; o = o->next) {
		if (net_arrives_at(o) <= now) {
			net_arrive(n, o, now);
			return;
		}
	}
	for (o = n->operations; o != NULL; o = o->next) {
		if (net_outcome_at(n, o) <= now) {
			net_give_outcome(n, o, now);
			return;
		}
	}
	for (o = n->operations; o != NULL; o = o->next) {
		if (net_retry_at(n, o) <= now) {
			net_send(n, o, now);
			return;
		}
	}
}

void
net_fire(struct net *n, uint64_t now)
{
	net_fire_one(n, now);
	net_sweep(n);
}
