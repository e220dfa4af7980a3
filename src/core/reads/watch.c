/*
 * Watches: clients that are told the holder of a lock, and each change of it.
 * watch_tell.c says what they are told, and when.
 */
#include "core/reads/room.h"

#include <assert.h>
#include <stdlib.h>

#include "ddblock.h"

static void
watched_free(struct core *core, struct watched *w)
{
	assert(w->watches == NULL && w->asking == NULL);
	watch_told(core, w);
	watch_poll_leave(w);
	watch_poll_schedule(core, w->lock->ns);
	if (w->touched)
		DL_DELETE2(core->touched, w, touched_previous, touched_next);
	w->lock->watched = NULL;
	free(w);
}

/* About what it takes, with its lock. */
static size_t
watch_bytes(const struct lock *l)
{
	return sizeof(struct watch) + sizeof(struct watched) + sizeof(*l) +
	    l->key_length;
}

/* The lock may be without a reason to exist then, and is freed. */
static void
watch_end(struct core *core, struct watch *watch)
{
	struct lock *l = watch->lock;
	struct client *c = watch->client;

	assert(watch->request == NULL);
	HASH_DEL(core->watches, watch);
	DL_DELETE2(c->watches, watch, client_previous, client_next);
	share_add(core, c, SHARE_WATCHES, -1, -(int64_t)watch_bytes(l));
	DL_DELETE2(l->watched->watches, watch, lock_previous, lock_next);
	free(watch);
	if (l->watched->watches == NULL && l->watched->asking == NULL)
		watched_free(core, l->watched);
	lock_free_if_unused(core, l);
	client_free_if_unused(core, c);
}

/* A look of the lock's own failed: its client is told so. */
void
watch_failed(struct core *core, struct lock *l, int code, const char *text)
{
	struct watched *w = l->watched;

	while (w != NULL && w->asking != NULL) {
		struct watch *watch = w->asking;

		request_reply(core, watch->request, code, 0, text);
		watch_end(core, watch);
		w = l->watched;
	}
	watch_fail(core, l, code);
}

/* ---- beginning and end ------------------------------------------------ */

/* Does a WATCH wait for a read, to be answered? */
bool
watch_wants_read(const struct lock *l)
{
	const struct watched *w = l->watched;

	return w != NULL && w->asking != NULL &&
	    !watch_is_fresh(w, w->asking->request);
}

struct watch *
watch_find(const struct core *core, const struct client *c,
    const struct lock *l)
{
	const struct watch_id id = { c, l };
	struct watch *watch;

	HASH_FIND(hh, core->watches, &id, sizeof(id), watch);
	return watch;
}

static struct watched *
watched_new(struct lock *l)
{
	struct watched *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->lock = l;
	w->revision.sequence = l->sequence;
	return w;
}

void
watch_free_all(struct core *core)
{
	struct watch *watch, *next;

	HASH_ITER(hh, core->watches, watch, next)
	{
		free(watch->lock->watched);
		watch->lock->watched = NULL;
		HASH_DEL(core->watches, watch);
		free(watch);
	}
}

/* Its request is answered, or gone: it is a watch now, which knows what the
 * others are told, or about to end. */
static void
watch_forget_request(struct core *core, struct request *r)
{
	struct watch *watch = r->served;
	struct watched *w = watch->lock->watched;

	(void)core;
	watch->request = NULL;
	watch->change.serial = w->serial;
	DL_DELETE2(w->asking, watch, lock_previous, lock_next);
	DL_APPEND2(w->watches, watch, lock_previous, lock_next);
}

/* There was no look in time. */
static void
watch_timeout(struct core *core, struct request *r)
{
	struct watch *watch = r->served;
	struct lock *l = watch->lock;
	int cause = l->cause != 0 ? l->cause : r->ns->cause;

	request_reply(core, r, DDBLOCK_E_UNREACHABLE, cause, r->ns->text);
	watch_end(core, watch);
}

static bool
watch_is_busy(const struct request *r)
{
	(void)r;
	return false;
}

static void
watch_free(struct request *r)
{
	(void)r;	/* it is the client's, and not the request's */
}

static const struct request_kind watch_kind = {
	.leave = watch_forget_request,
	.is_busy = watch_is_busy,
	.timeout = watch_timeout,
	.free = watch_free,
};

static int
watch_new(struct core *core, struct request *r, struct lock *l)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	struct client *c = r->client;

	r->holder = calloc(1, sizeof(*r->holder));
	if (l->watched == NULL)
		l->watched = watched_new(l);
	if (watch == NULL || r->holder == NULL || l->watched == NULL) {
		free(watch);
		return DDBLOCK_E_NOMEM;
	}
	watch->id = (struct watch_id){ c, l };
	HASH_ADD(hh, core->watches, id, sizeof(watch->id), watch);
	if (watch->hh.tbl == NULL) {
		free(watch);
		return DDBLOCK_E_NOMEM;
	}
	watch->client = c;
	watch->lock = l;
	watch->change.client = c->id;
	watch->change.namespace_index = l->ns->index;
	watch->change.key = lock_key(l);
	watch->request = r;
	r->served = watch;
	r->kind = &watch_kind;
	DL_APPEND2(c->watches, watch, client_previous, client_next);
	share_add(core, c, SHARE_WATCHES, 1, (int64_t)watch_bytes(l));
	DL_PREPEND2(l->watched->asking, watch, lock_previous, lock_next);
	return 0;
}

static int
watch_begin(struct core *core, struct request *r, struct lock *l)
{
	struct core_holder_view view;
	int code = watch_new(core, r, l);

	if (code < 0) {
		if (l->watched != NULL && l->watched->watches == NULL)
			watched_free(core, l->watched);
		lock_free_if_unused(core, l);
		return code;
	}
	r->waiter.deadline_ms = core->now_ms + r->ns->settings.request_ms;
	heap_set(&core->later, &r->waiter.timer, r->waiter.deadline_ms);
	if (watch_view(core, l, &view) && watch_is_fresh(l->watched, r))
		watch_touch(core, l);
	else
		lock_advance(core, l);
	return 0;
}

int
watch_ask(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct client *c = r->client;
	struct lock *l = lock_find(r->ns, ask->key);
	int code = 0;

	if (!key_is_sound(ask->key))
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    "a key has 1 to 1024 bytes");
	else if (core->stopping)
		request_reply(core, r, DDBLOCK_E_SHUTTING_DOWN, 0, NULL);
	else if (l != NULL && watch_find(core, c, l) != NULL)
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    "this connection watches the lock already");
	else if (c->shares.has[SHARE_WATCHES] >=
	    core->limits.watches_per_client_max)
		request_reply(core, r, DDBLOCK_E_LIMIT, 0,
		    "this connection watches as many locks as it may");
	else if (core->shares.has[SHARE_WATCHES] >=
	    core->limits.watches_max)
		request_reply(core, r, DDBLOCK_E_LIMIT, 0,
		    "this daemon watches as many locks as it may");
	else if (l == NULL)
		code = lock_new(core, r->ns, ask->key, &l);
	if (code < 0 || r->client == NULL)
		return code;
	return watch_begin(core, r, l);
}

int
watch_unask(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct lock *l = lock_find(r->ns, ask->key);
	struct watch *watch = l == NULL ? NULL :
	    watch_find(core, r->client, l);

	if (watch == NULL) {
		request_reply(core, r, DDBLOCK_E_NO_SUCH_LOCK, 0,
		    "this connection does not watch that lock");
		return 0;
	}
	if (watch->request != NULL)
		request_reply(core, watch->request, DDBLOCK_E_CANCELLED, 0,
		    NULL);
	watch_end(core, watch);
	request_reply(core, r, 0, 0, NULL);
	return 0;
}

void
watch_leave(struct core *core, struct client *c)
{
	watch_end(core, c->watches);
}
