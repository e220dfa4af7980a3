/*
 * Formats of one item and one holder: the attributes of an item, and errors in
 * them.
 */
#include <string.h>

#include "ddblock.h"
#include "dialect/dialect_item.h"
#include "dialect/json.h"
#include "dialect/record/record.h"

void
record_bad(struct record_reader *r, const char *own_name,
    const char *expected)
{
	if (r->error != 0)
		return;
	r->error = DDBLOCK_E_BAD_RECORD;
	dialect_describe(r->table, r->item.key, r->item.sort,
	    record_name(r->format, r->table, own_name), expected,
	    r->view->text);
}

void *
record_alloc(struct record_reader *r, size_t n, size_t size)
{
	void *memory = dialect_view_alloc(r->view, n, size);

	if (memory == NULL && r->error == 0)
		r->error = DDBLOCK_E_NOMEM;
	return memory;
}

const char *
record_scalar(struct record_reader *r, struct json_object *item,
    const char *own_name, const char *type, const char *expected,
    size_t *ret_length)
{
	struct json_object *field = json_find(item,
	    record_name(r->format, r->table, own_name));
	const char *text = NULL;

	if (field != NULL) {
		text = json_string(json_find(field, type), ret_length);
		if (text == NULL)
			record_bad(r, own_name, expected);
	}
	return text;
}

const char *
record_text(struct record_reader *r, struct json_object *item,
    const char *own_name, const char *expected)
{
	size_t length = 0;
	const char *text =
	    record_scalar(r, item, own_name, "S", expected, &length);

	/* Text behind a NUL would be ignored from here on. */
	if (text != NULL && strlen(text) == length)
		return text;
	record_bad(r, own_name, expected);
	return NULL;
}

bool
record_number(struct record_reader *r, struct json_object *item,
    const char *own_name, uint64_t max, const char *expected, uint64_t *ret)
{
	size_t length;
	const char *text =
	    record_scalar(r, item, own_name, "N", expected, &length);

	if (text != NULL && json_read_number(text, length, max, ret))
		return true;
	record_bad(r, own_name, expected);
	return false;
}

void
record_hold(struct record_reader *r, struct lock_record *l,
    struct ident grant, uint64_t lease_ms)
{
	struct holder *holder = record_alloc(r, 1, sizeof(*holder));

	if (holder == NULL)
		return;
	*holder = (struct holder){
		.session = grant, .grant = grant, .lease_ms = lease_ms,
		.fail_closed = (r->format->features & DIALECT_FAIL_OPEN) == 0,
	};
	l->holders = holder;
	l->n_holders = 1;
}
