/*
 * Shared by all record formats: the memory of views and requests, places in a
 * table, the names of its attributes, and which operations write.
 */
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/dialect.h"

#define VIEW_CURSOR_HEAD 2	/* bytes of the partition key's length */

/* A block of a view's memory; the bytes follow. */
struct dialect_memory {
	struct dialect_memory *next;
	_Alignas(max_align_t) unsigned char bytes[];
};

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

int
dialect_view_name(struct dialect_view *v, const struct key_parts *parts,
    struct key *ret)
{
	char *bytes = NULL;

	if (key_is_sorted(parts)) {
		bytes = dialect_view_alloc(v, 1, KEY_BYTES_MAX);
		if (bytes == NULL)
			return DDBLOCK_E_NOMEM;
	}
	*ret = key_join(parts, bytes);
	return 1;
}

int
dialect_view_cursor(struct dialect_view *v, const struct key_parts *parts,
    struct key *ret)
{
	const struct key *key = &parts->key, *sort = &parts->sort;
	size_t length = VIEW_CURSOR_HEAD + key->length + sort->length;
	unsigned char *bytes;

	if (length > SCAN_CURSOR_MAX)
		return DDBLOCK_E_PROTOCOL;
	bytes = dialect_view_alloc(v, 1, length);
	if (bytes == NULL)
		return DDBLOCK_E_NOMEM;
	bytes[0] = (unsigned char)(key->length >> 8);
	bytes[1] = (unsigned char)key->length;
	memcpy(bytes + VIEW_CURSOR_HEAD, key->bytes, key->length);
	memcpy(bytes + VIEW_CURSOR_HEAD + key->length, sort->bytes,
	    sort->length);
	*ret = (struct key){ (const char *)bytes, length };
	return 0;
}

bool
dialect_cursor_parts(struct key cursor, struct key_parts *ret)
{
	const unsigned char *head = (const unsigned char *)cursor.bytes;
	size_t n;

	if (cursor.length < VIEW_CURSOR_HEAD)
		return false;
	n = (size_t)head[0] << 8 | head[1];
	if (n > cursor.length - VIEW_CURSOR_HEAD)
		return false;
	ret->key = (struct key){ cursor.bytes + VIEW_CURSOR_HEAD, n };
	ret->sort = (struct key){ ret->key.bytes + n,
		cursor.length - VIEW_CURSOR_HEAD - n };
	return true;
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
