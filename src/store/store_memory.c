/*
 * A store in memory, for tests and for trying things out. It keeps all, free
 * locks and ended sessions too, until the daemon ends; so no token ever goes
 * back before. One turn of the loop lies between an operation and its outcome,
 * and nothing is ever in doubt.
 */
#include <event2/event.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/text.h"
#include "core/apply.h"
#include "ddblock.h"
#include "store/kind.h"

#define MEMORY_ABOUT "in memory: locks of this host, which end with the daemon"
#define MEMORY_RETENTION_S (UINT64_C(7) * 24 * 3600)	/* is only shown */

/* A lock or a session. */
struct memory_item {
	struct key key;			/* first: the trees compare it */
	struct lock_record *lock;	/* NULL: it has none */
	struct session_record session;
	char *dead_by;			/* the session's, behind the key */
	struct memory_item *next;	/* in the order of their making */
	char bytes[];
};

struct memory_store {
	struct store store;	/* first: this is one */
	const char *host;	/* the opener's */
	void *locks, *sessions;	/* trees of items, by their keys */
	struct memory_item *oldest, **newest;
	struct event *turn;	/* then all of these have an outcome: */
	struct operation *queue, **queue_end;
	store_finding_fn found;	/* or NULL */
	void *found_arg;
	void *shown;	/* by the outcome that is being told */
	uint64_t requests;
};

/* ---- records ---- */

static struct memory_item *
memory_find(void *tree, struct key key)
{
	struct memory_item *const *i = tfind(&key, &tree, key_compare);

	return i == NULL ? NULL : *i;
}

/* With @room bytes behind the key. NULL: no memory. */
static struct memory_item *
memory_add(struct memory_store *s, void **tree, struct key key, size_t room)
{
	struct memory_item *i = calloc(1, sizeof(*i) + key.length + room);

	if (i == NULL)
		return NULL;
	memcpy(i->bytes, key.bytes, key.length);
	i->key = (struct key){ i->bytes, key.length };
	i->dead_by = i->bytes + key.length;
	if (tsearch(i, tree, key_compare) == NULL) {
		free(i);
		return NULL;
	}
	*s->newest = i;
	s->newest = &i->next;
	return i;
}

static const struct lock_record *
memory_read(const struct memory_store *s, struct key key)
{
	static const struct lock_record none = { .exists = false };
	const struct memory_item *l = memory_find(s->locks, key);

	return l == NULL || l->lock == NULL ? &none : l->lock;
}

/* Contents are shown where they are asked for, and by writes. */
static struct lock_record
memory_hide_contents(struct lock_record r)
{
	r.contents = (struct contents){ .n_attributes = 0 };
	return r;
}

/* ---- operations ---- */

static struct apply
memory_context(const struct memory_store *s, const struct operation *o,
    uint64_t now_ms)
{
	return (struct apply){
		.life = LOCK_LIFE_SESSION,
		.beat = apply_beat(o, now_ms),
		.wall_s = clock_wall_ms() / 1000,
		.retention_s = MEMORY_RETENTION_S,
		.host = s->host,
	};
}

/* As apply_lock(). After APPLY_NEW there is a @ret_new, for @ret_place. */
static int
memory_apply(struct memory_store *s, const struct operation *o,
    uint64_t now_ms, struct memory_item **ret_place,
    struct lock_record **ret_new)
{
	const struct apply a = memory_context(s, o, now_ms);
	const struct lock_record *old = memory_read(s, o->key);
	void *memory = malloc(apply_room(o, old) + 1);
	struct lock_record new;
	int r = memory == NULL ? DDBLOCK_E_NOMEM :
	    apply_lock(&a, o, old, memory, &new);

	if (r == APPLY_NEW) {
		*ret_place = memory_find(s->locks, o->key);
		if (*ret_place == NULL)
			*ret_place = memory_add(s, &s->locks, o->key, 0);
		if (*ret_place != NULL)
			*ret_new = lock_record_copy(&new);
		if (*ret_new == NULL)
			r = DDBLOCK_E_NOMEM;
	}
	free(memory);
	return r;
}

/* One lock; or several, all of them or none. */
static int
memory_do_locks(struct memory_store *s, const struct operation *o,
    struct outcome *ret)
{
	const bool one = o->kind != OPERATION_MULTI;
	const struct operation *const *all = one ? &o : o->parts;
	const size_t n = one ? 1 : o->n_keys;
	struct memory_item *places[MULTI_MAX];
	struct lock_record *new[MULTI_MAX] = { NULL };
	struct outcome_part *parts = s->shown = malloc(n * sizeof(*parts));

	if (parts == NULL || !operation_is_sound(o))
		return parts == NULL ? DDBLOCK_E_NOMEM : DDBLOCK_E_BAD_REQUEST;
	for (size_t i = 0; i < n; i++) {
		int r = memory_apply(s, all[i], ret->sent_ms, &places[i],
		    &new[i]);

		parts[i].kind = r < 0 ? OUTCOME_REFUSED :
		    r == APPLY_CONFLICT ? OUTCOME_CONFLICT : OUTCOME_DONE;
		parts[i].code = r < 0 ? r : 0;
		if (parts[i].kind != OUTCOME_DONE)
			ret->kind = OUTCOME_CONFLICT;
	}
	for (size_t i = 0; i < n; i++) {
		if (ret->kind != OUTCOME_DONE) {
			free(new[i]);
			if (parts[i].kind == OUTCOME_DONE)
				parts[i].kind = OUTCOME_REFUSED;
		} else if (new[i] != NULL) {
			free(places[i]->lock);
			places[i]->lock = new[i];
		}
		parts[i].lock = *memory_read(s, all[i]->key);
		if (!one || (o->kind == OPERATION_READ && !o->with_contents))
			parts[i].lock = memory_hide_contents(parts[i].lock);
	}
	ret->parts = parts;
	ret->lock = parts[0].lock;
	return one ? parts[0].code : 0;
}

static int
memory_do_session(struct memory_store *s, const struct operation *o,
    struct outcome *ret)
{
	const struct apply a = memory_context(s, o, ret->sent_ms);
	const struct key id = { (const char *)&o->session, sizeof(o->session) };
	const struct session_record none = { .exists = false };
	struct memory_item *i = memory_find(s->sessions, id);
	int r;

	store_sending(&s->store, o, a.beat);
	r = apply_session(&a, o, i == NULL ? &none : &i->session,
	    &ret->session);
	if (r == APPLY_CONFLICT)
		ret->kind = OUTCOME_CONFLICT;
	if (r != APPLY_NEW)
		return r < 0 ? r : 0;
	if (i == NULL)
		i = memory_add(s, &s->sessions, id, OWNER_LENGTH_MAX + 1);
	if (i == NULL)
		return DDBLOCK_E_NOMEM;
	if (ret->session.dead_by != NULL) {
		text_copy(i->dead_by, OWNER_LENGTH_MAX + 1,
		    ret->session.dead_by);
		ret->session.dead_by = i->dead_by;
	}
	i->session = ret->session;
	return 0;
}

static int
memory_do_read_many(struct memory_store *s, const struct operation *o,
    struct outcome *ret)
{
	struct lock_record *locks = s->shown =
	    malloc(o->n_keys * (sizeof(*locks) + sizeof(bool)));
	bool *processed;

	if (locks == NULL)
		return DDBLOCK_E_NOMEM;
	processed = (bool *)(locks + o->n_keys);
	for (size_t i = 0; i < o->n_keys; i++) {
		locks[i] = memory_hide_contents(*memory_read(s, o->keys[i]));
		processed[i] = true;
	}
	ret->locks = locks;
	ret->processed = processed;
	return 0;
}

/* From the oldest lock to the newest. */
static int
memory_do_scan(struct memory_store *s, const struct operation *o,
    struct outcome *ret)
{
	struct scan_row *rows = s->shown =
	    malloc(SCAN_PAGE_MAX * sizeof(*rows));
	const struct memory_item *l = memory_find(s->locks, o->cursor);

	if (rows == NULL)
		return DDBLOCK_E_NOMEM;
	ret->rows = rows;
	l = l == NULL ? s->oldest : l->next;
	for (; l != NULL && ret->n_examined < SCAN_PAGE_MAX; l = l->next) {
		const struct lock_record *r = l->lock;

		ret->n_examined++;
		ret->next_cursor = l->key;
		if (r != NULL && key_begins_with(l->key, o->prefix) &&
		    (!o->held_only || r->n_holders > 0))
			rows[ret->n_rows++] = (struct scan_row){ l->key,
				memory_hide_contents(*r) };
	}
	if (l == NULL)
		ret->next_cursor = (struct key){ NULL, 0 };
	return 0;
}

static void
memory_do(struct memory_store *s, struct operation *o)
{
	struct outcome out = {
		.kind = OUTCOME_DONE, .sent_ms = clock_boot_ms(),
	};
	int r = DDBLOCK_E_UNREACHABLE;	/* the loop stood still */

	if (out.sent_ms >= o->deadline_ms)
		out.from_memory = true;
	else if (o->kind >= OPERATION_SESSION_OPEN)
		r = memory_do_session(s, o, &out);
	else if (o->kind == OPERATION_READ_MANY)
		r = memory_do_read_many(s, o, &out);
	else if (o->kind == OPERATION_SCAN)
		r = memory_do_scan(s, o, &out);
	else
		r = memory_do_locks(s, o, &out);
	if (r < 0) {
		out.kind = OUTCOME_REFUSED;
		out.code = r;
		text_copy(out.text, sizeof(out.text), error_text(r));
	}
	s->store.outcome(s->store.outcome_arg, o, &out);
	free(s->shown);
	s->shown = NULL;
}

static void
memory_on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct memory_store *s = arg;
	struct operation *o = s->queue, *next;
	store_finding_fn found = s->found;
	struct finding f;

	(void)fd;
	(void)what;
	s->queue = NULL;
	s->queue_end = &s->queue;
	s->found = NULL;
	for (; o != NULL; o = next) {
		next = o->store_next;
		memory_do(s, o);
	}
	if (found == NULL)
		return;
	finding_set(&f, "configuration", FINDING_WARNING, MEMORY_ABOUT);
	finding_advise(&f, "for locks that outlive it, set another store");
	found(s->found_arg, &f);
	found(s->found_arg, NULL);
}

/* ---- its life ---- */

static void
memory_submit(struct store *store, struct operation *o)
{
	struct memory_store *s = (struct memory_store *)store;

	s->requests++;
	o->store_next = NULL;
	*s->queue_end = o;
	s->queue_end = &o->store_next;
	event_active(s->turn, EV_TIMEOUT, 0);
}

static void
memory_look(struct store *store, store_table_fn done, void *arg)
{
	(void)store;
	done(arg, 0, MEMORY_ABOUT);
}

static int
memory_check(struct store *store, store_finding_fn found, void *arg)
{
	struct memory_store *s = (struct memory_store *)store;

	s->found = found;
	s->found_arg = arg;
	event_active(s->turn, EV_TIMEOUT, 0);
	return 0;
}

static void
memory_status(const struct store *store, struct store_status *ret)
{
	const struct memory_store *s = (const struct memory_store *)store;

	*ret = (struct store_status){
		.kind = "memory", .scope = "host", .where = "memory",
		.sorts = true, .last_text = "", .requests = s->requests,
	};
}

static void
memory_free_item(void *item)
{
	free(((struct memory_item *)item)->lock);
	free(item);
}

static void
memory_free(struct store *store)
{
	struct memory_store *s = (struct memory_store *)store;

	tdestroy(s->locks, memory_free_item);
	tdestroy(s->sessions, memory_free_item);
	event_free(s->turn);
	free(s);
}

static int
memory_open(const struct store_opening *o, struct store **ret, char *text,
    size_t size)
{
	static const struct store_methods methods = {
		memory_submit, memory_look, memory_look, memory_check,
		NULL, memory_status, memory_free,
	};
	struct memory_store *s = calloc(1, sizeof(*s));
	struct event *turn = s == NULL ? NULL :
	    evtimer_new(o->base, memory_on_turn, s);

	if (turn == NULL) {
		free(s);
		text_copy(text, size, error_text(DDBLOCK_E_NOMEM));
		return DDBLOCK_E_NOMEM;
	}
	*s = (struct memory_store){
		.store = {
			.methods = &methods, .outcome = o->outcome,
			.outcome_arg = o->outcome_arg,
		},
		.host = o->host, .newest = &s->oldest, .turn = turn,
		.queue_end = &s->queue,
	};
	*ret = &s->store;
	return 0;
}

const struct store_kind store_memory_kind = {
	.name = "memory",
	.scope = "host",
	.sole_writer = true,
	.no_foreign_waiters = true,
	.keeps_idle = true,
	.ends_with_daemon = true,
	.settings = (const char *const[]){ "idle", NULL },
	.open = memory_open,
};
