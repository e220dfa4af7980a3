/*
 * The translation of one operation. See translation.h for the rules.
 */
#include <assert.h>
#include <string.h>

#include "common/text.h"
#include "core/apply.h"
#include "ddblock.h"
#include "store/translation_internal.h"

void
translation_init(struct translation *e, const struct dialect *dialect,
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
translation_done(struct translation *e)
{
	dialect_request_done(&e->request);
	dialect_view_clear(&e->view);
}

void
translation_trouble(struct translation *e, int code, const char *text)
{
	if (e->invalid != 0)
		return;		/* it is known already why it will fail */
	e->code = code;
	text_copy(e->text, sizeof(e->text), text != NULL ? text : "");
}

/* Is it about a record that is renewed by itself? */
static bool
translation_is_alone(const struct translation *e)
{
	return e->dialect->life != LOCK_LIFE_SESSION;
}

/* Does it write the beat of such a record? */
static bool
translation_renews(const struct translation *e)
{
	enum operation_kind kind = e->operation->kind;

	return translation_is_alone(e) && (kind == OPERATION_REFRESH ||
	    kind == OPERATION_EXTEND || kind == OPERATION_UPDATE);
}

/* What the next beat is at least: the time of a session's, a number, or the
 * end of the lease. */
static uint64_t
translation_beat_from(const struct translation *e,
    const struct dialect_attempt *a, uint64_t now_ms)
{
	if (!translation_is_alone(e))
		return now_ms;
	if (e->dialect->life == LOCK_LIFE_DEADLINE)
		return a->wall_ms + e->operation->me.lease_ms;
	return e->operation->beat + 1;
}

/* The number of the next beat: never one that was used before. */
static uint64_t
translation_beat(const struct translation *e, const struct dialect_attempt *a,
    uint64_t now_ms)
{
	enum operation_kind kind = e->operation->kind;
	uint64_t beat;

	if (kind != OPERATION_SESSION_BEAT && !translation_renews(e) &&
	    !(kind == OPERATION_ACQUIRE &&
	    e->dialect->life == LOCK_LIFE_DEADLINE))
		return 0;
	beat = translation_beat_from(e, a, now_ms);
	if (beat <= e->operation->beat)
		beat = e->operation->beat + 1;
	for (uint32_t i = 0; i < e->n_attempts; i++) {
		if (beat <= e->attempts[i].what.beat)
			beat = e->attempts[i].what.beat + 1;
	}
	return beat;
}

/* A time by which others judge the lease is that of its attempt: it must not
 * count from a later one than the record says. */
void
translation_set_wall(struct translation *e, uint64_t wall_ms)
{
	if (e->dialect->host_clock)
		e->wall_ms = wall_ms;
}

/* Does this attempt write, or only look? */
static bool
translation_writes(const struct translation *e,
    const struct translation_attempt *a)
{
	return a->what.step != DIALECT_LOOK &&
	    dialect_is_write(e->operation->kind);
}

int
translation_next(struct translation *e, uint64_t now_ms,
    const struct dialect_request **ret_request, uint32_t *ret_attempt)
{
	struct translation_attempt a = {
		.what = { .step = e->step },
		.sent_ms = now_ms, .out_ms = now_ms,
	};
	int r;

	if (e->n_attempts == TRANSLATION_ATTEMPTS_MAX ||
	    (e->n_lost > 0 && e->operation->kind == OPERATION_MARK))
		return DDBLOCK_E_LIMIT;
	a.unanswered = translation_writes(e, &a);
	a.what.wall_ms = e->wall_ms;
	a.what.beat = translation_beat(e, &a.what, now_ms);

	dialect_view_clear(&e->view);
	r = e->dialect->request(e->table, e->operation, &a.what, &e->request,
	    &e->view);
	if (r < 0) {
		translation_trouble(e, r, e->view.text);
		return r;
	}
	e->attempts[e->n_attempts] = a;
	*ret_request = &e->request;
	*ret_attempt = e->n_attempts++;
	return 0;
}

/* The first write without an answer, or NULL. */
const struct translation_attempt *
translation_unanswered(const struct translation *e)
{
	for (uint32_t i = 0; i < e->n_attempts; i++) {
		if (e->attempts[i].unanswered)
			return &e->attempts[i];
	}
	return NULL;
}

enum translation_verdict
translation_final(struct translation *e, enum outcome_kind kind, int code,
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
	return TRANSLATION_FINAL;
}

/* It did not happen, unless an attempt without an answer did. */
enum translation_verdict
translation_refuse(struct translation *e, int code, const char *text,
    struct outcome *ret)
{
	bool unknown = e->acknowledged || translation_unanswered(e) != NULL;

	return translation_final(e, unknown ? OUTCOME_UNKNOWN : OUTCOME_REFUSED,
	    code, text, 0, ret);
}

void
translation_give_up(struct translation *e, struct outcome *ret)
{
	bool write = dialect_is_write(e->operation->kind);

	if (e->code == 0)
		translation_trouble(e, DDBLOCK_E_UNREACHABLE,
		    "there was no answer in time");
	/* A read without an answer is not known; one that was told to wait
	 * is refused. */
	if (!write && e->n_lost > 0)
		(void)translation_final(e, OUTCOME_UNKNOWN, e->code, e->text, 0,
		    ret);
	else
		(void)translation_refuse(e, e->code, e->text, ret);
}

/* What would become of the record that the view shows, if this attempt came
 * once more. */
static int
translation_apply(const struct translation *e,
    const struct translation_attempt *at)
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
translation_shows(const struct translation *e,
    const struct translation_attempt *at)
{
	return translation_apply(e, at) == APPLY_SAME;
}

/* The renewal whose number the record shows, or NULL. */
static const struct translation_attempt *
translation_renewal(const struct translation *e)
{
	for (uint32_t i = 0; i < e->n_attempts; i++) {
		if (e->attempts[i].what.step == DIALECT_DO &&
		    translation_shows(e, &e->attempts[i]))
			return &e->attempts[i];
	}
	return NULL;
}

/*
 * The attempt that an effect in the record is counted from: the one that we
 * know it was, or the first that it may have been. NULL: none was.
 */
static const struct translation_attempt *
translation_author(const struct translation *e, uint32_t attempt)
{
	const struct translation_attempt *first = translation_unanswered(e);

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
static const struct translation_attempt *
translation_effect(const struct translation *e, uint32_t attempt)
{
	const struct translation_attempt *author = translation_author(e,
	    attempt);

	if (e->operation->kind == OPERATION_SESSION_BEAT ||
	    translation_renews(e))
		return translation_renewal(e);
	return author != NULL && translation_shows(e, author) ? author : NULL;
}

/* The form of a release that fits the record; 0: none does. */
static enum dialect_step
translation_release_form(const struct translation *e, uint32_t attempt)
{
	const struct operation *o = e->operation;

	if (o->kind != OPERATION_RELEASE ||
	    translation_apply(e, &e->attempts[attempt]) != APPLY_NEW)
		return 0;
	return e->view.lock.n_holders == o->n_holders ?
	    DIALECT_DO : DIALECT_DO_STAYS;
}

/* The condition failed, and the view shows the record. */
static enum translation_verdict
translation_judge(struct translation *e, uint32_t attempt, struct outcome *ret)
{
	const struct translation_attempt *effect = translation_effect(e,
	    attempt);
	enum dialect_step form = translation_release_form(e, attempt);

	if (effect != NULL)
		return translation_final(e, OUTCOME_DONE, 0, "",
		    effect->sent_ms, ret);
	if (form != 0) {
		/* The record was read after the write: it may have changed
		 * to fit the form that failed. No haste then. */
		bool same = form == e->attempts[attempt].what.step ||
		    e->attempts[attempt].what.step == DIALECT_LOOK;

		translation_trouble(e, DDBLOCK_E_UNREACHABLE,
		    "the record kept changing");
		e->step = form;
		return same ? TRANSLATION_LATER : TRANSLATION_NOW;
	}
	return translation_final(e, OUTCOME_CONFLICT, 0, "",
	    e->attempts[attempt].sent_ms, ret);
}

enum translation_verdict
translation_look(struct translation *e)
{
	e->step = DIALECT_LOOK;
	return TRANSLATION_NOW;
}

static enum translation_verdict
translation_lost(struct translation *e, uint32_t attempt, int code,
    const char *text)
{
	struct translation_attempt *a = &e->attempts[attempt];

	a->unanswered = translation_writes(e, a);
	e->n_lost++;
	translation_trouble(e, code, text);
	return TRANSLATION_LATER;
}

static enum translation_verdict
translation_ok(struct translation *e, uint32_t attempt,
    const struct translation_answer *answer, struct outcome *ret)
{
	const struct translation_attempt *a = &e->attempts[attempt];
	bool look = a->what.step == DIALECT_LOOK;
	int r;

	r = e->dialect->answer(e->table, e->operation, &a->what, false,
	    answer->body, answer->body_length, &e->view);
	if (r == DDBLOCK_E_BAD_RECORD) {
		/* A write that succeeded did happen, readable or not. */
		if (translation_writes(e, a))
			return translation_final(e, OUTCOME_UNKNOWN, r,
			    e->view.text, a->sent_ms, ret);
		return translation_refuse(e, r, e->view.text, ret);
	}
	if (r < 0)
		return translation_lost(e, attempt, DDBLOCK_E_UNREACHABLE,
		    "the endpoint's answer is not understood");
	if (e->operation->kind == OPERATION_MULTI)
		return translation_ok_parts(e, attempt, ret);
	if (look && e->invalid != 0)
		return translation_refuse(e, e->invalid, e->text, ret);
	if (look)
		return translation_judge(e, attempt, ret);
	return translation_final(e, OUTCOME_DONE, 0, e->view.text, a->sent_ms,
	    ret);
}

static enum translation_verdict
translation_condition(struct translation *e, uint32_t attempt,
    const struct translation_answer *answer, struct outcome *ret)
{
	int r = e->dialect->answer(e->table, e->operation,
	    &e->attempts[attempt].what, true, answer->body,
	    answer->body_length, &e->view);

	if (r == DDBLOCK_E_BAD_RECORD)
		return translation_refuse(e, r, e->view.text, ret);
	if (r < 0 || !e->view.has_record)
		return translation_look(e);
	if (e->operation->kind == OPERATION_MULTI)
		return translation_judge_parts(e, attempt, ret);
	return translation_judge(e, attempt, ret);
}

enum translation_verdict
translation_answer(struct translation *e, uint32_t attempt,
    const struct translation_answer *answer, struct outcome *ret)
{
	struct translation_attempt *a = &e->attempts[attempt];
	bool look = a->what.step == DIALECT_LOOK;

	assert(attempt < e->n_attempts);
	/* A lease counts from before the send, a late landing from after. */
	if (a->out_ms < answer->sent_ms)
		a->out_ms = answer->sent_ms;
	dialect_view_clear(&e->view);
	if (answer->class != TRANSLATION_LOST)
		a->unanswered = false;
	a->refused = !a->unanswered && answer->class != TRANSLATION_OK &&
	    translation_writes(e, a);

	switch (answer->class) {
	case TRANSLATION_OK:
		return translation_ok(e, attempt, answer, ret);
	case TRANSLATION_CONDITION:
		if (!translation_writes(e, a))
			return translation_lost(e, attempt,
			    DDBLOCK_E_UNREACHABLE, "the endpoint says that a "
			    "condition failed where there was none");
		return translation_condition(e, attempt, answer, ret);
	case TRANSLATION_LOST:
		return translation_lost(e, attempt, answer->code, answer->text);
	case TRANSLATION_AGAIN:
		translation_trouble(e, answer->code, answer->text);
		return TRANSLATION_LATER;
	case TRANSLATION_INVALID:
	case TRANSLATION_REFUSED:
	case TRANSLATION_UNHEARD_OF:
		break;
	}
	if (look && e->invalid != 0)
		return translation_refuse(e, e->invalid, e->text, ret);
	translation_trouble(e, answer->code, answer->text);
	if (answer->class == TRANSLATION_UNHEARD_OF && !look &&
	    e->operation->kind == OPERATION_MULTI &&
	    translation_unanswered(e) == NULL)
		return translation_spare_parts(e, attempt, ret);
	/* An attribute of the wrong type makes a write invalid: let the
	 * record itself say which. */
	if (answer->class == TRANSLATION_INVALID &&
	    translation_writes(e, a)) {
		e->invalid = answer->code;
		return translation_look(e);
	}
	return translation_refuse(e, e->code, e->text, ret);
}
