/*
 * The table of record formats, and the memory of views.
 */
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "dialect/dialect.h"

static const struct dialect *const dialects[] = {
	&dialect_native,
	&dialect_awslabs,
	&dialect_python,
	&dialect_js_fail_open,
	&dialect_js_fail_closed,
	&dialect_dlock,
};

/* A block of a view's memory; the bytes follow. */
struct dialect_memory {
	struct dialect_memory *next;
	_Alignas(max_align_t) unsigned char bytes[];
};

const struct dialect *
dialect_find(const char *name)
{
	for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
		if (strcmp(dialects[i]->name, name) == 0)
			return dialects[i];
	}
	return NULL;
}

const char *
dialect_name_here(const struct dialect_table *table, const char *own)
{
	for (size_t i = 0; i < table->n_renamed; i++) {
		if (strcmp(table->renamed[i].own, own) == 0)
			return table->renamed[i].here;
	}
	return own;
}

bool
dialect_is_write(enum operation_kind kind)
{
	switch (kind) {
	case OPERATION_READ:
	case OPERATION_READ_MANY:
	case OPERATION_SCAN:
	case OPERATION_SESSION_READ:
		return false;
	default:
		return true;
	}
}

bool
dialect_is_session(enum operation_kind kind)
{
	return kind >= OPERATION_SESSION_OPEN;
}

void
dialect_request_init(struct dialect_request *r)
{
	r->operation = NULL;
	buffer_init(&r->body, DIALECT_BODY_MAX);
}

void
dialect_request_done(struct dialect_request *r)
{
	buffer_done(&r->body);
}

void
dialect_view_init(struct dialect_view *v)
{
	memset(v, 0, sizeof(*v));
}

void
dialect_view_clear(struct dialect_view *v)
{
	struct json_tokener *tokener = v->tokener;
	struct dialect_memory *m = v->memory;

	while (m != NULL) {
		struct dialect_memory *next = m->next;

		free(m);
		m = next;
	}
	json_object_put(v->json);
	dialect_view_init(v);
	v->tokener = tokener;
}

void *
dialect_view_alloc(struct dialect_view *v, size_t n, size_t size)
{
	struct dialect_memory *m;

	if (n > (SIZE_MAX - sizeof(*m)) / size)
		return NULL;
	m = calloc(1, sizeof(*m) + n * size);
	if (m == NULL)
		return NULL;
	m->next = v->memory;
	v->memory = m;
	return m->bytes;
}
