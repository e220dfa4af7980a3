/*
 * What local programs are told: replies, rows and notices, as facts for the
 * judge and lines of the trace.
 */
#include "world_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

static const char *const told_losses[] = {
	[CORE_LOSS_EXPIRED] = "expired",
	[CORE_LOSS_STOLEN] = "stolen",
	[CORE_LOSS_BROKEN] = "broken",
	[CORE_LOSS_SHUTDOWN] = "shutdown",
};

static unsigned
told_number(uint64_t client)
{
	return (unsigned)(client % (PLAN_CLIENTS_MAX + 1));
}

/* The request that this answers, taken out; the caller frees it. */
static struct asked *
told_take(struct customer *c, uint64_t request)
{
	struct asked **link, *a;

	for (link = &c->asked; (a = *link) != NULL; link = &a->next) {
		if (a->id == request) {
			*link = a->next;
			return a;
		}
	}
	return NULL;
}

/* Seconds after the beginning, and grants within that second. */
static void
told_token(uint64_t token, char *text, size_t size)
{
	int64_t s = (int64_t)(token >> 20) - (int64_t)(WORLD_WALL_MS / 1000);

	(void)snprintf(text, size, "%" PRId64 "s+%" PRIu64, s,
	    token & 0xfffff);
}

static void
told_answer(struct host *h, uint64_t client, uint64_t request, int code,
    const struct core_reply *r)
{
	struct world *w = h->world;
	struct customer *c = customer_of(w, client);
	struct asked *a = c != NULL ? told_take(c, request) : NULL;
	struct fact f = { .kind = FACT_ANSWERED, .host = h->index,
		.client = client, .request = request, .code = code };
	char more[96] = "", token[32];

	if (client == h->leaving)
		return;
	if (a != NULL) {
		f.verb = a->verb;
		f.key = a->key;
		f.namespace_index = a->namespace_index;
		f.hold = a->hold;
	}
	if (r != NULL && code == 0 && r->verb == CORE_ACQUIRE) {
		f.hold = r->hold;
		f.token = r->token;
		told_token(r->token, token, sizeof(token));
		(void)snprintf(more, sizeof(more), " token %s remaining %"
		    PRIu64, token, r->remaining_ms);
	} else if (r != NULL && code == 0 && r->verb == CORE_RENEW) {
		(void)snprintf(more, sizeof(more), " remaining %" PRIu64,
		    r->remaining_ms);
	} else if (r != NULL && r->cause != 0) {
		(void)snprintf(more, sizeof(more), " cause %s",
		    error_word(r->cause));
	}
	if (r != NULL && r->until_ms > 0)
		f.until_ms = host_real_ms(h, r->until_ms);
	world_trace(w, WORLD_TRACE_TOLD, h->name, "c%u %s %s: %s%s",
	    told_number(client), a != NULL ? customer_verb(a->verb) : "?",
	    a != NULL ? a->key : "?", code == 0 ? "ok" : error_word(code),
	    more);
	world_tell(w, &f);
	if (c != NULL && a != NULL && a->verb == CORE_ACQUIRE) {
		if (code == 0)
			customer_granted(c, request, f.hold);
		else
			customer_not_granted(c, request);
	}
	free(a);
}

void
customer_refused(struct host *h, const struct core_request *q, int code)
{
	told_answer(h, q->client, q->request, code, NULL);
}

static void
told_notice(struct host *h, const struct core_notice *n)
{
	struct world *w = h->world;
	struct fact f = { .host = h->index, .client = n->client,
		.hold = n->hold, .loss = n->loss };
	const char *word = "?", *why = "";

	/* What was due before the daemon read of its end goes nowhere. */
	if (n->client == h->leaving)
		return;
	switch (n->kind) {
	case CORE_IN_DANGER:
		f.kind = FACT_IN_DANGER;
		f.until_ms = host_real_ms(h, n->until_ms);
		word = "in danger";
		why = error_word(n->cause);
		break;
	case CORE_SAFE:
		f.kind = FACT_SAFE;
		f.until_ms = host_real_ms(h, n->until_ms);
		word = "safe";
		break;
	case CORE_LOST:
		f.kind = FACT_LOST;
		word = "lost";
		why = told_losses[n->loss];
		break;
	}
	world_trace(w, WORLD_TRACE_TOLD, h->name, "c%u hold %" PRIu64
	    " is %s%s%s", told_number(n->client), n->hold, word,
	    why[0] != '\0' ? ": " : "", why);
	world_tell(w, &f);
}

static void
told_renewed(struct host *h, const struct core_renewed *r)
{
	struct fact f = { .kind = FACT_RENEWED, .host = h->index,
		.namespace_index = r->namespace_index,
		.until_ms = host_real_ms(h, r->until_ms) };

	world_trace(h->world, WORLD_TRACE_BEAT, h->name,
	    "renewed, remaining %" PRIu64, r->remaining_ms);
	world_tell(h->world, &f);
}

/* A page has come: ask for the next one, through the socket. */
static void
told_rows(struct host *h, const struct core_rows *rows)
{
	struct customer *c = customer_of(h->world, rows->client);

	world_trace(h->world, WORLD_TRACE_TOLD, h->name, "c%u %zu rows",
	    told_number(rows->client), rows->n_rows);
	if (c != NULL)
		customer_turn(c, rows->request);
}

void
customer_act(struct host *h, const struct core_action *a)
{
	switch (a->type) {
	case CORE_REPLY: {
		const struct core_reply *r = (const void *)a;

		told_answer(h, r->client, r->request, r->code, r);
		break;
	}
	case CORE_ROWS:
		told_rows(h, (const void *)a);
		break;
	case CORE_NOTICE:
		told_notice(h, (const void *)a);
		break;
	case CORE_RENEWED:
		told_renewed(h, (const void *)a);
		break;
	case CORE_SUBMIT:
		break;
	}
}
