/*
 * Local programs that resume their own holds or another program's: the secret
 * that they send, the answer, and the fate of a program whose holds another has
 * resumed.
 */
#include "world_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void
resume_ask(struct world *w, const struct plan_step *s)
{
	unsigned long whose = strtoul(s->key + 1, NULL, 10);
	struct core_request q = { .verb = CORE_RESUME, .user = s->stranger,
		.terms = { .resumes = s->resumes } };
	struct customer *c = customer_at(w, s), *old;

	if (c == NULL || whose > PLAN_CLIENTS_MAX)
		return;
	old = &w->customers[whose];
	q.secret = &old->secret;
	q.target = old->secret_of;
	c->resumes = s;
	(void)customer_request(c, &q, s->key);
}

/* The answer to an acquire of what may be resumed has the secret. */
void
resume_granted(struct customer *c, const struct core_reply *r)
{
	if (r->terms.linger_ms == 0 && !r->terms.resumes)
		return;
	c->secret = *r->secret;
	c->secret_of = c->id;
}

/* ---- its present holds -------------------------------------------------- */

static void
resume_tell(struct customer *c, const struct core_hold_view *v)
{
	struct host *h = c->host;
	struct fact f = { .kind = FACT_TAKEN, .host = h->index,
		.client = c->id, .hold = v->hold, .loss = v->loss,
		.until_ms = v->lost ? 0 : host_real_ms(h, v->until_ms) };

	if (v->lost)
		world_trace(c->world, WORLD_TRACE_TOLD, h->name,
		    "c%u has lost %.*s, hold %" PRIu64 ": %s", c->number,
		    (int)v->key.length, v->key.bytes, v->hold,
		    core_loss_name(v->loss));
	else
		world_trace(c->world, WORLD_TRACE_TOLD, h->name,
		    "c%u has %.*s, hold %" PRIu64 "%s, remaining %" PRIu64,
		    c->number, (int)v->key.length, v->key.bytes, v->hold,
		    v->danger ? " in danger" : "", v->remaining_ms);
	world_tell(c->world, &f);
}

static void
resume_add_key(struct customer_multi *m, const struct core_hold_view *v)
{
	(void)snprintf(m->keys.keys[m->keys.n], PLAN_KEY_MAX, "%.*s",
	    (int)v->key.length, (const char *)v->key.bytes);
	m->holds[m->keys.n++] = v->hold;
}

/* It works on, with its hold: one lock, or several as one; or knows that it is
 * @lost. */
static void
resume_begin(struct customer *c, struct customer_multi *m, bool lost)
{
	char key[PLAN_KEY_MAX] = "";
	size_t length = 0;

	for (size_t i = 0; i < m->keys.n; i++) {
		(void)snprintf(key + length, sizeof(key) - length, "%s%s",
		    i > 0 ? "+" : "", m->keys.keys[i]);
		length = strlen(key);
	}
	customer_has(c, key, m->hold, lost);
	if (m->keys.n > 1) {
		m->next = c->multis;
		c->multis = m;
	} else {
		free(m);
	}
}

/* It has the secret of the one that it resumed. */
static void
resume_learn(struct customer *c)
{
	unsigned long whose = strtoul(c->resumes->key + 1, NULL, 10);

	c->secret = c->world->customers[whose].secret;
	c->secret_of = c->world->customers[whose].secret_of;
}

void
resume_answered(struct host *h, const struct core_reply *r)
{
	struct customer *c = customer_of(h->world, r->client);
	struct customer_multi *m = NULL;
	struct core_hold_view v = { 0 };
	bool lost = false;

	while (c != NULL && core_next_hold_of(h->core, r->client, v.hold,
	    host_boot_ms(h), &v)) {
		resume_tell(c, &v);
		if (m != NULL && m->hold != v.id) {
			resume_begin(c, m, lost);
			m = NULL;
		}
		if (m == NULL) {
			m = world_alloc(sizeof(*m));
			m->hold = v.id;
			m->request = r->request;
		}
		lost = v.lost;
		resume_add_key(m, &v);
	}
	if (m != NULL)
		resume_begin(c, m, lost);
	if (c != NULL)
		resume_learn(c);
}

/*
 * ---- its former holds ------------------------------------------------------
 */

void
resume_dismissed(struct host *h, uint64_t client)
{
	struct world *w = h->world;
	struct customer *c = customer_of(w, client);
	const struct fact f = { .kind = FACT_LEFT, .host = h->index,
		.client = client, .loss = CORE_LOSS_CUT_OFF };

	host_ignore(h, client);
	if (c == NULL)
		return;
	world_trace(w, WORLD_TRACE_TOLD, h->name, "c%u is dismissed",
	    c->number);
	world_tell(w, &f);
	survivor_begin_all(c);
	customer_forget(c);
}
