/*
 * Hints on their way between hosts. Any may be late or lost; with bad-hints
 * many are, and some come twice, say something else, or go to a host that they
 * are not for: what is forged, replayed or of another time can say nothing
 * worse.
 */
#include "world_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	POST_STREAM_FATE = 700,
	POST_STREAM_LATE,
	POST_STREAM_WORD,
	POST_STREAM_HOST,
	POST_LATE_MS = 5000,
};

/* One that has left. */
struct letter {
	struct alarm alarm;
	struct letter *prev, *next;
	struct host *to;
	struct core_event event;
};

static const char *const post_words[] = {
	[CORE_HINT_FREED] = "freed",
	[CORE_HINT_WANTED] = "wanted",
	[CORE_HINT_BROKEN] = "broken",
	[CORE_HINT_CHANGED] = "changed",
	[CORE_HINT_WATCHING] = "watching",
	[CORE_HINT_USED] = "used",
};

static void
post_free(struct world *w, struct letter *l)
{
	DL_DELETE(w->letters, l);
	world_remove_alarm(w, &l->alarm);
	free(l);
}

void
post_done(struct world *w)
{
	while (w->letters != NULL)
		post_free(w, w->letters);
}

/* A daemon that stands reads it when it goes on. */
static void
post_on_alarm(struct world *w, struct alarm *a)
{
	struct letter *l = (struct letter *)a;
	struct host *h = l->to;

	if (host_is_paused(h)) {
		world_set(w, a, h->paused_until);
		return;
	}
	if (h->core != NULL) {
		world_trace(w, WORLD_TRACE_STORE, h->name, "hears %s",
		    post_words[l->event.hinted.kind]);
		(void)host_step(h, &l->event);
	}
	post_free(w, l);
}

static void
post_send(struct world *w, unsigned from, const struct core_hint *hint,
    struct host *to, uint64_t trip_ms)
{
	struct letter *l = world_alloc(sizeof(*l));

	l->to = to;
	l->event.type = CORE_HINTED;
	l->event.hinted.namespace_index = hint->namespace_index;
	l->event.hinted.kind = hint->kind;
	l->event.hinted.digest = hint->digest;
	l->event.hinted.session = table_host_session(w, from);
	DL_APPEND(w->letters, l);
	world_add_alarm(w, &l->alarm, post_on_alarm);
	world_set(w, &l->alarm, w->now + trip_ms);
}

/* Of eight letters two are as they should be. */
static void
post_send_badly(struct world *w, unsigned from, struct core_hint hint,
    struct host *to, uint64_t trip_ms, uint64_t number)
{
	switch (world_chance(w, POST_STREAM_FATE, number, 8)) {
	case 0:
		return;
	case 1:
		post_send(w, from, &hint, to, trip_ms);
		break;
	case 2:
		hint.kind = CORE_HINT_FREED + (enum core_hint_kind)
		    world_chance(w, POST_STREAM_WORD, number, 6);
		break;
	case 3:
		to = &w->hosts[world_chance(w, POST_STREAM_HOST, number,
		    w->n_hosts)];
		break;
	case 4:
	case 5:
		trip_ms += world_chance(w, POST_STREAM_LATE, number,
		    POST_LATE_MS);
		break;
	default:
		break;
	}
	post_send(w, from, &hint, to, trip_ms);
}

void
post_take(struct host *h, const struct core_hint *hint)
{
	struct world *w = h->world;
	unsigned to = table_session_host(w, hint->session);
	uint64_t number = w->n_letters++;
	uint64_t spread_ms = w->plan->latency_max_ms - w->plan->latency_ms;
	uint64_t trip_ms = w->plan->latency_ms +
	    world_chance(w, POST_STREAM_LATE, number, spread_ms + 1);

	world_trace(w, WORLD_TRACE_STORE, h->name, "hints %s to %s",
	    post_words[hint->kind], to < w->n_hosts ?
	    w->hosts[to].name : "nobody");
	if (to >= w->n_hosts || w->hosts[to].cut_until > w->now ||
	    h->cut_until > w->now)
		return;
	if (w->plan->bad_hints)
		post_send_badly(w, h->index, *hint, &w->hosts[to], trip_ms,
		    number);
	else
		post_send(w, h->index, hint, &w->hosts[to], trip_ms);
}

/* It is there at once. */
void
post_forge(struct host *to, const struct plan_step *s)
{
	const struct core_hint hint = {
		.namespace_index = s->namespace_index,
		.kind = (enum core_hint_kind)((int)s->kind -
		    STEP_HEAR_FREED + CORE_HINT_FREED),
		.digest = core_hint_digest(
		    (struct key){ s->key, strlen(s->key) }),
	};

	post_send(to->world, 0, &hint, to, 0);
}
