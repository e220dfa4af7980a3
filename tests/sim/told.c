/*
 * What local programs are told: replies, rows and notices, as facts for the
 * judge and lines of the trace.
 */
#include "sim_contents.h"
#include "peek.h"
#include "world_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

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

/* In full, of one that has no room in the protocol's numbers. */
static uint64_t
told_number_of(uint64_t token, const char *text)
{
	return text == NULL ? token : strtoull(text, NULL, 10);
}

/* A hold that is fail-closed has no deadline. */
static uint64_t
told_until(const struct host *h, uint64_t until_ms)
{
	return until_ms == 0 ? FACT_NEVER : host_real_ms(h, until_ms);
}

/* Who has a lock, to one who watches it; as a fact, and for people. */
static void
told_holder(const struct core_holder_view *v, int cause, struct fact *f,
    char *text, size_t size)
{
	char token[32];

	if (v == NULL) {
		(void)snprintf(text, size, " unknown: %s", error_word(cause));
		return;
	}
	f->state = !v->held ? FACT_FREE : v->dead ? FACT_DEAD : FACT_HELD;
	f->token = told_number_of(v->token, v->token_text);
	f->n_holders = v->n_holders;
	f->shared = v->mode == LOCK_MODE_SHARED;
	show_token(v->token, token, sizeof(token));
	if (!v->held)
		(void)snprintf(text, size, " free");
	else
		(void)snprintf(text, size, " %s%s by %" PRIu32 " token %s",
		    v->dead ? "dead" : "held", v->here ? " here" : "",
		    v->n_holders, token);
}

static void
told_change(struct host *h, const struct core_change *a)
{
	struct world *w = h->world;
	char key[PLAN_KEY_MAX], text[96];
	struct fact f = { .kind = FACT_CHANGED, .host = h->index,
		.client = a->client, .namespace_index = a->namespace_index,
		.key = key };

	if (host_leaves(h, a->client))
		return;
	(void)snprintf(key, sizeof(key), "%.*s", (int)a->key.length,
	    (const char *)a->key.bytes);
	told_holder(a->holder, a->cause, &f, text, sizeof(text));
	world_trace(w, WORLD_TRACE_TOLD, h->name, "c%u %s is%s",
	    show_client(a->client), key, text);
	world_tell(w, &f);
}

/* ---- several keys ----------------------------------------------------- */

struct customer_multi *
customer_find_multi(const struct customer *c, uint64_t hold)
{
	struct customer_multi *m = c->multis;

	while (m != NULL && m->hold != hold)
		m = m->next;
	return m;
}

/* Is it one of several, and not the one whose number is that of all? */
bool
customer_is_part(const struct customer *c, uint64_t hold)
{
	const struct customer_multi *m;

	for (m = c->multis; m != NULL; m = m->next) {
		for (size_t i = 1; i < m->keys.n; i++)
			if (m->holds[i] == hold)
				return true;
	}
	return false;
}

uint64_t
customer_nth(uint64_t request, size_t i)
{
	return request + ((uint64_t)i << 32);
}

/* One hold came for several keys: each has its own number and its token. */
static void
told_granted(struct host *h, struct customer *c, struct fact *f,
    const struct customer_keys *keys, const struct core_reply *r)
{
	struct customer_multi *m = world_alloc(sizeof(*m));
	char grant[IDENT_TEXT_LENGTH + 1];

	*m = (struct customer_multi){ .next = c->multis, .hold = r->hold,
		.request = f->request, .keys = *keys };
	c->multis = m;
	f->multi = f->request;
	for (size_t i = 0; i < keys->n; i++) {
		struct core_part part;

		if (!bridge_part(h, r, keys, (uint32_t)i, &part)) {
			world_find(h->world, "J1", "%s grants %" PRIu32 " of "
			    "%zu locks, or another than %s", h->name,
			    r->n_parts, keys->n, keys->keys[i]);
			return;
		}
		m->holds[i] = part.hold;
		f->request = customer_nth(m->request, i);
		f->key = keys->keys[i];
		f->namespace_index = keys->namespaces[i];
		f->hold = part.hold;
		f->token = part.token;
		f->grant = peek_grant(h->core, f->hold, grant) ? grant : NULL;
		world_tell(h->world, f);
	}
}

/* The answer, as facts: one for each key that it is about. */
static void
told_tell(struct host *h, struct customer *c, const struct asked *a,
    struct fact *f, const struct core_reply *r)
{
	const struct customer_multi *held = NULL;
	struct customer_keys keys = { 0 };
	uint64_t request = f->request;

	if (c != NULL && a != NULL) {
		bridge_split(h, a->namespace_index, a->key, &keys);
		held = customer_find_multi(c, a->hold);
	}
	if (keys.n < 2 || (a->verb != CORE_ACQUIRE &&
	    (a->verb != CORE_RELEASE || held == NULL))) {
		world_tell(h->world, f);
		return;
	}
	if (a->verb == CORE_ACQUIRE && f->code == 0) {
		told_granted(h, c, f, &keys, r);
		return;
	}
	f->multi = a->verb == CORE_ACQUIRE ? request : held->request;
	for (size_t i = 0; i < keys.n; i++) {
		f->request = customer_nth(request, i);
		f->key = keys.keys[i];
		f->namespace_index = keys.namespaces[i];
		world_tell(h->world, f);
	}
}

/* Why it took too long, and who is there. */
static void
told_why(const struct core_reply *r, char *text, size_t size)
{
	int n = 0;

	if (r->cause != 0)
		n = snprintf(text, size, " cause %s", error_word(r->cause));
	if (r->holder != NULL)
		show_holder(r->holder, text + n, size - (size_t)n);
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
	char more[192] = "", token[32], grant[IDENT_TEXT_LENGTH + 1];

	if (host_leaves(h, client))
		return;
	if (a != NULL) {
		f.verb = a->verb;
		f.key = a->key;
		f.namespace_index = a->namespace_index;
		f.hold = a->hold;
		if (a->verb == CORE_RELEASE && code != DDBLOCK_E_BAD_REQUEST)
			(void)customer_hears_of_release(c, a->hold);
	}
	if (r != NULL && code == 0 &&
	    (r->verb == CORE_ACQUIRE || r->verb == CORE_DOWNGRADE)) {
		f.hold = r->hold;
		f.token = told_number_of(r->token, r->token_text);
		f.resumes = r->terms.resumes;
		f.grant = peek_grant(h->core, r->hold, grant) ? grant : NULL;
		sim_contents_read(r->contents, f.contents);
		show_token(r->token, token, sizeof(token));
		(void)snprintf(more, sizeof(more), " token %s remaining %"
		    PRIu64, r->token_text != NULL ? r->token_text : token,
		    r->remaining_ms);
		if (f.contents[FACT_DATA] > 0 || f.contents[FACT_NOTE] > 0)
			(void)snprintf(more + strlen(more),
			    sizeof(more) - strlen(more), " data %" PRIu64
			    " note %" PRIu64, f.contents[FACT_DATA],
			    f.contents[FACT_NOTE]);
	} else if (r != NULL && code == 0 && r->verb == CORE_RENEW) {
		(void)snprintf(more, sizeof(more), " remaining %" PRIu64,
		    r->remaining_ms);
	} else if (r != NULL && code == 0 && r->verb == CORE_RAISE) {
		f.token = r->token;
		show_token(r->token, token, sizeof(token));
		(void)snprintf(more, sizeof(more), " token %s%s", token,
		    r->raised ? " raised" : "");
	} else if (r != NULL && code == 0 && r->verb == CORE_WATCH) {
		told_holder(r->holder, 0, &f, more, sizeof(more));
	} else if (r != NULL) {
		told_why(r, more, sizeof(more));
	}
	if (r != NULL && r->end_ms > 0)
		f.end_ms = host_real_ms(h, r->end_ms);
	if (r != NULL)
		f.until_ms = told_until(h, r->until_ms);
	world_trace(w, WORLD_TRACE_TOLD, h->name, "c%u %s %s: %s%s",
	    show_client(client), a != NULL ? show_verb(a->verb) : "?",
	    a != NULL ? a->key : "?", code == 0 ? "ok" : error_word(code),
	    more);
	if (r != NULL && code == 0 && r->verb == CORE_RESUME)
		resume_answered(h, r);
	told_tell(h, c, a, &f, r);
	if (c != NULL && a != NULL && a->verb == CORE_ACQUIRE) {
		if (code == 0)
			resume_granted(c, r);
		if (code == 0)
			customer_granted(c, request, r->hold);
		else
			customer_not_granted(c, request);
	}
	if (c != NULL && a != NULL && a->verb == CORE_GET)
		customer_looked(c, request, r != NULL && code == 0 ?
		    r->holder : NULL);
	free(a);
}

void
customer_refused(struct host *h, const struct core_request *q, int code)
{
	told_answer(h, q->client, q->request, code, NULL);
}

/* The first time that it is told of this loss? After a restart it is said
 * again, and who knew of it does not listen. */
static bool
told_lost(const struct host *h, struct customer *c,
    const struct core_notice *n)
{
	struct errand *e;
	bool first = false;

	if (n->kind != CORE_LOST)
		return true;
	first = survivor_lose(h, n->hold);
	if (c == NULL)
		return first || !h->came_back;
	first = customer_hears_of_release(c, n->hold);
	for (e = c->errands; e != NULL; e = e->next) {
		if (e->hold != n->hold || e->lost)
			continue;
		e->lost = true;
		first = true;
	}
	return first || !h->came_back;
}

static void
told_notice(struct host *h, const struct core_notice *n)
{
	struct world *w = h->world;
	struct fact f = { .host = h->index, .client = n->client,
		.hold = n->hold, .loss = n->loss };
	enum world_trace kind = WORLD_TRACE_TOLD;
	const char *word = "?", *why = "";
	const struct customer_multi *m;
	struct customer *c;

	if (n->client / (PLAN_CLIENTS_MAX + 1) <= h->n_elsewhere)
		return;
	/* What was due before the daemon read of its end goes nowhere, but to
	 * a process; or before it read of the end of that. */
	c = customer_of(w, n->client);
	if ((host_leaves(h, n->client) || (c == NULL &&
	    (n->client == h->outlived || h->came_back))) &&
	    !survivor_has(h, n->hold)) {
		if (h->cuts && n->kind == CORE_LOST)
			world_trace(w, kind, h->name, "c%u hold %" PRIu64
			    " is lost: %s", show_client(n->client), n->hold,
			    core_loss_name(n->loss));
		return;
	}
	if (!told_lost(h, c, n))
		return;
	switch (n->kind) {
	case CORE_IN_DANGER:
		f.kind = FACT_IN_DANGER;
		f.until_ms = told_until(h, n->until_ms);
		word = "in danger";
		why = error_word(n->cause);
		break;
	case CORE_PROLONGED:
		kind = WORLD_TRACE_BEAT;
		/* fall through */
	case CORE_SAFE:
		f.kind = FACT_SAFE;
		f.until_ms = told_until(h, n->until_ms);
		word = "safe";
		break;
	case CORE_LOST:
		f.kind = FACT_LOST;
		word = "lost";
		why = core_loss_name(n->loss);
		break;
	case CORE_UNTOLD:
		world_trace(w, kind, h->name, "c%u hold %" PRIu64 " is lost, "
		    "and its client says nothing", show_client(n->client),
		    n->hold);
		return;
	}
	world_trace(w, kind, h->name, "c%u hold %" PRIu64
	    " is %s%s%s", show_client(n->client), n->hold, word,
	    why[0] != '\0' ? ": " : "", why);
	m = c == NULL ? NULL : customer_find_multi(c, n->hold);
	if (m == NULL && c != NULL && customer_is_part(c, n->hold))
		world_find(w, "J1", "%s speaks of one of several", h->name);
	for (size_t i = 1; m != NULL && i < m->keys.n; i++) {
		f.hold = m->holds[i];
		f.multi = m->request;
		world_tell(w, &f);
	}
	f.hold = n->hold;
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
	    show_client(rows->client), rows->n_rows);
	for (size_t i = 0; i < rows->n_rows; i++) {
		const struct core_row *row = &rows->rows[i];
		char text[128];

		show_holder(&row->holder, text, sizeof(text));
		world_trace(h->world, WORLD_TRACE_TOLD, h->name,
		    "c%u row %.*s%s", show_client(rows->client),
		    (int)row->key.length, (const char *)row->key.bytes, text);
	}
	if (c != NULL)
		pages_turn(c, rows->request);
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
	case CORE_CHANGED:
		told_change(h, (const void *)a);
		break;
	case CORE_CLOSE:
		resume_dismissed(h, ((const struct core_close *)a)->client);
		break;
	case CORE_PARTED:
		survivor_parted(h, ((const struct core_parted *)a)->process);
		break;
	case CORE_HINT:
		post_take(h, (const void *)a);
		break;
	case CORE_NO_ACTION:
	case CORE_SUBMIT:
	case CORE_BROKE:
		break;
	}
}
