/*
 * Memory that is kept to be used again.
 */
#include "common/freelist.h"

#include <stdlib.h>

/* A piece that is free. */
struct freelist_piece {
	struct freelist_piece *next;
};

void *
freelist_take(struct freelist *s, size_t size)
{
	struct freelist_piece *p = s->first;

	if (p == NULL)
		return malloc(size);
	s->first = p->next;
	s->n--;
	return p;
}

void
freelist_give(struct freelist *s, void *piece)
{
	struct freelist_piece *p = piece;

	if (s->n >= FREELIST_MAX) {
		free(piece);
		return;
	}
	p->next = s->first;
	s->first = p;
	s->n++;
}

void
freelist_done(struct freelist *s)
{
	while (s->n > 0)
		free(freelist_take(s, 0));
}
