/*
 * Changes of the table by hand.
 */
#include "world_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "common/base64.h"

enum { HAND_STREAM_WAITER_MARK = 600, HAND_STREAM_HOLD = 601 };

static const char *
hand_table(const struct world *w, const struct plan_step *s)
{
	return w->tables[s->namespace_index].table;
}

/* An update of a lock's record. @names: more of them than #k, or "". */
static void
hand_update(struct world *w, const struct plan_step *s, const char *update,
    const char *condition, const char *names, const char *values)
{
	table_do(w, "UpdateItem", "{\"TableName\":\"%s\",\"Key\":{\"key\":"
	    "{\"S\":\"lock:%s\"}},\"UpdateExpression\":\"%s\"%s%s%s"
	    "%s%s%s%s%s%s}", hand_table(w, s), s->key, update,
	    condition[0] != '\0' ? ",\"ConditionExpression\":\"" : "",
	    condition, condition[0] != '\0' ? "\"" : "",
	    names[0] != '\0' ? ",\"ExpressionAttributeNames\":{" : "",
	    names, names[0] != '\0' ? "}" : "",
	    values[0] != '\0' ? ",\"ExpressionAttributeValues\":{" : "",
	    values, values[0] != '\0' ? "}" : "");
}

static void
hand_break(struct world *w, const struct plan_step *s)
{
	char values[96];

	(void)snprintf(values, sizeof(values), "\":by\":{\"S\":\"hand\"},"
	    "\":t\":{\"N\":\"%" PRIu64 "\"}",
	    (WORLD_WALL_MS + w->now) / 1000 + w->plan->retention_s);
	hand_update(w, s, "SET broken_by = :by, #t = :t REMOVE holders",
	    "attribute_exists(#k)", "\"#k\":\"key\",\"#t\":\"ttl\"", values);
}

/* The newest session of a host that the table may know; NULL: none. */
static const char *
hand_session(const struct world *w, const struct plan_step *s, unsigned host)
{
	for (size_t i = w->n_sessions; i > 0; i--)
		if (w->sessions[i - 1].host == host &&
		    w->sessions[i - 1].namespace_index == s->namespace_index)
			return w->sessions[i - 1].text;
	return NULL;
}

static void
hand_end_session(struct world *w, const struct plan_step *s)
{
	bool garble = s->kind == STEP_HAND_GARBLE_SESSION;
	const char *session = hand_session(w, s, s->host);

	if (session == NULL)
		return;
	if (s->kind == STEP_HAND_DELETE_SESSION)
		table_do(w, "DeleteItem", "{\"TableName\":\"%s\","
		    "\"Key\":{\"key\":{\"S\":\"session:%s\"}}}",
		    hand_table(w, s), session);
	else
		table_do(w, "UpdateItem", "{\"TableName\":\"%s\","
		    "\"Key\":{\"key\":{\"S\":\"session:%s\"}},"
		    "\"UpdateExpression\":\"SET %s = :by\","
		    "\"ConditionExpression\":\"attribute_exists(beat)\","
		    "\"ExpressionAttributeValues\":{\":by\":"
		    "{\"S\":\"hand\"}}}", hand_table(w, s), session,
		    garble ? "beat" : "dead");
}

/* Another process beats all sessions of this host. */
void
hand_beat_all(struct world *w, unsigned host, uint64_t beat)
{
	for (size_t i = 0; i < w->n_sessions; i++) {
		if (w->sessions[i].host != host)
			continue;
		table_do(w, "UpdateItem", "{\"TableName\":\"%s\","
		    "\"Key\":{\"key\":{\"S\":\"session:%s\"}},"
		    "\"UpdateExpression\":\"SET beat = :n\","
		    "\"ConditionExpression\":\"beat < :n AND "
		    "attribute_not_exists(dead)\","
		    "\"ExpressionAttributeValues\":{\":n\":"
		    "{\"N\":\"%" PRIu64 "\"}}}",
		    w->tables[w->sessions[i].namespace_index].table,
		    w->sessions[i].text, beat);
	}
}

static void
hand_waiter_mark(struct world *w, const struct plan_step *s)
{
	const char *session = s->of == 0 ? NULL :
	    hand_session(w, s, s->of - 1);
	char values[96], number[40];

	(void)snprintf(number, sizeof(number), "%032" PRIx64,
	    world_chance(w, HAND_STREAM_WAITER_MARK, w->now, UINT64_MAX));
	(void)snprintf(values, sizeof(values), "\":s\":{\"SS\":[\"%s\"]}",
	    session != NULL ? session : number);
	hand_update(w, s, s->shared ? "ADD swait :s" : "ADD xwait :s", "", "",
	    values);
}

/* A stranger's element, whose session is absent. */
static void
hand_hold(struct world *w, const struct plan_step *s)
{
	struct ident session = { 0,
		world_chance(w, HAND_STREAM_HOLD, w->now, UINT64_MAX) };
	char text[IDENT_TEXT_LENGTH + 1], values[320], name[8];

	ident_format(session, text);
	(void)snprintf(name, sizeof(name), "X%zu", w->n_sessions);
	table_name_session(w, session, WORLD_NOBODY, s->namespace_index, name);
	(void)snprintf(values, sizeof(values), "\":h\":{\"SS\":["
	    "\"%s.%s.%" PRIu64 ".-\"]},\":x\":{\"S\":\"x\"},\":by\":"
	    "{\"S\":\"hand\"},\":t\":{\"N\":\"%" PRIu64 "\"},\":one\":"
	    "{\"N\":\"1\"}", text, text,
	    s->lease_ms > 0 ? s->lease_ms : w->plan->ns.lease_ms,
	    (WORLD_WALL_MS + w->now) / 1000 << 20);
	hand_update(w, s, "SET #t = if_not_exists(#t, :t) + :one, "
	    "holders = :h, #m = :x, #o = :by REMOVE #l", "",
	    "\"#t\":\"token\",\"#m\":\"mode\",\"#o\":\"owner\","
	    "\"#l\":\"ttl\"", values);
}

/* Its first holder's element, in the order of the set. */
static void
hand_take(struct world *w, const struct plan_step *s)
{
	struct json_object *answer, *at;
	struct dynamo_answer item;
	char body[192], values[160];
	int n = snprintf(body, sizeof(body), "{\"TableName\":\"%s\",\"Key\":"
	    "{\"key\":{\"S\":\"lock:%s\"}}}", hand_table(w, s), s->key);

	dynamo_answer_init(&item);
	dynamo_request(w->dynamo, WORLD_WALL_MS + w->now, "GetItem", body,
	    (size_t)n, &item);
	answer = json_tokener_parse(item.body.data);
	dynamo_answer_done(&item);
	if (json_object_object_get_ex(answer, "Item", &at) &&
	    json_object_object_get_ex(at, "holders", &at) &&
	    json_object_object_get_ex(at, "SS", &at)) {
		(void)snprintf(values, sizeof(values),
		    "\":h\":{\"SS\":[\"%s\"]}", json_object_get_string(
		    json_object_array_get_idx(at, 0)));
		hand_update(w, s, "DELETE holders :h", "", "", values);
	}
	json_object_put(answer);
}

static void
hand_token(struct world *w, const struct plan_step *s, uint64_t token)
{
	char values[64];

	(void)snprintf(values, sizeof(values), "\":t\":{\"N\":\"%" PRIu64
	    "\"}", token);
	hand_update(w, s, "SET #t = :t", "attribute_exists(#t)",
	    "\"#t\":\"token\"", values);
}

/* Of another format: a number, or its bytes. */
static void
hand_token_foreign(struct world *w, const struct plan_step *s,
    const char *key)
{
	bool bytes = w->plan->namespaces[s->namespace_index].format ==
	    FORMAT_DLOCK;
	struct buffer text;
	unsigned char big[8];

	buffer_init(&text, 64);
	for (int i = 0; i < 8; i++)
		big[i] = (unsigned char)(s->token >> (56 - 8 * i));
	if (bytes)
		base64_append(&text, big, sizeof(big));
	else
		(void)buffer_printf(&text, "%" PRIu64, s->token);
	table_do(w, "UpdateItem", "{\"TableName\":\"%s\",\"Key\":{%s},"
	    "\"UpdateExpression\":\"SET fencingToken = :t\","
	    "\"ConditionExpression\":\"attribute_exists(fencingToken)\","
	    "\"ExpressionAttributeValues\":{\":t\":{\"%s\":\"%s\"}}}",
	    hand_table(w, s), key, bytes ? "B" : "N",
	    buffer_failed(&text) == 0 ? text.data : "");
	buffer_done(&text);
}

/* A record of another format is deleted, or becomes invalid. */
static void
hand_step_foreign(struct world *w, const struct plan_step *s)
{
	const struct dialect_table *t = &w->tables[s->namespace_index];
	char key[160];
	int n = snprintf(key, sizeof(key), "\"%s\":{\"S\":\"%s\"}",
	    t->key_attribute, s->key);

	if (t->sort_attribute != NULL)
		(void)snprintf(key + n, sizeof(key) - (size_t)n,
		    ",\"%s\":{\"S\":\"-\"}", t->sort_attribute);
	if (s->kind == STEP_HAND_GARBLE)
		table_do(w, "PutItem", "{\"TableName\":\"%s\",\"Item\":{%s,"
		    "\"owner\":{\"N\":\"7\"}}}", t->table, key);
	else if (s->kind == STEP_HAND_TOKEN)
		hand_token_foreign(w, s, key);
	else if (s->kind == STEP_HAND_DELETE || s->kind == STEP_HAND_REPAIR ||
	    s->kind == STEP_HAND_BREAK)
		table_do(w, "DeleteItem", "{\"TableName\":\"%s\",\"Key\":{%s}}",
		    t->table, key);
}

void
hand_step(struct world *w, const struct plan_step *s)
{
	if (s->kind == STEP_HAND_BACKUP || s->kind == STEP_HAND_RESTORE) {
		for (uint32_t i = 0; i < w->plan->n_namespaces; i++)
			backup_step(w, i, s->kind == STEP_HAND_RESTORE);
		return;
	}
	if (w->plan->namespaces[s->namespace_index].format != FORMAT_NATIVE) {
		hand_step_foreign(w, s);
		return;
	}
	switch (s->kind) {
	case STEP_HAND_DELETE:
	case STEP_HAND_REPAIR:
		table_do(w, "DeleteItem", "{\"TableName\":\"%s\",\"Key\":"
		    "{\"key\":{\"S\":\"lock:%s\"}}}", hand_table(w, s),
		    s->key);
		break;
	case STEP_HAND_BREAK:
		hand_break(w, s);
		break;
	case STEP_HAND_GARBLE:
		table_do(w, "PutItem", "{\"TableName\":\"%s\",\"Item\":"
		    "{\"key\":{\"S\":\"lock:%s\"},\"holders\":"
		    "{\"N\":\"7\"}}}", hand_table(w, s), s->key);
		break;
	case STEP_HAND_SPEND:
		hand_token(w, s, TOKEN_MAX - s->count);
		break;
	case STEP_HAND_TOKEN:
		hand_token(w, s, s->token);
		break;
	case STEP_HAND_WAITER_MARK:
		hand_waiter_mark(w, s);
		break;
	case STEP_HAND_REMOVE_MARK:
		hand_update(w, s, "REMOVE xwait, swait", "", "", "");
		break;
	case STEP_HAND_HOLD:
		hand_hold(w, s);
		break;
	case STEP_HAND_TAKE:
		hand_take(w, s);
		break;
	default:
		hand_end_session(w, s);
		break;
	}
}
