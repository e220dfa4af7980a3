/*
 * Small pieces of memory that are freed all at once.
 */
#include <stdlib.h>
#include <string.h>

#include "dynamo_memory.h"
#include "dynamo_state.h"

#define MEMORY_BLOCK 4000

struct dynamo_block {
	struct dynamo_block *next;
	size_t used, size;
	max_align_t bytes[];
};

void *
dynamo_memory_alloc(struct dynamo_memory *m, size_t n)
{
	struct dynamo_block *b = m->blocks;
	char *memory;

	n = (n + sizeof(max_align_t) - 1) / sizeof(max_align_t) *
	    sizeof(max_align_t);
	if (b == NULL || b->size - b->used < n) {
		size_t size = n > MEMORY_BLOCK ? n : MEMORY_BLOCK;

		b = dynamo_need(malloc(sizeof(*b) + size));
		b->size = size;
		b->used = 0;
		b->next = m->blocks;
		m->blocks = b;
	}
	memory = (char *)b->bytes + b->used;
	b->used += n;
	memset(memory, 0, n);
	return memory;
}

void
dynamo_memory_clear(struct dynamo_memory *m)
{
	struct dynamo_block *b = m->blocks;

	while (b != NULL && b->next != NULL) {
		m->blocks = b->next;
		free(b);
		b = m->blocks;
	}
	if (b != NULL)
		b->used = 0;
}

void
dynamo_memory_done(struct dynamo_memory *m)
{
	dynamo_memory_clear(m);
	free(m->blocks);
	m->blocks = NULL;
}
