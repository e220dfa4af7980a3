/*
 * Marks, of formats of one item and one holder whose sign of life is a version.
 *
 * A version may be written more than once, so its presence in a record does not
 * show how long ago the holder wrote it. So each observer puts a name of its
 * own into the record (core/lease/observe.c): in a set, beside the names of
 * other hosts, with the version that all of them saw. A set with another
 * version was left by a renewal, or copied by an acquisition, and is replaced.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "dialect/json.h"
#include "dialect/record/record.h"

#define MARKS "#" RECORD_MARKS

static void
mark_condition(const char *one, const char *other, struct record_plan *p)
{
	int n = snprintf(p->of_mark, sizeof(p->of_mark), "%s AND %s", one,
	    other);

	assert(n > 0 && (size_t)n < sizeof(p->of_mark));
	p->condition = p->of_mark;
}

static void
mark_plan(const struct record_format *f, const struct operation *o,
    struct record_plan *p)
{
	switch (o->mark_form) {
	case MARK_BESIDE:
		p->add = MARKS " :mark";
		mark_condition(f->to_mark, "contains(" MARKS ", :marked) "
		    "AND size(" MARKS ") < :marksMax", p);
		break;
	case MARK_INSTEAD:
		p->set = MARKS " = :marks";
		mark_condition(f->to_mark, "contains(" MARKS ", :marked) "
		    "AND size(" MARKS ") >= :marksMax", p);
		break;
	default:
		p->set = MARKS " = :marks";
		mark_condition(f->to_mark,
		    "NOT contains(" MARKS ", :marked)", p);
		break;
	}
}

void
record_plan(const struct record_format *f, const struct dialect_table *table,
    const struct operation *o, struct record_plan *p)
{
	if (o->kind == OPERATION_MARK) {
		mark_plan(f, o, p);
		return;
	}
	f->plan(table, o, p);
	if (o->kind == OPERATION_ACQUIRE && !ident_is_none(o->mark))
		mark_condition(p->condition, "contains(" MARKS ", :markSeen)",
		    p);
}

static void
mark_append(struct record_writer *w, bool with_version)
{
	char text[IDENT_TEXT_LENGTH + 1];

	ident_format(w->operation->mark, text);
	(void)buffer_append_text(w->to, "{\"SS\":[");
	if (with_version) {
		json_append_text(w->to, w->operation->version);
		(void)buffer_append_text(w->to, ",");
	}
	json_append_text(w->to, text);
	(void)buffer_append_text(w->to, "]}");
}

bool
record_mark_value(struct record_writer *w, const char *name)
{
	char text[IDENT_TEXT_LENGTH + 1];

	if (strncmp(name, "mark", 4) != 0)
		return false;
	if (strcmp(name, "mark") == 0) {
		mark_append(w, false);
	} else if (strcmp(name, "marks") == 0) {
		mark_append(w, true);
	} else if (strcmp(name, "marked") == 0) {
		record_append_text(w, w->operation->version);
	} else if (strcmp(name, "markSeen") == 0) {
		ident_format(w->operation->mark, text);
		record_append_text(w, text);
	} else {	/* "marksMax"; one element is the version */
		record_append_number(w, MARKS_MAX + 1);
	}
	return true;
}

void
record_read_marks(struct record_reader *r, struct json_object *item,
    struct lock_record *l)
{
	static const char expected[] = "a set of texts (SS)";
	struct json_object *field = json_find(item,
	    record_name(r->format, r->table, RECORD_MARKS));
	struct json_object *set = json_find(field, "SS");
	struct ident *marks;
	bool current = false;
	size_t n;

	if (field == NULL)
		return;
	if (!json_object_is_type(set, json_type_array)) {
		record_bad(r, RECORD_MARKS, expected);
		return;
	}
	/* Check all of them, as the condition does: if it found the version and
	 * we did not, we would repeat the request for ever. */
	n = json_object_array_length(set);
	marks = record_alloc(r, n + 1, sizeof(*marks));
	if (marks == NULL)
		return;
	l->marks = marks;
	for (size_t i = 0; i < n; i++) {
		size_t length = 0;
		const char *text = json_string(
		    json_object_array_get_idx(set, i), &length);

		if (text == NULL)
			record_bad(r, RECORD_MARKS, expected);
		else if (length == strlen(l->version) &&
		    memcmp(text, l->version, length) == 0)
			current = true;
		else if (!ident_parse(text, length, &marks[l->n_marks]))
			marks[l->n_marks++] = (struct ident){ 0 };
		else
			l->n_marks++;
	}
	if (!current)
		l->n_marks = 0;
}
