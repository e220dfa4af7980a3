/*
 * The native record format: writes of a session, an item `session:SID` with the
 * `beat` that keeps all its holds alive.
 */
#include "dialect/native/native.h"
#include "dialect/native/native_writer.h"

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
	/* The item begins as the object of its key; the rest is added. */
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
	if (o->contact != NULL)
		native_value_text(w, "contact", o->contact);
}

static void
native_write_beat(struct native_writer *w, const struct operation *o,
    uint64_t beat, uint64_t wall_s)
{
	native_update(w, o, o->contact == NULL ?
	    "SET #beat = :n, #ttl = :ttl" :
	    "SET #beat = :n, #ttl = :ttl, #contact = :contact",
	    o->beat_below == 0 ?
	    "attribute_exists(#key) AND attribute_not_exists(#dead) AND "
	    "#beat < :n" :
	    "attribute_exists(#key) AND attribute_not_exists(#dead) AND "
	    "#beat < :n AND #beat < :below");
	native_value_number(w, ":n", beat);
	if (o->beat_below != 0)
		native_value_number(w, ":below", o->beat_below);
	native_value_number(w, ":ttl", wall_s + NATIVE_SESSION_TTL_S);
	if (o->contact != NULL)
		native_value_text(w, ":contact", o->contact);
}

static void
native_write_kill(struct native_writer *w, const struct operation *o)
{
	native_update(w, o, "SET #dead = :by",
	    "#beat = :seen AND attribute_not_exists(#dead)");
	native_value_number(w, ":seen", o->beat);
	native_value_text(w, ":by", o->owner != NULL ? o->owner : "");
}

/* The first killer stays in the record. */
static void
native_write_close(struct native_writer *w, const struct operation *o,
    uint64_t wall_s)
{
	native_update(w, o,
	    "SET #dead = if_not_exists(#dead, :by), #ttl = :ttl",
	    o->beat_below == 0 ? "attribute_exists(#key)" :
	    "attribute_exists(#key) AND #beat < :below");
	if (o->beat_below != 0)
		native_value_number(w, ":below", o->beat_below);
	native_value_text(w, ":by", "self");
	native_value_number(w, ":ttl", wall_s + NATIVE_SESSION_TTL_S);
}

const char *
native_write_session(struct native_writer *w, const struct operation *o,
    const struct dialect_attempt *a)
{
	uint64_t wall_s = a->wall_ms / 1000;

	switch (o->kind) {
	case OPERATION_SESSION_OPEN:
	case OPERATION_SESSION_BURY:
		native_write_put(w, o, wall_s);
		return "PutItem";
	case OPERATION_SESSION_BEAT:
		native_write_beat(w, o, a->beat, wall_s);
		break;
	case OPERATION_SESSION_KILL:
		native_write_kill(w, o);
		break;
	default:
		native_write_close(w, o, wall_s);
		break;
	}
	return "UpdateItem";
}
