/*
 * Reads: GET reads one record, LIST scans the table page by page. The next page
 * is asked for only when the client has room for it.
 *
 * Where the reads of listings are bounded, the users who list a namespace take
 * turns, one page after the other, and so do the listings of each; a page that
 * consumed much puts the next one off, whosever it is. So the bound holds for
 * all of them together, and nothing else waits for them. What a page consumes
 * is known only afterwards; one page is as far as the bound is ever exceeded.
 */
#include "core/reads/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/rate.h"
#include "ddblock.h"

/* A client's number and its request's, as one stands behind the other. */
#define LISTING_NUMBERS (2 * sizeof(uint64_t))

struct listing {
	struct core_submit submit;
	struct core_rows page;
	struct request *request;
	struct listing *turn_previous, *turn_next;	/* or in @behind */
	struct listing *behind;	/* in line: others of its user */
	UT_hash_handle hh;		/* LIST, by page.client and .request */
	bool busy;
	bool waits;			/* for its turn */
	bool held_only;
	struct core_row rows[SCAN_PAGE_MAX];
	char *keys;			/* the rows' memory */
	char *broken_by;		/* GET: the view's memory, and these */
	char *record;
	char *token_text;
	size_t cursor_length;
	char cursor[SCAN_CURSOR_MAX];
	struct core_holder_view holder;	/* GET */
	size_t key_length;
	char key[];
};

/* ---- as a request ----------------------------------------------------- */

static struct listing *
listing_of(const struct request *r)
{
	return r->served;
}

static bool
listing_is_busy(const struct request *r)
{
	return listing_of(r)->busy;
}

static void
listing_free(struct request *r)
{
	struct listing *g = listing_of(r);

	free(g->keys);
	free(g->broken_by);
	free(g->record);
	free(g->token_text);
	free(g);
}

/* The first of this user's that wait; or NULL. */
static struct listing *
listing_of_user(const struct turns *t, uint32_t user)
{
	struct listing *g = t->queue;

	while (g != NULL && g->request->waiter.user != user)
		g = g->turn_next;
	return g;
}

static void
listing_wait(struct turns *t, struct listing *g)
{
	struct listing *first = listing_of_user(t, g->request->waiter.user);

	g->waits = true;
	if (first == NULL)
		DL_APPEND2(t->queue, g, turn_previous, turn_next);
	else
		DL_APPEND2(first->behind, g, turn_previous, turn_next);
}

/* It waits for its turn no more. The next of its user is the last in line. */
static void
listing_end_wait(struct core *core, struct listing *g)
{
	struct turns *t = &g->request->ns->reads->turns;
	struct listing *first, *next;

	if (!g->waits)
		return;
	g->waits = false;
	first = listing_of_user(t, g->request->waiter.user);
	if (first != g) {
		DL_DELETE2(first->behind, g, turn_previous, turn_next);
		return;
	}
	DL_DELETE2(t->queue, g, turn_previous, turn_next);
	next = g->behind;
	if (next != NULL) {
		DL_DELETE2(g->behind, next, turn_previous, turn_next);
		next->behind = g->behind;
		g->behind = NULL;
		DL_APPEND2(t->queue, next, turn_previous, turn_next);
	}
	if (t->queue == NULL)
		heap_unset(&core->heap, &t->timer);
}

static void
listing_leave(struct core *core, struct request *r)
{
	struct listing *g = listing_of(r);

	listing_end_wait(core, g);
	if (g->hh.tbl != NULL)
		HASH_DEL(core->listings, g);
}

/* A look has the time of a try, and its operation goes on without it: in a
 * quarter of that a store that is far away could not answer the first time. */
static void
listing_timeout(struct core *core, struct request *r)
{
	const struct namespace *ns = r->ns;
	int code = ns->cause != 0 ? ns->cause : DDBLOCK_E_UNREACHABLE;
	const char *text = code == ns->text_code ? ns->text : NULL;

	if (text == NULL && code == DDBLOCK_E_UNREACHABLE)
		text = REQUEST_UNANSWERED;
	request_reply(core, r, code, 0, text);
}

static const struct request_kind listing_kind = {
	.leave = listing_leave,
	.is_busy = listing_is_busy,
	.timeout = listing_timeout,
	.free = listing_free,
};

/* ---- pages and their turns -------------------------------------------- */

static void
listing_submit(struct core *core, struct listing *g, enum operation_kind kind)
{
	struct namespace *ns = g->request->ns;
	struct operation *o = &g->submit.operation;

	*o = (struct operation){ .user = g->request->waiter.user };
	(void)rate_take(core, ns, o->user, 1);
	if (kind == OPERATION_READ) {
		o->with_contents = true;
		o->key = (struct key){ g->key, g->key_length };
	} else {
		o->prefix = (struct key){ g->key, g->key_length };
		o->cursor = (struct key){ g->cursor, g->cursor_length };
		o->held_only = g->held_only;
	}
	g->busy = true;
	action_submit(core, &g->submit, ns, kind,
	    core->now_ms + ns->settings.request_ms, CORE_ABOUT_LISTING,
	    g->request);
}

/* Whose turn is it, and when? */
static void
listing_next_turn(struct core *core, struct namespace *ns)
{
	struct turns *t = &ns->reads->turns;
	struct listing *g = t->queue;

	if (t->busy != NULL || g == NULL) {
		heap_unset(&core->heap, &t->timer);
	} else if (core->now_ms < t->next_ms) {
		heap_set(&core->heap, &t->timer, t->next_ms);
	} else {
		listing_end_wait(core, g);
		t->busy = g;
		listing_submit(core, g, OPERATION_SCAN);
	}
}

/* Without a bound what was read yesterday need not be waited for. */
void
listing_pace(struct core *core, struct namespace *ns)
{
	if (ns->settings.list_capacity == 0)
		ns->reads->turns.next_ms = core->now_ms;
	listing_next_turn(core, ns);
}

void
listing_timer(struct core *core, struct timer *timer)
{
	listing_next_turn(core,
	    CONTAINER_OF(timer, struct reads, turns.timer)->ns);
}

/* Ask for the next page, as soon as it may be. */
static void
listing_next_page(struct core *core, struct listing *g)
{
	struct namespace *ns = g->request->ns;

	if (ns->settings.list_capacity == 0) {
		listing_submit(core, g, OPERATION_SCAN);
		return;
	}
	listing_wait(&ns->reads->turns, g);
	listing_next_turn(core, ns);
}

/* A page is over: how long are its units to last? */
static void
listing_end_turn(struct core *core, struct listing *g,
    const struct outcome *o)
{
	struct namespace *ns = g->request->ns;
	struct turns *t = &ns->reads->turns;
	uint64_t capacity = ns->settings.list_capacity;

	if (t->busy != g)
		return;
	t->busy = NULL;
	/* Thousandths of a unit, over units a second, are milliseconds. There
	 * was a bound when it was asked for. */
	t->next_ms = capacity == 0 ? core->now_ms :
	    g->submit.operation.submitted_ms +
	    (o->read_milliunits + capacity - 1) / capacity;
	listing_next_turn(core, ns);
}

/* A client here has it to itself: no store needs to be asked, unless something
 * is kept in the lock, or its record has a version to break it by. */
static bool
listing_answer_here(struct core *core, struct request *r, struct key key)
{
	const struct lock *l = lock_find(r->ns, key);
	const struct use *u = l == NULL ? NULL : lock_first_use(l);

	if (u == NULL || u->grant->mode != LOCK_MODE_EXCLUSIVE ||
	    l->sequence > 0 || !l->ns->has_sessions)
		return false;
	view_lock(core, l, core->now_ms, &listing_of(r)->holder);
	r->reply.holder = &listing_of(r)->holder;
	request_reply(core, r, 0, 0, NULL);
	return true;
}

int
listing_ask(struct core *core, struct request *r,
    const struct core_request *ask)
{
	struct listing *g;

	if (ask->verb == CORE_GET ? !key_is_sound(ask->key) :
	    ask->key.length > KEY_LENGTH_MAX) {
		request_reply(core, r, DDBLOCK_E_BAD_REQUEST, 0,
		    "a key has 1 to 1024 bytes");
		return 0;
	}
	g = calloc(1, sizeof(*g) + ask->key.length);
	if (g == NULL)
		return DDBLOCK_E_NOMEM;
	r->served = g;
	r->kind = &listing_kind;
	share_take(core, r, sizeof(*g));
	g->request = r;
	g->held_only = ask->held_only;
	g->page.client = ask->client;
	g->page.request = ask->request;
	g->key_length = ask->key.length;
	if (ask->key.length > 0)
		memcpy(g->key, ask->key.bytes, ask->key.length);
	if (ask->verb == CORE_LIST) {
		HASH_ADD(hh, core->listings, page.client, LISTING_NUMBERS, g);
		if (g->hh.tbl == NULL)
			return DDBLOCK_E_NOMEM;
		listing_next_page(core, g);
	} else if (!listing_answer_here(core, r, ask->key)) {
		listing_submit(core, g, OPERATION_READ);
		heap_set(&core->later, &r->waiter.timer,
		    core->now_ms + r->ns->settings.try_ms);
	}
	return 0;
}

static void
listing_refused(struct core *core, struct request *r, const struct outcome *o)
{
	request_reply(core, r, outcome_code(o), 0, o->text);
}

/* The rows outlive the outcome, so their keys are copied. */
static int
listing_copy_page(struct core *core, struct request *r,
    const struct outcome *o)
{
	struct listing *g = listing_of(r);
	size_t n_rows = o->n_rows < SCAN_PAGE_MAX ? o->n_rows : SCAN_PAGE_MAX;
	size_t bytes = 0;
	char *keys;

	for (size_t i = 0; i < n_rows; i++)
		bytes += o->rows[i].key.length;
	keys = realloc(g->keys, bytes + 1);
	if (keys == NULL)
		return DDBLOCK_E_NOMEM;
	g->keys = keys;
	for (size_t i = 0; i < n_rows; i++) {
		const struct scan_row *row = &o->rows[i];

		memcpy(keys, row->key.bytes, row->key.length);
		g->rows[i].key = (struct key){ keys, row->key.length };
		keys += row->key.length;
		view_record(core, r->ns, row->key, &row->record, core->now_ms,
		    &g->rows[i].holder);
	}
	g->page.rows = g->rows;
	g->page.n_rows = n_rows;
	g->page.n_examined = o->n_examined;
	g->page.read_milliunits = o->read_milliunits;
	return 0;
}

static void
listing_page(struct core *core, struct request *r, const struct outcome *o)
{
	struct listing *g = listing_of(r);

	if (o->next_cursor.length > sizeof(g->cursor)) {
		request_reply(core, r, DDBLOCK_E_INTERNAL, 0, NULL);
		return;
	}
	if (listing_copy_page(core, r, o) < 0) {
		request_reply(core, r, DDBLOCK_E_NOMEM, 0, NULL);
		return;
	}
	g->cursor_length = o->next_cursor.length;
	if (g->cursor_length > 0)
		memcpy(g->cursor, o->next_cursor.bytes, g->cursor_length);
	action_add(core, &g->page.action, CORE_ROWS);
	if (g->cursor_length == 0)
		request_reply(core, r, 0, 0, NULL);
}

/* What else a record in another format has to be told by. */
static void
listing_tell_record(struct listing *g, const struct lock_record *l)
{
	if (l->version != NULL)
		g->record = strdup(l->version);
	g->holder.record = g->record;
	if (l->token_text == NULL)
		return;
	g->token_text = strdup(l->token_text);
	g->holder.token_text = g->token_text;
}

void
listing_stored(struct core *core, struct request *r, const struct outcome *o)
{
	struct listing *g = listing_of(r);

	assert(g->busy);
	g->busy = false;
	listing_end_turn(core, g, o);
	namespace_trouble(r->ns, o);
	if (r->client == NULL) {
		/* Its client left while the store was being asked, or was told
		 * so; perhaps in this very step. */
		request_abandoned(core, r);
		return;
	}
	if (o->kind != OUTCOME_DONE) {
		listing_refused(core, r, o);
	} else if (r->reply.verb == CORE_LIST) {
		listing_page(core, r, o);
	} else {
		struct key key = { g->key, g->key_length };

		view_record(core, r->ns, key, &o->lock, core->now_ms,
		    &g->holder);
		/* Without memory the answer is just shorter. */
		if (o->lock.broken_by != NULL)
			g->broken_by = strdup(o->lock.broken_by);
		g->holder.broken_by = g->broken_by;
		listing_tell_record(g, &o->lock);
		r->reply.holder = &g->holder;
		r->found = contents_copy(&o->lock.contents);
		r->reply.contents = r->found;
		request_reply(core, r, r->found == NULL ? DDBLOCK_E_NOMEM : 0,
		    0, NULL);
	}
}

/* The listing that a client knows by this number; NULL: there is none. */
static struct listing *
listing_find(const struct core *core, uint64_t client, uint64_t request)
{
	const uint64_t numbers[] = { client, request };
	struct listing *g;

	HASH_FIND(hh, core->listings, numbers, LISTING_NUMBERS, g);
	return g;
}

/* The core goes away. */
void
listing_forget_all(struct core *core)
{
	HASH_CLEAR(hh, core->listings);
}

void
listing_continue(struct core *core, uint64_t client, uint64_t request)
{
	struct listing *g = listing_find(core, client, request);

	if (g == NULL || g->busy || g->waits || g->cursor_length == 0)
		return;
	listing_next_page(core, g);
}
