/*
 * The life of one operation over its attempts. See exchange.h for the rules.
 */
#include <assert.h>
#include <string.h>

#include "common/text.h"
#include "core/apply.h"
#include "ddblock.h"
#include "dialect/exchange.h"

void
exchange_init(struct exchange *e, const struct dialect *dialect,
    const struct dialect_table *table, const struct operation *operation,
    uint64_t wall_ms)
{
	e->n_attempts = e->n_lost = 0;	/* those themselves are large */
	e->code = e->invalid = e->text[0] = 0;
	e->acknowledged = false;
	e->dialect = dialect;
	e->table = table;
	e->operation = operation;
	e->wall_ms = wall_ms;
	e->step = DIALECT_DO;
	if (operation->kind == OPERATION_RELEASE && operation->others_hold)
		e->step = DIALECT_DO_STAYS;
	dialect_request_init(&e->request);
	dialect_view_init(&e->view);
}

void
exchange_done(struct exchange *e)
{
	dialect_request_done(&e->request);
	dialect_view_clear(&e->view);
}

static void
exchange_trouble(struct exchange *e, int code, const char *text)
{
	if (e->invalid != 0)
		return;		/* it is known already why it will fail */
	e->code = code;
	text_copy(e->text, sizeof(e->text), text != NULL ? text : "");
}

/* Is it about a record that is renewed by itself? */
static bool
exchange_is_alone(const struct exchange *e)
{
	return e->dialect->life != LOCK_LIFE_SESSION;
}

/* Does it write the beat of such a record? */
static bool
exchange_renews(const struct exchange *e)
{
	enum operation_kind kind = e->operation->kind;

	return exchange_is_alone(e) && (kind == OPERATION_REFRESH ||
	    kind == OPERATION_EXTEND || kind == OPERATION_UPDATE);
}

/* What the next beat is at least: the time of a session's, a number, or the
 * end of the lease. */
static uint64_t
exchange_beat_from(const struct exchange *e, const struct dialect_attempt *a,
    uint64_t now_ms)
{
	if (!exchange_is_alone(e))
		return now_ms;
	if (e->dialect->life == LOCK_LIFE_DEADLINE)
		return a->wall_ms + e->operation->me.lease_ms;
	return e->operation->beat + 1;
}

/* The number of the next beat: never one that was used before. */
static uint64_t
exchange_beat(const struct exchange *e, const struct dialect_attempt *a,
    uint64_t now_ms)
{
	enum operation_kind kind = e->operation->kind;
	uint64_t beat;

	if (kind != OPERATION_SESSION_BEAT && !exchange_renews(e) &&
	    !(kind == OPERATION_ACQUIRE &&
	    e->dialect->life == LOCK_LIFE_DEADLINE))
		return 0;
	beat = exchange_beat_from(e, a, now_ms);
	if (beat <= e->operation->beat)
		beat = e->operation->beat + 1;
	for (uint32_t i = 0; i < e->n_attempts; i++) {
		if (beat <= e->attempts[i].what.beat)
			beat = e->attempts[i].what.beat + 1;
	}
	return beat;
}

/* A time by which others judge the lease is that of its attempt: nobody may
 * count it from a later one than the record says. */
void
exchange_set_wall(struct exchange *e, uint64_t wall_ms)
{
	if (e->dialect->host_clock)
		e->wall_ms = wall_ms;
}

int
exchange_next(struct exchange *e, uint64_t now_ms,
    const struct dialect_request **ret_request, uint32_t *ret_attempt)
{
	struct exchange_attempt a = {
		.what = { .step = e->step },
		.sent_ms = now_ms, .out_ms = now_ms,
	};
	int r;

	if (e->n_attempts == EXCHANGE_ATTEMPTS_MAX ||
	    (e->n_lost > 0 && e->operation->kind == OPERATION_MARK))
		return DDBLOCK_E_LIMIT;
	a.unanswered = a.what.step != DIALECT_LOOK &&
	    dialect_is_write(e->operation->kind);
	a.what.wall_ms = e->wall_ms;
	a.what.beat = exchange_beat(e, &a.what, now_ms);

	dialect_view_clear(&e->view);
	r = e->dialect->request(e->table, e->operation, &a.what, &e->request,
	    &e->view);
	if (r < 0) {
		exchange_trouble(e, r, e->view.text);
		return r;
	}
	e->attempts[e->n_attempts] = a;
	*ret_request = &e->request;
	*ret_attempt = e->n_attempts++;
	return 0;
}

/* The first write without an answer, or NULL. */
static const struct exchange_attempt *
exchange_unanswered(const struct exchange *e)
{
	for (uint32_t i = 0; i < e->n_attempts; i++) {
		if (e->attempts[i].unanswered)
			return &e->attempts[i];
	}
	return NULL;
}

static enum exchange_verdict
exchange_final(struct exchange *e, enum outcome_kind kind, int code,
    const char *text, uint64_t sent_ms, struct outcome *ret)
{
	struct outcome o = { .kind = kind, .code = code, .sent_ms = sent_ms };

	text_copy(o.text, sizeof(o.text), text);
	for (uint32_t i = 0; i < e->n_attempts; i++) {
		if (!e->attempts[i].unanswered)
			continue;
		o.unanswered = true;
		if (o.unanswered_ms < e->attempts[i].out_ms)
			o.unanswered_ms = e->attempts[i].out_ms;
	}
	if (kind == OUTCOME_DONE || kind == OUTCOME_CONFLICT) {
		o.lock = e->view.lock;
		o.session = e->view.session;
		o.locks = e->view.locks;
		o.processed = e->view.processed;
		o.rows = e->view.rows;
		o.n_rows = e->view.n_rows;
		o.next_cursor = e->view.next_cursor;
		o.n_examined = e->view.n_examined;
		o.read_milliunits = e->view.read_milliunits;
	}
	*ret = o;
	return EXCHANGE_FINAL;
}

/* It did not happen, unless an attempt without an answer did. */
static enum exchange_verdict
exchange_refuse(struct exchange *e, int code, const char *text,
    struct outcome *ret)
{
	bool unknown = e->acknowledged || exchange_unanswered(e) != NULL;

	return exchange_final(e, unknown ? OUTCOME_UNKNOWN : OUTCOME_REFUSED,
	    code, text, 0, ret);
}

void
exchange_give_up(struct exchange *e, struct outcome *ret)
{
	bool write = dialect_is_write(e->operation->kind);

	if (e->code == 0)
		exchange_trouble(e, DDBLOCK_E_UNREACHABLE,
		    "there was no answer in time");
	/* A read without an answer is not known; one that was told to wait
	 * is refused. */
	if (!write && e->n_lost > 0)
		(void)exchange_final(e, OUTCOME_UNKNOWN, e->code, e->text, 0,
		    ret);
	else
		(void)exchange_refuse(e, e->code, e->text, ret);
}

/* What would become of the record that the view shows, if this attempt came
 * once more. */
static int
exchange_apply(const struct exchange *e, const struct exchange_attempt *at)
{
	const struct apply a = {
		.life = e->dialect->life, .beat = at->what.beat,
		.repeated = true,
	};
	const struct operation *o = e->operation;

	return dialect_is_session(o->kind) ?
	    apply_judge_session(&a, o, &e->view.session) :
	    apply_judge_lock(&a, o, &e->view.lock);
}

/* Does the record show what this attempt was to bring about? */
static bool
exchange_shows(const struct exchange *e, const struct exchange_attempt *at)
{
	return exchange_apply(e, at) == APPLY_SAME;
}

/* The renewal whose number the record shows, or NULL. */
static const struct exchange_attempt *
exchange_renewal(const struct exchange *e)
{
	for (uint32_t i = 0; i < e->n_attempts; i++) {
		if (e->attempts[i].what.step == DIALECT_DO &&
		    exchange_shows(e, &e->attempts[i]))
			return &e->attempts[i];
	}
	return NULL;
}

/*
 * The attempt that an effect in the record is counted from: the one that we
 * know it was, or the first that it may have been. NULL: none was.
 */
static const struct exchange_attempt *
exchange_author(const struct exchange *e, uint32_t attempt)
{
	const struct exchange_attempt *first = exchange_unanswered(e);

	switch (e->operation->kind) {
	case OPERATION_ACQUIRE:
	case OPERATION_UPDATE:
		/* No other writer has this grant, or this revision: no attempt
		 * need be in doubt. */
		return first != NULL ? first : &e->attempts[attempt];
	case OPERATION_SESSION_OPEN:
		/* A copy of one may have, although that one was told no. */
		return first != NULL ? &e->attempts[0] : NULL;
	default:
		return first;
	}
}

/* The attempt whose effect the record shows, or NULL. */
static const struct exchange_attempt *
exchange_effect(const struct exchange *e, uint32_t attempt)
{
	const struct exchange_attempt *author = exchange_author(e, attempt);

	if (e->operation->kind == OPERATION_SESSION_BEAT || exchange_renews(e))
		return exchange_renewal(e);
	return author != NULL && exchange_shows(e, author) ? author : NULL;
}

/* The form of a release that fits the record; 0: none does. */
static enum dialect_step
exchange_release_form(const struct exchange *e, uint32_t attempt)
{
	const struct operation *o = e->operation;

	if (o->kind != OPERATION_RELEASE ||
	    exchange_apply(e, &e->attempts[attempt]) != APPLY_NEW)
		return 0;
	return e->view.lock.n_holders == o->n_holders ?
	    DIALECT_DO : DIALECT_DO_STAYS;
}

/* The condition failed, and the view shows the record. */
static enum exchange_verdict
exchange_judge(struct exchange *e, uint32_t attempt, struct outcome *ret)
{
	const struct exchange_attempt *effect = exchange_effect(e, attempt);
	enum dialect_step form = exchange_release_form(e, attempt);

	if (effect != NULL)
		return exchange_final(e, OUTCOME_DONE, 0, "", effect->sent_ms,
		    ret);
	if (form != 0) {
		/* The record was read after the write: it may have changed
		 * to fit the form that failed. No haste then. */
		bool same = form == e->attempts[attempt].what.step ||
		    e->attempts[attempt].what.step == DIALECT_LOOK;

		exchange_trouble(e, DDBLOCK_E_UNREACHABLE,
		    "the record kept changing");
		e->step = form;
		return same ? EXCHANGE_LATER : EXCHANGE_NOW;
	}
	return exchange_final(e, OUTCOME_CONFLICT, 0, "",
	    e->attempts[attempt].sent_ms, ret);
}

static enum exchange_verdict
exchange_look(struct exchange *e)
{
	e->step = DIALECT_LOOK;
	return EXCHANGE_NOW;
}

static enum exchange_verdict
exchange_lost(struct exchange *e, uint32_t attempt, int code,
    const char *text)
{
	struct exchange_attempt *a = &e->attempts[attempt];

	a->unanswered = a->what.step != DIALECT_LOOK &&
	    dialect_is_write(e->operation->kind);
	e->n_lost++;
	exchange_trouble(e, code, text);
	return EXCHANGE_LATER;
}

/* ---- several acquires at once ---- */

/* False: nothing can be said of it yet. */
static bool
exchange_judge_part(const struct exchange *e, size_t i,
    struct outcome_part *ret)
{
	const struct operation *part = e->operation->parts[i];
	const struct apply a = { .life = e->dialect->life };
	bool unknown = e->acknowledged || exchange_unanswered(e) != NULL;
	int verdict;

	*ret = (struct outcome_part){ .kind = OUTCOME_REFUSED };
	switch (e->view.parts[i]) {
	case DIALECT_PART_UNSEEN:
		return false;
	case DIALECT_PART_SPARED:
		return true;
	case DIALECT_PART_BAD:
		ret->kind = unknown ? OUTCOME_UNKNOWN : OUTCOME_REFUSED;
		ret->code = DDBLOCK_E_BAD_RECORD;
		return true;
	case DIALECT_PART_SEEN:
		break;
	}
	ret->lock = e->view.locks[i];
	verdict = apply_judge_lock(&a, part, &ret->lock);
	if (verdict == APPLY_SAME)
		ret->kind = OUTCOME_DONE;
	else if (verdict == APPLY_CONFLICT)
		ret->kind = OUTCOME_CONFLICT;
	return true;
}

/*
 * The view shows what is known of each key. If one has our grant, an attempt
 * without an answer took effect after all, and those that were spared have
 * theirs, too: look.
 */
static enum exchange_verdict
exchange_judge_parts(struct exchange *e, uint32_t attempt, struct outcome *ret)
{
	const struct exchange_attempt *a = &e->attempts[attempt];
	const struct exchange_attempt *first = exchange_unanswered(e);
	bool look = a->what.step == DIALECT_LOOK;
	size_t n = e->operation->n_keys, n_done = 0;
	struct outcome_part *parts =
	    dialect_view_alloc(&e->view, n, sizeof(*parts));
	bool known = true;

	if (parts == NULL)
		return exchange_refuse(e, DDBLOCK_E_NOMEM, "", ret);
	for (size_t i = 0; i < n; i++) {
		if (!exchange_judge_part(e, i, &parts[i]))
			known = false;
		if (parts[i].kind == OUTCOME_DONE)
			n_done++;
	}
	if (!look && (!known || n_done > 0))
		return exchange_look(e);
	if (!known) {
		exchange_trouble(e, DDBLOCK_E_THROTTLED,
		    "the store left some of the keys unread");
		return EXCHANGE_LATER;
	}
	(void)exchange_final(e, n_done == n ? OUTCOME_DONE : OUTCOME_CONFLICT,
	    0, e->view.text, (first != NULL ? first : a)->sent_ms, ret);
	ret->parts = parts;
	return EXCHANGE_FINAL;
}

/* False: it is known to be invalid, and the look does not show why. */
static bool
exchange_is_telling(const struct exchange *e)
{
	for (size_t i = 0; e->invalid != 0 && i < e->operation->n_keys; i++) {
		if (e->view.parts[i] == DIALECT_PART_BAD)
			return true;
	}
	return e->invalid == 0;
}

static enum exchange_verdict
exchange_ok_parts(struct exchange *e, uint32_t attempt, struct outcome *ret)
{
	if (e->attempts[attempt].what.step != DIALECT_LOOK) {
		e->acknowledged = true;
		return exchange_look(e);
	}
	if (!exchange_is_telling(e))
		return exchange_refuse(e, e->invalid, e->text, ret);
	return exchange_judge_parts(e, attempt, ret);
}

/* There are no transactions at this endpoint: one by one they may be had. */
static enum exchange_verdict
exchange_spare_parts(struct exchange *e, uint32_t attempt, struct outcome *ret)
{
	struct outcome_part *parts = dialect_view_alloc(&e->view,
	    e->operation->n_keys, sizeof(*parts));

	if (parts == NULL)
		return exchange_refuse(e, DDBLOCK_E_NOMEM, "", ret);
	for (size_t i = 0; i < e->operation->n_keys; i++)
		parts[i] = (struct outcome_part){ .kind = OUTCOME_REFUSED };
	(void)exchange_final(e, OUTCOME_CONFLICT, 0, "",
	    e->attempts[attempt].sent_ms, ret);
	ret->parts = parts;
	return EXCHANGE_FINAL;
}

static enum exchange_verdict
exchange_ok(struct exchange *e, uint32_t attempt,
    const struct exchange_answer *answer, struct outcome *ret)
{
	const struct exchange_attempt *a = &e->attempts[attempt];
	bool write = dialect_is_write(e->operation->kind);
	bool look = a->what.step == DIALECT_LOOK;
	int r;

	r = e->dialect->answer(e->table, e->operation, &a->what, false,
	    answer->body, answer->body_length, &e->view);
	if (r == DDBLOCK_E_BAD_RECORD) {
		/* A write that succeeded did happen, readable or not. */
		if (write && !look)
			return exchange_final(e, OUTCOME_UNKNOWN, r,
			    e->view.text, a->sent_ms, ret);
		return exchange_refuse(e, r, e->view.text, ret);
	}
	if (r < 0)
		return exchange_lost(e, attempt, DDBLOCK_E_UNREACHABLE,
		    "the endpoint's answer is not understood");
	if (e->operation->kind == OPERATION_TOGETHER)
		return exchange_ok_parts(e, attempt, ret);
	if (look && e->invalid != 0)
		return exchange_refuse(e, e->invalid, e->text, ret);
	if (look)
		return exchange_judge(e, attempt, ret);
	return exchange_final(e, OUTCOME_DONE, 0, e->view.text, a->sent_ms,
	    ret);
}

static enum exchange_verdict
exchange_condition(struct exchange *e, uint32_t attempt,
    const struct exchange_answer *answer, struct outcome *ret)
{
	int r = e->dialect->answer(e->table, e->operation,
	    &e->attempts[attempt].what, true, answer->body,
	    answer->body_length, &e->view);

	if (r == DDBLOCK_E_BAD_RECORD)
		return exchange_refuse(e, r, e->view.text, ret);
	if (r < 0 || !e->view.has_record)
		return exchange_look(e);
	if (e->operation->kind == OPERATION_TOGETHER)
		return exchange_judge_parts(e, attempt, ret);
	return exchange_judge(e, attempt, ret);
}

enum exchange_verdict
exchange_answer(struct exchange *e, uint32_t attempt,
    const struct exchange_answer *answer, struct outcome *ret)
{
	struct exchange_attempt *a = &e->attempts[attempt];
	bool look = a->what.step == DIALECT_LOOK;

	assert(attempt < e->n_attempts);
	/* A lease counts from before the send, a late landing from after. */
	if (a->out_ms < answer->sent_ms)
		a->out_ms = answer->sent_ms;
	dialect_view_clear(&e->view);
	if (answer->class != EXCHANGE_LOST)
		a->unanswered = false;

	switch (answer->class) {
	case EXCHANGE_OK:
		return exchange_ok(e, attempt, answer, ret);
	case EXCHANGE_CONDITION:
		return exchange_condition(e, attempt, answer, ret);
	case EXCHANGE_LOST:
		return exchange_lost(e, attempt, answer->code, answer->text);
	case EXCHANGE_AGAIN:
		exchange_trouble(e, answer->code, answer->text);
		return EXCHANGE_LATER;
	case EXCHANGE_INVALID:
	case EXCHANGE_REFUSED:
	case EXCHANGE_UNHEARD_OF:
		break;
	}
	if (look && e->invalid != 0)
		return exchange_refuse(e, e->invalid, e->text, ret);
	exchange_trouble(e, answer->code, answer->text);
	if (answer->class == EXCHANGE_UNHEARD_OF && !look &&
	    e->operation->kind == OPERATION_TOGETHER &&
	    exchange_unanswered(e) == NULL)
		return exchange_spare_parts(e, attempt, ret);
	/* An attribute of the wrong type makes a write invalid: let the
	 * record itself say which. */
	if (answer->class == EXCHANGE_INVALID && !look &&
	    dialect_is_write(e->operation->kind)) {
		e->invalid = answer->code;
		return exchange_look(e);
	}
	return exchange_refuse(e, e->code, e->text, ret);
}
