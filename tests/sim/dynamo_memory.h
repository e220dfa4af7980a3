/*
 * Small pieces of memory that are freed all at once.
 */
#ifndef DDBLOCKD_TESTS_DYNAMO_MEMORY_H
#define DDBLOCKD_TESTS_DYNAMO_MEMORY_H

#include <stddef.h>

struct dynamo_block;

struct dynamo_memory {
	struct dynamo_block *blocks;
};

/* Zeroed. */
void *dynamo_memory_alloc(struct dynamo_memory *, size_t);
/* All is freed, but a first block stays for the next use. */
void dynamo_memory_clear(struct dynamo_memory *);
void dynamo_memory_done(struct dynamo_memory *);

#endif
