/*
 * The counts of one look, and what they are compared with.
 *
 * How often a lock was granted is not listed. Its token tells it, because each
 * grant has the next one; but a token may also jump, when another host had the
 * lock. The numbers of holds do not: each grant of any lock here has a higher
 * one. So no lock had more grants than these tell; if its tokens say more, only
 * the holds that are new are counted.
 */
#include <config.h>

#include "cli/top/model.h"

#include <string.h>

#include "ddblock.h"

int
model_init(struct model *m, const uint64_t random[2])
{
	static const enum column sorts[LISTS] = {
		[LIST_KEYS] = COLUMN_WAITERS,
		[LIST_HOLDS] = COLUMN_HELD,
		[LIST_WAITS] = COLUMN_WAITED,
	};

	*m = (struct model){ .key = { { random[0], random[1] } } };
	for (int i = 0; i < LISTS; i++) {
		best_init(&m->shown[i], sorts[i]);
		best_init(&m->arriving_lists[i], sorts[i]);
		m->failed = m->failed || m->shown[i].failed ||
		    m->arriving_lists[i].failed;
	}
	return m->failed ? DDBLOCK_E_NOMEM : 0;
}

void
model_done(struct model *m)
{
	for (int i = 0; i < LISTS; i++) {
		best_done(&m->shown[i]);
		best_done(&m->arriving_lists[i]);
	}
	tally_done(&m->now);
	tally_done(&m->before);
}

/* ---- the status ----------------------------------------------------- */

static const struct model_namespace *
model_find(const struct model *m, const char *name)
{
	for (size_t i = 0; i < m->n_namespaces; i++) {
		if (strcmp(m->namespaces[i].name, name) == 0)
			return &m->namespaces[i];
	}
	return NULL;
}

void
model_namespace(struct model *m, const struct model_namespace *ns)
{
	if (m->n_arriving < MODEL_NAMESPACES_MAX)
		m->arriving[m->n_arriving++] = *ns;
}

static struct rate
model_rate(uint64_t before, uint64_t now, uint64_t elapsed_ms)
{
	if (elapsed_ms == 0 || now < before)
		return (struct rate){ .known = false };
	return (struct rate){ .known = true,
		.per_s = (double)(now - before) * 1000 / (double)elapsed_ms };
}

/* It is another daemon: nothing is compared with what was. */
static void
model_forget(struct model *m)
{
	m->compares = false;
	m->id_max = 0;
	tally_clear(&m->now);
}

void
model_begin_status(struct model *m)
{
	m->n_arriving = 0;
}

void
model_status(struct model *m, const struct model_daemon *daemon,
    uint64_t now_ms)
{
	uint64_t elapsed_ms = 0;

	if (m->daemon.pid == daemon->pid && m->now_ms != 0 &&
	    m->daemon.uptime_ms <= daemon->uptime_ms)
		elapsed_ms = now_ms - m->now_ms;
	else
		model_forget(m);
	for (size_t i = 0; i < m->n_arriving; i++) {
		struct model_namespace *ns = &m->arriving[i];
		const struct model_namespace *old = model_find(m, ns->name);

		if (old == NULL)
			continue;
		if (ns->counts)
			ns->grants = model_rate(old->granted, ns->granted,
			    elapsed_ms);
		ns->asked = model_rate(old->requests, ns->requests,
		    elapsed_ms);
	}
	(void)memcpy(m->namespaces, m->arriving, sizeof(m->namespaces));
	m->n_namespaces = m->n_arriving;
	m->n_arriving = 0;
	m->daemon = *daemon;
	m->now_ms = now_ms;
}

/* ---- a look --------------------------------------------------------- */

/* Numbers of one lock, in any order of its rows. */
static uint64_t
model_hash(const struct model *m, const struct row *r)
{
	uint64_t parts[3] = {
		siphash(&m->key, r->ns, strlen(r->ns)),
		siphash(&m->key, r->key, strlen(r->key)),
		siphash(&m->key, r->sort, strlen(r->sort)),
	};
	uint64_t hash = siphash(&m->key, parts, sizeof(parts));

	return hash == 0 ? 1 : hash;
}

void
model_begin(struct model *m, uint64_t now_ms)
{
	struct tally spare = m->before;

	m->before = m->now;
	m->now = spare;
	tally_clear(&m->now);
	for (int i = 0; i < LISTS; i++) {
		struct best *b = &m->arriving_lists[i];

		best_clear(b);
		b->sort = m->shown[i].sort;
		b->reversed = m->shown[i].reversed;
	}
	m->id_max_before = m->id_max;
	m->began_before_ms = m->began_ms;
	m->began_ms = now_ms;
	m->holds_coming = m->waits_coming = 0;
}

/* How often this lock was granted since the look before. */
static uint64_t
model_granted(const struct model *m, const struct tally_entry *e)
{
	const struct tally_entry *old = tally_find(&m->before, e->hash);
	uint64_t by_token = old == NULL || old->token == 0 ||
	    e->token <= old->token ? 0 : e->token - old->token;
	uint64_t all = old == NULL || e->id <= old->id ? 0 : e->id - old->id;

	if (!m->compares)
		return 0;
	return by_token > e->granted && by_token <= all ? by_token :
	    e->granted;
}

/* What the row that is kept of a lock is to say now. */
static void
model_update_key(struct row *kept, const struct row *r,
    const struct tally_entry *e)
{
	kept->waiters = e->waiters;
	kept->holders = e->holders;
	kept->waited_ms = e->waited_ms;
	if (r->grants > kept->grants)
		kept->grants = r->grants;
	if (r->held_ms > kept->held_ms)
		kept->held_ms = r->held_ms;
}

/* The row of a lock, which becomes what it is with each wait and hold. */
static void
model_key(struct model *m, const struct row *from, struct tally_entry *e)
{
	struct best *b = &m->arriving_lists[LIST_KEYS];
	struct row r = *from;
	struct row *kept = NULL;

	r.waiters = e->waiters;
	r.holders = e->holders;
	r.waited_ms = e->waited_ms;
	r.grants = model_granted(m, e);
	r.ahead = 0;
	if (e->slot < b->n && b->rows[e->slot].hash == r.hash)
		kept = &b->rows[e->slot];
	/* What a wait says of the holder, its hold says better. */
	if (kept != NULL && r.is_held && !kept->is_held) {
		struct row old = *kept;

		r.held_ms = r.held_ms > old.held_ms ? r.held_ms : old.held_ms;
		if (row_keep(kept, &r))
			row_drop(&old);
		else
			m->failed = true;
		return;
	}
	if (kept != NULL) {
		model_update_key(kept, &r, e);
		return;
	}
	kept = best_offer(b, &r);
	if (kept == NULL)
		return;
	/* They may have moved. */
	for (size_t i = b->n == BEST_KEPT + 1 ? 0 : b->n - 1; i < b->n; i++) {
		struct tally_entry *other = tally_find(&m->now,
		    b->rows[i].hash);

		if (other != NULL)
			other->slot = (uint32_t)i;
	}
}

void
model_wait(struct model *m, struct row *r)
{
	struct tally_entry *e;
	struct row key;

	r->hash = model_hash(m, r);
	m->waits_coming++;
	e = tally_add(&m->now, r->hash);
	if (e != NULL) {
		e->waiters++;
		if (r->waited_ms > e->waited_ms)
			e->waited_ms = r->waited_ms;
	}
	if (!row_matches(r, m->filter))
		return;
	(void)best_offer(&m->arriving_lists[LIST_WAITS], r);
	if (e == NULL)
		return;
	key = *r;
	key.who = r->holder;
	key.holder = key.state = "";
	key.pid = key.uid = 0;
	key.is_held = false;
	model_key(m, &key, e);
}

void
model_hold(struct model *m, struct row *r)
{
	struct tally_entry *e;

	r->hash = model_hash(m, r);
	r->is_held = true;
	m->holds_coming++;
	if (r->id > m->id_max)
		m->id_max = r->id;
	e = tally_add(&m->now, r->hash);
	if (e != NULL) {
		e->holders++;
		e->granted += r->id > m->id_max_before;
		if (r->token > e->token)
			e->token = r->token;
		if (r->id > e->id)
			e->id = r->id;
		r->waiters = e->waiters;
	}
	if (!row_matches(r, m->filter))
		return;
	(void)best_offer(&m->arriving_lists[LIST_HOLDS], r);
	if (e != NULL)
		model_key(m, r, e);
}

void
model_end(struct model *m, uint64_t now_ms, uint64_t now_wall_ms,
    bool partial)
{
	for (int i = 0; i < LISTS; i++) {
		struct best spare = m->shown[i];
		struct best *b = &m->arriving_lists[i];

		/* The user may have another order by now. */
		b->sort = spare.sort;
		b->reversed = spare.reversed;
		best_settle(b);
		m->failed = m->failed || b->failed;
		m->shown[i] = *b;
		m->arriving_lists[i] = spare;
	}
	m->elapsed_ms = m->compares ? m->began_ms - m->began_before_ms : 0;
	m->n_holds = m->holds_coming;
	m->n_waits = m->waits_coming;
	m->took_ms = now_ms - m->began_ms;
	m->now_wall_ms = now_wall_ms;
	m->partial = partial || m->now.full;
	m->compares = m->complete = true;
}

void
model_sort(struct model *m, enum list list, enum column column,
    bool reversed)
{
	m->shown[list].sort = column;
	m->shown[list].reversed = reversed;
	best_settle(&m->shown[list]);
}

struct rate
model_grants(const struct model *m, const struct row *r)
{
	return model_rate(0, r->grants, m->elapsed_ms);
}
