/*
 * Hints: what this host tells others of a lock, after the write that makes it
 * true; and which lock they mean (hint_hear.c: what is made of that). A lock is
 * named by a digest of its key, which all hosts make alike.
 */
#include "core/lock/room.h"

#include <stdlib.h>

#define HINT_MARKS 4		/* hosts in no line that are told of one end */

/* No secret: the bytes "ddblock hints 1 " (proto/hints.md). */
static const struct siphash_key hint_digest_key = { {
	UINT64_C(0x206b636f6c626464), UINT64_C(0x20312073746e6968) } };

uint64_t
core_hint_digest(struct key key)
{
	return siphash(&hint_digest_key, key.bytes, key.length);
}

/* ---- the locks that it may be about ---------------------------------- */

struct hinted {
	struct hash_link link;
	struct lock *lock;
};

static const struct hinted *
hint_hinted(const struct hash_link *link)
{
	return (const struct hinted *)link;
}

uint32_t
hint_hash_digest(const struct namespace *ns, uint64_t digest)
{
	return (uint32_t)siphash(&ns->core->hash_key, &digest, sizeof(digest));
}

static uint32_t
hint_hash_lock(const struct lock *l)
{
	return hint_hash_digest(l->ns, core_hint_digest(lock_key(l)));
}

static uint32_t
hint_hash(const struct hash_link *link)
{
	return hint_hash_lock(hint_hinted(link)->lock);
}

int
hint_init(struct namespace *ns)
{
	int code = hash_init(&ns->hinted, hint_hash);

	return code < 0 ? code : follow_init(ns);
}

void
hint_done(struct core *core, struct namespace *ns)
{
	struct hash_link *link, *next;

	follow_done(core, ns);
	for (link = hash_next(&ns->hinted, NULL); link != NULL; link = next) {
		next = hash_next(&ns->hinted, link);
		free(link);
	}
	hash_done(&ns->hinted);
}

/* Without memory it hears none. */
void
hint_add_lock(struct lock *l)
{
	struct hinted *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return;
	h->lock = l;
	hash_add(&l->ns->hinted, &h->link, hint_hash_lock(l));
}

void
hint_remove_lock(struct lock *l)
{
	struct hash_link *link;
	uint32_t hash = hint_hash_lock(l);

	link = hash_chain(&l->ns->hinted, hash);
	while (link != NULL && hint_hinted(link)->lock != l)
		link = link->next;
	if (link == NULL)
		return;
	hash_remove(&l->ns->hinted, link, hash);
	free(link);
}

struct lock *
hint_find(const struct namespace *ns, uint64_t digest)
{
	struct hash_link *link =
	    hash_chain(&ns->hinted, hint_hash_digest(ns, digest));

	while (link != NULL &&
	    core_hint_digest(lock_key(hint_hinted(link)->lock)) != digest)
		link = link->next;
	return link == NULL ? NULL : hint_hinted(link)->lock;
}

/* ---- what others are told --------------------------------------------- */

/* Its host must have been seen, to be told anything. */
void
hint_send(struct core *core, struct namespace *ns, struct key key,
    enum core_hint_kind kind, struct ident session)
{
	if (!ns->settings.hints || session_find(ns, session) != NULL)
		return;
	(void)observe(core, ns, session, 0);
	action_hint(core, ns, session, kind, core_hint_digest(key));
}

static void
hint_send_freed(struct core *core, struct namespace *ns, struct key key,
    const struct ident *sessions, size_t n)
{
	for (size_t i = 0; i < n && i < HINT_MARKS; i++)
		hint_send(core, ns, key, CORE_HINT_FREED, sessions[i]);
}

/* After a write of ours the record is like this: which hosts wait for that? The
 * two kinds of use take turns on a free lock. */
void
hint_freed(struct core *core, struct namespace *ns, struct key key,
    const struct lock_record *record)
{
	bool free = record->n_holders == 0;
	bool room = free || (record->mode == LOCK_MODE_SHARED &&
	    record->n_holders < record->limit &&
	    record->n_exclusive_waiters == 0);
	bool sharers = !free || record->mode == LOCK_MODE_EXCLUSIVE ||
	    record->n_exclusive_waiters == 0;

	if (!room)
		return;
	if (sharers && record->n_shared_waiters > 0)
		hint_send_freed(core, ns, key, record->shared_waiters,
		    record->n_shared_waiters);
	else if (record->n_line > 0)
		hint_send_freed(core, ns, key, record->line, 1);
	else
		hint_send_freed(core, ns, key, record->exclusive_waiters,
		    record->n_exclusive_waiters);
}

/* It is another host's, and a client here waits: perhaps it is only kept. */
void
hint_wanted(struct core *core, struct lock *l,
    const struct lock_record *record)
{
	if (record->mode == LOCK_MODE_EXCLUSIVE && record->n_holders == 1)
		hint_send(core, l->ns, lock_key(l), CORE_HINT_WANTED,
		    record->holders[0].session);
}
