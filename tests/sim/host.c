/*
 * A host: its daemon's life, and its core's events and actions. It replaces the
 * product's engine: an event goes into the core with the present time, and the
 * resulting actions are performed.
 */
#include "sim_contents.h"
#include "world_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

enum { HOST_STREAM_SEED = 100, HOST_STREAM_LATE = 200 };

bool
host_is_paused(const struct host *h)
{
	return h->paused_until > 0;
}

/* ---- the core's actions ---------------------------------------------- */

static bool
host_is_beat(const struct operation *o)
{
	return o->kind == OPERATION_SESSION_BEAT ||
	    o->kind == OPERATION_REFRESH;
}

static void
host_submit(struct host *h, struct core_submit *submit)
{
	struct operation *o = &submit->operation;
	char text[96];

	h->tally[o->kind]++;
	table_opening(h, o);
	show_operation(h, o, text, sizeof(text));
	world_trace(h->world, host_is_beat(o) ? WORLD_TRACE_BEAT :
	    WORLD_TRACE_STORE, h->name, "> %s", text);
	job_submit(h, o);
}

static void
host_arm(struct host *h, uint64_t next_ms)
{
	struct world *w = h->world;
	uint64_t at = host_real_ms(h, next_ms);

	if (h->n_leaves > 0 && at > w->now + 1)
		at = w->now + 1;
	/* It is not late for what it has begun. */
	if (at > w->now && at != WORLD_NEVER && w->plan->lateness_ms > 0)
		at += world_chance(w, HOST_STREAM_LATE + h->index, at,
		    w->plan->lateness_ms + 1);
	world_set(w, &h->alarm, at);
}

/* That something ended goes on to be so, for a successor, too. */
static bool
host_is_end(const struct core_event *ev)
{
	return ev->type == CORE_ENDED || ev->type == CORE_HALF_CLOSED ||
	    ev->type == CORE_GONE;
}

static void
host_forget_lines(struct host *h, bool all)
{
	struct line **link = &h->lines, *l;

	while ((l = *link) != NULL) {
		if (!all && host_is_end(&l->event)) {
			link = &l->next;
			continue;
		}
		*link = l->next;
		free(l);
	}
	h->lines_end = link;
}

/* It is not paused any more, and its clock goes on. */
static void
host_wake(struct host *h)
{
	world_unset(h->world, &h->resume);
	h->paused_until = 0;
	if (h->frozen_at == WORLD_NEVER)
		return;
	h->stood_ms += h->world->now - h->frozen_at;
	h->frozen_at = WORLD_NEVER;
}

/* Another life is covered by itself. */
static void
host_close_eye(struct host *h)
{
	coverage_eye_free(h->eye);
	h->eye = h->world->options->coverage == NULL ? NULL :
	    coverage_eye_new();
}

/* The daemon is dead. Its requests go on. */
void
host_kill(struct host *h)
{
	struct world *w = h->world;

	while (h->jobs != NULL)
		job_free(h->jobs);
	network_abandon(h->look_message);
	h->look_message = NULL;
	if (w->plan->ns.sole_writer)
		network_end(h);
	core_free(h->core);
	h->core = NULL;
	host_close_eye(h);
	host_forget_lines(h, false);
	h->n_leaves = 0;
	world_unset(w, &h->alarm);
	world_unset(w, &h->look);
	if (!h->asleep)
		host_wake(h);
}

static void
host_forget_customers(struct host *h)
{
	struct world *w = h->world;

	for (unsigned i = 1; i <= PLAN_CLIENTS_MAX; i++)
		if (w->customers[i].id != 0 && w->customers[i].host == h)
			customer_forget(&w->customers[i]);
}

/* And no client is told. */
static void
host_clear(struct host *h)
{
	host_kill(h);
	host_forget_customers(h);
}

/* It died in this step. */
static int
host_end_torn(struct host *h, const struct core_event *ev)
{
	restart_die(h);
	if (host_is_end(ev))
		host_say(h, ev, "", "");
	return 0;
}

int
host_step(struct host *h, struct core_event *ev)
{
	struct world *w = h->world;
	struct core_update update;
	struct core_action *next;
	int r;

	if (h->torn)
		return host_end_torn(h, ev);
	if (h->stepped_at != w->now) {
		h->stepped_at = w->now;
		h->steps = 0;
	}
	if (++h->steps > WORLD_STEPS_MAX) {
		world_find(w, "7", "%s runs in a circle", h->name);
		return 0;
	}
	order_tell(h, ev->type);
	restart_spare(h, ev);
	ev->now_ms = host_boot_ms(h);
	h->stepping = true;
	starve_enter(h->index);
	r = core_step(h->core, ev, &update);
	starve_leave();
	h->stepping = false;
	if (w->options->coverage != NULL)
		coverage_look(w->options->coverage, h->eye, h->core);
	(void)restart_save(h);
	restart_hush(h, update.actions);
	/* Submitting leaves an action to the store, so look ahead first. */
	for (struct core_action *a = update.actions; a != NULL && !h->torn;
	    a = next) {
		next = a->next;
		if (a->type == CORE_SUBMIT)
			host_submit(h, (struct core_submit *)a);
		else
			w->act(h, a);
	}
	if (h->torn)
		return host_end_torn(h, ev);
	host_arm(h, update.next_ms);
	if (h->stopping && update.stopped) {
		struct fact f = { .kind = FACT_ENDED, .host = h->index };

		world_trace(w, WORLD_TRACE_SCRIPT, h->name, "ends");
		world_tell(w, &f);
		host_clear(h);
	}
	return r;
}

bool
host_leaves(const struct host *h, uint64_t client)
{
	for (unsigned i = 0; i < h->n_leaves; i++)
		if (h->leaves[i].client == client)
			return true;
	return client == h->leaving;
}

/* Other events may come between this and the rest of its end. */
static void
host_note_leaves(struct host *h, uint64_t client, bool cut)
{
	if (h->torn || h->core == NULL)
		return;
	if (h->n_leaves == h->leaves_size) {
		h->leaves_size = 2 * h->leaves_size + 8;
		h->leaves = realloc(h->leaves,
		    h->leaves_size * sizeof(*h->leaves));
		if (h->leaves == NULL)
			exit(1);
	}
	h->leaves[h->n_leaves].client = client;
	h->leaves[h->n_leaves++].cut = cut;
	host_arm(h, WORLD_NEVER);
}

static void
host_go_on_leaving(struct host *h)
{
	struct core_event ev = { .type = CORE_LEAVES };

	for (unsigned n = h->n_leaves; n > 0 && h->n_leaves > 0; n--) {
		bool cut = h->leaves[0].cut;
		int r;

		ev.client = h->leaves[0].client;
		h->n_leaves--;
		memmove(h->leaves, h->leaves + 1,
		    h->n_leaves * sizeof(h->leaves[0]));
		h->leaving = ev.client;
		h->cuts = cut;
		r = host_step(h, &ev);
		h->leaving = 0;
		h->cuts = false;
		if (r > 0)
			host_note_leaves(h, ev.client, cut);
	}
}

static void
host_on_alarm(struct world *w, struct alarm *a)
{
	struct host *h = (struct host *)((char *)a -
	    offsetof(struct host, alarm));
	struct core_event ev = { .type = CORE_TIMER };

	if (host_is_paused(h)) {
		world_set(w, a, h->paused_until);
		return;
	}
	(void)host_step(h, &ev);
	host_go_on_leaving(h);
}

void
host_stored(struct host *h, struct operation *o, const struct outcome *outcome)
{
	struct core_event ev = { .type = CORE_STORED };
	char text[96];

	show_operation(h, o, text, sizeof(text));
	world_trace(h->world, host_is_beat(o) ? WORLD_TRACE_BEAT :
	    WORLD_TRACE_STORE, h->name, "< %s %s%s%s", text,
	    outcome_kind_name(outcome->kind), outcome->code == 0 ? "" : " ",
	    outcome->code == 0 ? "" : error_word(outcome->code));
	if (h->world->options->coverage != NULL)
		h->world->options->coverage->
		    outcomes[o->kind][outcome->kind]++;
	ev.stored.operation = o;
	ev.stored.outcome = outcome;
	if (host_step(h, &ev) < 0)
		world_find(h->world, "6", "%s did not take an outcome",
		    h->name);
}

/*
 * ---- the clients' requests ------------------------------------------------
 */

static void
host_take(struct host *h, struct line *l)
{
	const struct world *w = h->world;
	struct core_event ev = l->event;
	struct key keys[MULTI_MAX];
	struct customer_keys split;
	struct sim_contents_room room;
	int r;

	h->steps = 0;	/* clients may say as much as they like */
	customer_split(l->key, &split);
	if (ev.type == CORE_REQUEST) {
		ev.request.key = (struct key){ l->key, strlen(l->key) };
		/* In reverse: clients need not sort their keys. */
		for (size_t i = 0; i < split.n; i++)
			keys[split.n - 1 - i] = (struct key){ split.keys[i],
				strlen(split.keys[i]) };
		if (ev.request.verb == CORE_ACQUIRE && split.n > 1) {
			ev.request.keys = keys;
			ev.request.n_keys = (uint32_t)split.n;
		}
		if (l->owner[0] != '\0')
			ev.request.owner = l->owner;
		if (l->record[0] != '\0')
			ev.request.record = l->record;
		ev.request.change = sim_contents_fill(ev.request.change,
		    ev.request.request, &room);
	}
	h->leaving = ev.type == CORE_GONE || ev.type == CORE_CUT ?
	    ev.client : 0;
	h->cuts = ev.type == CORE_CUT;
	h->outlived = ev.type == CORE_ENDED ? ev.ended.client : 0;
	r = ev.type == CORE_CONFIGURE ? order_configure(h, &ev) :
	    host_step(h, &ev);
	h->leaving = h->outlived = 0;
	if (r > 0)
		host_note_leaves(h, ev.client, h->cuts);
	if (r < 0 && ev.type == CORE_REQUEST)
		w->refuse(h, &ev.request, r);
}

void
host_say(struct host *h, const struct core_event *ev, const char *key,
    const char *owner)
{
	struct line *l = world_alloc(sizeof(*l));

	l->event = *ev;
	(void)snprintf(l->key, sizeof(l->key), "%s", key);
	(void)snprintf(l->owner, sizeof(l->owner), "%s", owner);
	if (ev->type == CORE_REQUEST && ev->request.record != NULL)
		(void)snprintf(l->record, sizeof(l->record), "%s",
		    ev->request.record);
	if (ev->type == CORE_REQUEST && ev->request.secret != NULL) {
		l->secret = *ev->request.secret;
		l->event.request.secret = &l->secret;
	}
	if (host_is_paused(h)) {
		*h->lines_end = l;
		h->lines_end = &l->next;
		return;
	}
	host_take(h, l);
	free(l);
}

void
host_ignore(struct host *h, uint64_t client)
{
	struct line **link = &h->lines, *l;

	while ((l = *link) != NULL) {
		uint64_t from = l->event.type == CORE_REQUEST ?
		    l->event.request.client : l->event.client;

		if (from == client) {
			*link = l->next;
			free(l);
		} else {
			link = &l->next;
		}
	}
	h->lines_end = link;
}

/* Has this client left while nobody was there to read of it? */
bool
host_is_to_hear_of(const struct host *h, uint64_t client)
{
	const struct line *l = h->lines;

	while (l != NULL && (l->event.type != CORE_GONE ||
	    l->event.client != client))
		l = l->next;
	return l != NULL;
}

/* ---- pauses ----------------------------------------------------------- */

static void
host_on_resume(struct world *w, struct alarm *a)
{
	struct host *h = (struct host *)((char *)a -
	    offsetof(struct host, resume));
	struct fact f = { .kind = FACT_RESUMED, .host = h->index };
	struct line *l;

	h->asleep = false;
	host_wake(h);
	world_trace(w, WORLD_TRACE_SCRIPT, h->name, "goes on");
	if (h->peer == NULL)
		world_tell(w, &f);
	if (h->core == NULL && h->legacy != NULL)
		host_boot(h);
	/* It may die in the middle of that. */
	while (!host_is_paused(h) && (l = h->lines) != NULL) {
		h->lines = l->next;
		if (h->lines == NULL)
			h->lines_end = &h->lines;
		if (h->core != NULL)
			host_take(h, l);
		free(l);
	}
}

void
host_pause(struct host *h, uint64_t ms, enum step_kind kind)
{
	struct world *w = h->world;
	struct fact f = { .host = h->index, .kind = FACT_PAUSED };

	if ((h->core == NULL && h->peer == NULL && kind != STEP_RESTART) ||
	    host_is_paused(h))
		return;
	h->paused_until = w->now + (ms > 0 ? ms : 1);
	h->asleep = kind != STEP_PAUSE && kind != STEP_RESTART;
	if (h->peer == NULL)
		world_tell(w, &f);
	if (kind == STEP_FREEZE) {
		h->frozen_at = w->now;
		f.kind = FACT_FROZEN;
		world_tell(w, &f);
	}
	world_set(w, &h->resume, h->paused_until);
}

/* ---- its life --------------------------------------------------------- */

/* Until the service's time is known, no write is possible. */
static void
host_on_look(struct world *w, struct alarm *a)
{
	struct host *h = (struct host *)((char *)a -
	    offsetof(struct host, look));
	char body[64];

	network_abandon(h->look_message);
	h->look_message = NULL;
	if (h->core == NULL || h->skew.known)
		return;
	if (host_is_paused(h)) {
		world_set(w, a, h->paused_until);
		return;
	}
	(void)snprintf(body, sizeof(body), "{\"TableName\":\"%s\"}",
	    w->tables[0].table);
	h->look_message = network_send(h, NULL, "DescribeTable", body,
	    strlen(body), PLAN_ANY, "look");
	world_set(w, a, w->now + 1000);
}

void
host_make(struct world *w, unsigned index, const char *name,
    const struct plan_host *p)
{
	struct host *h = &w->hosts[index];

	*h = (struct host){ .world = w, .index = index,
		.rate_ppm = p->rate_ppm, .offset_ms = p->offset_ms,
		.wall_ms = p->wall_ms, .phase = p->phase,
		.frozen_at = WORLD_NEVER };
	(void)snprintf(h->name, sizeof(h->name), "%s", name);
	h->lines_end = &h->lines;
	host_close_eye(h);
	world_add_alarm(w, &h->alarm, host_on_alarm);
	world_add_alarm(w, &h->look, host_on_look);
	world_add_alarm(w, &h->resume, host_on_resume);
}

void
host_init(struct world *w, unsigned index)
{
	const char name[] = { plan_machine_name(index), '\0' };

	host_make(w, index, name, plan_machine(w->plan, index));
	if (plan_is_peer(index))
		peer_init(&w->hosts[index]);
}

void
host_done(struct host *h)
{
	if (h->peer != NULL)
		peer_done(h);
	while (h->jobs != NULL)
		job_free(h->jobs);
	network_abandon(h->look_message);
	core_free(h->core);
	restart_done(h);
	host_forget_lines(h, true);
	coverage_eye_free(h->eye);
	free(h->faults);
	free(h->leaves);
	world_remove_alarm(h->world, &h->alarm);
	world_remove_alarm(h->world, &h->look);
	world_remove_alarm(h->world, &h->resume);
}

void
host_boot(struct host *h)
{
	struct world *w = h->world;
	struct core_namespace namespaces[PLAN_NAMESPACES_MAX];
	struct core_config config;
	struct core_event ev = { .type = CORE_TIMER };
	struct fact f = { .kind = FACT_STARTED, .host = h->index,
		.rate_ppm = h->rate_ppm };
	uint64_t seed[CORE_SEED_WORDS] = { 0 };

	if (h->core != NULL || h->asleep || h->peer != NULL ||
	    (h->legacy != NULL && host_is_paused(h)))
		return;
	h->lives++;
	h->reload = NULL;
	order_config(h, namespaces, &config);
	for (unsigned i = 0; i < 4; i++)
		seed[i] = world_chance(w, HOST_STREAM_SEED + h->index,
		    h->lives * 4 + i, UINT64_MAX);
	if (core_new(&config, seed, host_boot_ms(h), &h->core) < 0) {
		(void)fprintf(stderr, "ddblock-sim: no core\n");
		exit(1);
	}
	h->skew = (struct skew){ .known = false };
	attempts_shared_init(&h->shared, host_boot_ms(h));
	h->shared.tokener = w->tokener;
	h->stopping = false;
	restart_begin_journal(h);
	world_trace(w, WORLD_TRACE_SCRIPT, h->name, "starts");
	world_set(w, &h->look, w->now);
	if (h->legacy != NULL && restart_inherit(h)) {
		restart_go_on(h);
		return;
	}
	h->revived = false;
	host_forget_customers(h);
	world_tell(w, &f);
	(void)host_step(h, &ev);
}

void
host_die(struct host *h)
{
	struct fact f = { .kind = FACT_DIED, .host = h->index };

	if (h->core == NULL && h->legacy == NULL)
		return;
	free(h->legacy);
	h->legacy = NULL;
	world_tell(h->world, &f);
	host_clear(h);
}

/* Also one that sleeps, with or without a daemon: it starts awake. */
void
host_crash(struct host *h)
{
	h->asleep = false;
	host_die(h);
	host_wake(h);
}
