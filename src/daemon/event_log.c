/*
 * What the daemon says in its log. Once per change, because an outage repeats
 * itself with every request; the limits of log.h are for different messages,
 * such as each of many lost locks.
 */
#include "daemon/event_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/log.h"
#include "daemon/stores.h"
#include "store/store.h"

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

bool
event_log_session(struct event_log *w, const struct core *core, uint32_t index,
    uint64_t now_ms)
{
	struct core_namespace_view v;

	core_view_namespace(core, index, now_ms, &v);
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

/* What a lock is called in the log. */
struct event_log_lock {
	char key[KEY_BYTES_MAX + 1];
	const char *sort;	/* NULL: none */
	char name[KEY_BYTES_MAX + 8];	/* "KEY", or "KEY" "SORT" */
};

static void
event_log_lock(struct key name, struct event_log_lock *ret)
{
	ret->sort = NULL;
	if (name.length > 0)
		memcpy(ret->key, name.bytes, name.length);
	ret->key[name.length] = '\0';
	/* The NUL between the two parts ends the first. */
	if (strlen(ret->key) < name.length)
		ret->sort = ret->key + strlen(ret->key) + 1;
	(void)snprintf(ret->name, sizeof(ret->name), "\"%s\"%s%s%s", ret->key,
	    ret->sort == NULL ? "" : " \"",
	    ret->sort == NULL ? "" : ret->sort,
	    ret->sort == NULL ? "" : "\"");
}

static void
event_log_bad_record(const struct event_log *w,
    const struct operation *operation,
    const struct outcome *outcome)
{
	const struct log_field fields[] = {
		{ "DDBLOCK_NAMESPACE", w->name },
		{ "DDBLOCK_CODE", error_word(outcome->code) },
	};
	struct event_log_lock lock;

	event_log_lock(operation->key, &lock);
	/* A session's item is named in the text only. */
	log_write_fields(LOG_WARNING, "record", fields, 2,
	    "namespace %s: %s%s%s: %s: %s", w->name,
	    operation_kind_name(operation->kind),
	    operation->key.length == 0 ? "" : " of ",
	    operation->key.length == 0 ? "" : lock.name,
	    error_text(outcome->code), outcome->text);
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

	store_view_status(store, &status);
	/* The end of the time says nothing; the attempts before it do. */
	if (*text == '\0' && status.last_text != NULL)
		text = status.last_text;
	log_write_fields(LOG_ERR, "store", fields, 2,
	    "namespace %s: %s (%s)%s%s, at %s%s%s", w->name,
	    error_text(w->trouble), error_word(w->trouble),
	    *text == '\0' ? "" : ": ", text, status.where,
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

#define EVENT_LOG_HOLD_FIELDS 4

/* What is said of a hold: it goes with any line about it. */
struct event_log_hold {
	struct event_log_lock lock;
	char token[24];
	struct log_field fields[EVENT_LOG_HOLD_FIELDS];
};

/* @reason: NULL if there is none. */
static void
event_log_hold(const struct core_hold_view *v, const char *reason,
    struct event_log_hold *ret)
{
	event_log_lock(v->key, &ret->lock);
	(void)snprintf(ret->token, sizeof(ret->token), "%" PRIu64, v->token);
	ret->fields[0] = (struct log_field){ "DDBLOCK_KEY", ret->lock.key };
	ret->fields[1] = (struct log_field){ "DDBLOCK_SORT", ret->lock.sort };
	ret->fields[2] = (struct log_field){ "DDBLOCK_TOKEN", ret->token };
	ret->fields[3] = (struct log_field){ "DDBLOCK_REASON", reason };
}

void
event_log_cut_off(const struct core *core, uint64_t client, uint64_t now_ms)
{
	struct core_hold_view v = { 0 };
	struct event_log_hold h;

	while (core_next_hold_of(core, client, v.hold, now_ms, &v)) {
		event_log_hold(&v, core_loss_name(CORE_LOSS_CUT_OFF), &h);
		log_write_fields(LOG_WARNING, "lost", h.fields,
		    EVENT_LOG_HOLD_FIELDS,
		    "lock %s, token %s: its client was cut "
		    "off", h.lock.name, h.token);
	}
}

void
event_log_notice(const struct core *core, const struct core_notice *notice,
    uint64_t now_ms)
{
	struct core_hold_view v;
	struct event_log_hold h;
	const char *reason;

	if (!core_view_hold(core, notice->hold, now_ms, &v))
		return;		/* event_log_cut_off() */
	switch (notice->kind) {
	case CORE_PROLONGED:
		break;		/* the rule */
	case CORE_UNTOLD:
		break;		/* what became of that is said there */
	case CORE_LOST:
		reason = core_loss_name(notice->loss);
		event_log_hold(&v, reason, &h);
		log_write_fields(LOG_WARNING, "lost", h.fields,
		    EVENT_LOG_HOLD_FIELDS, "lock %s, token %s, is lost: %s",
		    h.lock.name, h.token, reason);
		break;
	case CORE_IN_DANGER:
		reason = error_word(notice->cause == 0 ?
		    DDBLOCK_E_UNREACHABLE : notice->cause);
		event_log_hold(&v, reason, &h);
		log_write_fields(LOG_WARNING, "danger", h.fields,
		    EVENT_LOG_HOLD_FIELDS,
		    "lock %s, token %s, is in danger: %s; "
		    "it is lost in %" PRIu32 " ms", h.lock.name, h.token,
		    reason, notice->remaining_ms);
		break;
	case CORE_SAFE:
		event_log_hold(&v, NULL, &h);
		log_write_fields(LOG_INFO, "safe", h.fields,
		    EVENT_LOG_HOLD_FIELDS,
		    "lock %s, token %s, is safe again", h.lock.name, h.token);
		break;
	}
}

void
event_log_broke(const struct event_log *watches, const struct core_broke *b)
{
	struct event_log_lock lock;
	char token[24];
	struct log_field fields[] = {
		{ "DDBLOCK_NAMESPACE", watches[b->namespace_index].name },
		{ "DDBLOCK_KEY", lock.key },
		{ "DDBLOCK_SORT", NULL },
		{ "DDBLOCK_TOKEN", token },
		{ "DDBLOCK_OWNER", b->owner[0] == '\0' ? NULL : b->owner },
		{ "DDBLOCK_BROKEN_BY", b->by },
		{ "DDBLOCK_REASON", b->reason },
		{ "DDBLOCK_CODE", error_word(b->code) },
	};
	const size_t n_fields = sizeof(fields) / sizeof(fields[0]);

	event_log_lock(b->key, &lock);
	fields[2].value = lock.sort;
	(void)snprintf(token, sizeof(token), "%" PRIu64, b->token);
	if (b->code == 0)
		log_write_fields(LOG_WARNING, NULL, fields, n_fields,
		    "lock %s, token %s, of %s was broken by %s", lock.name,
		    token, b->owner[0] == '\0' ? "?" : b->owner, b->by);
	else
		log_write_fields(LOG_WARNING, NULL, fields, n_fields,
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
