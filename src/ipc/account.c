/*
 * The bytes that all connections of a user have queued, and who pays when they
 * are too many: the connection that leaves most unread, whoever adds to it just
 * then, so that somebody's greed is not the loss of who reads.
 *
 * Those with much are in a heap of pairs for each user. It needs no memory that
 * could be missing, a change costs O(log n) in the long run, and who has little
 * is not in it.
 */
#include <stddef.h>

#include "ipc/connection.h"

/* Who has no more than that is spared. */
#define ACCOUNT_SPARED_BYTES 4096

/* So that what is unread comes before any unfinished line. */
#define ACCOUNT_LINE_MAX (CODEC_LINE_MAX + SERVER_CHUNK_SIZE)

/* ---- the heap: nobody's children have more ---------------------------- */

/* Of two trees, or of one and NULL. */
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

/* The children of one that goes: by pairs, then these from the last to the
 * first. */
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

/* How much it is to blame for; 0: for nothing. What waits for the core's answer
 * is bounded when it is asked for. */
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
account_review(struct connection *c)
{
	struct user *u = c->user;
	size_t bytes_max = c->server->limits.queued_bytes_per_uid_max;

	if (c->doomed)
		return;
	account_set(c, c->in.length + c->out.length + c->pending_bytes,
	    account_weight(c));
	while (u->queued_bytes > bytes_max && u->greatest != NULL)
		connection_cut((struct connection *)((char *)u->greatest -
		    offsetof(struct connection, account)),
		    "its user has too many bytes queued, and it has most of "
		    "them");
}
