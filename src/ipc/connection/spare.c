/*
 * Empty buffers that connections leave to each other.
 */
#include "ipc/connection/connection.h"

void
server_take_spare(struct server *s, struct buffer *b)
{
	if (s->n_spare == 0)
		return;
	s->n_spare--;
	b->data = s->spare[s->n_spare].data;
	b->size = s->spare[s->n_spare].size;
}

/* The buffer is empty: keep its memory for the next that needs one. */
void
server_give_spare(struct server *s, struct buffer *b)
{
	if (b->data == NULL)
		return;
	if (s->n_spare == SERVER_SPARE_MAX || b->size > SERVER_SPARE_SIZE_MAX) {
		buffer_done(b);
		return;
	}
	buffer_clear(b);
	s->spare[s->n_spare++] = *b;
	buffer_init(b, b->length_max);
}
