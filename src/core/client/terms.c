/*
 * Terms of a hold's own: what not every client asks for. A hold without terms
 * has no memory for them and no timer, so that a host with many holds pays for
 * its sessions only.
 *
 *   max_hold    the hold ends so long after its grant, whatever is renewed
 *   keepalive   the client promised to say something so often: its silence is
 *               its death
 *   danger      this hold's warning comes earlier or later than the others',
 *               or never
 *   manual      it ends with the lease that its client was told, which the
 *               client's own RENEW prolongs and nothing else
 *   reentrant   its client may acquire it again, and releases it as often
 *   stays       when its client leaves it is renewed no more, and ends with the
 *               lease that it has then
 *   linger      when its client leaves it goes on for so long, for a client
 *               that resumes it (linger.c)
 *   resumes     when we end its client's connection it goes on until that has
 *               stopped by its own deadline, for a client that resumes it
 *   process     it ends with a process, and not with its client (process.c)
 *   at_least    it stays for so long, however early its client is done with it
 *               (at_least.c)
 *
 * What ends by its own terms is lost while the lease goes on: the client is
 * told, and the gap of a margin is its own (hold_lose_by_us()).
 */
#include "core/client/room.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ddblock.h"

/* A timer that comes this late shows that we did not listen, rather than that
 * the client was silent. */
#define TERMS_LATE_MS 100

/* ---- asking ----------------------------------------------------------- */

/* What stays after its client is renewed by itself. */
static int
terms_check_at_least(const struct core_terms *asked, char *ret_text,
    size_t text_size)
{
	const char *with = asked->fail_closed ? "policy=fail-closed" :
	    asked->manual ? "renew=manual" : asked->stays ? "on_close=lease" :
	    asked->keepalive_ms > 0 ? "keepalive" : NULL;

	if (asked->at_least_ms == 0)
		return 0;
	if (asked->at_least_ms > CORE_AT_LEAST_MAX_MS)
		(void)snprintf(ret_text, text_size, "at_least is at most %"
		    PRIu64 "h", CORE_AT_LEAST_MAX_MS / 3600000);
	else if (with != NULL)
		(void)snprintf(ret_text, text_size, "what stays held is "
		    "renewed until its time is over: at_least does not go with "
		    "%s", with);
	else if (asked->max_hold_ms > 0 &&
	    asked->max_hold_ms < asked->at_least_ms)
		(void)snprintf(ret_text, text_size, "a lock does not stay held "
		    "for longer than it may be held: at_least is at most "
		    "max_hold");
	else
		return 0;
	return DDBLOCK_E_BAD_REQUEST;
}

static int
terms_check_every(const struct namespace *ns, const struct core_terms *asked,
    char *ret_text, size_t text_size)
{
	const uint64_t most_ms = ns->settings.retention_ms;
	const bool days = most_ms % 86400000 == 0;

	if (asked->every_ms == 0)
		return 0;
	if (asked->counts_at_end && asked->at_least_ms > 0)
		(void)snprintf(ret_text, text_size, "that a run succeeded is "
		    "said by its release, which at_least puts off: "
		    "counts=succeeded does not go with at_least");
	else if (asked->mode != LOCK_MODE_EXCLUSIVE || asked->fail_closed ||
	    asked->reentrant)
		(void)snprintf(ret_text, text_size, "a run per period has the "
		    "lock alone, and once: every does not go with %s",
		    asked->fail_closed ? "policy=fail-closed" :
		    asked->reentrant ? "reentrant" : "mode=shared");
	else if (asked->every_ms > CORE_EVERY_MAX_MS)
		(void)snprintf(ret_text, text_size, "every is at most %" PRIu64
		    " days", CORE_EVERY_MAX_MS / 86400000);
	else if (most_ms > 0 && asked->every_ms > most_ms)
		(void)snprintf(ret_text, text_size, "the record of a free lock "
		    "remains for %" PRIu64 " %s here: every is at most that "
		    "(retention in the daemon's configuration)",
		    most_ms / (days ? 86400000 : 3600000),
		    days ? "days" : "hours");
	else
		return 0;
	return DDBLOCK_E_BAD_REQUEST;
}

/* Could a hold in this namespace have them? 0, or DDBLOCK_E_BAD_REQUEST with
 * the reason, for people. */
int
terms_check(const struct namespace *ns, const struct core_terms *asked,
    char *ret_text, size_t text_size)
{
	const struct core_namespace *n = &ns->settings;
	uint64_t last_ms = n->lease_ms - n->margin_ms;

	if (terms_check_at_least(asked, ret_text, text_size) < 0 ||
	    terms_check_every(ns, asked, ret_text, text_size) < 0)
		return DDBLOCK_E_BAD_REQUEST;
	if (asked->linger_ms > 0 && (asked->fail_closed || asked->manual ||
	    asked->stays)) {
		(void)snprintf(ret_text, text_size, "what lingers is renewed "
		    "until its time is over: linger does not go with %s",
		    asked->fail_closed ? "policy=fail-closed" :
		    asked->manual ? "renew=manual" : "on_close=lease");
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (asked->process != 0 && (asked->linger_ms > 0 || asked->manual ||
	    asked->stays || asked->reentrant || asked->keepalive_ms > 0)) {
		(void)snprintf(ret_text, text_size, "a hold for a process is "
		    "renewed until the process has ended: process=yes does not "
		    "go with linger, renew=manual, on_close=lease, keepalive "
		    "and reentrant");
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (asked->linger_ms > CORE_LINGER_MAX_MS) {
		(void)snprintf(ret_text, text_size, "linger is at most %"
		    PRIu64 "h", CORE_LINGER_MAX_MS / 3600000);
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (asked->fail_closed && (asked->max_hold_ms > 0 ||
	    asked->keepalive_ms > 0 || asked->danger_ms > 0 ||
	    asked->manual || asked->stays)) {
		(void)snprintf(ret_text, text_size, "a fail-closed hold ends "
		    "only by a release or a break: max_hold, keepalive, "
		    "danger, renew=manual and on_close=lease do not go with "
		    "it");
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (asked->keepalive_ms > 0 &&
	    asked->keepalive_ms < CORE_KEEPALIVE_MIN_MS) {
		(void)snprintf(ret_text, text_size,
		    "keepalive is at least %dms", CORE_KEEPALIVE_MIN_MS);
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (asked->danger_ms == 0 || asked->danger_ms == CORE_FOREVER ||
	    (asked->danger_ms > n->heartbeat_ms &&
		asked->danger_ms <= last_ms))
		return 0;
	(void)snprintf(ret_text, text_size, "danger is \"never\", or more than "
	    "%" PRIu64 "ms, when the next renewal is sent, and at most %"
	    PRIu64 "ms, when the lock is lost", n->heartbeat_ms, last_ms);
	return DDBLOCK_E_BAD_REQUEST;
}

/* NULL: no memory. */
struct terms *
terms_alloc(struct core *core, struct hold *h)
{
	struct terms *t = calloc(1, sizeof(*t));

	if (t == NULL || heap_reserve(&core->heap) < 0) {
		free(t);
		return NULL;
	}
	if (heap_reserve(&core->later) < 0) {
		heap_release(&core->heap, &t->timer);
		free(t);
		return NULL;
	}
	t->hold = h;
	t->timer.kind = TIMER_TERMS;
	t->linger_timer.kind = TIMER_LINGER;
	h->terms = t;
	return t;
}

/* Room for them, before the hold is granted. */
int
terms_new(struct core *core, const struct namespace *ns, struct hold *h,
    const struct core_terms *asked)
{
	struct terms *t;

	if (!core_terms_are_own(asked) && asked->linger_ms == 0 &&
	    !asked->resumes && asked->process == 0 && asked->at_least_ms == 0)
		return 0;
	t = terms_alloc(core, h);
	if (t == NULL)
		return DDBLOCK_E_NOMEM;
	t->max_hold_ms = asked->max_hold_ms;
	t->keepalive_ms = asked->keepalive_ms;
	t->danger_ms = asked->danger_ms;
	t->manual = asked->manual;
	if (t->manual && t->danger_ms == 0)
		t->danger_ms = ns->settings.danger_ms;
	t->count = asked->reentrant ? 1 : 0;
	t->stays = asked->stays;
	t->linger_ms = asked->linger_ms;
	t->resumes = asked->resumes;
	t->at_least_ms = asked->at_least_ms;
	t->process = asked->fail_closed ? 0 : asked->process;
	t->closed_process = asked->fail_closed && asked->process != 0;
	t->end_ms = CORE_FOREVER;
	process_note(core, t);
	return 0;
}

void
terms_free(struct core *core, struct hold *h)
{
	if (h->terms == NULL)
		return;
	process_forget(core, h->terms);
	heap_release(&core->heap, &h->terms->timer);
	heap_release(&core->later, &h->terms->linger_timer);
	free(h->terms);
	h->terms = NULL;
}

/* ---- when it is what's time ------------------------------------------- */

static uint64_t
terms_silent_ms(const struct terms *t)
{
	uint64_t heard_ms = t->hold->client->heard_ms;

	if (t->keepalive_ms == 0 || t->linger_end_ms > 0)
		return CORE_FOREVER;
	if (heard_ms < t->listening_ms)
		heard_ms = t->listening_ms;
	return heard_ms + t->keepalive_ms;
}

void
terms_schedule(struct core *core, struct terms *t)
{
	uint64_t at_ms = t->manual ? terms_until_ms(t->hold) : t->end_ms;

	hold_touch(core, t->hold);
	if (terms_silent_ms(t) < at_ms)
		at_ms = terms_silent_ms(t);
	if (terms_have_warning(t) && !t->danger && terms_danger_ms(t) < at_ms)
		at_ms = terms_danger_ms(t);
	if (at_ms == CORE_FOREVER)
		heap_unset(&core->heap, &t->timer);
	else
		heap_set(&core->heap, &t->timer, at_ms);
}

/* Whether it stands warned by itself. Its session remembers that a hold was
 * warned, which is told when the danger is over. */
static void
terms_set_danger(struct terms *t, bool danger)
{
	t->danger = danger;
	if (danger)
		lease_warn(t->hold->use.grant->lease);
}

/* ---- the life of a hold ----------------------------------------------- */

/* It is granted. */
void
terms_begin(struct core *core, struct hold *h)
{
	struct terms *t = h->terms;

	if (t == NULL)
		return;
	t->end_ms = t->max_hold_ms == 0 ? CORE_FOREVER :
	    core->now_ms + t->max_hold_ms;
	t->listening_ms = core->now_ms;
	t->least_ms = t->at_least_ms == 0 ? 0 : core->now_ms + t->at_least_ms;
	if (h->use.fail_closed)
		return;		/* which it may be and reentrant */
	t->sent_ms = h->use.grant->lease->sent_ms;
	terms_set_danger(t, terms_have_warning(t) &&
	    terms_are_endangered(core, h));
	terms_schedule(core, t);
}

/* It is lost, or over. */
void
terms_end(struct core *core, struct hold *h)
{
	if (h->terms != NULL)
		heap_unset(&core->heap, &h->terms->timer);
}

/* It is forgotten, too. */
void
terms_forget(struct core *core, struct hold *h)
{
	terms_end(core, h);
	if (h->terms != NULL)
		heap_unset(&core->later, &h->terms->linger_timer);
}

static void
terms_lose(struct core *core, struct hold *h, enum core_loss loss)
{
	struct lock *l = h->use.lock;

	hold_lose_by_us(core, h, loss);
	lock_advance(core, l);
}

/* What is due now, or was before the lease was renewed or the client spoke. */
void
terms_timer(struct core *core, struct timer *timer)
{
	struct terms *t = CONTAINER_OF(timer, struct terms, timer);
	uint64_t silent_ms = terms_silent_ms(t);
	struct hold *h = t->hold;

	if (h->lost) {
		process_tell(core, h);
		return;
	}
	if (core->now_ms >= t->end_ms) {
		terms_lose(core, h, CORE_LOSS_MAX_HOLD);
		return;
	}
	if (t->manual && core->now_ms >= terms_until_ms(h)) {
		terms_lose(core, h, CORE_LOSS_EXPIRED);
		return;
	}
	if (core->now_ms >= silent_ms &&
	    core->now_ms - silent_ms <= TERMS_LATE_MS) {
		terms_lose(core, h, CORE_LOSS_KEEPALIVE);
		return;
	}
	/* We stood still. What it said meanwhile is yet to be read. */
	if (core->now_ms >= silent_ms)
		t->listening_ms = core->now_ms;
	if (terms_have_warning(t) && !t->danger &&
	    core->now_ms >= terms_danger_ms(t)) {
		terms_set_danger(t, true);
		notice_send(core, h, CORE_IN_DANGER);
	}
	terms_schedule(core, t);
}

/* Its client has left. True: it is kept until the lease that it had then is
 * over. It is not renewed any more, and there is no warning. */
bool
terms_stay(struct core *core, struct hold *h)
{
	struct terms *t = h->terms;

	if (t == NULL || !t->stays || h->lost)
		return false;
	if (!t->manual)
		t->sent_ms = h->use.grant->lease->sent_ms;
	t->manual = true;
	t->keepalive_ms = 0;
	t->danger_ms = CORE_FOREVER;
	t->danger = false;
	terms_schedule(core, t);
	return true;
}

/* Its client has left. It is renewed as before, for so long, and at least until
 * then. */
void
terms_linger(struct core *core, struct hold *h, uint64_t least_ms)
{
	struct terms *t = h->terms;

	hold_touch(core, h);
	t->linger_end_ms = core->now_ms + t->linger_ms;
	t->working_ms = least_ms;
	if (t->linger_end_ms < least_ms)
		t->linger_end_ms = least_ms;
	heap_set(&core->later, &t->linger_timer, t->linger_end_ms);
	if (!h->lost)
		terms_schedule(core, t);
}

/* It has a client again, which would come back, too, if it @resumes; its
 * silence counts from now. */
void
terms_resume(struct core *core, struct hold *h, bool resumes)
{
	struct terms *t = h->terms;

	t->resumes = resumes;
	hold_touch(core, h);
	t->linger_end_ms = 0;
	heap_unset(&core->later, &t->linger_timer);
	t->working_ms = 0;
	t->listening_ms = core->now_ms;
	if (!h->lost)
		terms_schedule(core, t);
}

/* Did its client leave it to the lease that it has? */
bool
terms_are_left(const struct hold *h)
{
	return h->terms != NULL && h->terms->stays && h->client->gone;
}

/* Its session was renewed, and each hold is told its deadline, if @all are, or
 * that the danger is over. */
static void
terms_renewed(struct core *core, struct hold *h, bool all)
{
	struct terms *t = h->terms;
	bool danger;

	if (!terms_have_warning(t) || t->manual || (!all && !t->danger))
		return;
	danger = core->now_ms >= terms_danger_ms(t);
	if (danger && all)
		notice_send(core, h, CORE_IN_DANGER);
	else if (!danger)
		notice_send(core, h, t->danger ||
		    !lease_is_of_record(h->use.grant->lease) ?
		    CORE_SAFE : CORE_PROLONGED);
	terms_set_danger(t, danger);
	terms_schedule(core, t);
}

/* Its client's own RENEW was acknowledged, with its session's. */
void
terms_prolong(struct core *core, struct hold *h)
{
	struct terms *t = h->terms;
	bool warned;

	if (t == NULL || !t->manual)
		return;
	warned = t->danger;
	t->sent_ms = h->use.grant->lease->sent_ms;
	terms_set_danger(t, core->now_ms >= terms_danger_ms(t));
	if (warned && !t->danger)
		notice_send(core, h, CORE_SAFE);
	terms_schedule(core, t);
}

/* May its client have it once more on these terms? Then it has. */
bool
terms_may_reenter(const struct hold *h, const struct core_terms *asked)
{
	const struct grant *g = h->use.grant;

	return asked->reentrant && h->terms != NULL && h->terms->count > 0 &&
	    h->terms->count < UINT32_MAX && !grant_is_being_downgraded(g) &&
	    g->mode == asked->mode && g->limit == asked->limit &&
	    g->fail_closed == asked->fail_closed;
}

/* One release, or @all of them: how often it is held then. */
uint32_t
terms_leave(struct hold *h, bool all)
{
	if (h->terms == NULL || h->terms->count == 0 || all)
		return 0;
	hold_touch(h->use.lock->ns->core, h);
	return --h->terms->count;
}

void
notice_own(struct core *core, struct lease *lease, bool all)
{
	struct grant *g;
	struct use *u;

	DL_FOREACH2(lease->grants, g, lease_next)
	{
		DL_FOREACH(g->uses, u)
		{
			terms_renewed(core, hold_of(u), all);
		}
	}
}
