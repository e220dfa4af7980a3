/*
 * What the daemon says in its log. Once per change, because an outage repeats
 * itself with every request; the limits of log.h are for different messages,
 * such as each of many lost locks.
 */
#include <config.h>	/* the build's */

#include "daemon/event_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/log.h"
#include "daemon/log_line.h"
#include "daemon/stores.h"
#include "store/store.h"

#define TOKENS_BACK_MS (UINT64_C(10) * 60 * 1000)

/* Without sessions only the store's answers tell how a namespace is. */
static void
event_log_store_changed(const struct event_log *w,
    const struct core_namespace_view *v)
{
	const struct log_field fields[] = {
		{ "DDBLOCK_NAMESPACE", w->name },
		{ "DDBLOCK_CODE", v->cause == 0 ? NULL :
		    error_word(v->cause) },
	};

	if (v->open && w->opened)
		log_write_fields(LOG_INFO, "store", fields, 2,
		    "namespace %s: the store answers again", w->name);
	else if (!v->open)
		log_write_fields(LOG_WARNING, "store", fields, 2,
		    "namespace %s: the store does not answer (%s); each lock "
		    "that cannot be renewed is lost when its lease is over",
		    w->name, error_word(v->cause));
}

static void
event_log_session_changed(const struct event_log *w,
    const struct core_namespace_view *v)
{
	const struct log_field fields[] = {
		{ "DDBLOCK_NAMESPACE", w->name },
		{ "DDBLOCK_CODE", v->cause == 0 ? NULL :
		    error_word(v->cause) },
	};

	if (v->open && !w->open)
		log_write_fields(LOG_INFO, "session", fields, 2,
		    "namespace %s: %s", w->name, w->opened ?
		    "a new session is open" : "the session is open");
	else if (!v->open && w->open)
		log_write_fields(LOG_WARNING, "session", fields, 2,
		    "namespace %s: the session is lost, and all that was held "
		    "under it; a new one is being opened%s%s", w->name,
		    v->cause == 0 ? "" : ": ",
		    v->cause == 0 ? "" : error_word(v->cause));
	else if (v->danger && !w->danger)
		log_write_fields(LOG_WARNING, "session", fields, 2,
		    "namespace %s: the session was not renewed for %" PRIu64
		    " ms (%s); in %" PRIu64 " ms everything held is lost",
		    w->name, v->renewed_ago_ms, v->cause == 0 ? "no answer" :
		    error_word(v->cause), v->remaining_ms);
	else if (!v->danger && w->danger && v->open)
		log_write_fields(LOG_INFO, "session", fields, 2,
		    "namespace %s: the session is renewed and safe", w->name);
}

/* A restored table has many of them: one line says it for all, but later ones
 * may be of another restoration. */
static void
event_log_tokens_back(struct event_log *w, const struct core_namespace_view *v,
    uint64_t now_ms)
{
	const struct core_tokens_back *t = v->tokens_back;
	struct log_line_lock lock;
	struct log_line l = { 0 };
	char token[24];

	if (v->counters.tokens_back == w->tokens_back ||
	    (w->tokens_back > 0 && now_ms < w->tokens_back_ms + TOKENS_BACK_MS))
		return;
	w->tokens_back = v->counters.tokens_back;
	w->tokens_back_ms = now_ms;
	(void)snprintf(token, sizeof(token), "%" PRIu64, t->token);
	log_line_text(&l, "DDBLOCK_NAMESPACE", w->name);
	log_line_lock(&l, (struct key){ t->key, t->key_length }, &lock);
	log_line_text(&l, "DDBLOCK_TOKEN", token);
	log_write_fields(LOG_ERR, "tokens", l.fields, l.n_fields,
	    "namespace %s: the record of lock %s has token %s, and had %"
	    PRIu64 " before: was the table restored from a backup, or the "
	    "record changed by hand? Tokens that were given may be given "
	    "again, by hosts that do not know them; \"ddblock raise-tokens\" "
	    "raises all (%" PRIu64 " such records were seen)", w->name,
	    lock.name, token, t->known, v->counters.tokens_back);
}

bool
event_log_session(struct event_log *w, const struct core *core, uint32_t index,
    uint64_t now_ms)
{
	struct core_namespace_view v;

	core_view_namespace(core, index, now_ms, &v);
	event_log_tokens_back(w, &v, now_ms);
	if (v.open == w->open && v.danger == w->danger)
		return false;
	if (v.format == NULL)
		event_log_session_changed(w, &v);
	else
		event_log_store_changed(w, &v);
	w->open = v.open;
	w->danger = v.danger;
	w->opened = w->opened || v.open;
	return true;
}

/* Is it about the store, rather than about one lock or one request? */
static bool
event_log_is_trouble(int code)
{
	switch (code) {
	case DDBLOCK_E_UNREACHABLE:
	case DDBLOCK_E_THROTTLED:
	case DDBLOCK_E_ACCESS_DENIED:
	case DDBLOCK_E_NO_CREDENTIALS:
	case DDBLOCK_E_NO_TABLE:
	case DDBLOCK_E_WRONG_TABLE:
	case DDBLOCK_E_STORE_FULL:
	case DDBLOCK_E_STORE_BROKEN:
	case DDBLOCK_E_NOMEM:
	case DDBLOCK_E_SYSTEM:
	case DDBLOCK_E_INTERNAL:
		return true;
	default:
		return false;
	}
}

static void
event_log_bad_record(const struct event_log *w,
    const struct operation *operation,
    const struct outcome *outcome)
{
	struct log_line_lock lock;
	struct log_line l = { 0 };

	log_line_text(&l, "DDBLOCK_NAMESPACE", w->name);
	log_line_text(&l, "DDBLOCK_CODE", error_word(outcome->code));
	/* A session's item has no key. */
	if (operation->key.length > 0)
		log_line_lock(&l, operation->key, &lock);
	log_write_fields(LOG_WARNING, "record", l.fields, l.n_fields,
	    "namespace %s: %s%s%s: %s: %s", w->name,
	    operation_kind_name(operation->kind),
	    operation->key.length == 0 ? "" : " of ",
	    operation->key.length == 0 ? "" : lock.name,
	    error_text(outcome->code), outcome->text);
}

/* Does the text name the endpoint, or the folder, of the store? */
static bool
event_log_says_where(const char *text, const char *where)
{
	const char *name = strrchr(where, '/');
	size_t length = name == NULL ? strlen(where) :
	    (size_t)(name - where) + 1;

	return memmem(text, strlen(text), where, length) != NULL;
}

/* One line with all that helps to find the cause. */
static void
event_log_say_trouble(const struct event_log *w, const struct outcome *outcome,
    const struct store *store)
{
	const struct log_field fields[] = {
		{ "DDBLOCK_NAMESPACE", w->name },
		{ "DDBLOCK_CODE", error_word(w->trouble) },
	};
	const char *advice = stores_advice(w->trouble);
	const char *text = outcome->text;
	struct store_status status;
	bool told;

	store_view_status(store, &status);
	/* The end of the time says nothing; the attempts before it do. */
	if (*text == '\0' && status.last_text != NULL)
		text = status.last_text;
	told = event_log_says_where(text, status.where);
	log_write_fields(LOG_ERR, "store", fields, 2,
	    "namespace %s: %s (%s)%s%s%s%s%s%s", w->name,
	    error_text(w->trouble), error_word(w->trouble),
	    *text == '\0' ? "" : ": ", text, told ? "" : ", at ",
	    told ? "" : status.where,
	    advice == NULL ? "" : "; ", advice == NULL ? "" : advice);
}

bool
event_log_outcome(struct event_log *w, const struct operation *operation,
    const struct outcome *outcome, const struct store *store)
{
	bool failed = outcome->kind == OUTCOME_UNKNOWN ||
	    outcome->kind == OUTCOME_REFUSED;
	int code = !failed ? 0 : outcome->code == 0 ? DDBLOCK_E_UNREACHABLE :
	    outcome->code;

	if (outcome->from_memory)
		return false;
	if (code == DDBLOCK_E_BAD_RECORD)
		event_log_bad_record(w, operation, outcome);
	if (code == w->trouble || (code != 0 && !event_log_is_trouble(code)))
		return false;
	w->trouble = code;
	if (code == 0)
		log_write(LOG_INFO, "store",
		    "namespace %s: the store answers again", w->name);
	else
		event_log_say_trouble(w, outcome, store);
	return true;
}

/* What is said of a hold: it goes with any line about it. */
struct event_log_hold {
	struct log_line line;
	struct log_line_lock lock;
	char token[24];
};

/* @reason: NULL if there is none. */
static void
event_log_hold(const struct event_log *watches, const struct core_hold_view *v,
    const struct server_client *who, const char *reason,
    struct event_log_hold *ret)
{
	struct log_line *l = &ret->line;

	l->n_fields = 0;
	(void)snprintf(ret->token, sizeof(ret->token), "%" PRIu64, v->token);
	log_line_text(l, "DDBLOCK_NAMESPACE",
	    watches[v->namespace_index].name);
	log_line_lock(l, v->key, &ret->lock);
	log_line_text(l, "DDBLOCK_TOKEN", ret->token);
	log_line_number(l, "DDBLOCK_HOLD", v->hold);
	log_line_client(l, v->client, who);
	log_line_text(l, "DDBLOCK_REASON", reason);
}

/* May something be said about what this user's program has, and no more of the
 * others'? */
static bool
event_log_admits(int level, const char *kind, const struct server_client *who)
{
	return log_admits(level, kind, log_line_user(who), LOG_BURST);
}

void
event_log_cut_off(const struct event_log *watches, const struct core *core,
    uint64_t client, const struct server_client *who, uint64_t now_ms)
{
	struct core_hold_view v = { 0 };
	struct event_log_hold h;

	while (core_next_hold_of(core, client, v.hold, now_ms, &v)) {
		if (!event_log_admits(LOG_WARNING, "lost", who))
			continue;
		event_log_hold(watches, &v, who,
		    core_loss_name(CORE_LOSS_CUT_OFF), &h);
		log_line_trail(&h.line, TRAIL_LOSS);
		log_write_admitted(LOG_WARNING, "lost", h.line.fields,
		    h.line.n_fields, "lock %s, token %s: its client was cut "
		    "off", h.lock.name, h.token);
	}
}

static void
event_log_lost(const struct event_log *watches, const struct core_hold_view *v,
    const struct server_client *who, const char *reason)
{
	struct event_log_hold h;

	if (!event_log_admits(LOG_WARNING, "lost", who))
		return;
	event_log_hold(watches, v, who, reason, &h);
	log_line_trail(&h.line, TRAIL_LOSS);
	log_write_admitted(LOG_WARNING, "lost", h.line.fields,
	    h.line.n_fields, "lock %s, token %s, is lost: %s", h.lock.name,
	    h.token, reason);
}

static void
event_log_danger(const struct event_log *watches,
    const struct core_hold_view *v, const struct server_client *who,
    const struct core_notice *notice)
{
	const char *reason = error_word(notice->cause == 0 ?
	    DDBLOCK_E_UNREACHABLE : notice->cause);
	struct event_log_hold h;

	if (!event_log_admits(LOG_WARNING, "danger", who))
		return;
	event_log_hold(watches, v, who, reason, &h);
	log_line_trail(&h.line, TRAIL_DANGER);
	log_write_admitted(LOG_WARNING, "danger", h.line.fields,
	    h.line.n_fields, "lock %s, token %s, is in danger: %s; "
	    "it is lost in %" PRIu32 " ms", h.lock.name, h.token, reason,
	    notice->remaining_ms);
}

void
event_log_notice(const struct event_log *watches, const struct core *core,
    const struct core_notice *notice, const struct server_client *who,
    uint64_t now_ms)
{
	struct core_hold_view v;
	struct event_log_hold h;

	if (!core_view_hold(core, notice->hold, now_ms, &v))
		return;		/* event_log_cut_off() */
	switch (notice->kind) {
	case CORE_PROLONGED:
		break;		/* the rule */
	case CORE_UNTOLD:
		break;		/* what became of that is said there */
	case CORE_LOST:
		event_log_lost(watches, &v, who,
		    core_loss_name(notice->loss));
		break;
	case CORE_IN_DANGER:
		event_log_danger(watches, &v, who, notice);
		break;
	case CORE_SAFE:
		if (!event_log_admits(LOG_INFO, "safe", who))
			break;
		event_log_hold(watches, &v, who, NULL, &h);
		log_line_trail(&h.line, TRAIL_SAFE);
		log_write_admitted(LOG_INFO, "safe", h.line.fields,
		    h.line.n_fields, "lock %s, token %s, is safe again",
		    h.lock.name, h.token);
		break;
	}
}

void
event_log_broke(const struct event_log *watches, const struct core_broke *b,
    const struct server_client *who)
{
	struct log_line_lock lock;
	struct log_line l = { 0 };
	char token[24];

	(void)snprintf(token, sizeof(token), "%" PRIu64, b->token);
	log_line_text(&l, "DDBLOCK_NAMESPACE",
	    watches[b->namespace_index].name);
	log_line_lock(&l, b->key, &lock);
	log_line_text(&l, "DDBLOCK_TOKEN", token);
	log_line_text(&l, "DDBLOCK_OWNER", b->owner[0] == '\0' ? NULL :
	    b->owner);
	log_line_client(&l, b->client, who);
	log_line_text(&l, "DDBLOCK_BROKEN_BY", b->by);
	log_line_text(&l, "DDBLOCK_REASON", b->reason);
	log_line_text(&l, "DDBLOCK_CODE", error_word(b->code));
	log_line_trail(&l, TRAIL_BREAK);
	if (b->code == 0)
		log_write_fields(LOG_WARNING, NULL, l.fields, l.n_fields,
		    "lock %s, token %s, of %s was broken by %s", lock.name,
		    token, b->owner[0] == '\0' ? "?" : b->owner, b->by);
	else
		log_write_fields(LOG_WARNING, NULL, l.fields, l.n_fields,
		    "lock %s, token %s, %s broken by %s: %s", lock.name, token,
		    b->unsure ? "may have been" : "was not", b->by,
		    error_text(b->code));
}

void
event_log_describe(const struct event_log *w, struct buffer *buffer)
{
	(void)buffer_printf(buffer, "%s: %s", w->name,
	    !w->open ? "opening" : w->danger ? "in danger" : "open");
	if (w->trouble != 0)
		(void)buffer_printf(buffer, ", %s", error_word(w->trouble));
}
