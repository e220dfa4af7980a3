/*
 * All locks that a request still misses, asked of the store in one operation
 * (multi.c says when). Each of them has its own submission and its own grant,
 * as if it were asked for alone, so that its part of the outcome is dealt with
 * as any acquire's.
 */
#include "core/client/room.h"

#include <assert.h>
#include <stdlib.h>

#include "core/rate.h"
#include "ddblock.h"

/* How many the store is to be asked for beside the first; 0: not together. */
static size_t
multi_operation_n_open(const struct core *core, const struct multi *j,
    uint32_t first)
{
	size_t n = 0;

	for (uint32_t i = first + 1; i < j->n; i++) {
		const struct lock *l = j->parts[i].lock;

		if (multi_has(&j->parts[i]))
			continue;
		if (lock_is_open(core, l))
			n++;
		else if (lock_find_grant(core, l, &j->request->waiter) == NULL)
			return 0;
	}
	return n;
}

/* NULL: no memory; then nothing was changed. */
static struct multi_operation *
multi_operation_new(struct core *core, struct multi *j, uint32_t first)
{
	struct multi_operation *t = calloc(1, sizeof(*t));
	bool ready = t != NULL;

	if (!ready)
		return NULL;
	t->multi = j;
	for (uint32_t i = first; ready && i < j->n; i++) {
		struct lock *l = j->parts[i].lock;

		if (multi_has(&j->parts[i]) ||
		    (i > first && !lock_is_open(core, l)))
			continue;
		ready = submission_begin_part(core, l,
		    j->request->waiter.user);
		if (ready)
			t->locks[t->n++] = l;
	}
	if (ready)
		return t;
	while (t->n > 0)
		submission_undo_part(core, t->locks[--t->n]);
	free(t);
	return NULL;
}

static void
multi_operation_submit(struct core *core, struct multi_operation *t,
    struct namespace *ns)
{
	struct operation *o = &t->submit.operation;
	uint64_t deadline_ms = core->now_ms + ns->settings.request_ms;

	for (size_t i = 0; i < t->n; i++) {
		t->keys[i] = lock_key(t->locks[i]);
		t->parts[i] = submission_send_part(core, t->locks[i],
		    &t->multi->request->waiter, deadline_ms);
		t->grants[i] = t->parts[i]->me.grant;
	}
	o->keys = t->keys;
	o->n_keys = t->n;
	o->parts = t->parts;
	o->user = t->multi->request->waiter.user;
	/* The place of the first was taken for it. */
	(void)rate_take(core, ns, o->user, t->n - 1);
	DL_APPEND(core->multi_operations, t);
	action_submit(core, &t->submit, ns, OPERATION_MULTI, deadline_ms,
	    CORE_ABOUT_MULTI, t);
}

/*
 * It is the turn of the first in line of @l, and the store is to be asked. If
 * that request is for more, and nothing known is in the way: ask for all of it.
 * What of it is here is kept until the answer comes.
 */
bool
multi_ask(struct core *core, struct lock *l)
{
	struct multi *j = request_of(l->queue)->multi;
	uint32_t first;
	struct multi_operation *t;

	if (j->in_order || !l->ns->has_sessions)
		return false;
	first = multi_first(j);
	assert(j->multi_operation == NULL && j->parts[first].lock == l);
	if (multi_operation_n_open(core, j, first) == 0)
		return false;
	t = multi_operation_new(core, j, first);
	if (t == NULL)
		return false;
	multi_set_asked(j, t);
	for (uint32_t i = first + 1; i < j->n; i++) {
		struct lock *other = j->parts[i].lock;
		struct grant *g;

		g = lock_find_grant(core, other,
		    &j->request->waiter);
		if (multi_has(&j->parts[i]) || g == NULL)
			continue;
		multi_keep(core, j, g);
		lock_gave(g, j->request->waiter.user);
	}
	multi_operation_submit(core, t, l->ns);
	return true;
}

static void
multi_operation_tell(struct core *core, const struct multi_operation *t,
    size_t i,
    const struct outcome *o)
{
	const struct outcome_part *part =
	    o->parts == NULL ? NULL : &o->parts[i];
	struct outcome one = *o;

	one.parts = NULL;
	if (part != NULL) {
		one.kind = part->kind;
		one.code = part->code;
		one.lock = part->lock;
	} else if (o->kind == OUTCOME_REFUSED &&
	    namespace_code_is_definite(o->code)) {
		/* A waiter for that lock only may have more success. */
		one.code = 0;
	}
	lock_stored_part(core, t->locks[i], &one);
}

/* Has the request it already? One of a semaphore's may have become free here
 * while the store was asked for one more. */
static bool
multi_operation_has(const struct multi *j, const struct lock *l)
{
	uint32_t i = 0;

	while (j->parts[i].lock != l)
		i++;
	return multi_has(&j->parts[i]);
}

/* The granted part is kept for its request. */
static void
multi_operation_keep(struct core *core, const struct multi_operation *t)
{
	struct multi *j = t->multi;

	for (size_t i = 0; i < t->n; i++) {
		struct grant *g = grant_find(t->locks[i], t->grants[i]);

		if (g == NULL || multi_operation_has(j, t->locks[i]) ||
		    !grant_can_give(core, g, &j->request->waiter))
			continue;
		multi_keep(core, j, g);
		lock_gave(g, j->request->waiter.user);
	}
}

void
multi_stored(struct core *core, struct multi_operation *t,
    const struct outcome *o)
{
	struct multi *j = t->multi;

	namespace_trouble(t->locks[0]->ns, o);
	for (size_t i = 0; i < t->n; i++)
		multi_operation_tell(core, t, i, o);
	if (j != NULL) {
		multi_set_asked(j, NULL);
		multi_due(core, j);
	}
	if (j != NULL && j->request != NULL) {
		j->in_order = o->kind == OUTCOME_CONFLICT;
		multi_operation_keep(core, t);
		if (o->kind == OUTCOME_REFUSED &&
		    namespace_code_is_definite(o->code))
			request_reply(core, j->request, o->code, 0, o->text);
	}
	/* A try for all need not go on to ask for the first alone. */
	if (j != NULL && j->request != NULL && j->request->waiter.lock != NULL)
		wait_review(core, j->request->waiter.lock);
	DL_DELETE(core->multi_operations, t);
	for (size_t i = 0; i < t->n; i++)
		lock_advance(core, t->locks[i]);
	free(t);
}
