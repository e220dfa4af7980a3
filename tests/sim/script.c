/*
 * The effects of a plan's steps.
 */
#include "world_state.h"

#include <stdlib.h>
#include <string.h>

static void
script_crash(struct host *h)
{
	struct world *w = h->world;

	for (unsigned i = 1; i <= PLAN_CLIENTS_MAX; i++)
		if (w->customers[i].id != 0 && w->customers[i].host == h)
			customer_close(&w->customers[i]);
	host_crash(h);
}

static void
script_fault(struct host *h, const struct plan_step *s)
{
	struct fault *f;

	if (h->n_faults == h->faults_size) {
		h->faults_size = 2 * h->faults_size + 16;
		h->faults = realloc(h->faults,
		    h->faults_size * sizeof(*h->faults));
		if (h->faults == NULL)
			exit(1);
	}
	f = &h->faults[h->n_faults++];
	*f = (struct fault){ .fault = s->fault, .operation = s->operation,
		.whole = s->kind == STEP_OPERATION, .left = s->nth,
		.many = s->last > 0 ? s->last - s->nth + 1 : 1,
		.count = s->count, .ms = s->ms, .type = s->type };
}

static void
script_host(struct host *h, const struct plan_step *s)
{
	struct world *w = h->world;

	switch (s->kind) {
	case STEP_KILL:
		host_die(h);
		break;
	case STEP_BOOT:
		host_boot(h);
		break;
	case STEP_RESTART:
	case STEP_TEAR:
	case STEP_HUSH:
	case STEP_REVIVE:
		restart_order(h, s);
		break;
	case STEP_CRASH:
		script_crash(h);
		break;
	case STEP_STOP:
	case STEP_STOP_RELEASE:
		host_stop(h, s->kind == STEP_STOP_RELEASE);
		break;
	case STEP_PAUSE:
	case STEP_SUSPEND:
	case STEP_FREEZE:
		host_pause(h, s->ms, s->kind);
		break;
	case STEP_CUT:
		h->cut_until = w->now + s->ms;
		break;
	case STEP_DOWN:
		h->down_until = w->now + s->ms;
		break;
	case STEP_WALL:
		h->wall_ms += s->shift_ms;
		break;
	case STEP_MOVE:
		host_die(h);
		h->phase = s->phase;
		host_boot(h);
		break;
	case STEP_RELOAD:
		host_reload(h, s);
		break;
	case STEP_WITHDRAW:
	case STEP_UNDRAIN:
		host_drain(h, s->kind == STEP_WITHDRAW);
		break;
	case STEP_HEAR_FREED:
	case STEP_HEAR_WANTED:
	case STEP_HEAR_BROKEN:
	case STEP_HEAR_CHANGED:
	case STEP_HEAR_WATCHING:
	case STEP_HEAR_USED:
		post_forge(h, s);
		break;
	case STEP_STARVE:
		starve_arm(h->index, s->nth, s->count);
		break;
	default:
		break;
	}
}

static void
script_trace(struct world *w, const struct plan_step *s)
{
	char *text = NULL;
	size_t size;
	FILE *to;
	const char *what;

	if (w->options->trace == NULL)
		return;
	to = open_memstream(&text, &size);
	if (to == NULL)
		return;
	plan_write_step(s, to);
	(void)fclose(to);
	text[strcspn(text, "\n")] = '\0';
	/* Without "at TIME", which the line has already. */
	what = strncmp(text, "at ", 3) == 0 ? text + 3 : text;
	what += strcspn(what, " ");
	what += strspn(what, " ");
	world_trace(w, WORLD_TRACE_SCRIPT, "-", "%s", what);
	free(text);
}

void
script_perform(struct world *w, const struct plan_step *s)
{
	bool message = s->kind == STEP_MESSAGE || s->kind == STEP_OPERATION;

	if (!message)
		w->history.steps_hit[s->kind] = true;
	if (plan_is_fault(s) && !message && !plan_is_of_client(s))
		script_trace(w, s);
	else if (s->kind == STEP_BOOT)
		script_trace(w, s);
	if (plan_is_peer(s->host) && (s->kind == STEP_LOCK ||
	    s->kind == STEP_KILL || s->kind == STEP_BOOT))
		peer_step(&w->hosts[s->host], s);
	else if (s->kind == STEP_LOCK)
		customer_lock(w, s);
	else if (s->kind == STEP_LIST || s->kind == STEP_LIST_HELD)
		pages_ask(w, s);
	else if (s->kind == STEP_RESUME)
		resume_ask(w, s);
	else if (plan_is_of_client(s))
		customer_ask(w, s);
	else if (s->kind == STEP_SHOW)
		show_all(&w->hosts[s->host]);
	else if (s->kind == STEP_TALLY)
		show_tally(&w->hosts[s->host]);
	else if (message)
		script_fault(&w->hosts[s->host], s);
	else if (s->kind < STEP_MESSAGE)
		script_host(&w->hosts[s->host], s);
	else
		table_step(w, s);
}
