/*
 * A daemon that dies and leaves a journal, and its successor, which takes over
 * what it had. Connections that wait for no answer live on, as they do in a
 * service manager's hands; all others end.
 *
 * A daemon that is torn dies in the middle of what it writes next: its
 * successor finds what had been stored by then, and nothing of that step has
 * been said or sent.
 *
 * A daemon that is revived leaves what a copy of its machine has, too, which
 * beats its sessions before the successor starts. To the judge this is another
 * daemon, which has nothing of the dead one's, and so has none of its clients.
 */
#include "world_state.h"

#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

#define RESTART_STORES_MAX 120
#define RESTART_REVIVED_MS 10	/* its copy has time for a beat */

enum { RESTART_STREAM_TORN = 300 };

/* ---- its journal ------------------------------------------------------ */

static void
restart_keep(struct host *h)
{
	struct journal *j = h->journal;

	free(h->legacy);
	h->legacy = world_alloc(j->size);
	h->legacy_size = j->size;
	memcpy(h->legacy, j->memory, j->size);
}

static void
restart_before_store(void *arg)
{
	struct host *h = arg;

	if (h->stores_left == 0 || --h->stores_left > 0)
		return;
	/* This memory is not the core's. */
	starve_leave();
	restart_keep(h);
	if (h->stepping)
		starve_enter(h->index);
	h->torn = true;
}

void
restart_begin_journal(struct host *h)
{
	size_t bytes = h->world->journal_bytes;

	free(h->journal_memory);
	free(h->journal);
	h->journal_memory = NULL;
	h->journal = NULL;
	h->stores_left = 0;
	h->torn = h->hushed = false;
	if (bytes == 0)
		return;
	h->journal = world_alloc(sizeof(*h->journal));
	h->journal_memory = world_alloc(bytes);
	journal_format(h->journal, h->journal_memory, bytes);
	h->journal->before_store = restart_before_store;
	h->journal->before_store_arg = h;
}

/* What clients say of holds that linger, and resume, the judge takes for done
 * in one moment: the daemon dies before or after that. */
void
restart_spare(struct host *h, const struct core_event *ev)
{
	bool asks = ev->type == CORE_REQUEST;
	uint64_t client = asks ? ev->request.client :
	    ev->type == CORE_GONE || ev->type == CORE_CUT ? ev->client : 0;
	const struct customer *c =
	    &h->world->customers[client % (PLAN_CLIENTS_MAX + 1)];

	if (h->stores_left > 0 && client != 0 && (c->secret_of == client ||
	    (asks && ev->request.verb == CORE_RESUME)))
		h->stores_left += RESTART_STORES_MAX;
}

/* False: it died on the way. */
bool
restart_save(struct host *h)
{
	while (!h->torn && h->journal != NULL &&
	    core_save(h->core, h->journal) == DDBLOCK_E_LIMIT) {
		size_t size = 2 * h->journal->size;

		h->journal_memory = realloc(h->journal_memory, size);
		if (h->journal_memory == NULL)
			exit(1);
		journal_move(h->journal, h->journal_memory, size);
	}
	return !h->torn;
}

void
restart_done(struct host *h)
{
	free(h->journal);
	free(h->journal_memory);
	free(h->legacy);
	h->journal = NULL;
	h->journal_memory = h->legacy = NULL;
}

/* ---- its end, and its successor -------------------------------------------
 */

/* The copy renews no records. */
static bool
restart_has_sessions(const struct plan *p)
{
	for (uint32_t i = 0; i < PLAN_NAMESPACES_MAX; i++) {
		if (p->namespaces[i].format != FORMAT_NATIVE)
			return false;
	}
	return true;
}

static void
restart_revive(struct host *h)
{
	struct customer *c = h->world->customers;

	host_die(h);
	survivor_end_here(h);
	/* Nobody here comes back for what is the copy's. */
	for (unsigned i = 0; i <= PLAN_CLIENTS_MAX; i++) {
		if (c[i].host == h)
			c[i].secret = (struct core_secret){ 0 };
	}
	restart_keep(h);
	h->revived = true;
	h->n_elsewhere = h->world->n_connections;
	world_trace(h->world, WORLD_TRACE_SCRIPT, h->name,
	    "dies, and a copy of it goes on elsewhere");
	host_pause(h, h->restart_ms + RESTART_REVIVED_MS, STEP_RESTART);
}

/* Before its time: now, or with what it writes next. */
void
restart_order(struct host *h, const struct plan_step *s)
{
	if (h->core == NULL || host_is_paused(h) || h->stopping)
		return;
	h->restart_ms = s->ms;
	if (s->kind == STEP_REVIVE && restart_has_sessions(h->world->plan))
		restart_revive(h);
	else if (s->kind == STEP_TEAR)
		h->stores_left = 1 + (unsigned)world_chance(h->world,
		    RESTART_STREAM_TORN + h->index, h->world->now,
		    RESTART_STORES_MAX);
	else if (s->kind == STEP_HUSH)
		h->hushed = true;
	else
		restart_die(h);
}

/* These were written, and it dies before it performs them. */
void
restart_hush(struct host *h, const struct core_action *a)
{
	while (a != NULL && a->type != CORE_NOTICE && a->type != CORE_RENEWED)
		a = a->next;
	if (!h->hushed || a == NULL || h->torn)
		return;
	restart_keep(h);
	h->torn = true;
}

/* What it left, unless it was torn, is all that it wrote. Programs whose
 * connection ends know it at once. */
void
restart_die(struct host *h)
{
	struct world *w = h->world;

	if (!h->torn)
		restart_keep(h);
	host_kill(h);
	world_trace(w, WORLD_TRACE_SCRIPT, h->name, h->torn ?
	    "is torn" : "is killed");
	h->torn = false;
	host_pause(h, h->restart_ms, STEP_RESTART);
	for (unsigned i = 1; i <= PLAN_CLIENTS_MAX; i++) {
		struct customer *c = &w->customers[i];

		if (c->id != 0 && c->host == h && !customer_stays(c))
			customer_lose_daemon(c);
	}
}

static bool
restart_is_here(void *arg, uint64_t client)
{
	const struct host *h = arg;
	const struct customer *c;

	if (h->world->fleet != NULL)
		return true;
	c = customer_of(h->world, client);
	/* Of one who left meanwhile the connection is there, and its end. */
	return c == NULL ? host_is_to_hear_of(h, client) : c->host == h;
}

static uint32_t
restart_user(void *arg, uint64_t client)
{
	const struct host *h = arg;
	const struct customer *c = h->world->fleet == NULL ?
	    customer_of(h->world, client) : NULL;

	return c != NULL && c->stranger;
}

/* Its successor; @h has a new core. False: it has nothing of the one before. */
bool
restart_inherit(struct host *h)
{
	struct core_legacy legacy = { .memory = h->legacy,
		.size = h->legacy_size };
	struct core_inherited inherited;
	enum journal_state state;
	int code;

	/* Above what was sent here, and below what will be. */
	if (h->revived)
		hand_beat_all(h->world, h->index, host_boot_ms(h) - 1);
	for (uint32_t i = 0; i < CORE_NAMESPACES_MAX; i++)
		legacy.namespaces[i] = i + 1;
	state = journal_state(legacy.memory, legacy.size);
	if (state != JOURNAL_GOOD) {
		free(h->legacy);
		h->legacy = NULL;
		if (state != JOURNAL_EMPTY)
			world_find(h->world, "X", "%s left what nobody can "
			    "read", h->name);
		return false;
	}
	if (h->world->fleet == NULL)
		spoil_journal(h, legacy.memory, legacy.size);
	code = core_inherit(h->core, &legacy, &inherited);
	if (code < 0)
		world_find(h->world, "X", "%s cannot inherit: %d", h->name,
		    code);
	world_trace(h->world, WORLD_TRACE_SCRIPT, h->name,
	    "inherits %u sessions, %u holds", inherited.n_sessions,
	    inherited.n_holds);
	free(h->legacy);
	h->legacy = NULL;
	return code == 0;
}

/* What administrators ordered is forgotten. */
static void
restart_tell(struct host *h)
{
	struct fact f = { .kind = FACT_INHERITED, .host = h->index,
		.rate_ppm = h->rate_ppm };

	if (h->revived) {
		f.kind = FACT_STARTED;
		world_tell(h->world, &f);
		return;
	}
	world_tell(h->world, &f);
	f.kind = FACT_RETURNED;
	world_tell(h->world, &f);
	f.kind = FACT_LIMITED;
	world_tell(h->world, &f);
}

void
restart_go_on(struct host *h)
{
	struct core_event ev = { .type = CORE_CAME_BACK };

	restart_tell(h);
	ev.came_back.is_here = restart_is_here;
	ev.came_back.user = restart_user;
	ev.came_back.arg = h;
	h->came_back = h->cuts = true;
	(void)host_step(h, &ev);
	h->came_back = h->cuts = h->revived = false;
}
