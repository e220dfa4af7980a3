/*
 * The connections of a server, by number.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/error.h"
#include "ipc/connection/connection.h"

#define SERVER_SLOT_BITS 20
#define SERVER_SLOTS_MAX (UINT32_C(1) << SERVER_SLOT_BITS)
#define SERVER_SLOTS_MIN 64

struct connection *
server_find(const struct server *s, uint64_t client)
{
	uint32_t slot = (uint32_t)(client & (SERVER_SLOTS_MAX - 1));
	struct connection *c;

	if (slot >= s->n_slots)
		return NULL;
	c = s->slots[slot];
	return c != NULL && c->client == client ? c : NULL;
}

static int
server_grow(struct server *s)
{
	uint32_t n = s->n_slots == 0 ? SERVER_SLOTS_MIN : s->n_slots * 2;
	struct connection **slots;

	if (n > SERVER_SLOTS_MAX)
		return DDBLOCK_E_LIMIT;
	slots = realloc(s->slots, n * sizeof(*slots));
	if (slots == NULL)
		return DDBLOCK_E_NOMEM;
	memset(slots + s->n_slots, 0, (n - s->n_slots) * sizeof(*slots));
	s->slot_hint = s->n_slots;
	s->slots = slots;
	s->n_slots = n;
	return 0;
}

void
server_count_from(struct server *s, uint64_t client_last)
{
	s->serial = client_last >> SERVER_SLOT_BITS;
}

/* Give the connection a number that was never used before. */
int
server_add(struct server *s, struct connection *c)
{
	/* Half of the slots are always free, so a free slot is found soon. */
	if (s->n_connections >= s->n_slots / 2) {
		int r = server_grow(s);

		if (r < 0)
			return r;
	}
	while (s->slots[s->slot_hint % s->n_slots] != NULL)
		s->slot_hint++;
	s->slot_hint %= s->n_slots;
	c->client = ++s->serial << SERVER_SLOT_BITS | s->slot_hint;
	s->slots[s->slot_hint++] = c;
	s->n_connections++;
	return 0;
}

int
server_add_again(struct server *s, struct connection *c, uint64_t client)
{
	const uint32_t slot = (uint32_t)(client & (SERVER_SLOTS_MAX - 1));

	while (slot >= s->n_slots || s->n_connections >= s->n_slots / 2) {
		int r = server_grow(s);

		if (r < 0)
			return r;
	}
	if (client == 0 || s->slots[slot] != NULL)
		return DDBLOCK_E_LIMIT;
	server_skip(s, client);
	c->client = client;
	s->slots[slot] = c;
	s->n_connections++;
	return 0;
}

void
server_skip(struct server *s, uint64_t client)
{
	if (client >> SERVER_SLOT_BITS > s->serial)
		s->serial = client >> SERVER_SLOT_BITS;
}

void
server_remove(struct server *s, struct connection *c)
{
	if (server_find(s, c->client) != c)
		return;
	s->slots[c->client & (SERVER_SLOTS_MAX - 1)] = NULL;
	s->n_connections--;
	server_unschedule(s, c);
}
