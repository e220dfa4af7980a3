/*
 * Holds and their clients across the death of the process. Everything is as it
 * was, for the same clients; then those are cut off whose connection is not
 * there (client_came_back()). A hold whose grant was not inherited is lost.
 */
#include "core/client/room.h"

#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* By its flags more follows: terms, what it is one of, what it is called; and
 * at the end the key of what was lost. */
struct saved_hold {
	uint64_t hold;
	uint64_t client;
	uint64_t grant;		/* its number */
	uint64_t token;
	uint64_t since_ms;
	uint32_t namespace_index;
	uint8_t loss;		/* 0: it is not lost */
	uint8_t flags;
	uint8_t spare[2];
};

enum {
	SAVED_HOLD_TERMS = 1,
	SAVED_HOLD_MULTI = 2,
	SAVED_HOLD_LABELS = 4,
	SAVED_HOLD_FAIL_CLOSED = 8,
	SAVED_HOLD_RESUMES = 16,	/* terms that say only this: none
					 * follow */
	SAVED_HOLD_AT_LEAST = 32,	/* of the terms */
};

struct saved_terms {
	uint64_t max_hold_ms, end_ms, keepalive_ms, danger_ms, sent_ms;
	uint64_t linger_ms, linger_end_ms, working_ms, process;
	uint32_t count;
	uint8_t manual, stays, danger, process_told, resumes, closed_process;
	uint8_t spare[6];
};

struct saved_at_least {
	uint64_t at_least_ms, least_ms;
	uint8_t let_go;
	uint8_t spare[7];
};

struct saved_multi {
	uint64_t first;		/* the hold that speaks for all */
	uint16_t n;
	uint16_t index;		/* among them */
	uint32_t is_multi;
};

/* Those of most holds that have any. */
static const struct saved_terms saved_terms_resumes = {
	.end_ms = CORE_FOREVER, .resumes = 1,
};

#define TERMS_MAX_MS (UINT64_MAX / 2)	/* a time from now has room */

/* ---- writing ---------------------------------------------------------- */

/* The flag that tells of them. */
static uint8_t
hold_add_terms(struct saved_bytes *b, const struct terms *t)
{
	const struct saved_terms saved = {
		.max_hold_ms = t->max_hold_ms, .end_ms = t->end_ms,
		.keepalive_ms = t->keepalive_ms, .danger_ms = t->danger_ms,
		.sent_ms = t->manual ? t->sent_ms : 0,
		.linger_ms = t->linger_ms,
		.linger_end_ms = t->linger_end_ms,
		.working_ms = t->working_ms, .process = t->process,
		.count = t->count, .manual = t->manual, .stays = t->stays,
		.danger = t->danger, .process_told = t->process_told,
		.resumes = t->resumes, .closed_process = t->closed_process,
	};

#if JOURNAL_VERSION > 1
	if (memcmp(&saved, &saved_terms_resumes, sizeof(saved)) == 0)
		return SAVED_HOLD_RESUMES;
#endif
	saved_add(b, &saved, sizeof(saved));
	return SAVED_HOLD_TERMS;
}

static uint8_t
hold_add_at_least(struct saved_bytes *b, const struct hold *h)
{
	const struct terms *t = h->terms;
	const struct saved_at_least saved = {
		.at_least_ms = t->at_least_ms, .least_ms = t->least_ms,
		.let_go = h->let_go,
	};

	if (t->least_ms == 0)
		return 0;
	saved_add(b, &saved, sizeof(saved));
	return SAVED_HOLD_AT_LEAST;
}

static void
hold_add_multi(struct saved_bytes *b, const struct hold *h)
{
	const struct multi *j = hold_multi(h);
	struct saved_multi saved = {
		.first = j->parts[0].hold->notice.hold,
		.n = (uint16_t)j->n, .is_multi = j->is_multi,
	};

	while (j->parts[saved.index].hold != h)
		saved.index++;
	saved_add(b, &saved, sizeof(saved));
}

bool
hold_save(struct journal *journal, struct saved *saved)
{
	const struct hold *h = CONTAINER_OF(saved, struct hold, saved);
	const struct lock *l = h->use.lock;
	const char *owner = hold_labels(h).owner;
	struct saved_hold entry = {
		.hold = h->notice.hold,
		.client = h->client->id,
		.grant = h->use.grant == NULL ? 0 :
		    grant_number(h->use.grant),
		.token = h->use.token,
		.since_ms = h->since_ms,
		.namespace_index = l->ns->index,
		.loss = h->lost ? h->notice.loss : 0,
		.flags = h->use.fail_closed ? SAVED_HOLD_FAIL_CLOSED : 0,
	};
	struct saved_bytes b;

	b.length = 0;
	if (h->terms != NULL) {
		entry.flags |= hold_add_terms(&b, h->terms);
		entry.flags |= hold_add_at_least(&b, h);
	}
	if (hold_multi(h) != NULL) {
		entry.flags |= SAVED_HOLD_MULTI;
		hold_add_multi(&b, h);
	}
	if (owner != NULL) {
		entry.flags |= SAVED_HOLD_LABELS;
		saved_add_text(&b, owner);
	}
	if (h->lost)
		saved_add(&b, l->key, l->key_length);
	return journal_put(journal, &saved->place, SAVED_HOLD, &entry,
	    sizeof(entry), b.bytes, b.length);
}

/* ---- taking over -------------------------------------------------------- */

/* An entry, read. */
struct inherited_hold {
	struct saved_hold saved;
	struct saved_terms terms;
	struct saved_at_least at_least;
	struct saved_multi multi;
	struct core_labels labels;
	struct key key;		/* of what was lost */
	struct hold *hold;
};

static bool
inherited_has_terms(const struct inherited_hold *i)
{
	return (i->saved.flags & (SAVED_HOLD_TERMS | SAVED_HOLD_RESUMES)) != 0;
}

static int
inherited_read(const struct journal_entry *entry, struct inherited_hold *ret)
{
	struct saved_reader r = { .at = entry->data, .left = entry->length };

	*ret = (struct inherited_hold){ .hold = NULL };
	saved_take(&r, &ret->saved, sizeof(ret->saved));
	if ((ret->saved.flags & SAVED_HOLD_TERMS) != 0)
		saved_take(&r, &ret->terms, sizeof(ret->terms));
	else if ((ret->saved.flags & SAVED_HOLD_RESUMES) != 0)
		ret->terms = saved_terms_resumes;
	if ((ret->saved.flags & SAVED_HOLD_AT_LEAST) != 0)
		saved_take(&r, &ret->at_least, sizeof(ret->at_least));
	if ((ret->saved.flags & SAVED_HOLD_MULTI) != 0)
		saved_take(&r, &ret->multi, sizeof(ret->multi));
	if ((ret->saved.flags & SAVED_HOLD_LABELS) != 0)
		ret->labels.owner = saved_take_text(&r);
	ret->key = (struct key){ (const char *)r.at, r.left };
	return r.bad || ret->saved.hold == 0 ||
	    (ret->labels.owner != NULL &&
		strlen(ret->labels.owner) > OWNER_LENGTH_MAX) ||
	    ret->saved.loss > CORE_LOSS_CUT_OFF ||
	    (ret->saved.loss != 0 && !key_is_sound(ret->key)) ||
	    ((ret->saved.flags & SAVED_HOLD_MULTI) != 0 &&
		(ret->multi.n < 1 || ret->multi.n > MULTI_MAX ||
		ret->multi.index >= ret->multi.n)) ?
	    DDBLOCK_E_BAD_RECORD : 0;
}

/* No end is later than if the hold, or what is left of it, had just begun: else
 * it would stand in the way of others for as long. No lease is longer than the
 * longest linger. */
static bool
terms_end_in_time(const struct core *core, const struct saved_terms *t)
{
	return (t->end_ms == CORE_FOREVER || t->end_ms <= core->now_ms ||
	    t->end_ms - core->now_ms <= t->max_hold_ms) &&
	    t->linger_end_ms <= core->now_ms + CORE_LINGER_MAX_MS &&
	    t->working_ms <= t->linger_end_ms;
}

/* It has such terms only beside others; what was let go has none of those that
 * are a client's. */
static bool
at_least_is_sound(const struct core *core, const struct inherited_hold *i)
{
	const struct saved_at_least *a = &i->at_least;
	const struct saved_terms *t = &i->terms;

	if ((i->saved.flags & SAVED_HOLD_AT_LEAST) == 0)
		return true;
	return inherited_has_terms(i) && a->least_ms > 0 &&
	    a->least_ms <= core->now_ms + CORE_AT_LEAST_MAX_MS &&
	    a->at_least_ms <= CORE_AT_LEAST_MAX_MS &&
	    (i->saved.flags & SAVED_HOLD_FAIL_CLOSED) == 0 &&
	    !t->manual && !t->stays && t->keepalive_ms == 0 &&
	    (a->let_go == 0 || (t->end_ms == CORE_FOREVER &&
		t->linger_ms == 0 && t->linger_end_ms == 0 &&
		t->process == 0 && t->danger_ms == 0 && t->count == 0 &&
		!t->resumes));
}

/* Can there be such terms, of such a hold? (terms_check(), check.c) */
static bool
terms_are_sound(const struct core *core, const struct inherited_hold *i)
{
	const struct saved_terms *t = &i->terms;

	if (!at_least_is_sound(core, i))
		return false;
	if (!inherited_has_terms(i))
		return true;
	if (!terms_end_in_time(core, t) || t->sent_ms > core->now_ms ||
	    t->linger_ms > CORE_LINGER_MAX_MS ||
	    t->keepalive_ms > TERMS_MAX_MS ||
	    (t->danger_ms > TERMS_MAX_MS && t->danger_ms != CORE_FOREVER))
		return false;
	if (t->process != 0 && (t->manual || t->stays || t->linger_ms > 0 ||
	    t->resumes || (i->saved.flags & SAVED_HOLD_FAIL_CLOSED) != 0))
		return false;
	if ((t->danger && t->danger_ms == 0) || (t->closed_process &&
	    (i->saved.flags & SAVED_HOLD_FAIL_CLOSED) == 0))
		return false;
	return (i->saved.flags & SAVED_HOLD_FAIL_CLOSED) == 0 ||
	    (t->end_ms == CORE_FOREVER && t->keepalive_ms == 0 &&
		t->danger_ms == 0 && !t->manual && !t->stays && !t->danger);
}

/* Without its client it goes on only by terms; and what lingers does so by its
 * client's secret. */
static bool
hold_suits_client(const struct hold *h, const struct client *c)
{
	const struct terms *t = h->terms;

	return (!linger_keeps(h) || c->linger != NULL) && (!c->gone ||
	    h->lost || h->let_go || (t != NULL && (t->stays ||
		t->linger_end_ms > 0 || t->process != 0)));
}

static int
terms_take_over(struct core *core, struct hold *h,
    const struct inherited_hold *i)
{
	const struct saved_terms *saved = &i->terms;
	struct terms *t = terms_alloc(core, h);

	if (t == NULL)
		return DDBLOCK_E_NOMEM;
	t->max_hold_ms = saved->max_hold_ms;
	t->end_ms = saved->end_ms;
	t->keepalive_ms = saved->keepalive_ms;
	t->danger_ms = saved->danger_ms;
	t->sent_ms = saved->sent_ms;
	t->linger_ms = saved->linger_ms;
	t->linger_end_ms = saved->linger_end_ms;
	t->working_ms = saved->working_ms;
	t->process = saved->process;
	t->count = saved->count;
	t->manual = saved->manual != 0;
	t->stays = saved->stays != 0;
	t->danger = saved->danger != 0;
	t->process_told = saved->process_told != 0;
	t->resumes = saved->resumes != 0;
	t->closed_process = saved->closed_process != 0;
	t->at_least_ms = i->at_least.at_least_ms;
	t->least_ms = i->at_least.least_ms;
	h->let_go = i->at_least.let_go != 0;
	t->listening_ms = core->now_ms;
	process_note(core, t);
	return 0;
}

/* Its timer is that of its life, or of its loss. */
static void
terms_go_on(struct core *core, struct hold *h)
{
	if (h->terms == NULL)
		return;
	at_least_go_on(core, h);
	if (!h->lost && h->use.grant != NULL)
		terms_schedule(core, h->terms);
	else if (h->lost && process_has(h) && !h->terms->process_told)
		heap_set(&core->heap, &h->terms->timer, core->now_ms +
		    h->use.lock->ns->settings.margin_ms / 2);
}

/* Where it belongs: its grant's lock, or that of what was lost. */
static int
hold_place(struct core *core, const struct core_legacy *legacy,
    const struct inherited_hold *i, const struct inherited_grant *g,
    struct lock **ret)
{
	struct namespace *ns = namespace_inherited(core, legacy,
	    i->saved.namespace_index);

	*ret = g == NULL ? NULL : g->lock;
	if (*ret != NULL || ns == NULL || i->saved.loss == 0)
		return 0;
	*ret = lock_find(ns, i->key);
	return *ret != NULL ? 0 : lock_new(core, ns, i->key, ret);
}

static int
hold_take_over(struct core *core, struct inherited_hold *i, struct lock *l,
    struct grant *g, struct multi *j)
{
	const struct core_request ask = { .labels = i->labels };
	struct hold *h = hold_new(&ask, j);
	struct client *c = client_find(core, i->saved.client);
	bool fail_closed = (i->saved.flags & SAVED_HOLD_FAIL_CLOSED) != 0;
	int code = 0;

	if (h == NULL)
		return DDBLOCK_E_NOMEM;
	if (inherited_has_terms(i))
		code = terms_take_over(core, h, i);
	if (code == 0 && c == NULL)
		code = client_new(core, i->saved.client, USER_NONE, &c);
	h->lost = i->saved.loss != 0 || g == NULL;
	if (code == 0 && (!hold_suits_client(h, c) ||
	    (!h->lost && !use_may_inherit(g, i->saved.token, fail_closed))))
		code = DDBLOCK_E_BAD_RECORD;
	if (code < 0) {
		hold_free(core, h);
		return code;
	}
	h->notice.hold = i->saved.hold;
	h->notice.loss = i->saved.loss != 0 ? i->saved.loss :
	    CORE_LOSS_EXPIRED;
	h->since_ms = i->saved.since_ms & HOLD_SINCE_MAX;
	use_inherit(&h->use, l, h->lost ? NULL : g, i->saved.token,
	    fail_closed);
	hold_link(core, h, c);
	if (h->lost) {
		lock_ref(l);
	} else {
		hold_count_valid(h, 1);
		l->ns->n_held++;
		linger_count(h, c->gone && linger_keeps(h));
	}
	i->hold = h;
	return 0;
}

/* ---- several as one --------------------------------------------------- */

static int
multi_take_over(struct core *core, const struct inherited_hold *i,
    struct multi **ret)
{
	struct multi *j = calloc(1,
	    sizeof(*j) + i->multi.n * sizeof(struct part));

	if (j == NULL)
		return DDBLOCK_E_NOMEM;
	j->n = i->multi.n;
	j->is_multi = i->multi.is_multi != 0;
	j->held = true;
	DL_APPEND(core->multis, j);
	*ret = j;
	return 0;
}

/* The numbers of several follow each other, and the first is the least: so all
 * entries from @i on that name it are its parts. */
static int
multi_inherit(struct core *core, struct inherited_hold *i, size_t n,
    struct multi **at)
{
	struct multi *j = *at;
	int code = 0;

	if ((i->saved.flags & SAVED_HOLD_MULTI) == 0) {
		*at = NULL;
		return 0;
	}
	if (i->saved.hold == i->multi.first) {
		if (n < i->multi.n || i->multi.index != 0)
			return DDBLOCK_E_BAD_RECORD;
		code = multi_take_over(core, i, at);
	} else if (j == NULL || j->n != i->multi.n ||
	    j->parts[0].hold == NULL ||
	    j->parts[0].hold->notice.hold != i->multi.first ||
	    j->parts[0].hold->client->id != i->saved.client) {
		return DDBLOCK_E_BAD_RECORD;
	}
	return code;
}

static int
multi_add(struct multi *j, const struct inherited_hold *i)
{
	struct part *part;

	if (j == NULL)
		return 0;
	part = &j->parts[i->multi.index];
	if (part->hold != NULL)
		return DDBLOCK_E_BAD_RECORD;
	part->hold = i->hold;
	j->n_left++;
	return 0;
}

/* ---- all of them -------------------------------------------------------- */

static int
inherited_take_over(struct core *core, const struct core_legacy *legacy,
    struct inherited_hold *i, size_t n_left,
    const struct inherited_grants *grants, struct multi **at)
{
	const struct inherited_grant *g =
	    inherited_grants_find(grants, i->saved.grant);
	struct lock *l;
	int code = hold_place(core, legacy, i, g, &l);

	if (code < 0 || l == NULL)
		return code;
	if (!terms_are_sound(core, i))
		return DDBLOCK_E_BAD_RECORD;
	code = multi_inherit(core, i, n_left, at);
	if (code == 0)
		code = hold_take_over(core, i, l, g == NULL ? NULL : g->grant,
		    *at);
	if (code == 0)
		code = multi_add(*at, i);
	return code;
}

/* An entry, by its number. */
struct inherited_order {
	uint64_t hold;
	const struct journal_entry *entry;
};

static int
inherited_order_compare(const void *a, const void *b)
{
	const struct inherited_order *x = a, *y = b;

	return (x->hold > y->hold) - (x->hold < y->hold);
}

/* NULL: no memory. Each begins with its number. */
static struct inherited_order *
inherited_order_all(const struct journal_entry *entries, size_t n)
{
	struct inherited_order *order = calloc(n + 1, sizeof(*order));

	for (size_t i = 0; order != NULL && i < n; i++) {
		order[i].entry = &entries[i];
		if (entries[i].length >= sizeof(order[i].hold))
			memcpy(&order[i].hold, entries[i].data,
			    sizeof(order[i].hold));
	}
	if (order != NULL)
		qsort(order, n, sizeof(*order), inherited_order_compare);
	return order;
}

/* None of several is missing. */
static int
multi_check_all(const struct core *core)
{
	const struct multi *j;

	DL_FOREACH(core->multis, j)
	{
		if (j->n_left != j->n)
			return DDBLOCK_E_BAD_RECORD;
	}
	return 0;
}

int
hold_inherit_all(struct core *core, const struct core_legacy *legacy,
    const struct journal_entry *entries, size_t n,
    const struct inherited_grants *grants, struct core_inherited *ret)
{
	struct inherited_order *order = inherited_order_all(entries, n);
	struct inherited_hold one;
	struct multi *j = NULL;
	struct hold *h;
	int code = order == NULL ? DDBLOCK_E_NOMEM : 0;

	for (size_t i = 0; i < n && code == 0; i++) {
		code = i > 0 && order[i].hold == order[i - 1].hold ?
		    DDBLOCK_E_BAD_RECORD :
		    inherited_read(order[i].entry, &one);
		if (code == 0)
			code = inherited_take_over(core, legacy, &one, n - i,
			    grants, &j);
		if (code < 0)
			break;
		if (one.saved.client > ret->client_last)
			ret->client_last = one.saved.client;
		if (one.hold == NULL)
			ret->n_left_out++;
	}
	if (code == 0)
		code = multi_check_all(core);
	free(order);
	if (code < 0)
		return code;
	for (h = hold_after(core, 0); h != NULL;
	    h = hold_after(core, h->notice.hold)) {
		terms_go_on(core, h);
		ret->n_holds += !h->lost && h->use.grant != NULL;
		if (h->notice.hold > core->hold_serial)
			core->hold_serial = h->notice.hold;
	}
	return 0;
}
