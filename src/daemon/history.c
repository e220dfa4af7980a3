/*
 * The history of a daemon, as log entries. It lives where everything passes:
 * between the core and those whom it serves (engine.c).
 */
#include <config.h>	/* the build's */

#include "daemon/history.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/buffer.h"
#include "common/error.h"
#include "common/log.h"
#include "ipc/codec.h"

struct history_line {
	struct log_field fields[LOG_FIELDS_MAX];
	char numbers[LOG_FIELDS_MAX][24];
	size_t n_fields;
};

/* ---- lines ------------------------------------------------------------ */

static void
history_text(struct history_line *l, const char *name, const char *value)
{
	l->fields[l->n_fields++] = (struct log_field){ name, value };
}

static void
history_number(struct history_line *l, const char *name, uint64_t value)
{
	char *text = l->numbers[l->n_fields];

	(void)snprintf(text, sizeof(l->numbers[0]), "%" PRIu64, value);
	history_text(l, name, text);
}

static void
history_begin(struct history *h, struct history_line *l, const char *event)
{
	l->n_fields = 0;
	history_text(l, "DDBLOCK_EVENT", event);
	history_number(l, "DDBLOCK_SERIAL", ++h->serial);
}

static void
history_write(const struct history_line *l)
{
	log_write_always(l->fields, l->n_fields, "history %s: %s",
	    l->fields[1].value, l->fields[0].value);
}

static void
history_namespace(const struct history *h, struct history_line *l,
    uint32_t index)
{
	if (index < h->config->n_namespaces)
		history_text(l, "DDBLOCK_NAMESPACE",
		    h->config->namespaces[index].name);
}

static const char *
history_verb(enum core_verb verb)
{
	static const char *const verbs[] = {
		[CORE_ACQUIRE] = "ACQUIRE",
		[CORE_CANCEL] = "CANCEL",
		[CORE_RELEASE] = "RELEASE",
		[CORE_RENEW] = "RENEW",
		[CORE_GET] = "GET",
		[CORE_LIST] = "LIST",
	};

	return verbs[verb];
}

static const char *
history_loss(enum core_loss loss)
{
	static const char *const losses[] = {
		[CORE_LOSS_EXPIRED] = "expired",
		[CORE_LOSS_STOLEN] = "stolen",
		[CORE_LOSS_BROKEN] = "broken",
		[CORE_LOSS_SHUTDOWN] = "shutdown",
	};

	return losses[loss];
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
history_use(struct history_line *l, enum lock_mode mode, uint32_t limit)
{
	history_text(l, "DDBLOCK_MODE",
	    mode == LOCK_MODE_SHARED ? "shared" : "exclusive");
	if (limit > 0)
		history_number(l, "DDBLOCK_LIMIT", limit);
}

static void
history_request(struct history *h, const struct core_request *r)
{
	struct history_line l;
	struct buffer key;

	buffer_init(&key, 4 * KEY_LENGTH_MAX);
	history_begin(h, &l, "asked");
	history_number(&l, "DDBLOCK_CLIENT", r->client);
	history_number(&l, "DDBLOCK_REQUEST", r->request);
	history_text(&l, "DDBLOCK_VERB", history_verb(r->verb));
	if (r->verb == CORE_RELEASE || r->verb == CORE_RENEW) {
		history_number(&l, "DDBLOCK_HOLD", r->hold);
	} else if (r->verb == CORE_CANCEL) {
		history_number(&l, "DDBLOCK_TARGET", r->target);
	} else {
		/* As on the wire, where a space comes first. */
		codec_value(&key, NULL, r->key.bytes, r->key.length);
		history_namespace(h, &l, r->namespace_index);
		history_text(&l, "DDBLOCK_KEY",
		    buffer_failed(&key) == 0 ? key.data + 1 : NULL);
	}
	if (r->verb == CORE_ACQUIRE)
		history_use(&l, r->mode, r->limit);
	if (r->verb == CORE_ACQUIRE && r->wait_ms != CORE_FOREVER)
		history_number(&l, "DDBLOCK_WAIT_MS", r->wait_ms);
	history_write(&l);
	buffer_done(&key);
}

static void
history_client(struct history *h, const char *event, uint64_t client)
{
	struct history_line l;

	history_begin(h, &l, event);
	history_number(&l, "DDBLOCK_CLIENT", client);
	history_write(&l);
}

void
history_event(struct history *h, const struct core_event *event)
{
	if (h->config == NULL)
		return;
	h->leaving = event->type == CORE_GONE ? event->client : 0;
	if (event->type == CORE_REQUEST)
		history_request(h, &event->request);
	else if (event->type == CORE_DRAIN)
		history_client(h, "drains", event->client);
	else if (event->type == CORE_GONE)
		history_client(h, "left", event->client);
}

static void
history_answer(struct history *h, struct history_line *l, uint64_t client,
    uint64_t request, enum core_verb verb)
{
	history_begin(h, l, "answered");
	history_number(l, "DDBLOCK_CLIENT", client);
	history_number(l, "DDBLOCK_REQUEST", request);
	history_text(l, "DDBLOCK_VERB", history_verb(verb));
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
	if (r->code == 0 && r->verb == CORE_ACQUIRE) {
		history_number(&l, "DDBLOCK_HOLD", r->hold);
		history_number(&l, "DDBLOCK_TOKEN", r->token);
		history_use(&l, r->mode, r->limit);
	}
	if (r->code == 0 &&
	    (r->verb == CORE_ACQUIRE || r->verb == CORE_RENEW))
		history_number(&l, "DDBLOCK_UNTIL_BOOT_MS", r->until_ms);
	history_write(&l);
}

/* What was due is told first, also to a client that has just left: nobody
 * hears that. */
static void
history_notice(struct history *h, const struct core_notice *n)
{
	static const char *const events[] = {
		[CORE_IN_DANGER] = "danger",
		[CORE_SAFE] = "safe",
		[CORE_LOST] = "lost",
	};
	struct history_line l;

	if (n->client == h->leaving)
		return;
	history_begin(h, &l, events[n->kind]);
	history_number(&l, "DDBLOCK_CLIENT", n->client);
	history_number(&l, "DDBLOCK_HOLD", n->hold);
	if (n->kind == CORE_LOST)
		history_text(&l, "DDBLOCK_REASON", history_loss(n->loss));
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

void
history_action(struct history *h, const struct core_action *action)
{
	if (h->config == NULL)
		return;
	if (action->type == CORE_REPLY)
		history_reply(h, (const struct core_reply *)action);
	else if (action->type == CORE_NOTICE)
		history_notice(h, (const struct core_notice *)action);
	else if (action->type == CORE_RENEWED)
		history_renewed(h, (const struct core_renewed *)action);
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
