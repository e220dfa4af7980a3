/*
 * Records in a list; core/apply.h says what becomes of them. A conflict is read
 * before it is believed, as every real store has to: a record that shows this
 * operation's own effect, or lacks what an earlier attempt was to remove, is
 * success.
 */
#include "model_store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/apply.h"
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

void
model_add_wish(struct model_lock *l, enum lock_mode mode, struct ident session)
{
	size_t *n;
	struct ident *wishes = model_wishes(l, mode, &n);

	for (size_t i = 0; i < *n; i++)
		if (ident_equal(wishes[i], session))
			return;
	assert(*n < MODEL_WISHES_MAX);
	wishes[(*n)++] = session;
}

/* ---- locks ------------------------------------------------------------ */

static size_t
model_put(void *to, const void *from, size_t size, size_t n, size_t max)
{
	assert(n <= max);
	if (n > 0)
		memmove(to, from, n * size);
	return n;
}

static void
model_put_text(char *to, const char *from)
{
	if (from != to)
		model_copy_text(to, MODEL_OWNER_MAX, from);
}

/* The lock is as @r shows it, which may point into it. */
static void
model_put_lock(struct model_lock *l, const struct lock_record *r)
{
	l->exists = true;
	l->mode = r->mode;
	l->token = r->token;
	l->limit = r->limit;
	l->n_holders = model_put(l->holders, r->holders,
	    sizeof(l->holders[0]), r->n_holders, MODEL_HOLDERS_MAX);
	l->n_exclusive_wishes = model_put(l->exclusive_wishes,
	    r->exclusive_wishes, sizeof(l->exclusive_wishes[0]),
	    r->n_exclusive_wishes, MODEL_WISHES_MAX);
	l->n_shared_wishes = model_put(l->shared_wishes, r->shared_wishes,
	    sizeof(l->shared_wishes[0]), r->n_shared_wishes,
	    MODEL_WISHES_MAX);
	l->acquired_at_s = r->acquired_at_s;
	l->ttl_s = r->ttl_s;
	model_put_text(l->owner, r->owner);
	model_put_text(l->broken_by, r->broken_by);
}

static int
model_change_lock(struct model_lock *l, const struct operation *op,
    const struct model_try *try)
{
	const struct apply a = {
		.life = LOCK_LIFE_SESSION, .wall_s = try->wall_s,
		.retention_s = MODEL_RETENTION_S, .repeated = try->repeated,
	};
	struct lock_record old, new;
	void *memory;
	int verdict;

	model_view_lock(l, &old);
	memory = model_alloc(1, apply_room(op, &old));
	verdict = apply_lock(&a, op, &old, memory, &new);
	assert(verdict != DDBLOCK_E_BAD_REQUEST);
	if (verdict == APPLY_NEW) {
		if (!old.exists)
			l->base = new.token - op->tokens;
		if (op->kind == OPERATION_UPDATE)
			model_put_contents(&l->contents, &new.contents,
			    new.revision);
		model_put_lock(l, &new);
	}
	free(memory);
	return verdict;
}

static enum outcome_kind
model_outcome(int verdict)
{
	if (verdict < 0)
		return OUTCOME_REFUSED;
	return verdict == APPLY_CONFLICT ? OUTCOME_CONFLICT : OUTCOME_DONE;
}

static void
model_apply_lock(struct model_store *s, const struct operation *op,
    const struct model_try *try, struct model_answer *ret)
{
	struct model_lock *l;
	char key[MODEL_KEY_MAX];
	int verdict;

	model_key_text(&op->key, key);
	l = model_make_lock(s, op->namespace_index, key);
	verdict = model_change_lock(l, op, try);
	ret->kind = model_outcome(verdict);
	ret->code = verdict < 0 ? verdict : 0;
	ret->lock = *l;
	if (op->kind == OPERATION_READ && !op->with_contents)
		model_put_contents(&ret->lock.contents,
		    &(struct contents){ .n_attributes = 0 },
		    l->contents.revision);
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

/* Whose number does the record show? Only that one is renewed. */
static int
model_find_beat(const struct session_record *old, const struct operation *op,
    const struct model_try *try, size_t *ret_attempt)
{
	for (size_t i = 0; i <= try->attempt; i++) {
		const struct apply a = {
			.beat = try->beats[i], .repeated = true,
		};

		if (apply_judge_session(&a, op, old) == APPLY_SAME) {
			*ret_attempt = i;
			return APPLY_SAME;
		}
	}
	return APPLY_CONFLICT;
}

static void
model_apply_session(struct model_store *s, const struct operation *op,
    const struct model_try *try, struct model_answer *ret)
{
	struct model_session *m = model_name_session(s, op->session, "?", -1);
	bool beats = op->kind == OPERATION_SESSION_BEAT;
	const struct apply a = {
		.beat = beats ? try->beats[try->attempt] : 0,
		.repeated = try->repeated,
	};
	struct session_record old, new;
	int verdict;

	model_view_session(m, &old);
	verdict = apply_session(&a, op, &old, &new);
	if (beats && verdict == APPLY_CONFLICT)
		verdict = model_find_beat(&old, op, try, &ret->attempt);
	if (verdict == APPLY_NEW) {
		m->exists = true;
		m->dead = new.dead;
		m->beat = new.beat;
		m->lease_ms = new.lease_ms;
		model_put_text(m->dead_by, new.dead_by);
		if (!new.dead)
			m->sent_ms = try->sent_ms;
	}
	ret->kind = model_outcome(verdict);
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
