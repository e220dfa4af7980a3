/* The audit trail. See trail.h. */
#include <config.h>	/* the build's */

#include "daemon/trail.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/error.h"
#include "daemon/history.h"
#include "daemon/log_line.h"

#define TRAIL_STOP_MAX 200

/* As the setting has them. */
enum trail_extent {
	TRAIL_ALL = 0,
	TRAIL_REFUSALS,
	TRAIL_NO,
};

static const char *
trail_namespace(const struct trail *t, uint32_t index)
{
	return index < t->config->n_namespaces ?
	    t->config->namespaces[index].name : NULL;
}

/* NULL: it has left. */
static const struct server_client *
trail_client(const struct trail *t, uint64_t client, struct server_client *ret)
{
	return t->server != NULL && server_view_client(t->server, client, ret) ?
	    ret : NULL;
}

static bool
trail_admits(const struct trail *t, enum trail_extent extent,
    enum trail_kind kind, const struct server_client *who)
{
	return t->config->daemon.audit_trail <= extent &&
	    log_admits(LOG_INFO, trail_kind_word(kind), log_line_user(who),
	    LOG_BURST_TRAIL);
}

/* ---- holds ------------------------------------------------------------ */

/* What a line about a hold says. */
struct trail_hold {
	uint32_t namespace_index;
	struct key key;
	uint64_t token;
	uint64_t hold;			/* 0: none */
	uint64_t client;
	const struct core_terms *terms;	/* NULL: they do not matter any more */
	const char *reason;		/* NULL: none */
};

static void
trail_hold(const struct trail *t, enum trail_kind kind, const char *text,
    const struct trail_hold *h, const struct server_client *who)
{
	const bool shared = h->terms != NULL &&
	    h->terms->mode == LOCK_MODE_SHARED;
	struct log_line_lock lock;
	char by[LOG_LINE_WHO_MAX];
	struct log_line l = { 0 };

	log_line_trail(&l, kind);
	log_line_text(&l, "DDBLOCK_NAMESPACE",
	    trail_namespace(t, h->namespace_index));
	log_line_lock(&l, h->key, &lock);
	log_line_number(&l, "DDBLOCK_TOKEN", h->token);
	if (h->hold > 0)
		log_line_number(&l, "DDBLOCK_HOLD", h->hold);
	log_line_client(&l, h->client, who);
	if (shared)
		log_line_text(&l, "DDBLOCK_MODE", "shared");
	log_line_text(&l, "DDBLOCK_REASON", h->reason);
	log_write_admitted(LOG_INFO, trail_kind_word(kind), l.fields,
	    l.n_fields, "lock %s, token %" PRIu64 ", %s %s%s%s%s", lock.name,
	    h->token, text, log_line_who(h->client, who, by),
	    shared ? ", shared" : "",
	    h->reason == NULL ? "" : ": ", h->reason == NULL ? "" : h->reason);
}

/* What this client has now, by its own request or another's. */
static void
trail_granted(const struct trail *t, const struct core_reply *r,
    const struct server_client *who, uint64_t now_ms)
{
	struct trail_hold h = {
		.hold = r->hold, .token = r->token, .client = r->client,
		.terms = &r->terms,
		.reason = r->verb == CORE_DOWNGRADE ? "downgrade" : NULL,
	};
	struct core_hold_view v;

	for (uint32_t i = 0; i < r->n_parts; i++) {
		h.namespace_index = r->parts[i].namespace_index;
		h.key = r->parts[i].key;
		h.token = r->parts[i].token;
		h.hold = r->parts[i].hold;
		if (i == 0 || trail_admits(t, TRAIL_ALL, TRAIL_GRANT, who))
			trail_hold(t, TRAIL_GRANT, "is granted to", &h, who);
	}
	if (r->n_parts > 0 || !core_view_hold(t->core, r->hold, now_ms, &v))
		return;		/* it has ended already */
	h.namespace_index = v.namespace_index;
	h.key = v.key;
	trail_hold(t, TRAIL_GRANT, "is granted to", &h, who);
}

static void
trail_resumed(const struct trail *t, uint64_t client,
    const struct server_client *who, uint64_t now_ms)
{
	struct core_hold_view v = { 0 };
	struct trail_hold h = { .client = client, .terms = &v.terms };

	while (core_next_hold_of(t->core, client, v.hold, now_ms, &v)) {
		if (v.lost || !trail_admits(t, TRAIL_ALL, TRAIL_RESUME, who))
			continue;
		h.namespace_index = v.namespace_index;
		h.key = v.key;
		h.token = v.token;
		h.hold = v.hold;
		trail_hold(t, TRAIL_RESUME, "goes on with", &h, who);
	}
}

void
trail_ended(const struct trail *t, const struct core_ended *e)
{
	static const char *const reasons[] = {
		[CORE_END_RELEASED] = NULL,
		[CORE_END_LEFT] = "its client has left",
		[CORE_END_LINGERED] = "its client did not come back",
		[CORE_END_PROCESS] = "its process has ended",
		[CORE_END_CLOSED] = "its client has left; it stays held until "
				    "it is broken",
		[CORE_END_AT_LEAST] = "its at_least is over",
	};
	const struct trail_hold h = {
		.namespace_index = e->namespace_index, .key = e->key,
		.token = e->token, .hold = e->hold, .client = e->client,
		.reason = reasons[e->end],
	};
	struct server_client room;
	const struct server_client *who = trail_client(t, e->client, &room);

	if (trail_admits(t, TRAIL_ALL, TRAIL_RELEASE, who))
		trail_hold(t, TRAIL_RELEASE, e->end == CORE_END_CLOSED ?
		    "is left by" : "is released by", &h, who);
}

/* An administrator has raised a record's token. */
static void
trail_raised(const struct trail *t, const struct core_reply *r,
    const struct server_client *who)
{
	const struct trail_hold h = {
		.namespace_index = r->namespace_index, .key = r->key,
		.token = r->token, .client = r->client,
	};

	if (r->raised && trail_admits(t, TRAIL_ALL, TRAIL_RAISE, who))
		trail_hold(t, TRAIL_RAISE, "is raised to that by", &h, who);
}

/* ---- refusals --------------------------------------------------------- */

/* Of a request that was not read yet. NULL: nothing. */
static const char *
trail_cut(char *to, size_t size, const char *text)
{
	if (text == NULL)
		return NULL;
	(void)snprintf(to, size, "%s", text);
	return to;
}

void
trail_refused(const struct trail *t, const struct server_refusal *r)
{
	const struct key key = key_text(r->key == NULL ? "" : r->key);
	char namespace[CONFIG_NAMESPACE_LENGTH_MAX + 1];
	char sort[KEY_SORT_MAX + 1];
	struct log_line_lock lock;
	char by[LOG_LINE_WHO_MAX];
	struct log_line l = { 0 };

	if (!trail_admits(t, TRAIL_REFUSALS, TRAIL_REFUSAL, r->who))
		return;
	log_line_trail(&l, TRAIL_REFUSAL);
	log_line_text(&l, "DDBLOCK_NAMESPACE",
	    trail_cut(namespace, sizeof(namespace), r->namespace));
	if (r->key != NULL) {
		log_line_lock(&l, key, &lock);
		log_line_text(&l, "DDBLOCK_SORT",
		    trail_cut(sort, sizeof(sort), r->sort));
	}
	log_line_client(&l, r->client, r->who);
	log_line_text(&l, "DDBLOCK_VERB", r->verb);
	log_line_text(&l, "DDBLOCK_CODE", error_word(r->code));
	log_line_text(&l, "DDBLOCK_REASON", r->why);
	log_write_admitted(LOG_INFO, "refusal", l.fields, l.n_fields,
	    "%s%s%s of %s is refused: %s: %s",
	    r->verb == NULL ? "a connection" : r->verb,
	    r->key == NULL ? "" : " ", r->key == NULL ? "" : lock.name,
	    log_line_who(r->client, r->who, by), error_word(r->code), r->why);
}

/* ---- replies ---------------------------------------------------------- */

/* The core found it too much. What was asked for is known if that was just
 * now. */
static void
trail_too_much(const struct trail *t, const struct core_reply *r,
    const struct server_client *who)
{
	const struct core_request *ask = t->asked;
	struct log_line_lock lock;
	struct log_line l = { 0 };
	struct server_refusal refusal = {
		.client = r->client, .who = who,
		.verb = history_verb_word(r->verb), .code = r->code,
		.why = r->text != NULL ? r->text : error_text(r->code),
	};

	if (ask != NULL && ask->client == r->client &&
	    ask->request == r->request && ask->key.length > 0) {
		log_line_lock(&l, ask->key, &lock);
		refusal.namespace = trail_namespace(t, ask->namespace_index);
		refusal.key = lock.key;
		refusal.sort = lock.sort;
	}
	trail_refused(t, &refusal);
}

void
trail_reply(const struct trail *t, const struct core_reply *r, uint64_t now_ms)
{
	struct server_client room;
	const struct server_client *who;

	if (t->config->daemon.audit_trail == TRAIL_NO ||
	    (r->code != 0 && r->code != DDBLOCK_E_LIMIT))
		return;
	who = trail_client(t, r->client, &room);
	if (r->code == DDBLOCK_E_LIMIT)
		trail_too_much(t, r, who);
	else if (r->verb == CORE_RESUME)
		trail_resumed(t, r->client, who, now_ms);
	else if (r->verb == CORE_RAISE)
		trail_raised(t, r, who);
	else if ((r->verb == CORE_ACQUIRE || r->verb == CORE_DOWNGRADE) &&
	    trail_admits(t, TRAIL_ALL, TRAIL_GRANT, who))
		trail_granted(t, r, who, now_ms);
}

/* ---- the daemon itself ------------------------------------------------ */

void
trail_started(const char *socket, bool inherited, uint32_t n_held)
{
	struct log_line l = { 0 };

	log_line_trail(&l, TRAIL_START);
	log_line_text(&l, "DDBLOCK_INHERITED", inherited ? "yes" : "no");
	log_line_number(&l, "DDBLOCK_HELD", n_held);
	log_write_fields(LOG_INFO, NULL, l.fields, l.n_fields, "ready on %s",
	    socket);
}

void
trail_stopped(int level, uint32_t n_held, const char *format, ...)
{
	char text[TRAIL_STOP_MAX];
	struct log_line l = { 0 };
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_line_trail(&l, TRAIL_STOP);
	log_line_number(&l, "DDBLOCK_HELD", n_held);
	log_write_fields(level, NULL, l.fields, l.n_fields, "%s", text);
}
