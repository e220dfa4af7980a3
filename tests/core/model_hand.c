/*
 * What people and other programs do to the model store by hand, and how its
 * records look to the core.
 */
#include "model_store.h"

#include <assert.h>
#include <string.h>

/* ---- views ------------------------------------------------------------ */

void
model_view_lock(struct model_lock *l, struct lock_record *ret)
{
	*ret = (struct lock_record){ .exists = l->exists };
	if (!l->exists)
		return;
	ret->mode = l->mode;
	ret->token = l->token;
	ret->limit = l->limit;
	ret->holders = l->holders;
	ret->n_holders = l->n_holders;
	ret->exclusive_wishes = l->exclusive_wishes;
	ret->n_exclusive_wishes = l->n_exclusive_wishes;
	ret->shared_wishes = l->shared_wishes;
	ret->n_shared_wishes = l->n_shared_wishes;
	ret->owner = l->owner[0] == '\0' ? NULL : l->owner;
	ret->acquired_at_s = l->acquired_at_s;
	ret->broken_by = l->broken_by[0] == '\0' ? NULL : l->broken_by;
	ret->ttl_s = l->ttl_s;
	model_view_contents(&l->contents, ret);
}

void
model_view_session(const struct model_session *m, struct session_record *ret)
{
	*ret = (struct session_record){ .exists = m->exists };
	if (!m->exists)
		return;
	ret->dead = m->dead;
	ret->beat = m->beat;
	ret->lease_ms = m->lease_ms;
	ret->host = m->name;
	ret->dead_by = m->dead ? m->dead_by : NULL;
}

/* ---- by hand ---------------------------------------------------------- */

struct model_lock *
model_plant_lock(struct model_store *s, uint32_t namespace_index,
    const char *key, struct ident session, uint64_t lease_ms)
{
	struct model_lock *l = model_make_lock(s, namespace_index, key);

	l->exists = true;
	l->mode = LOCK_MODE_EXCLUSIVE;
	l->base = MODEL_WALL_S << 20;
	l->token = l->base + 1;
	l->acquired_at_s = MODEL_WALL_S;
	l->holders[0] = (struct holder){ .session = session,
		.grant = { session.low, session.high + 1 },
		.lease_ms = lease_ms };
	l->n_holders = 1;
	model_copy_text(l->owner, sizeof(l->owner), "planted");
	return l;
}

struct model_session *
model_plant_session(struct model_store *s, const char *name,
    uint64_t lease_ms)
{
	struct ident ident = { 0x5e551, 1 + s->wishes_serial++ };
	struct model_session *m = model_name_session(s, ident, name, -1);

	m->exists = true;
	m->beat = 1;
	m->lease_ms = lease_ms;
	return m;
}

void
model_delete_lock(struct model_store *s, uint32_t namespace_index,
    const char *key)
{
	struct model_lock *l = model_find_lock(s, namespace_index, key);
	struct model_lock *next;

	assert(l != NULL);
	next = l->next;
	*l = (struct model_lock){ .next = next, .tampered = true,
		.namespace_index = namespace_index };
	model_copy_text(l->key, sizeof(l->key), key);
}

void
model_break_lock(struct model_store *s, uint32_t namespace_index,
    const char *key, const char *by)
{
	struct model_lock *l = model_find_lock(s, namespace_index, key);

	assert(l != NULL);
	l->n_holders = 0;
	l->tampered = true;
	model_copy_text(l->broken_by, sizeof(l->broken_by), by);
	l->ttl_s = MODEL_WALL_S + MODEL_RETENTION_S;
}

void
model_delete_session(struct model_store *s, const char *name)
{
	struct model_session *m = model_named_session(s, name);

	assert(m != NULL);
	m->exists = false;
	m->dead = false;
	m->beat = 0;
}
