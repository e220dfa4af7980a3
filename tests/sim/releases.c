/*
 * What a client asked the release of, and not yet heard the end of.
 */
#include "world_state.h"

#include <stdlib.h>

void
customer_note_release(struct customer *c, uint64_t hold)
{
	struct customer_release *r = world_alloc(sizeof(*r));

	r->hold = hold;
	r->next = c->releases;
	c->releases = r;
}

bool
customer_hears_of_release(struct customer *c, uint64_t hold)
{
	struct customer_release **link = &c->releases, *r;

	while ((r = *link) != NULL && r->hold != hold)
		link = &r->next;
	if (r == NULL)
		return false;
	*link = r->next;
	free(r);
	return true;
}

void
customer_forget_releases(struct customer *c)
{
	while (c->releases != NULL) {
		struct customer_release *next = c->releases->next;

		free(c->releases);
		c->releases = next;
	}
}
