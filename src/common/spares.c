/*
 * Memory that is kept to be used again.
 */
#include "common/spares.h"

#include <stdlib.h>

/* What a piece is while nobody has it. */
struct spare {
	struct spare *next;
};

void *
spares_take(struct spares *s, size_t size)
{
	struct spare *spare = s->first;

	if (spare == NULL)
		return malloc(size);
	s->first = spare->next;
	s->n--;
	return spare;
}

void
spares_give(struct spares *s, void *piece)
{
	struct spare *spare = piece;

	if (s->n >= SPARES_MAX) {
		free(piece);
		return;
	}
	spare->next = s->first;
	s->first = spare;
	s->n++;
}

void
spares_done(struct spares *s)
{
	while (s->n > 0)
		free(spares_take(s, 0));
}
