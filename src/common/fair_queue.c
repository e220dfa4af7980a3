/*
 * A queue that serves users in turn.
 */
#include "common/fair_queue.h"

#include <assert.h>
#include <string.h>
#include <utlist.h>

/* The link to the first item of @user, or the end of the chain where there
 * would be one. Numbers of users come in rows, so a product spreads them. */
static struct fair_item **
fair_queue_find(struct fair_queue *q, uint32_t user)
{
	uint32_t hash = (user * UINT32_C(2654435769)) >> 16;
	struct fair_item **link = &q->buckets[hash % FAIR_QUEUE_BUCKETS];

	while (*link != NULL && (*link)->user != user)
		link = &(*link)->bucket_next;
	return link;
}

void
fair_queue_init(struct fair_queue *q, uint32_t turn)
{
	assert(turn > 0);
	memset(q, 0, sizeof(*q));
	q->turn = turn;
}

bool
fair_queue_is_empty(const struct fair_queue *q)
{
	return q->line == NULL;
}

void
fair_queue_add(struct fair_queue *q, struct fair_item *i, uint32_t user,
    uint32_t cost)
{
	struct fair_item **first = fair_queue_find(q, user);

	assert(cost > 0);
	i->user = user;
	i->cost = cost;
	if (*first == NULL) {
		i->bucket_next = NULL;
		i->credit = q->turn;
		DL_APPEND2(q->line, i, line_prev, line_next);
	}
	DL_APPEND(*first, i);
	q->length++;
}

void
fair_queue_remove(struct fair_queue *q, struct fair_item *i)
{
	struct fair_item **first = fair_queue_find(q, i->user);
	struct fair_item *heir = i->next;

	assert(*first != NULL && q->length > 0);
	q->length--;
	if (*first != i) {
		DL_DELETE(*first, i);
	} else if (heir == NULL) {
		DL_DELETE2(q->line, i, line_prev, line_next);
		*first = i->bucket_next;
	} else {
		heir->credit = i->credit;
		heir->bucket_next = i->bucket_next;
		DL_REPLACE_ELEM2(q->line, i, heir, line_prev, line_next);
		DL_DELETE(*first, i);
	}
}

/* The first user's turn is over. */
static void
fair_queue_pass(struct fair_queue *q)
{
	struct fair_item *u = q->line;

	u->credit += q->turn;
	DL_DELETE2(q->line, u, line_prev, line_next);
	DL_APPEND2(q->line, u, line_prev, line_next);
}

struct fair_item *
fair_queue_take(struct fair_queue *q)
{
	struct fair_item *i;

	if (q->line == NULL)
		return NULL;
	while (q->line->credit <= 0)
		fair_queue_pass(q);
	i = q->line;
	i->credit -= i->cost;
	if (i->credit <= 0)
		fair_queue_pass(q);
	fair_queue_remove(q, i);
	return i;
}
