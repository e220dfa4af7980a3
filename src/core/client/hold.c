/*
 * A client's hold: the room for it, which is made with the request, and what it
 * is (hold_life.c has its end).
 */
#include "core/client/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hold *
hold_of(const struct use *u)
{
	return u == NULL ? NULL : CONTAINER_OF(u, struct hold, use);
}

static struct hold *
hold_linked(const struct hash_link *link)
{
	return CONTAINER_OF(link, struct hold, link);
}

/* Numbers follow each other, so they spread by themselves. */
uint32_t
hold_hash(const struct hash_link *link)
{
	return (uint32_t)hold_linked(link)->notice.hold;
}

struct hold *
hold_after(const struct core *core, uint64_t id)
{
	struct rank *rank = rank_after(core->holds, id);

	return rank == NULL ? NULL : CONTAINER_OF(rank, struct hold, rank);
}

struct hold *
hold_find(const struct core *core, uint64_t id)
{
	struct hash_link *link =
	    hash_chain(&core->holds_by_id, (uint32_t)id);

	while (link != NULL && hold_linked(link)->notice.hold != id)
		link = link->next;
	return link == NULL ? NULL : hold_linked(link);
}

/* It cannot be told of a loss: it may be at work until then. */
uint64_t
hold_working_ms(const struct hold *h)
{
	return h->terms == NULL ? 0 : h->terms->working_ms;
}

static size_t
label_room(const char *text)
{
	return text == NULL ? 0 : strlen(text) + 1;
}

static void
label_copy(char **at, const char *text, const char **ret)
{
	const size_t room = label_room(text);

	if (text == NULL)
		return;
	*ret = memcpy(*at, text, room);
	*at += room;
}

/* For a grant to come, which may be of several. NULL: no memory. */
struct hold *
hold_new(const struct core_request *ask, struct multi *j)
{
	const struct core_labels *labels = &ask->labels;
	const size_t room = label_room(labels->owner);
	struct special_hold *special;
	char *at;

	if (j == NULL && room == 0)
		return calloc(1, sizeof(struct hold));
	special = calloc(1, sizeof(*special) + room);
	if (special == NULL)
		return NULL;
	special->hold.special = true;
	special->multi = j;
	special->hold.use.is_multi = j != NULL;
	at = special->texts;
	label_copy(&at, labels->owner, &special->labels.owner);
	return &special->hold;
}

/* Whose it is one of; NULL: it stands by itself. */
struct multi *
hold_multi(const struct hold *h)
{
	return h->special ? ((const struct special_hold *)h)->multi : NULL;
}

struct core_labels
hold_labels(const struct hold *h)
{
	return h->special ? ((const struct special_hold *)h)->labels :
	    (struct core_labels){ .owner = NULL };
}

/* ---- what it is of ---------------------------------------------------- */

/* The hold whose number is that of all, and which stands for all. */
struct hold *
multi_speaker(struct hold *h)
{
	return hold_multi(h) == NULL ? h : hold_multi(h)->parts[0].hold;
}

bool
multi_is_kept(const struct hold *h)
{
	return hold_multi(h) != NULL && !hold_multi(h)->held;
}

/* ---- what a client may do with it ------------------------------------- */

/* The hold that a client knows by this number. */
struct hold *
hold_known_as(const struct core *core, uint64_t id)
{
	struct hold *h = hold_find(core, id);

	return h != NULL && multi_speaker(h) == h && !h->let_go ? h : NULL;
}

struct hold *
hold_speaker(struct hold *h)
{
	return multi_speaker(h);
}

/* What the code's own text does not say. */
const char *
hold_why_lost(const struct hold *h)
{
	if (h->notice.loss == CORE_LOSS_MAX_HOLD)
		return "the lock was lost: it was held as long as its max_hold";
	if (h->notice.loss == CORE_LOSS_KEEPALIVE)
		return "the lock was lost: its client sent nothing for longer "
		       "than its keepalive";
	return NULL;
}

/* A sharer may not change the data of a lock. */
bool
hold_may_change(const struct hold *h, const struct change *change)
{
	return change == NULL ||
	    (h->use.grant->mode == LOCK_MODE_EXCLUSIVE &&
		!grant_is_being_downgraded(h->use.grant));
}

/* ---- what others see of it -------------------------------------------- */

uint64_t
hold_process(const struct hold *h)
{
	return process_has(h) ? h->terms->process : 0;
}

uint64_t
hold_linger_end_ms(const struct hold *h)
{
	return linger_keeps(h) ? h->terms->linger_end_ms : 0;
}
