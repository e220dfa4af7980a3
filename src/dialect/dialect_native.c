/*
 * The native record format: requests.
 *
 * A lock is an item `lock:KEY` whose `holders` is a set with one element per
 * hold, so that holders cannot overwrite each other's; a free lock has no
 * such set, but keeps its token. A session is an item `session:SID` with the
 * `beat` that keeps all its holds alive. Every write is conditional, and every
 * write carries something that no other does, so that its own effect can be
 * recognised in a record. Where the table has a sort key, it tells apart locks
 * of one key, and is "-" otherwise.
 *
 * Every attribute that says something about a hold is set or removed with each
 * acquire; nothing is inherited by accident. `data` and `attrs` are the
 * clients' own: only an update touches them, with a greater `rev` each time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ddblock.h"
#include "dialect/dialect_native.h"
#include "dialect/dialect_native_writer.h"
#include "dialect/json.h"

#define NATIVE_SESSION_TTL_S (2 * 86400)	/* at least a day ahead */

/* What a new hold sets and removes, with or without a name for people. */
#define NATIVE_SET "#mode = :mode, #acquired_at = :wall"
#define NATIVE_REMOVE "REMOVE #ttl, #limit, #broken_by"
#define NATIVE_OWNED NATIVE_SET ", #owner = :owner " NATIVE_REMOVE " "
#define NATIVE_UNOWNED NATIVE_SET " " NATIVE_REMOVE ", #owner "
#define NATIVE_ACQUIRE "SET #token = if_not_exists(#token, :first) + :n, "
#define NATIVE_TAKE "SET #holders = :me, #token = #token + :n, "
#define NATIVE_JOIN "ADD #holders :me "
#define NATIVE_UNWISH "DELETE #xwait :session"

/* What acquires ask of the record. The kinds of use alternate. */
#define NATIVE_FREE "attribute_not_exists(#holders) AND "
#define NATIVE_TURN "(attribute_not_exists(#swait) OR #mode <> :mode) AND "
#define NATIVE_SHARED_TURN "(attribute_not_exists(#xwait) OR "                 \
	"#mode <> :mode OR contains(#xwait, :sid))"
/* With two places: for the limit, and for how many it lets in. */
#define NATIVE_SHARED "attribute_not_exists(#xwait) AND #mode = :mode AND "    \
	"%s AND size(#holders) < %s AND NOT contains(#holders, :hold)"
#define NATIVE_AS_SEEN "#holders = :dead AND #token = :seen"
/* Read of many locks, or of one that is watched: all but what clients keep. */
#define NATIVE_BARE "#key, #holders, #mode, #limit, #token, #owner, "          \
	"#acquired_at, #broken_by, #rev, #xwait, #swait, #ttl"
#define NATIVE_BARE_SORTED NATIVE_BARE ", #sort"
/* An item that is there and has no token is none of ours. */
#define NATIVE_ROOM "(attribute_not_exists(#key) OR "                          \
	"#token BETWEEN :zero AND :last)"

static const char *const native_names[] = {
	"holders", "mode", "limit", "token", "owner", "acquired_at",
	"broken_by", "data", "attrs", "rev", "xwait", "swait", "ttl", "beat",
	"lease_ms", "host", "pid", "boot_id", "version", "dead",
};

const char *
native_ttl(const struct dialect_table *table)
{
	return table->ttl_attribute != NULL ? table->ttl_attribute : "ttl";
}

static bool
native_key_attribute_ok(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(native_names) / sizeof(char *); i++) {
		if (strcmp(native_names[i], name) == 0)
			return false;
	}
	return length >= 1 && length <= 255 && json_is_utf8(name, length);
}

void
native_format_holder(const struct holder *h, char text[NATIVE_HOLDER_SIZE])
{
	char session[IDENT_TEXT_LENGTH + 1];
	char grant[IDENT_TEXT_LENGTH + 1];

	ident_format(h->session, session);
	ident_format(h->grant, grant);
	(void)snprintf(text, NATIVE_HOLDER_SIZE, "%s.%s.%" PRIu64 ".%s",
	    session, grant, h->lease_ms, h->fail_closed ? "c" : "-");
}

/* The update of an acquire for shared use, and the values only it has. */
static void
native_update_shared(struct native_writer *w, const struct operation *o)
{
	char update[512];
	char condition[512];

	(void)snprintf(update, sizeof(update),
	    "%s" NATIVE_SET "%s%s REMOVE #ttl, #broken_by%s%s %s"
	    "DELETE #xwait :session, #swait :session",
	    o->n_dead == 0 ? NATIVE_ACQUIRE : NATIVE_TAKE,
	    o->limit != 0 ? ", #limit = :limit" : "",
	    o->owner != NULL ? ", #owner = :owner" : "",
	    o->limit != 0 ? "" : ", #limit",
	    o->owner != NULL ? "" : ", #owner",
	    o->n_dead == 0 ? NATIVE_JOIN : "");
	(void)snprintf(condition, sizeof(condition),
	    "((" NATIVE_FREE NATIVE_SHARED_TURN ") OR "
	    "(" NATIVE_SHARED ")) AND " NATIVE_ROOM,
	    o->limit != 0 ? "#limit = :limit" : "attribute_not_exists(#limit)",
	    o->limit != 0 ? ":limit" : ":most");
	native_update(w, o, update,
	    o->n_dead == 0 ? condition : NATIVE_AS_SEEN);
	if (o->limit != 0)
		native_value_number(w, ":limit", o->limit);
	else if (o->n_dead == 0)
		native_value_number(w, ":most", HOLDERS_MAX);
	if (o->n_dead == 0) {
		native_value_session(w, ":sid", o->me.session, false);
		native_value_holder(w, ":hold", &o->me);
	}
}

static void
native_write_acquire(struct native_writer *w, const struct operation *o,
    uint64_t wall_s)
{
	bool shared = o->mode == LOCK_MODE_SHARED;

	if (shared)
		native_update_shared(w, o);
	else if (o->n_dead == 0)
		native_update(w, o, o->owner != NULL ?
		    NATIVE_ACQUIRE NATIVE_OWNED NATIVE_JOIN NATIVE_UNWISH :
		    NATIVE_ACQUIRE NATIVE_UNOWNED NATIVE_JOIN NATIVE_UNWISH,
		    NATIVE_FREE NATIVE_TURN NATIVE_ROOM);
	else
		native_update(w, o, o->owner != NULL ?
		    NATIVE_TAKE NATIVE_OWNED NATIVE_UNWISH :
		    NATIVE_TAKE NATIVE_UNOWNED NATIVE_UNWISH,
		    NATIVE_AS_SEEN);
	if (o->n_dead == 0) {
		native_value_number(w, ":first", wall_s << 20);
		native_value_number(w, ":zero", 0);
		native_value_number(w, ":last", TOKEN_MAX - o->tokens);
	} else {
		native_value_holders(w, ":dead", o->dead, o->n_dead);
		native_value_number(w, ":seen", o->token_seen);
	}
	native_value_holders(w, ":me", &o->me, 1);
	native_value_number(w, ":n", o->tokens);
	native_value_text(w, ":mode", shared ? "s" : "x");
	if (o->owner != NULL)
		native_value_text(w, ":owner", o->owner);
	native_value_number(w, ":wall", wall_s);
	native_value_session(w, ":session", o->me.session, true);
}

/*
 * All or nothing. Its token makes every attempt one and the same, and is never
 * used twice, as the name of a grant never is.
 */
static void
native_write_together(struct native_writer *w, const struct operation *o,
    uint64_t wall_s)
{
	char token[IDENT_TEXT_LENGTH + 1];

	ident_format(o->parts[0]->me.grant, token);
	(void)buffer_printf(w->to, "{\"ReturnConsumedCapacity\":\"TOTAL\","
	    "\"ClientRequestToken\":\"%s\",\"TransactItems\":[", token);
	w->part = true;
	for (size_t i = 0; i < o->n_keys; i++) {
		(void)buffer_append_text(w->to, i > 0 ? ",{\"Update\":" :
		    "{\"Update\":");
		native_write_acquire(w, o->parts[i], wall_s);
		native_end(w);
		(void)buffer_append_text(w->to, "}");
		w->more = false;
	}
	(void)buffer_append_text(w->to, "]");
}

/* It becomes free: the record of a free lock lives for a while. */
static void
native_write_release(struct native_writer *w, const struct operation *o,
    uint64_t wall_s)
{
	native_update(w, o, "SET #ttl = :ttl DELETE #holders :them",
	    "#holders = :them");
	native_value_holders(w, ":them", o->holders, o->n_holders);
	native_value_number(w, ":ttl", wall_s + w->table->retention_s);
}

static void
native_write_release_stays(struct native_writer *w, const struct operation *o)
{
	struct buffer condition;	/* has 4,096 bytes: RELEASE_MAX */
	char name[24];

	buffer_init(&condition, 4096);
	for (size_t i = 0; i < o->n_holders; i++)
		(void)buffer_printf(&condition,
		    "contains(#holders, :h%zu) AND ", i);
	(void)buffer_append_text(&condition, "#holders <> :them");
	if (buffer_failed(&condition) != 0) {
		w->to->error = buffer_failed(&condition);
		buffer_done(&condition);
		return;
	}
	native_update(w, o, "DELETE #holders :them", condition.data);
	buffer_done(&condition);
	native_value_holders(w, ":them", o->holders, o->n_holders);
	for (size_t i = 0; i < o->n_holders; i++) {
		(void)snprintf(name, sizeof(name), ":h%zu", i);
		native_value_holder(w, name, &o->holders[i]);
	}
}

static void
native_write_extend(struct native_writer *w, const struct operation *o)
{
	native_update(w, o, "SET #token = #token + :n",
	    "#holders = :me AND #token = :seen");
	native_value_holders(w, ":me", &o->me, 1);
	native_value_number(w, ":n", o->tokens);
	native_value_number(w, ":seen", o->token_seen);
}

/* The contents as they are to be. By the revision, what was sent earlier and
 * lands later changes nothing. */
static void
native_write_update(struct native_writer *w, const struct operation *o)
{
	const struct contents *c = &o->contents;
	bool data = c->data.length > 0;
	bool attributes = c->n_attributes > 0;
	char update[128];

	(void)snprintf(update, sizeof(update), "SET #rev = :rev%s%s%s%s%s%s",
	    data ? ", #data = :data" : "",
	    attributes ? ", #attrs = :attrs" : "",
	    data && attributes ? "" : " REMOVE ", data ? "" : "#data",
	    data || attributes ? "" : ", ", attributes ? "" : "#attrs");
	native_update(w, o, update, "contains(#holders, :hold) AND "
	    "(attribute_not_exists(#rev) OR #rev < :rev)");
	native_value_holder(w, ":hold", &o->me);
	native_value_revision(w, ":rev", o->revision);
	if (data)
		native_value_bytes(w, ":data", c->data);
	if (attributes)
		native_value_attributes(w, ":attrs", c);
}

static void
native_write_want(struct native_writer *w, const struct operation *o)
{
	bool shared = o->mode == LOCK_MODE_SHARED;

	if (o->kind == OPERATION_WANT) {
		native_update(w, o, shared ?
		    "ADD #swait :session" : "ADD #xwait :session",
		    "attribute_exists(#holders)");
	} else {
		/* Without the condition it would create an item. */
		native_update(w, o, shared ?
		    "DELETE #swait :session" : "DELETE #xwait :session",
		    shared ?
		    "contains(#swait, :it)" : "contains(#xwait, :it)");
		native_value_session(w, ":it", o->session, false);
	}
	native_value_session(w, ":session", o->session, true);
}

/* Whoever they are: only the token says that they are those who were seen. */
static void
native_write_break(struct native_writer *w, const struct operation *o,
    uint64_t wall_s)
{
	native_update(w, o,
	    "SET #broken_by = :by, #ttl = :ttl REMOVE #holders",
	    "attribute_exists(#holders) AND #token = :seen");
	native_value_text(w, ":by", o->owner != NULL ? o->owner : "");
	native_value_number(w, ":ttl", wall_s + w->table->retention_s);
	native_value_number(w, ":seen", o->token_seen);
}

/* Put an item that must not be there: open and bury. */
static void
native_write_put(struct native_writer *w, const struct operation *o,
    uint64_t wall_s)
{
	static const char condition[] = "attribute_not_exists(#key)";
	const struct dialect_table *t = w->table;

	native_begin(w);
	native_member(w, "ReturnValuesOnConditionCheckFailure", "ALL_OLD");
	native_member(w, "ConditionExpression", condition);
	native_write_names(w, condition, NULL);
	(void)buffer_append_text(w->to, ",\"Item\":");
	native_item_key(w, o);
	/* The key's object is the item's; the rest goes into it. */
	w->to->data[--w->to->length] = '\0';
	w->more = true;
	native_value_number(w, native_ttl(w->table),
	    wall_s + NATIVE_SESSION_TTL_S);
	if (o->kind == OPERATION_SESSION_BURY) {
		native_value_text(w, "dead", o->owner != NULL ? o->owner : "");
		return;
	}
	native_value_number(w, "beat", 0);
	native_value_number(w, "lease_ms", o->lease_ms);
	native_value_text(w, "host", t->host);
	native_value_text(w, "pid", t->pid);
	native_value_text(w, "version", t->version);
	if (t->boot_id != NULL)
		native_value_text(w, "boot_id", t->boot_id);
}

static void
native_write_beat(struct native_writer *w, const struct operation *o,
    uint64_t beat, uint64_t wall_s)
{
	native_update(w, o, "SET #beat = :n, #ttl = :ttl",
	    "attribute_exists(#key) AND attribute_not_exists(#dead) AND "
	    "#beat < :n");
	native_value_number(w, ":n", beat);
	native_value_number(w, ":ttl", wall_s + NATIVE_SESSION_TTL_S);
}

static void
native_write_kill(struct native_writer *w, const struct operation *o)
{
	native_update(w, o, "SET #dead = :by",
	    "#beat = :seen AND attribute_not_exists(#dead)");
	native_value_number(w, ":seen", o->beat);
	native_value_text(w, ":by", o->owner != NULL ? o->owner : "");
}

/* Who killed it first stays on record. */
static void
native_write_close(struct native_writer *w, const struct operation *o,
    uint64_t wall_s)
{
	native_update(w, o,
	    "SET #dead = if_not_exists(#dead, :by), #ttl = :ttl",
	    "attribute_exists(#key)");
	native_value_text(w, ":by", "self");
	native_value_number(w, ":ttl", wall_s + NATIVE_SESSION_TTL_S);
}

/* Which attributes are wanted; with the names, also those of @filter. */
static void
native_project(struct native_writer *w, const char *filter)
{
	const char *bare = w->table->sort_attribute == NULL ? NATIVE_BARE :
	    NATIVE_BARE_SORTED;

	native_member(w, "ProjectionExpression", bare);
	native_write_names(w, bare, filter);
}

static void
native_write_read(struct native_writer *w, const struct operation *o)
{
	native_begin(w);
	(void)buffer_append_text(w->to, ",\"ConsistentRead\":true");
	if (o->kind == OPERATION_READ && !o->with_contents)
		native_project(w, NULL);
	(void)buffer_append_text(w->to, ",\"Key\":");
	native_item_key(w, o);
}

static void
native_write_read_many(struct native_writer *w, const struct operation *o)
{
	struct native_item item;

	(void)buffer_append_text(w->to,
	    "{\"ReturnConsumedCapacity\":\"TOTAL\",\"RequestItems\":{");
	json_append_text(w->to, w->table->table);
	(void)buffer_append_text(w->to, ":{\"ConsistentRead\":true,\"Keys\":[");
	for (size_t i = 0; i < o->n_keys; i++) {
		if (i > 0)
			(void)buffer_append_text(w->to, ",");
		native_lock_item(o->keys[i], &item);
		native_write_item(w, &item);
	}
	(void)buffer_append_text(w->to, "]");
	native_project(w, NULL);
	(void)buffer_append_text(w->to, "}}");
}

static void
native_write_scan(struct native_writer *w, const struct operation *o)
{
	const char *filter = o->held_only ?
	    "begins_with(#key, :prefix) AND attribute_exists(#holders)" :
	    "begins_with(#key, :prefix)";
	struct native_item from;
	struct buffer prefix;

	native_begin(w);
	(void)buffer_printf(w->to, ",\"ConsistentRead\":true,\"Limit\":%d",
	    SCAN_PAGE_MAX);
	if (o->cursor.length > 0) {
		(void)buffer_append_text(w->to, ",\"ExclusiveStartKey\":");
		(void)native_cursor_item(o->cursor, &from);
		native_write_item(w, &from);
	}
	native_member(w, "FilterExpression", filter);
	native_project(w, filter);
	(void)buffer_append_text(w->to,
	    ",\"ExpressionAttributeValues\":{\":prefix\":{\"S\":");
	w->more = true;
	buffer_init(&prefix, KEY_LENGTH_MAX + 16);
	(void)buffer_append_text(&prefix, NATIVE_LOCK_PREFIX);
	(void)buffer_append(&prefix, o->prefix.bytes, o->prefix.length);
	if (buffer_failed(&prefix) == 0)
		json_append_string(w->to, prefix.data, prefix.length);
	else
		w->to->error = buffer_failed(&prefix);
	buffer_done(&prefix);
	(void)buffer_append_text(w->to, "}");
}

/* Write the request and say which one it is. */
static const char *
native_write(struct native_writer *w, const struct operation *o,
    const struct dialect_attempt *a)
{
	uint64_t wall_s = a->wall_ms / 1000;

	if (a->step == DIALECT_LOOK && o->kind == OPERATION_TOGETHER) {
		native_write_read_many(w, o);
		return "BatchGetItem";
	}
	switch (a->step == DIALECT_LOOK ? OPERATION_READ : o->kind) {
	case OPERATION_READ:
	case OPERATION_SESSION_READ:
		native_write_read(w, o);
		return "GetItem";
	case OPERATION_READ_MANY:
		native_write_read_many(w, o);
		return "BatchGetItem";
	case OPERATION_SCAN:
		native_write_scan(w, o);
		return "Scan";
	case OPERATION_SESSION_OPEN:
	case OPERATION_SESSION_BURY:
		native_write_put(w, o, wall_s);
		return "PutItem";
	case OPERATION_ACQUIRE:
		native_write_acquire(w, o, wall_s);
		break;
	case OPERATION_TOGETHER:
		native_write_together(w, o, wall_s);
		return "TransactWriteItems";
	case OPERATION_RELEASE:
		if (a->step == DIALECT_DO_STAYS)
			native_write_release_stays(w, o);
		else
			native_write_release(w, o, wall_s);
		break;
	case OPERATION_EXTEND:
		native_write_extend(w, o);
		break;
	case OPERATION_UPDATE:
		native_write_update(w, o);
		break;
	case OPERATION_WANT:
	case OPERATION_UNWANT:
		native_write_want(w, o);
		break;
	case OPERATION_BREAK:
		native_write_break(w, o, wall_s);
		break;
	case OPERATION_REFRESH:
	case OPERATION_MARK:
		break;		/* they were refused */
	case OPERATION_SESSION_BEAT:
		native_write_beat(w, o, a->beat, wall_s);
		break;
	case OPERATION_SESSION_KILL:
		native_write_kill(w, o);
		break;
	case OPERATION_SESSION_CLOSE:
		native_write_close(w, o, wall_s);
		break;
	}
	return "UpdateItem";
}

/* Can it carry this name? NULL, or why not. */
static const char *
native_refuse_key(const struct dialect_table *table, struct key name)
{
	const struct key_parts parts = key_split(name);

	if (parts.key.length > KEY_LENGTH_MAX ||
	    parts.sort.length > KEY_SORT_MAX)
		return "the key is too long";
	if (!json_is_utf8(name.bytes, name.length))
		return "the key is not UTF-8 text";
	if (name.length > 0 && !key_is_sound(name))
		return "the key has an empty part, or too many";
	if (table->sort_attribute == NULL && key_is_sorted(&parts))
		return "the table has no sort key";
	return NULL;
}

/* What the format can carry at all; NULL, or why not. */
static const char *
native_refuse(const struct dialect_table *table, const struct operation *o)
{
	bool many = o->kind == OPERATION_READ_MANY ||
	    o->kind == OPERATION_TOGETHER;
	const struct key *keys = many ?
	    o->keys : o->kind == OPERATION_SCAN ? &o->prefix : &o->key;
	size_t n = many ? o->n_keys : 1;
	struct native_item from;

	if (o->kind == OPERATION_REFRESH || o->kind == OPERATION_MARK)
		return "holders live by their session";
	if (dialect_is_session(o->kind))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *refused = native_refuse_key(table, keys[i]);

		if (refused != NULL)
			return refused;
	}
	if (o->kind == OPERATION_SCAN && o->cursor.length > 0 &&
	    !native_cursor_item(o->cursor, &from))
		return "there is no such place in the table";
	if (many && (n == 0 || n > READ_MANY_MAX))
		return "too few or too many keys at once";
	if (!operation_is_sound(o))
		return "the operation contradicts itself";
	if (o->tokens > (o->kind == OPERATION_EXTEND ? TOKEN_MAX : TOKENS_MAX))
		return "too many tokens at once";
	for (size_t i = 0; o->kind == OPERATION_TOGETHER && i < n; i++) {
		if (o->parts[i]->tokens > TOKENS_MAX)
			return "too many tokens at once";
	}
	return NULL;
}

/* Is it known that the token would rise too high? Where no token was seen, the
 * condition says so. */
static bool
native_has_no_room(const struct operation *o)
{
	return (o->kind == OPERATION_EXTEND ||
	    (o->kind == OPERATION_ACQUIRE && o->n_dead > 0)) &&
	    o->token_seen > TOKEN_MAX - o->tokens;
}

static int
native_request(const struct dialect_table *table, const struct operation *o,
    const struct dialect_attempt *a, struct dialect_request *r,
    struct dialect_view *view)
{
	struct native_writer w = { .table = table, .to = &r->body };
	const char *refused = native_refuse(table, o);

	if (refused != NULL) {
		(void)snprintf(view->text, sizeof(view->text), "%s", refused);
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (native_has_no_room(o)) {
		struct native_item item;

		native_lock_item(o->key, &item);
		native_describe(table, &item, "token", NATIVE_TOKEN_ROOM,
		    view->text);
		return DDBLOCK_E_BAD_RECORD;
	}
	buffer_clear(&r->body);
	/* Reserved at first, so that no append below can leave it empty. */
	if (buffer_reserve(&r->body, DIALECT_BODY_ROOM) < 0)
		return DDBLOCK_E_NOMEM;
	r->operation = native_write(&w, o, a);
	native_end(&w);
	return buffer_failed(&r->body);
}

const struct dialect dialect_native = {
	.name = "native",
	.life = LOCK_LIFE_SESSION,
	.features = DIALECT_SHARED | DIALECT_FAIL_CLOSED | DIALECT_FAIL_OPEN |
	    DIALECT_DATA | DIALECT_ATTRIBUTES | DIALECT_TOKENS |
	    DIALECT_WISHES | DIALECT_TOGETHER,
	.request = native_request,
	.answer = native_answer,
	.key_attribute_ok = native_key_attribute_ok,
};
