/*
 * The native record format's conditions, over a list in memory. A conflict is
 * read before it is believed, as every real store has to: a record that shows
 * this operation's own effect, or lacks what an earlier attempt was to remove,
 * is success.
 */
#include "model_store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

void
model_copy_text(char *to, size_t size, const char *from)
{
	size_t length = from == NULL ? 0 : strlen(from);

	if (length >= size)
		length = size - 1;
	if (length > 0)
		memcpy(to, from, length);
	to[length] = '\0';
}

static void *
model_alloc(size_t count, size_t size)
{
	void *p = calloc(count == 0 ? 1 : count, size);

	if (p == NULL)
		abort();
	return p;
}

void
model_store_init(struct model_store *s)
{
	*s = (struct model_store){ .scan_page = SCAN_PAGE_MAX,
		.wishes_shown = MODEL_WISHES_MAX };
}

void
model_store_done(struct model_store *s)
{
	while (s->locks != NULL) {
		struct model_lock *next = s->locks->next;

		free(s->locks);
		s->locks = next;
	}
	while (s->sessions != NULL) {
		struct model_session *next = s->sessions->next;

		free(s->sessions);
		s->sessions = next;
	}
}

struct model_lock *
model_find_lock(const struct model_store *s, uint32_t namespace_index,
    const char *key)
{
	struct model_lock *l;

	for (l = s->locks; l != NULL; l = l->next)
		if (l->namespace_index == namespace_index &&
		    strcmp(l->key, key) == 0)
			return l;
	return NULL;
}

static void
model_key_text(const struct key *key, char text[MODEL_KEY_MAX])
{
	assert(key->length < MODEL_KEY_MAX);
	if (key->length > 0)
		memcpy(text, key->bytes, key->length);
	text[key->length] = '\0';
}

struct model_lock *
model_make_lock(struct model_store *s, uint32_t namespace_index,
    const char *key)
{
	struct model_lock **end, *l = model_find_lock(s, namespace_index, key);

	if (l != NULL)
		return l;
	l = model_alloc(1, sizeof(*l));
	l->namespace_index = namespace_index;
	model_copy_text(l->key, sizeof(l->key), key);
	for (end = &s->locks; *end != NULL; end = &(*end)->next)
		;
	*end = l;
	return l;
}

struct model_session *
model_find_session(const struct model_store *s, struct ident ident)
{
	struct model_session *m;

	for (m = s->sessions; m != NULL; m = m->next)
		if (ident_equal(m->ident, ident))
			return m;
	return NULL;
}

struct model_session *
model_named_session(const struct model_store *s, const char *name)
{
	struct model_session *m;

	for (m = s->sessions; m != NULL; m = m->next)
		if (strcmp(m->name, name) == 0)
			return m;
	return NULL;
}

const char *
model_session_name(const struct model_store *s, struct ident ident)
{
	struct model_session *m = model_find_session(s, ident);

	return m == NULL ? "?" : m->name;
}

struct model_session *
model_name_session(struct model_store *s, struct ident ident,
    const char *name, int host)
{
	struct model_session *m = model_find_session(s, ident);

	if (m != NULL)
		return m;
	m = model_alloc(1, sizeof(*m));
	m->ident = ident;
	m->host = host;
	model_copy_text(m->name, sizeof(m->name), name);
	m->next = s->sessions;
	s->sessions = m;
	return m;
}

/* ---- sets ------------------------------------------------------------- */

static bool
model_holder_equal(const struct holder *a, const struct holder *b)
{
	return ident_equal(a->session, b->session) &&
	    ident_equal(a->grant, b->grant) && a->lease_ms == b->lease_ms &&
	    a->fail_closed == b->fail_closed;
}

static bool
model_holds(const struct model_lock *l, const struct holder *h)
{
	size_t i;

	for (i = 0; i < l->n_holders; i++)
		if (model_holder_equal(&l->holders[i], h))
			return true;
	return false;
}

static bool
model_holds_all(const struct model_lock *l, const struct holder *h, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!model_holds(l, &h[i]))
			return false;
	return true;
}

static void
model_drop_holder(struct model_lock *l, const struct holder *h)
{
	size_t i, n = 0;

	for (i = 0; i < l->n_holders; i++)
		if (!model_holder_equal(&l->holders[i], h))
			l->holders[n++] = l->holders[i];
	l->n_holders = n;
}

/* The wishes for this use, and their number. */
static struct ident *
model_wishes(struct model_lock *l, enum lock_mode mode, size_t **ret_n)
{
	if (mode == LOCK_MODE_SHARED) {
		*ret_n = &l->n_shared_wishes;
		return l->shared_wishes;
	}
	assert(mode == LOCK_MODE_EXCLUSIVE);
	*ret_n = &l->n_exclusive_wishes;
	return l->exclusive_wishes;
}

static bool
model_has_wish(struct model_lock *l, enum lock_mode mode, struct ident session)
{
	size_t i, *n;
	const struct ident *wishes = model_wishes(l, mode, &n);

	for (i = 0; i < *n; i++)
		if (ident_equal(wishes[i], session))
			return true;
	return false;
}

void
model_add_wish(struct model_lock *l, enum lock_mode mode, struct ident session)
{
	size_t *n;
	struct ident *wishes = model_wishes(l, mode, &n);

	if (model_has_wish(l, mode, session))
		return;
	assert(*n < MODEL_WISHES_MAX);
	wishes[(*n)++] = session;
}

static void
model_drop_wish(struct model_lock *l, enum lock_mode mode,
    struct ident session)
{
	size_t i, kept = 0, *n;
	struct ident *wishes = model_wishes(l, mode, &n);

	for (i = 0; i < *n; i++)
		if (!ident_equal(wishes[i], session))
			wishes[kept++] = wishes[i];
	*n = kept;
}

/* ---- locks ------------------------------------------------------------ */

static bool
model_may_join(const struct model_lock *l, const struct operation *op)
{
	return op->mode == LOCK_MODE_SHARED && l->mode == LOCK_MODE_SHARED &&
	    l->limit == op->limit &&
	    (op->limit == 0 || l->n_holders < op->limit) &&
	    l->n_exclusive_wishes == 0 && !model_holds(l, &op->me);
}

/* The kind of use that had it last stands back for the other. */
static bool
model_may_acquire(struct model_lock *l, const struct operation *op)
{
	if (op->n_dead > 0)
		return l->n_holders == op->n_dead &&
		    l->token == op->token_seen &&
		    model_holds_all(l, op->dead, op->n_dead);
	if (l->n_holders > 0)
		return model_may_join(l, op);
	if (l->mode != op->mode)
		return true;
	if (op->mode == LOCK_MODE_EXCLUSIVE)
		return l->n_shared_wishes == 0;
	return l->n_exclusive_wishes == 0 ||
	    model_has_wish(l, LOCK_MODE_EXCLUSIVE, op->me.session);
}

static void
model_do_acquire(struct model_lock *l, const struct operation *op,
    const struct model_try *try)
{
	if (l->token == 0) {
		l->base = try->wall_s << 20;
		l->token = l->base;
	}
	l->exists = true;
	l->token += op->tokens;
	l->mode = op->mode;
	l->limit = op->limit;
	if (op->n_dead > 0)
		l->n_holders = 0;
	assert(l->n_holders < MODEL_HOLDERS_MAX);
	l->holders[l->n_holders++] = op->me;
	l->acquired_at_s = try->wall_s;
	l->ttl_s = 0;
	model_copy_text(l->owner, sizeof(l->owner), op->owner);
	l->broken_by[0] = '\0';
	model_drop_wish(l, LOCK_MODE_EXCLUSIVE, op->me.session);
	if (op->mode == LOCK_MODE_SHARED)
		model_drop_wish(l, LOCK_MODE_SHARED, op->me.session);
}

/* Would the token rise too high? */
static bool
model_has_no_room(const struct model_lock *l, const struct operation *op)
{
	return l->token > TOKEN_MAX - op->tokens;
}

static enum outcome_kind
model_acquire(struct model_lock *l, const struct operation *op,
    const struct model_try *try)
{
	assert(op->mode == LOCK_MODE_EXCLUSIVE ? op->limit == 0 :
	    op->mode == LOCK_MODE_SHARED && op->tokens == 1);
	if (model_may_acquire(l, op)) {
		if (model_has_no_room(l, op))
			return OUTCOME_REFUSED;
		model_do_acquire(l, op, try);
		return OUTCOME_DONE;
	}
	return model_holds(l, &op->me) ? OUTCOME_DONE : OUTCOME_CONFLICT;
}

static enum outcome_kind
model_release(struct model_lock *l, const struct operation *op,
    const struct model_try *try)
{
	size_t i;

	assert(op->n_holders > 0 && op->n_holders <= RELEASE_MAX);
	if (!l->exists || !model_holds_all(l, op->holders, op->n_holders))
		return try->repeated && !model_holds(l, &op->holders[0]) ?
		    OUTCOME_DONE : OUTCOME_CONFLICT;
	for (i = 0; i < op->n_holders; i++)
		model_drop_holder(l, &op->holders[i]);
	if (l->n_holders == 0)
		l->ttl_s = try->wall_s + MODEL_RETENTION_S;
	return OUTCOME_DONE;
}

static enum outcome_kind
model_extend(struct model_lock *l, const struct operation *op)
{
	bool only = l->n_holders == 1 && model_holds(l, &op->me);

	if (only && l->token == op->token_seen) {
		if (model_has_no_room(l, op))
			return OUTCOME_REFUSED;
		l->token += op->tokens;
		return OUTCOME_DONE;
	}
	return only && l->token == op->token_seen + op->tokens ?
	    OUTCOME_DONE : OUTCOME_CONFLICT;
}

static enum outcome_kind
model_update(struct model_lock *l, const struct operation *op)
{
	struct revision seen = l->contents.revision;

	if (model_holds(l, &op->me) && revision_is_less(seen, op->revision))
		model_put_contents(&l->contents, &op->contents, op->revision);
	else if (!revision_equal(seen, op->revision))
		return OUTCOME_CONFLICT;
	return OUTCOME_DONE;
}

static enum outcome_kind
model_want(struct model_lock *l, const struct operation *op)
{
	if (l->n_holders == 0)
		return OUTCOME_CONFLICT;
	model_add_wish(l, op->mode, op->session);
	return OUTCOME_DONE;
}

static enum outcome_kind
model_unwant(struct model_lock *l, const struct operation *op,
    const struct model_try *try)
{
	if (!model_has_wish(l, op->mode, op->session))
		return try->repeated ? OUTCOME_DONE : OUTCOME_CONFLICT;
	model_drop_wish(l, op->mode, op->session);
	return OUTCOME_DONE;
}

static void
model_apply_lock(struct model_store *s, const struct operation *op,
    const struct model_try *try, struct model_answer *ret)
{
	struct model_lock *l;
	char key[MODEL_KEY_MAX];

	model_key_text(&op->key, key);
	l = model_make_lock(s, op->namespace_index, key);
	switch (op->kind) {
	case OPERATION_ACQUIRE:
		ret->kind = model_acquire(l, op, try);
		break;
	case OPERATION_RELEASE:
		ret->kind = model_release(l, op, try);
		break;
	case OPERATION_EXTEND:
		ret->kind = model_extend(l, op);
		break;
	case OPERATION_UPDATE:
		ret->kind = model_update(l, op);
		break;
	case OPERATION_WANT:
		ret->kind = model_want(l, op);
		break;
	case OPERATION_UNWANT:
		ret->kind = model_unwant(l, op, try);
		break;
	default:
		ret->kind = OUTCOME_DONE;	/* a read */
		break;
	}
	ret->lock = *l;
	if (op->kind == OPERATION_READ && !op->with_contents)
		model_put_contents(&ret->lock.contents,
		    &(struct contents){ .n_attributes = 0 },
		    l->contents.revision);
	if (ret->kind == OUTCOME_REFUSED)
		ret->code = DDBLOCK_E_BAD_RECORD;
	if (ret->lock.n_exclusive_wishes > s->wishes_shown)
		ret->lock.n_exclusive_wishes = s->wishes_shown;
}

/* ---- many locks ------------------------------------------------------- */

static void
model_read_many(struct model_store *s, const struct operation *op,
    const struct model_try *try, struct model_answer *ret)
{
	size_t i;

	ret->locks = model_alloc(op->n_keys, sizeof(*ret->locks));
	ret->processed = model_alloc(op->n_keys, sizeof(*ret->processed));
	ret->n_locks = op->n_keys;
	for (i = 0; i < op->n_keys; i++) {
		char key[MODEL_KEY_MAX];

		ret->processed[i] = i >= try->unprocessed;
		model_key_text(&op->keys[i], key);
		if (ret->processed[i])
			ret->locks[i] = *model_make_lock(s,
			    op->namespace_index, key);
	}
	ret->kind = OUTCOME_DONE;
}

static void
model_scan(struct model_store *s, const struct operation *op,
    struct model_answer *ret)
{
	char prefix[MODEL_KEY_MAX], cursor[MODEL_KEY_MAX];
	const struct model_lock *l, *last = NULL;
	bool begun = op->cursor.length == 0;

	model_key_text(&op->prefix, prefix);
	model_key_text(&op->cursor, cursor);
	ret->locks = model_alloc(s->scan_page, sizeof(*ret->locks));
	ret->kind = OUTCOME_DONE;
	ret->read_milliunits = s->scan_milliunits;
	for (l = s->locks; l != NULL; l = l->next) {
		if (l->namespace_index != op->namespace_index || !l->exists ||
		    strncmp(l->key, prefix, strlen(prefix)) != 0)
			continue;
		if (!begun) {
			begun = strcmp(l->key, cursor) == 0;
			continue;
		}
		if (ret->n_examined == s->scan_page) {
			model_copy_text(ret->cursor, sizeof(ret->cursor),
			    last->key);
			return;
		}
		ret->n_examined++;
		last = l;
		if (!op->held_only || l->n_holders > 0)
			ret->locks[ret->n_locks++] = *l;
	}
}

/* ---- sessions --------------------------------------------------------- */

static enum outcome_kind
model_open(struct model_session *m, const struct operation *op,
    const struct model_try *try)
{
	if (m->exists)
		return m->dead ? OUTCOME_CONFLICT : OUTCOME_DONE;
	m->exists = true;
	m->beat = 0;
	m->lease_ms = op->lease_ms;
	m->sent_ms = try->sent_ms;
	return OUTCOME_DONE;
}

static enum outcome_kind
model_beat(struct model_session *m, const struct model_try *try,
    size_t *ret_attempt)
{
	size_t i;

	if (!m->exists || m->dead)
		return OUTCOME_CONFLICT;
	if (m->beat < try->beats[try->attempt]) {
		m->beat = try->beats[try->attempt];
		m->sent_ms = try->sent_ms;
		return OUTCOME_DONE;
	}
	/* Whose number does the record show? Only that one is renewed. */
	for (i = 0; i <= try->attempt; i++) {
		if (m->beat == try->beats[i]) {
			*ret_attempt = i;
			return OUTCOME_DONE;
		}
	}
	return OUTCOME_CONFLICT;
}

static enum outcome_kind
model_kill(struct model_session *m, const struct operation *op,
    const struct model_try *try)
{
	bool ours = m->exists && m->dead && try->repeated &&
	    op->owner != NULL && strcmp(m->dead_by, op->owner) == 0;
	bool may = op->kind == OPERATION_SESSION_BURY ? !m->exists :
	    m->exists && !m->dead && m->beat == op->beat;

	if (!may)
		return ours ? OUTCOME_DONE : OUTCOME_CONFLICT;
	m->exists = true;
	m->dead = true;
	model_copy_text(m->dead_by, sizeof(m->dead_by),
	    op->owner == NULL ? "?" : op->owner);
	return OUTCOME_DONE;
}

static enum outcome_kind
model_close(struct model_session *m)
{
	if (!m->exists)
		return OUTCOME_CONFLICT;
	m->dead = true;
	model_copy_text(m->dead_by, sizeof(m->dead_by), "self");
	return OUTCOME_DONE;
}

static void
model_apply_session(struct model_store *s, const struct operation *op,
    const struct model_try *try, struct model_answer *ret)
{
	struct model_session *m = model_name_session(s, op->session, "?", -1);

	switch (op->kind) {
	case OPERATION_SESSION_OPEN:
		ret->kind = model_open(m, op, try);
		break;
	case OPERATION_SESSION_BEAT:
		ret->kind = model_beat(m, try, &ret->attempt);
		break;
	case OPERATION_SESSION_KILL:
	case OPERATION_SESSION_BURY:
		ret->kind = model_kill(m, op, try);
		break;
	case OPERATION_SESSION_CLOSE:
		ret->kind = model_close(m);
		break;
	default:
		ret->kind = OUTCOME_DONE;	/* a read */
		break;
	}
	ret->session = *m;
}

void
model_store_apply(struct model_store *s, const struct operation *op,
    const struct model_try *try, struct model_answer *ret)
{
	*ret = (struct model_answer){ 0 };
	/* Only a beat is another write with every attempt. */
	ret->attempt = op->kind == OPERATION_SESSION_BEAT ? try->attempt : 0;
	if (op->kind == OPERATION_READ_MANY)
		model_read_many(s, op, try, ret);
	else if (op->kind == OPERATION_SCAN)
		model_scan(s, op, ret);
	else if (op->kind >= OPERATION_SESSION_OPEN)
		model_apply_session(s, op, try, ret);
	else
		model_apply_lock(s, op, try, ret);
}

void
model_answer_done(struct model_answer *a)
{
	free(a->locks);
	free(a->processed);
	*a = (struct model_answer){ 0 };
}
