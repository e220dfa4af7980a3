/*
 * The bytes that all connections of a user have queued. If they are too many,
 * the connection that leaves most unread is cut off, also if another connection
 * added the last bytes: so a client that reads loses nothing.
 *
 * Connections with many bytes are in a pairing heap for each user; connections
 * with few are not. It allocates no memory, and a change costs O(log n)
 * amortised.
 */
#include <stddef.h>

#include "ipc/connection/connection.h"

/* A connection with at most so many bytes is not cut off. */
#define ACCOUNT_SPARED_BYTES 4096

/* Added so that unread output weighs more than any unfinished line. */
#define ACCOUNT_LINE_MAX (CODEC_LINE_MAX + SERVER_CHUNK_SIZE)

/* ---- the heap: no child has more than its parent ----------------------- */

/* Merge two trees, or a tree and NULL. */
static struct account *
account_meld(struct account *a, struct account *b)
{
	struct account *under;

	if (a == NULL || b == NULL)
		return a == NULL ? b : a;
	if (a->weight < b->weight) {
		under = a;
		a = b;
	} else {
		under = b;
	}
	under->next = a->child;
	if (under->next != NULL)
		under->next->previous = under;
	under->previous = a;
	a->child = under;
	return a;
}

/* Merge the children of a removed node: in pairs, then the pairs from the last
 * to the first. */
static struct account *
account_meld_all(struct account *first)
{
	struct account *pairs = NULL, *all = NULL;

	while (first != NULL) {
		struct account *second = first->next;
		struct account *rest = second == NULL ? NULL : second->next;
		struct account *pair;

		first->next = first->previous = NULL;
		if (second != NULL)
			second->next = second->previous = NULL;
		pair = account_meld(first, second);
		pair->next = pairs;
		pairs = pair;
		first = rest;
	}
	while (pairs != NULL) {
		struct account *next = pairs->next;

		pairs->next = NULL;
		all = account_meld(all, pairs);
		pairs = next;
	}
	return all;
}

static void
account_take_out(struct user *u, struct account *a)
{
	struct account *rest = account_meld_all(a->child);

	a->child = NULL;
	if (a == u->greatest) {
		u->greatest = rest;
	} else {
		if (a->previous->child == a)
			a->previous->child = a->next;
		else
			a->previous->next = a->next;
		if (a->next != NULL)
			a->next->previous = a->previous;
		u->greatest = account_meld(u->greatest, rest);
	}
	a->next = a->previous = NULL;
}

/* ---- the books -------------------------------------------------------- */

/* The bytes that count against the connection. Requests that wait for the
 * core's answer are bounded when they begin. */
static size_t
account_weight(const struct connection *c)
{
	if (c->out.length > ACCOUNT_SPARED_BYTES)
		return ACCOUNT_LINE_MAX + c->out.length;
	return c->in.length > ACCOUNT_SPARED_BYTES ? c->in.length : 0;
}

static void
account_set(struct connection *c, size_t bytes, size_t weight)
{
	struct account *a = &c->account;
	struct user *u = c->user;

	u->queued_bytes += bytes;
	u->queued_bytes -= a->bytes;
	if (u->spared_bytes > u->queued_bytes)
		u->spared_bytes = u->queued_bytes;
	a->bytes = bytes;
	if (a->weight == weight)
		return;
	if (a->weight > 0)
		account_take_out(u, a);
	a->weight = weight;
	if (weight > 0)
		u->greatest = account_meld(u->greatest, a);
}

void
account_close(struct connection *c)
{
	account_set(c, 0, 0);
}

void
account_update(struct connection *c)
{
	account_set(c, c->in.length + c->out.length + c->pending_bytes,
	    account_weight(c));
}

struct connection *
account_payer(const struct connection *c)
{
	const struct user *u = c->user;

	if (u->queued_bytes <= u->spared_bytes ||
	    u->queued_bytes <= c->server->limits.queued_bytes_per_uid_max ||
	    u->greatest == NULL)
		return NULL;
	return (struct connection *)((char *)u->greatest -
	    offsetof(struct connection, account));
}
