/*
 * Memory that is freed all at once.
 */
#include "store/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK_BYTES 4096

struct arena_block {
	struct arena_block *next;
	alignas(max_align_t) char bytes[];
};

void
arena_init(struct arena *a, void *first, size_t size)
{
	*a = (struct arena){ .next = first, .room = size };
}

void
arena_done(struct arena *a)
{
	while (a->blocks != NULL) {
		struct arena_block *b = a->blocks;

		a->blocks = b->next;
		free(b);
	}
	*a = (struct arena){ 0 };
}

void *
arena_alloc(struct arena *a, size_t size)
{
	const size_t unit = alignof(max_align_t);
	struct arena_block *b;
	size_t block_bytes;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = size == 0 ? unit : (size + unit - 1) / unit * unit;
	if (a->next == NULL || size > a->room) {
		block_bytes =
		    size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
		b = malloc(sizeof(*b) + block_bytes);
		if (b == NULL)
			return NULL;
		b->next = a->blocks;
		a->blocks = b;
		a->next = b->bytes;
		a->room = block_bytes;
	}
	p = a->next;
	a->next += size;
	a->room -= size;
	return p;
}

void *
arena_copy(struct arena *a, const void *bytes, size_t size)
{
	void *p = arena_alloc(a, size);

	if (p != NULL && size > 0)
		memcpy(p, bytes, size);
	return p;
}

char *
arena_copy_text(struct arena *a, const void *bytes, size_t length)
{
	char *p = arena_alloc(a, length + 1);

	if (p == NULL)
		return NULL;
	if (length > 0)
		memcpy(p, bytes, length);
	p[length] = '\0';
	return p;
}
