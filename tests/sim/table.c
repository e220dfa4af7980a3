/*
 * The table seen from outside: its making, what every write left in it as
 * facts for the judge, and what people and TTL do to it.
 */
#include "world_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "common/base64.h"
#include "dialect/json.h"
#include "sim_contents.h"


/* ---- sessions have names ---------------------------------------------- */

void
table_name_session(struct world *w, struct ident ident, unsigned host,
    uint32_t namespace_index, const char *name)
{
	size_t i = w->n_sessions;

	if (i == WORLD_SESSIONS_MAX)
		return;
	w->sessions[i].ident = ident;
	ident_format(ident, w->sessions[i].text);
	w->sessions[i].host = host;
	w->sessions[i].namespace_index = namespace_index;
	(void)snprintf(w->sessions[i].name, sizeof(w->sessions[i].name), "%s",
	    name);
	w->n_sessions++;
}

void
table_opening(struct host *h, const struct operation *o)
{
	char name[24];

	if (o->kind != OPERATION_SESSION_OPEN)
		return;
	(void)snprintf(name, sizeof(name), "%s%u", h->name, ++h->sessions);
	table_name_session(h->world, o->session, h->index, o->namespace_index,
	    name);
}

const char *
table_session_name(const struct world *w, struct ident session)
{
	for (size_t i = w->n_sessions; i > 0; i--)
		if (ident_equal(w->sessions[i - 1].ident, session))
			return w->sessions[i - 1].name;
	return "?";
}

unsigned
table_session_host(const struct world *w, struct ident session)
{
	for (size_t i = w->n_sessions; i > 0; i--)
		if (ident_equal(w->sessions[i - 1].ident, session))
			return w->sessions[i - 1].host;
	return WORLD_NOBODY;
}

/* The last one that it opened; none: it has opened none. */
struct ident
table_host_session(const struct world *w, unsigned host)
{
	for (size_t i = w->n_sessions; i > 0; i--)
		if (w->sessions[i - 1].host == host)
			return w->sessions[i - 1].ident;
	return (struct ident){ 0, 0 };
}

const char *
table_session_text_name(const struct world *w, const char *text)
{
	for (size_t i = w->n_sessions; i > 0; i--)
		if (strncmp(w->sessions[i - 1].text, text, 32) == 0)
			return w->sessions[i - 1].name;
	return "?";
}

/* ---- items ------------------------------------------------------------ */

/* The value of an attribute of that type; NULL: it has none. */
static struct json_object *
table_value(struct json_object *item, const char *name, const char *type)
{
	struct json_object *attribute, *value;

	if (!json_object_object_get_ex(item, name, &attribute) ||
	    !json_object_object_get_ex(attribute, type, &value))
		return NULL;
	return value;
}

static uint64_t
table_number(struct json_object *item, const char *name)
{
	struct json_object *n = table_value(item, name, "N");

	return n == NULL ? 0 : strtoull(json_object_get_string(n), NULL, 10);
}

static bool
table_has(struct json_object *item, const char *name)
{
	return json_object_object_get_ex(item, name, NULL);
}

/* "SESSION.GRANT.LEASE.FLAGS" */
static bool
table_element(const char *text, struct fact_element *ret)
{
	char flags[8];

	if (sscanf(text, "%32[0-9a-f].%32[0-9a-f].%" SCNu64 ".%7s",
	    ret->session, ret->grant, &ret->lease_ms, flags) != 4)
		return false;
	ret->fail_closed = strchr(flags, 'c') != NULL;
	return true;
}

static void
table_read_waiter_marks(struct json_object *set, bool shared,
    struct fact_lock *ret)
{
	for (size_t i = 0; set != NULL && i < json_object_array_length(set);
	    i++) {
		struct fact_waiter_mark *w =
		    &ret->waiter_marks[ret->n_waiter_marks];

		if (ret->n_waiter_marks++ >= FACT_WAITER_MARKS_MAX)
			continue;
		w->shared = shared;
		(void)snprintf(w->session, sizeof(w->session), "%s",
		    json_object_get_string(json_object_array_get_idx(set, i)));
	}
}

static void
table_read_line(struct json_object *list, struct fact_lock *ret)
{
	size_t n = list == NULL ? 0 : json_object_array_length(list);

	for (size_t i = 0; i < n && i < FACT_LINE_MAX; i++) {
		struct json_object *session = NULL;

		if (json_object_object_get_ex(
		    json_object_array_get_idx(list, i), "S", &session))
			(void)snprintf(ret->line[ret->n_line++],
			    sizeof(ret->line[0]), "%s",
			    json_object_get_string(session));
	}
}

/* How much longer it lives, seen from when it was asked for. */
static int64_t
table_ttl_ahead_s(struct json_object *item, uint64_t sent_ms)
{
	if (!table_has(item, "ttl"))
		return 0;
	return (int64_t)table_number(item, "ttl") -
	    (int64_t)((WORLD_WALL_MS + sent_ms) / 1000);
}

static void
table_read_contents(struct json_object *item, uint64_t ret[FACT_SLOTS])
{
	struct json_object *data = table_value(item, "data", "B");
	struct json_object *attributes = table_value(item, "attrs", "M");
	struct json_object *note = attributes == NULL ? NULL :
	    table_value(attributes, "note", "S");
	char bytes[32];
	size_t n;

	if (data != NULL && json_object_get_string_len(data) <= 32 &&
	    base64_read(json_object_get_string(data),
	    (size_t)json_object_get_string_len(data), bytes, &n))
		ret[FACT_DATA] = sim_contents_number(bytes, n);
	if (note != NULL)
		ret[FACT_NOTE] =
		    sim_contents_number(json_object_get_string(note),
		    (size_t)json_object_get_string_len(note));
}

static void
table_read_lock(struct json_object *item, struct fact_lock *ret)
{
	struct json_object *set = table_value(item, "holders", "SS");
	struct json_object *mode = table_value(item, "mode", "S");

	ret->exists = true;
	ret->readable = !table_has(item, "holders") || set != NULL;
	ret->shared = mode != NULL &&
	    strcmp(json_object_get_string(mode), "s") == 0;
	ret->limit = table_number(item, "limit");
	ret->token = table_number(item, "token");
	ret->has_ttl = table_has(item, "ttl");
	ret->says_broken = table_has(item, "broken_by");
	table_read_contents(item, ret->contents);
	for (size_t i = 0; set != NULL && i < json_object_array_length(set);
	    i++) {
		const char *text = json_object_get_string(
		    json_object_array_get_idx(set, i));

		if (ret->n_elements == FACT_ELEMENTS_MAX ||
		    !table_element(text, &ret->elements[ret->n_elements]))
			ret->readable = false;
		else
			ret->n_elements++;
	}
	table_read_waiter_marks(table_value(item, "xwait", "SS"), false, ret);
	table_read_waiter_marks(table_value(item, "swait", "SS"), true, ret);
	table_read_line(table_value(item, "line", "L"), ret);
}

/* Who has it, for people; and how, if not exclusively. */
static void
table_holders(const struct world *w, const struct fact_lock *l, char *text,
    size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < l->n_elements && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, " %s",
		    table_session_text_name(w, l->elements[i].session));
	if (l->n_elements > 0 && l->shared && n < size)
		n += (size_t)snprintf(text + n, size - n, " shared");
	if (l->n_elements > 0 && l->limit > 0 && n < size)
		(void)snprintf(text + n, size - n, " limit %" PRIu64,
		    l->limit);
}

static void
table_line(const struct world *w, const struct fact_lock *l, char *text,
    size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < l->n_line && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s %s",
		    i == 0 ? " line" : "",
		    table_session_text_name(w, l->line[i]));
}

static const char *
table_waiter_marks(const struct fact_lock *l)
{
	bool exclusive = l->n_waiter_marks > FACT_WAITER_MARKS_MAX, shared =
	    exclusive;

	for (size_t i = 0; i < l->n_waiter_marks &&
	    i < FACT_WAITER_MARKS_MAX; i++) {
		exclusive |= !l->waiter_marks[i].shared;
		shared |= l->waiter_marks[i].shared;
	}
	if (exclusive && shared)
		return " wished wished-shared";
	return exclusive ? " wished" : shared ? " wished-shared" : "";
}

static void
table_trace_lock(struct world *w, const char *host, const struct fact *f)
{
	char text[256], line[256], number[24] = "none", kept[64] = "";

	if (w->options->trace == NULL)
		return;
	table_holders(w, &f->lock, text, sizeof(text));
	table_line(w, &f->lock, line, sizeof(line));
	if (!f->lock.exists) {
		world_trace(w, WORLD_TRACE_TABLE, host, "= %s: gone", f->key);
		return;
	}
	if (f->lock.token > 0)
		show_token(f->lock.token, number, sizeof(number));
	if (f->lock.contents[FACT_DATA] > 0 || f->lock.contents[FACT_NOTE] > 0)
		(void)snprintf(kept, sizeof(kept), " data %" PRIu64 " note %"
		    PRIu64, f->lock.contents[FACT_DATA],
		    f->lock.contents[FACT_NOTE]);
	world_trace(w, WORLD_TRACE_TABLE, host, "= %s:%s token %s%s%s%s%s%s",
	    f->key, !f->lock.readable ? " broken" :
	    f->lock.n_elements > 0 ? text : " free", number,
	    table_waiter_marks(&f->lock), line,
	    f->lock.has_ttl ? " ttl" : "",
	    f->lock.says_broken ? " broken by" : "",
	    kept);
}

/* A record that older clients share with us. */
static void
table_changed_foreign(struct world *w, struct fact *f,
    struct json_object *before, struct json_object *after, const char *host)
{
	struct json_object *key = table_value(after != NULL ? after : before,
	    w->tables[f->namespace_index].key_attribute, "S");

	f->key = key != NULL ? json_object_get_string(key) : "";
	if (table_record_is_marked(w, f, before, after)) {
		f->kind = FACT_MARKED;
		if (f->version == NULL)
			return;		/* it was there already */
		world_trace(w, WORLD_TRACE_TABLE, host, "= %s: marked", f->key);
		world_tell(w, f);
		return;
	}
	f->kind = FACT_RECORD;
	table_record_read(w, f->namespace_index, after, f);
	table_record_trace(w, host, f, before, after);
	world_tell(w, f);
}

static void
table_changed(void *arg, const char *table, struct json_object *before,
    struct json_object *after, bool expired)
{
	struct world *w = arg;
	struct json_object *item = after != NULL ? after : before;
	struct json_object *key;
	struct fact f = { .host = expired ? FACT_BY_HAND : w->writer,
		.expired = expired };
	const char *text, *host;

	f.sent_ms = f.host == FACT_BY_HAND ? w->now : w->writer_sent;
	f.namespace_index = strcmp(table, w->tables[0].table) != 0;
	host = f.host == FACT_BY_HAND ? "-" : w->hosts[f.host].name;
	if (w->plan->namespaces[f.namespace_index].format != FORMAT_NATIVE) {
		table_changed_foreign(w, &f, before, after, host);
		return;
	}
	key = table_value(item, "key", "S");
	text = key != NULL ? json_object_get_string(key) : "";
	if (strncmp(text, "lock:", 5) == 0) {
		f.kind = FACT_LOCK;
		f.key = text + 5;
		if (after != NULL) {
			table_read_lock(after, &f.lock);
			f.lock.ttl_ahead_s =
			    table_ttl_ahead_s(after, f.sent_ms);
		}
		table_trace_lock(w, host, &f);
	} else if (strncmp(text, "session:", 8) == 0) {
		f.kind = FACT_SESSION;
		f.session = text + 8;
		if (after != NULL)
			f.item = (struct fact_session){ .exists = true,
				.dead = table_has(after, "dead"),
				.beat = table_number(after, "beat"),
				.lease_ms = table_number(after, "lease_ms"),
				.ttl_ahead_s = table_ttl_ahead_s(after,
				    f.sent_ms) };
		if (!f.item.exists || f.item.dead)
			world_trace(w, WORLD_TRACE_TABLE, host, "= %s: %s",
			    table_session_text_name(w, f.session),
			    f.item.exists ? "dead" : "gone");
	} else {
		return;
	}
	world_tell(w, &f);
}

/* ---- its making and end ----------------------------------------------- */

void
table_do(struct world *w, const char *operation, const char *format, ...)
{
	struct dynamo_answer answer;
	char body[1024];
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(body, sizeof(body), format, arguments);
	va_end(arguments);
	dynamo_answer_init(&answer);
	w->writer = FACT_BY_HAND;
	dynamo_request(w->dynamo, WORLD_WALL_MS + w->now, operation, body,
	    (size_t)n, &answer);
	dynamo_answer_done(&answer);
}

void
table_init(struct world *w)
{
	w->dynamo = dynamo_new();
	w->tokener = json_tokener_new_ex(JSON_DEPTH_MAX);
	if (w->dynamo == NULL || w->tokener == NULL)
		exit(1);
	for (uint32_t i = 0; i < w->plan->n_namespaces; i++)
		table_make(w, i);
	dynamo_set_lag(w->dynamo, WORLD_LAG_MS);
	dynamo_set_page(w->dynamo, w->plan->scan_page);
	if (w->plan->no_transactions)
		dynamo_refuse_transactions(w->dynamo);
	dynamo_watch(w->dynamo, table_changed, w);
}

void
table_done(struct world *w)
{
	dynamo_watch(w->dynamo, NULL, NULL);
	dynamo_free(w->dynamo);
	for (uint32_t i = 0; i < w->plan->n_namespaces; i++)
		json_object_put(w->backups[i]);
	json_tokener_free(w->tokener);
}

void
table_step(struct world *w, const struct plan_step *s)
{
	switch (s->kind) {
	case STEP_TABLE_CUT:
		w->table_cut_until = w->now + s->ms;
		break;
	case STEP_TABLE_THROTTLE:
		w->throttled_until = w->now + s->ms;
		break;
	case STEP_TABLE_EXPIRE:
		dynamo_expire(w->dynamo, (uint64_t)((int64_t)(WORLD_WALL_MS +
		    w->now) + s->shift_ms) / 1000);
		break;
	default:
		hand_step(w, s);
		break;
	}
}
