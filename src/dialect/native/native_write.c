/*
 * The native record format: requests about locks, and reads.
 *
 * A lock is an item `lock:KEY` whose `holders` is a set with one element per
 * hold, so that holders cannot overwrite each other's; a free lock has no
 * such set, but keeps its token. Every write is conditional, and carries a
 * value of its own, so that its effect can be recognised in a record.
 * Where the table has a sort key, it tells apart locks of one key, and is "-"
 * otherwise.
 *
 * Every attribute about a hold is set or removed with each acquire, so that
 * none is inherited by accident. `data` and `attrs` are the clients' own: only
 * an update touches them, with a greater `rev` each time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dialect/json.h"
#include "dialect/native/native.h"
#include "dialect/native/native_writer.h"

/*
 * The attributes that a new hold sets and removes, with or without a name for
 * people.
 */
#define NATIVE_SET "#mode = :mode, #acquired_at = :wall, #kept = :kept"
#define NATIVE_REMOVE "REMOVE #ttl, #limit, #broken_by, #ran_before"
#define NATIVE_OWNED NATIVE_SET ", #owner = :owner " NATIVE_REMOVE " "
#define NATIVE_UNOWNED NATIVE_SET " " NATIVE_REMOVE ", #owner "
#define NATIVE_ACQUIRE "SET #token = if_not_exists(#token, :first) + :n, "
#define NATIVE_TAKE "SET #holders = :me, #token = #token + :n, "
#define NATIVE_JOIN "ADD #holders :me "
/* Of a run that counts: since when, and what was there before. */
#define NATIVE_RUN ", #ran_before = if_not_exists(#ran, :zero), #ran = :wall " \
	"REMOVE #ttl, #limit, #broken_by"
#define NATIVE_UNMARK "DELETE #xwait :session"

/* The conditions of acquires. The kinds of use alternate. */
#define NATIVE_FREE "attribute_not_exists(#holders) AND "
#define NATIVE_TURN "(attribute_not_exists(#swait) OR #mode <> :mode) AND "
#define NATIVE_NO_LINE "attribute_not_exists(#line[0]) AND "
/* And of the line; a placeholder for a place, counted from 0. */
#define NATIVE_AT_PLACE " AND #line[%" PRIu32 "] = :sid%s"
#define NATIVE_THIS_TURN " AND #token = :seen"
#define NATIVE_TO_WAIT_FOR                                                     \
	"(attribute_exists(#holders) OR attribute_exists(#line[0])) AND "
#define NATIVE_LINE_ROOM "attribute_not_exists(#line[%" PRIu32 "]) AND "
#define NATIVE_NOT_IN_LINE "NOT contains(#line, :it)"
#define NATIVE_ITS_PLACE "#line[%" PRIu32 "] = :it%s"
#define NATIVE_APPEND "list_append(if_not_exists(#line, :none), :last) "
#define NATIVE_DUE " AND (attribute_not_exists(#ran) OR #ran <= :due)"
#define NATIVE_SHARED_TURN "(attribute_not_exists(#xwait) OR "                 \
	"#mode <> :mode OR contains(#xwait, :sid))"
/* Two placeholders: the limit, and how many others it admits. */
#define NATIVE_SHARED "attribute_not_exists(#xwait) AND #mode = :mode AND "    \
	"%s AND size(#holders) < %s AND NOT contains(#holders, :hold)"
#define NATIVE_AS_SEEN "#holders = :dead AND #token = :seen"
/* For reads of many locks, or of a watched lock: all but the contents. */
#define NATIVE_BARE "#key, #holders, #mode, #limit, #token, #owner, "          \
	"#acquired_at, #kept, #broken_by, #rev, #xwait, #swait, #line, #ttl, " \
	"#ran, #ran_before"
#define NATIVE_BARE_SORTED NATIVE_BARE ", #sort"
/* An existing item without a token is not ours. */
#define NATIVE_ROOM "(attribute_not_exists(#key) OR "                          \
	"#token BETWEEN :zero AND :last)"

/* Does it pass others in line? What was seen of them holds for one turn. (If
 * it is taken from the dead, that is asked already.) */
static bool
native_passes(const struct operation *o)
{
	return o->place > 1 && o->n_dead == 0;
}

/* Our place in the line is the one that was seen, so all before it are, too. */
static void
native_append_place(char *condition, size_t size, const struct operation *o)
{
	size_t length = strlen(condition);

	if (o->place > 0)
		(void)snprintf(condition + length, size - length,
		    NATIVE_AT_PLACE, o->place - 1,
		    native_passes(o) ? NATIVE_THIS_TURN : "");
}

/* Behind other names to be removed: those places of the line. */
#define NATIVE_PLACES_SIZE (LINE_PLACES_MAX * sizeof(", #line[31]"))
static const char *
native_places(char text[NATIVE_PLACES_SIZE], uint32_t place)
{
	size_t length = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < place && length < NATIVE_PLACES_SIZE; i++)
		length += (size_t)snprintf(text + length,
		    NATIVE_PLACES_SIZE - length, ", #line[%" PRIu32 "]", i);
	return text;
}

/* The update of an acquire for shared use, and the values that only it has. */
static void
native_update_shared(struct native_writer *w, const struct operation *o)
{
	char update[512 + NATIVE_PLACES_SIZE];
	char condition[512];
	char places[NATIVE_PLACES_SIZE];

	(void)snprintf(update, sizeof(update),
	    "%s" NATIVE_SET "%s%s REMOVE #ttl, #broken_by, #ran_before%s%s%s %s"
	    "DELETE #xwait :session, #swait :session",
	    o->n_dead == 0 ? NATIVE_ACQUIRE : NATIVE_TAKE,
	    o->limit != 0 ? ", #limit = :limit" : "",
	    o->owner != NULL ? ", #owner = :owner" : "",
	    o->limit != 0 ? "" : ", #limit",
	    o->owner != NULL ? "" : ", #owner",
	    native_places(places, o->place),
	    o->n_dead == 0 ? NATIVE_JOIN : "");
	if (o->n_dead == 0)
		(void)snprintf(condition, sizeof(condition),
		    "((" NATIVE_FREE NATIVE_SHARED_TURN ") OR "
		    "(" NATIVE_SHARED ")) AND " NATIVE_ROOM,
		    o->limit != 0 ? "#limit = :limit" :
		    "attribute_not_exists(#limit)",
		    o->limit != 0 ? ":limit" : ":most");
	else
		(void)snprintf(condition, sizeof(condition), "%s",
		    NATIVE_AS_SEEN);
	native_append_place(condition, sizeof(condition), o);
	native_update(w, o, update, condition);
	if (o->limit != 0)
		native_value_number(w, ":limit", o->limit);
	else if (o->n_dead == 0)
		native_value_number(w, ":most", HOLDERS_MAX);
	if (o->n_dead == 0)
		native_value_holder(w, ":hold", &o->me);
	if (o->n_dead == 0 || o->place > 0)
		native_value_session(w, ":sid", o->me.session, false);
}

/* The update of an acquire for exclusive use, from the line or once per period.
 * */
static void
native_update_next(struct native_writer *w, const struct operation *o,
    uint64_t wall_s)
{
	char update[512 + NATIVE_PLACES_SIZE];
	char condition[512];
	char places[NATIVE_PLACES_SIZE];
	size_t length;

	(void)snprintf(update, sizeof(update),
	    "%s" NATIVE_SET "%s%s%s%s %s" NATIVE_UNMARK,
	    o->n_dead == 0 ? NATIVE_ACQUIRE : NATIVE_TAKE,
	    o->owner != NULL ? ", #owner = :owner" : "",
	    o->marks ? NATIVE_RUN : " " NATIVE_REMOVE,
	    o->owner != NULL ? "" : ", #owner",
	    native_places(places, o->place),
	    o->n_dead == 0 ? NATIVE_JOIN : "");
	(void)snprintf(condition, sizeof(condition), "%s%s",
	    o->place == 0 ? NATIVE_NO_LINE : "", o->n_dead == 0 ?
	    NATIVE_FREE NATIVE_TURN NATIVE_ROOM : NATIVE_AS_SEEN);
	native_append_place(condition, sizeof(condition), o);
	length = strlen(condition);
	if (o->every_s > 0)
		(void)snprintf(condition + length, sizeof(condition) - length,
		    "%s", NATIVE_DUE);
	native_update(w, o, update, condition);
	if (o->place > 0)
		native_value_session(w, ":sid", o->me.session, false);
	if (o->every_s > 0)
		native_value_number(w, ":due",
		    wall_s > o->every_s ? wall_s - o->every_s : 0);
	if (o->marks && o->n_dead > 0)
		native_value_number(w, ":zero", 0);
}

static void
native_write_acquire(struct native_writer *w, const struct operation *o,
    uint64_t wall_s)
{
	bool shared = o->mode == LOCK_MODE_SHARED;

	if (shared)
		native_update_shared(w, o);
	else if (o->place > 0 || o->every_s > 0)
		native_update_next(w, o, wall_s);
	else if (o->n_dead == 0)
		native_update(w, o, o->owner != NULL ?
		    NATIVE_ACQUIRE NATIVE_OWNED NATIVE_JOIN NATIVE_UNMARK :
		    NATIVE_ACQUIRE NATIVE_UNOWNED NATIVE_JOIN NATIVE_UNMARK,
		    NATIVE_FREE NATIVE_TURN NATIVE_NO_LINE NATIVE_ROOM);
	else
		native_update(w, o, o->owner != NULL ?
		    NATIVE_TAKE NATIVE_OWNED NATIVE_UNMARK :
		    NATIVE_TAKE NATIVE_UNOWNED NATIVE_UNMARK,
		    NATIVE_NO_LINE NATIVE_AS_SEEN);
	if (o->n_dead == 0) {
		native_value_number(w, ":first", wall_s << 20);
		native_value_number(w, ":zero", 0);
		native_value_number(w, ":last", TOKEN_MAX - o->tokens);
	} else {
		native_value_holders(w, ":dead", o->dead, o->n_dead);
	}
	if (o->n_dead > 0 || native_passes(o))
		native_value_number(w, ":seen", o->token_seen);
	native_value_holders(w, ":me", &o->me, 1);
	native_value_number(w, ":n", o->tokens);
	native_value_text(w, ":mode", shared ? "s" : "x");
	if (o->owner != NULL)
		native_value_text(w, ":owner", o->owner);
	native_value_number(w, ":wall", wall_s);
	if (o->keeps)
		native_value_session(w, ":kept", o->me.grant, false);
	else
		native_value_text(w, ":kept", "-");
	native_value_session(w, ":session", o->me.session, true);
}

/*
 * All or nothing. Its client token makes all attempts the same transaction. It
 * is never reused, because the name of a grant is not.
 */
static void
native_write_multi(struct native_writer *w, const struct operation *o,
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
	const char *const updates[] = {
		[RUN_AS_IT_IS] = "SET #ttl = :ttl DELETE #holders :them",
		[RUN_COUNTS] = "SET #ttl = :ttl, "
		    "#ran = if_not_exists(#acquired_at, :zero) "
		    "REMOVE #ran_before DELETE #holders :them",
		[RUN_NEVER_WAS] = "SET #ttl = :ttl, "
		    "#ran = if_not_exists(#ran_before, #ran) "
		    "REMOVE #ran_before DELETE #holders :them",
	};

	native_update(w, o, updates[o->run_end], "#holders = :them");
	if (o->run_end == RUN_COUNTS)
		native_value_number(w, ":zero", 0);
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

/* An ill-typed or a negative token is left alone, and so is an absent one. */
static void
native_write_raise(struct native_writer *w, const struct operation *o,
    uint64_t wall_s)
{
	uint64_t to = o->tokens > 0 ? o->tokens : (wall_s + 1) << 20;

	native_update(w, o, "SET #token = :to",
	    "#token BETWEEN :zero AND :below");
	native_value_number(w, ":to", to);
	native_value_number(w, ":zero", 0);
	native_value_number(w, ":below", to > 0 ? to - 1 : 0);
}

/* The new contents. The revision keeps a write that was sent earlier and lands
 * later from changing them. */
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

/* As the last of the line, which has room. */
static void
native_write_join_line(struct native_writer *w, const struct operation *o)
{
	char condition[192];
	char text[IDENT_TEXT_LENGTH + 1];

	(void)snprintf(condition, sizeof(condition),
	    NATIVE_TO_WAIT_FOR NATIVE_LINE_ROOM NATIVE_NOT_IN_LINE,
	    o->line_max - 1);
	native_update(w, o, "SET #line = " NATIVE_APPEND
	    "ADD #xwait :session", condition);
	ident_format(o->session, text);
	native_value_list(w, ":none", NULL);
	native_value_list(w, ":last", text);
	native_value_session(w, ":it", o->session, false);
	native_value_session(w, ":session", o->session, true);
}

static void
native_write_leave_line(struct native_writer *w, const struct operation *o)
{
	char update[64];
	char condition[64];

	(void)snprintf(update, sizeof(update),
	    "REMOVE #line[%" PRIu32 "] DELETE #xwait :session", o->place - 1);
	(void)snprintf(condition, sizeof(condition),
	    NATIVE_ITS_PLACE, o->place - 1,
	    o->token_seen > 0 ? NATIVE_THIS_TURN : "");
	native_update(w, o, update, condition);
	if (o->token_seen > 0)
		native_value_number(w, ":seen", o->token_seen);
	native_value_session(w, ":it", o->session, false);
	native_value_session(w, ":session", o->session, true);
}

static void
native_write_waiter_mark(struct native_writer *w, const struct operation *o)
{
	bool shared = o->mode == LOCK_MODE_SHARED;

	if (o->line_max > 0) {
		native_write_join_line(w, o);
		return;
	}
	if (o->place > 0) {
		native_write_leave_line(w, o);
		return;
	}
	if (o->kind == OPERATION_ADD_WAITER) {
		native_update(w, o, shared ?
		    "ADD #swait :session" : "ADD #xwait :session",
		    "attribute_exists(#holders)");
	} else {
		/* Without the condition it would create an item. */
		native_update(w, o, shared ?
		    "DELETE #swait :session" : "DELETE #xwait :session",
		    shared ? "contains(#swait, :it)" :
		    "contains(#xwait, :it) AND " NATIVE_NOT_IN_LINE);
		native_value_session(w, ":it", o->session, false);
	}
	native_value_session(w, ":session", o->session, true);
}

/* Any holders: the token alone identifies the holders that were seen. */
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

/* Which attributes to return; with the names, also those of @filter. */
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

const char *
native_write(struct native_writer *w, const struct operation *o,
    const struct dialect_attempt *a)
{
	uint64_t wall_s = a->wall_ms / 1000;

	if (a->step == DIALECT_LOOK && o->kind == OPERATION_MULTI) {
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
	case OPERATION_SESSION_BEAT:
	case OPERATION_SESSION_KILL:
	case OPERATION_SESSION_CLOSE:
		return native_write_session(w, o, a);
	case OPERATION_ACQUIRE:
		native_write_acquire(w, o, wall_s);
		break;
	case OPERATION_MULTI:
		native_write_multi(w, o, wall_s);
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
	case OPERATION_ADD_WAITER:
	case OPERATION_REMOVE_WAITER:
		native_write_waiter_mark(w, o);
		break;
	case OPERATION_BREAK:
		native_write_break(w, o, wall_s);
		break;
	case OPERATION_RAISE:
		native_write_raise(w, o, wall_s);
		break;
	case OPERATION_REFRESH:
	case OPERATION_MARK:
		break;		/* they were refused */
	}
	return "UpdateItem";
}
