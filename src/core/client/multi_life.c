/*
 * Several locks as one: the fate of one of them is known to the others, until
 * none of them is left (multi.c has the rules).
 */
#include "core/client/room.h"

#include <assert.h>

void
multi_due(struct core *core, struct multi *j)
{
	if (j->due)
		return;
	j->due = true;
	if (j->request != NULL)
		j->request->waiter.put_off = true;
	LL_APPEND2(core->due_multis, j, next_due);
}

void
multi_not_due(struct core *core, struct multi *j)
{
	LL_DELETE2(core->due_multis, j, next_due);
	j->due = false;
	if (j->request != NULL)
		j->request->waiter.put_off = false;
}

/* What the store is being asked for all of them together; NULL: nothing. */
void
multi_set_asked(struct multi *j, struct multi_operation *multi_operation)
{
	j->multi_operation = multi_operation;
	if (j->request != NULL)
		j->request->waiter.asked = multi_operation != NULL;
}

/* What it keeps until its turn is for no client: that one may be freed first.
 * */
static void
multi_disown(struct multi *j)
{
	for (uint32_t i = 0; i < j->n; i++)
		j->parts[i].hold->client = NULL;
}

/* Its request has its answer. */
void
multi_leave(struct core *core, struct multi *j)
{
	j->request->client->n_more -= j->n - 1;
	j->request = NULL;
	if (j->held)
		return;
	multi_disown(j);
	multi_due(core, j);
}

/* The operation under way has no client any more. */
void
multi_forsake(struct multi *j)
{
	if (j->multi_operation != NULL)
		j->multi_operation->multi = NULL;
	multi_set_asked(j, NULL);
}

/* Freed with the next step: a reply may still show it. */
void
multi_bury(struct core *core, struct multi *j)
{
	assert(!j->due);
	multi_forsake(j);
	LL_PREPEND2(core->dead_multis, j, next_due);
}

/* One of them is lost, and is taken from its grant by the caller. */
void
multi_lose(struct core *core, struct hold *h, enum core_loss loss)
{
	struct multi *j = hold_multi(h);

	multi_due(core, j);
	if (!j->held || h->lost)
		return;
	/* Of what was inherited one may be lost already. */
	for (uint32_t i = 0; i < j->n; i++) {
		if (!j->parts[i].hold->lost)
			hold_mark_lost(core, j->parts[i].hold, loss);
	}
	notice_send(core, j->parts[0].hold, CORE_LOST);
}

/* One of them was forgotten; they all are, one after the other. */
void
multi_ended(struct core *core, struct hold *h)
{
	struct multi *j = hold_multi(h);

	assert(j->held && j->n_left > 0);
	j->n_left--;
	if (j->n_left == 0)
		multi_bury(core, j);
}

bool
multi_has(const struct part *part)
{
	return part->hold->use.grant != NULL;
}

/* The first lock not acquired, or their number. */
uint32_t
multi_first(const struct multi *j)
{
	uint32_t i = 0;

	while (i < j->n && multi_has(&j->parts[i]))
		i++;
	return i;
}

uint32_t
request_n_keys(const struct request *r)
{
	return r->multi == NULL ? 1 : r->multi->n;
}

uint32_t
request_n_had(const struct request *r)
{
	const struct multi *j = r->multi;
	uint32_t n = 0;

	for (uint32_t i = 0; j != NULL && i < j->n; i++)
		n += multi_has(&j->parts[i]);
	return n;
}
