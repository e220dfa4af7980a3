/*
 * The history of a daemon, as log entries. It lives where everything passes:
 * between the core and its clients (engine.c).
 */
#include <config.h>	/* the build's */

#include "daemon/history_line.h"

#include "common/error.h"
#include "ipc/protocol.h"

/* What the core is asked, by the name that it has for clients. */
static enum protocol_verb
history_verb(enum core_verb verb)
{
	static const enum protocol_verb verbs[] = {
#define CORE(name) [CORE_##name] = VERB_##name,
#define SERVER(name)
#define VERB(name, handler, asker, ...) asker(name)
#include "ipc/protocol.def"
#undef CORE
#undef SERVER
	};

	return verbs[verb];
}

const char *
history_verb_word(enum core_verb verb)
{
	return protocol_verb(history_verb(verb))->word;
}

static void
history_write_verb(struct history_line *l, enum core_verb verb)
{
	history_text(l, "DDBLOCK_VERB", history_verb_word(verb));
}

/* ---- the daemon itself ------------------------------------------------ */

void
history_start(struct history *h, const struct config *config,
    const char *host)
{
	struct history_line l;

	if (!config->daemon.history)
		return;
	h->config = config;
	history_begin(h, &l, "started");
	history_text(&l, "DDBLOCK_HOST", host);
	history_text(&l, "DDBLOCK_VERSION", PACKAGE_VERSION);
	history_write(&l);
	for (uint32_t i = 0; i < config->n_namespaces; i++) {
		const struct config_namespace *n = &config->namespaces[i];

		history_begin(h, &l, "namespace");
		history_namespace(h, &l, i);
		history_number(&l, "DDBLOCK_LEASE_MS", n->lease_ms);
		history_number(&l, "DDBLOCK_DANGER_MS", n->danger_ms);
		history_number(&l, "DDBLOCK_MARGIN_MS", n->margin_ms);
		history_number(&l, "DDBLOCK_DRIFT_PPM", n->drift_ppm);
		history_number(&l, "DDBLOCK_POLL_MS", n->poll_ms);
		history_number(&l, "DDBLOCK_REQUEST_MS", n->request_ms);
		history_number(&l, "DDBLOCK_TRY_MS", n->try_ms);
		history_number(&l, "DDBLOCK_AUDIT_MS", n->audit_ms);
		history_number(&l, "DDBLOCK_IDLE_MS", n->idle_ms);
		history_write(&l);
	}
}

void
history_end(struct history *h, bool settled)
{
	struct history_line l;

	if (h->config == NULL)
		return;
	history_begin(h, &l, "ended");
	history_text(&l, "DDBLOCK_SETTLED", settled ? "yes" : "no");
	history_write(&l);
	h->config = NULL;
}

/* ---- clients ---------------------------------------------------------- */

static void
history_use(struct history_line *l, const struct core_terms *t)
{
	history_text(l, "DDBLOCK_MODE",
	    t->mode == LOCK_MODE_SHARED ? "shared" : "exclusive");
	if (t->limit > 0)
		history_number(l, "DDBLOCK_LIMIT", t->limit);
	if (t->fail_closed)
		history_text(l, "DDBLOCK_POLICY", "fail-closed");
}

/* An absent value is left out. */
static void
history_terms(struct history_line *l, const struct core_terms *t)
{
	history_use(l, t);
	if (t->max_hold_ms > 0)
		history_number(l, "DDBLOCK_MAX_HOLD_MS", t->max_hold_ms);
	if (t->keepalive_ms > 0)
		history_number(l, "DDBLOCK_KEEPALIVE_MS", t->keepalive_ms);
	if (t->danger_ms > 0)
		history_number(l, "DDBLOCK_DANGER_MS", t->danger_ms);
	if (t->manual)
		history_text(l, "DDBLOCK_RENEW", "manual");
	if (t->reentrant)
		history_text(l, "DDBLOCK_REENTRANT", "yes");
	if (t->stays)
		history_text(l, "DDBLOCK_ON_CLOSE", "lease");
	if (t->linger_ms > 0)
		history_number(l, "DDBLOCK_LINGER_MS", t->linger_ms);
	if (t->at_least_ms > 0)
		history_number(l, "DDBLOCK_AT_LEAST_MS", t->at_least_ms);
	if (t->every_ms > 0)
		history_number(l, "DDBLOCK_EVERY_MS", t->every_ms);
	if (t->every_ms > 0 && t->counts_at_end)
		history_text(l, "DDBLOCK_COUNTS", "succeeded");
	if (t->process != 0)
		history_number(l, "DDBLOCK_PROCESS", t->process);
}

/* Does its client come back, or may it? */
static void
history_resumes(struct history_line *l, const struct core_terms *t)
{
	if (t->resumes)
		history_text(l, "DDBLOCK_RESUMES", "yes");
}

static void
history_request(struct history *h, const struct core_request *r)
{
	const enum protocol_verb verb = history_verb(r->verb);
	struct history_line l;

	history_begin(h, &l, "asked");
	history_number(&l, "DDBLOCK_CLIENT", r->client);
	history_number(&l, "DDBLOCK_REQUEST", r->request);
	history_write_verb(&l, r->verb);
	if (protocol_takes(verb, ARGUMENT_ID)) {
		history_number(&l, "DDBLOCK_HOLD", r->hold);
	} else if (protocol_takes(verb, ARGUMENT_TAG)) {
		history_number(&l, "DDBLOCK_TARGET", r->target);
	} else if (!protocol_takes(verb, ARGUMENT_SECRET)) {
		history_namespace(h, &l, r->namespace_index);
		history_keys(&l, r->n_keys > 0 ? r->keys : &r->key,
		    r->n_keys > 0 ? r->n_keys : 1);
	}
	if (r->verb == CORE_RESUME || r->terms.linger_ms > 0 ||
	    r->terms.resumes)
		history_number(&l, "DDBLOCK_USER", r->user);
	if (r->verb == CORE_BREAK)
		history_number(&l, "DDBLOCK_TOKEN", r->token);
	if (r->verb == CORE_ACQUIRE || r->verb == CORE_DOWNGRADE)
		history_terms(&l, &r->terms);
	history_resumes(&l, &r->terms);
	if (r->verb == CORE_ACQUIRE && r->wait_ms != CORE_FOREVER)
		history_number(&l, "DDBLOCK_WAIT_MS", r->wait_ms);
	history_write(&l);
}

static void
history_client(struct history *h, const char *event, uint64_t client)
{
	struct history_line l;

	history_begin(h, &l, event);
	history_number(&l, "DDBLOCK_CLIENT", client);
	history_write(&l);
}

static void
history_process(struct history *h, uint64_t client, uint64_t process)
{
	struct history_line l;

	history_begin(h, &l, "outlived");
	history_number(&l, "DDBLOCK_CLIENT", client);
	history_number(&l, "DDBLOCK_PROCESS", process);
	history_write(&l);
}

void
history_event(struct history *h, const struct core_event *event)
{
	if (h->config == NULL)
		return;
	h->leaving = event->type == CORE_GONE || event->type == CORE_CUT ||
	    event->type == CORE_LEAVES ? event->client : 0;
	h->came_back = event->type == CORE_CAME_BACK ? event : NULL;
	if (event->type == CORE_REQUEST)
		history_request(h, &event->request);
	else if (event->type == CORE_HALF_CLOSED)
		history_client(h, "drains", event->client);
	else if (event->type == CORE_GONE)
		history_client(h, "left", event->client);
	else if (event->type == CORE_CUT)
		history_cut_off(h, event->client);
	else if (event->type == CORE_HEARD)
		history_client(h, "heard", event->client);
	else if (event->type == CORE_ENDED)
		history_process(h, event->ended.client, event->ended.process);
}

static void
history_answer(struct history *h, struct history_line *l, uint64_t client,
    uint64_t request, enum core_verb verb)
{
	history_begin(h, l, "answered");
	history_number(l, "DDBLOCK_CLIENT", client);
	history_number(l, "DDBLOCK_REQUEST", request);
	history_write_verb(l, verb);
}

void
history_refused(struct history *h, const struct core_request *r, int code)
{
	struct history_line l;

	if (h->config == NULL)
		return;
	history_answer(h, &l, r->client, r->request, r->verb);
	history_text(&l, "DDBLOCK_CODE", error_word(code));
	history_write(&l);
}

static void
history_reply(struct history *h, const struct core_reply *r)
{
	struct history_line l;

	if (r->client == h->leaving)
		return;
	history_answer(h, &l, r->client, r->request, r->verb);
	history_text(&l, "DDBLOCK_CODE", error_word(r->code));
	if (r->code == 0 &&
	    (r->verb == CORE_ACQUIRE || r->verb == CORE_DOWNGRADE)) {
		history_number(&l, "DDBLOCK_HOLD", r->hold);
		history_number(&l, "DDBLOCK_TOKEN", r->token);
		history_use(&l, &r->terms);
		history_resumes(&l, &r->terms);
		if (r->end_ms > 0)
			history_number(&l, "DDBLOCK_END_BOOT_MS", r->end_ms);
	}
	if (r->code == 0 && r->until_ms != 0)
		history_number(&l, "DDBLOCK_UNTIL_BOOT_MS", r->until_ms);
	history_write(&l);
}

/* What was due is told first, also to a client that has just left, or that left
 * before its daemon died: nobody hears that. */
static bool
history_is_heard(const struct history *h, uint64_t client)
{
	return client != h->leaving && (h->came_back == NULL ||
	    h->came_back->came_back.is_here(h->came_back->came_back.arg,
	    client));
}

static void
history_notice(struct history *h, const struct core_notice *n)
{
	static const char *const events[] = {
		[CORE_IN_DANGER] = "danger",
		[CORE_SAFE] = "safe",
		[CORE_LOST] = "lost",
		[CORE_PROLONGED] = "safe",
		[CORE_UNTOLD] = "untold",
	};
	struct history_line l;

	if (!history_is_heard(h, n->client))
		return;
	history_begin(h, &l, events[n->kind]);
	history_number(&l, "DDBLOCK_CLIENT", n->client);
	history_number(&l, "DDBLOCK_HOLD", n->hold);
	if (n->kind == CORE_LOST)
		history_text(&l, "DDBLOCK_REASON", core_loss_name(n->loss));
	else
		history_number(&l, "DDBLOCK_UNTIL_BOOT_MS", n->until_ms);
	history_write(&l);
}

static void
history_renewed(struct history *h, const struct core_renewed *r)
{
	struct history_line l;

	history_begin(h, &l, "renewed");
	history_namespace(h, &l, r->namespace_index);
	history_number(&l, "DDBLOCK_UNTIL_BOOT_MS", r->until_ms);
	history_write(&l);
}

static void
history_changed(struct history *h, const struct core_change *a)
{
	struct history_line l;

	history_begin(h, &l, "changed");
	history_number(&l, "DDBLOCK_CLIENT", a->client);
	history_namespace(h, &l, a->namespace_index);
	history_keys(&l, &a->key, 1);
	history_text(&l, "DDBLOCK_STATE", a->holder == NULL ? "unknown" :
	    !a->holder->held ? "free" : a->holder->dead ? "dead" : "held");
	if (a->holder != NULL && a->holder->token > 0)
		history_number(&l, "DDBLOCK_TOKEN", a->holder->token);
	history_write(&l);
}

/* What a client has now that another had, before that is answered. */
static void
history_resumed(struct history *h, const struct core *core, uint64_t client,
    uint64_t now_ms)
{
	struct core_hold_view v = { 0 };
	struct history_line l;

	while (core_next_hold_of(core, client, v.hold, now_ms, &v)) {
		history_begin(h, &l, "taken");
		history_number(&l, "DDBLOCK_CLIENT", client);
		history_number(&l, "DDBLOCK_HOLD", v.hold);
		if (v.lost)
			history_text(&l, "DDBLOCK_REASON",
			    core_loss_name(v.loss));
		else
			history_number(&l, "DDBLOCK_UNTIL_BOOT_MS", v.until_ms);
		history_write(&l);
	}
}

static void
history_answered(struct history *h, const struct core *core,
    const struct core_reply *r, uint64_t now_ms)
{
	if (r->verb == CORE_RESUME && r->code == 0)
		history_resumed(h, core, r->client, now_ms);
	history_reply(h, r);
}

void
history_action(struct history *h, const struct core *core,
    const struct core_action *action, uint64_t now_ms)
{
	if (h->config == NULL)
		return;
	if (action->type == CORE_REPLY)
		history_answered(h, core, (const struct core_reply *)action,
		    now_ms);
	else if (action->type == CORE_NOTICE)
		history_notice(h, (const struct core_notice *)action);
	else if (action->type == CORE_RENEWED)
		history_renewed(h, (const struct core_renewed *)action);
	else if (action->type == CORE_CHANGED)
		history_changed(h, (const struct core_change *)action);
	else if (action->type == CORE_CLOSE)
		history_cut_off(h, ((const struct core_close *)action)->client);
}

/* ---- sessions --------------------------------------------------------- */

void
history_outcome(struct history *h, const struct operation *o,
    const struct outcome *outcome)
{
	char session[IDENT_TEXT_LENGTH + 1];
	struct history_line l;

	if (h->config == NULL || (o->kind != OPERATION_SESSION_OPEN &&
	    o->kind != OPERATION_SESSION_BEAT &&
	    o->kind != OPERATION_SESSION_CLOSE))
		return;
	ident_format(o->session, session);
	history_begin(h, &l, "session");
	history_namespace(h, &l, o->namespace_index);
	history_text(&l, "DDBLOCK_SESSION", session);
	history_text(&l, "DDBLOCK_OPERATION", operation_kind_name(o->kind));
	history_text(&l, "DDBLOCK_OUTCOME", outcome_kind_name(outcome->kind));
	if (outcome->kind == OUTCOME_DONE)
		history_number(&l, "DDBLOCK_SENT_BOOT_MS", outcome->sent_ms);
	history_write(&l);
}
