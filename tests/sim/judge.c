/*
 * The judge: takes facts, and watches what is due.
 *
 * What is promised to clients (doc/safety.md, "Invariants"):
 *
 *   1  While a hold of a lock is valid, no other is, unless both share it
 *      within the same limit, and not more than that: from the grant until the
 *      loss is told, the release is asked, the client leaves, or the deadline
 *      that it was last told, whichever is first.
 *   2  The token of an exclusive grant is greater than that of every earlier
 *      one, that of a shared grant than that of every exclusive one before.
 *   3  A holder is told of its loss before another is granted the lock who
 *      could not have it beside; if nobody can tell it, its own deadline has
 *      passed.
 *   4  A grant answers a request of a connection that lives, and has a number
 *      of its own; notices and renewals are about a hold that is there.
 *   5  A connection that ends hears nothing more, and what it held leaves the
 *      table; so does what is released.
 *   6  Every request gets exactly one final reply, in time; one that was
 *      cancelled, at once. None is INTERNAL.
 *   7  No client has more requests or holds than it may.
 *   8  A lock that nobody holds is granted in time to who waits for it; to who
 *      would share it, also one that others share, if there is room and no
 *      other host wishes for it alone.
 *
 * When they are told:
 *
 *   T1  No deadline is later than a lease less a margin after the send of the
 *       latest renewal that the table ever showed, by the owner's clock.
 *   T2  A holder is warned at the time of danger: neither before nor later.
 *   T3  A holder is told of its loss when its deadline comes.
 *   T4  Nothing is lost without a cause: not early, unless its session is dead
 *       or gone; not as stolen, unless its element left the table; nor does a
 *       release find it stolen, unless somebody else took it.
 *   T5  A deadline never goes back.
 *   T6  When nothing disturbs any more, nobody is warned and nothing expires;
 *       but who asked to be warned earlier than others may be.
 *   T7  What was lost is not said to have been released.
 *   T9  What its own terms end has no deadline after that, is lost when they
 *       say so, and nobody else is granted it before a margin after, unless
 *       they share it without a limit.
 *   T10 What is fail-closed has no deadline, and is lost only by a break or by
 *       hand.
 *   T11 What lingers is had again in its time only by who has the secret and
 *       is the same user: all of it, as it is or with the reason for its loss.
 *
 * How a lock goes round:
 *
 *   F1  On one host, who asked first gets it first, whatever the use.
 *   F2  While another host that lives wishes for it and is hindered (by those
 *       who share it without a limit: for exclusive use), a host passes it on
 *       or lets others join for a lease at most, and handover_max times (each
 *       counted from a look at the record, and one may have missed the wish).
 *   F3  A host that gave it up for a wish asks again after two polls.
 *   F4  A wish that nobody stands behind is taken out by its own daemon, unless
 *       somebody deleted its session.
 *   F5  Who waits for what another host holds has its wish in the record.
 *   F6  Nobody joins those who share a lock while another wishes for exclusive
 *       use, and nobody takes a free one for the same use as the last while
 *       another wishes for the other; but who wishes for exclusive use because
 *       of its limit may.
 *
 * What those who watch a lock are told:
 *
 *   W1  Only of what they watch, from the answer to the end.
 *   W2  Of holders that were there, and never of one before that whom they were
 *       told of; of those who share a lock one may be named again.
 *   W3  That a holder is dead after its session was marked so.
 *   W4  In the end, and in time, the truth; and that something else is kept in
 *       it.
 *
 * What is kept in a lock:
 *
 *   K1  Who is granted a lock is told what its record has, but what it brought
 *       itself, which is there, too.
 *   K2  What was acknowledged was written.
 *   K3  It is written by the host of who has the lock alone. What was
 *       acknowledged goes only for what was asked for later; and what was given
 *       up does not come when somebody else was granted the lock.
 *
 * What stands in the table (doc/records.md), by whose write:
 *
 *   R1  A lock's token never goes down and stays below 2^53, also across the
 *       deletion of its item, unless that was made a moment before.
 *   R2  A record with a holder has no ttl; one that a release leaves has one,
 *       as long as the retention.
 *   R3  A record in exclusive use has one element at most, one in shared use as
 *       many as its limit; use and limit stay while an element does, and one
 *       comes at a time. Of a session's elements without a limit clients have
 *       one. A daemon makes a record with one, and never deletes it.
 *   R4  An element is taken out by its own daemon, or after its session was
 *       marked dead; a fail-closed one by its own daemon only.
 *   R5  Its own daemon takes it out only when no client has it any more, and
 *       not before a margin after it told the loss.
 *   R6  An element that comes in raises the token, is its writer's own, of a
 *       session that was open when it was sent, and has that session's lease.
 *   R7  A grant that left comes back only by a repetition of its own request,
 *       sent in that request's time and before the grant's release.
 *   R8  While the elements stay the same, the owner of an exclusive one alone
 *       raises the token; no release changes it.
 *   R9  A wish is added only to a record with a holder, and who becomes a
 *       holder takes out its own: for exclusive use, and who shares it both.
 *   R10 `dead` is never taken back, and nothing beats after it; no daemon
 *       deletes a session.
 *   R11 A session's beat only rises, and only by its own daemon.
 *   R12 A session comes to be by an open (beat 0, the namespace's lease) or by
 *       a burial; its lease never changes, and each renewal puts its ttl off.
 *   R13 It is killed only after its beat stood for a lease and the drift, by
 *       the killer's clock.
 *   R14 It is buried only after it was absent as long as that, while a lock
 *       showed it.
 *   R15 It is closed only when no client has anything under it, and not before
 *       a margin after a loss was told of what still stands.
 *   R16 When a grant is told, its element stands in the table, for this use and
 *       limit, and its session is not dead. Of several clients that have one
 *       element all share it without a limit.
 *   R17 The token told was written for that hold: above the token before its
 *       element, at most the token now; who shares it has its element's.
 *   R18 An element of a living session that no client has is gone in time.
 *
 * In records that older clients share, where R1, R16, R18, T1, T4, T8, K1 and
 * K2 are those of the record, and so is K3 while it has the same holder:
 *
 *   P1  No daemon takes or frees what another has, before its lease is over as
 *       the format has it, unless somebody breaks it.
 *   P2  What was given back is had again only with a new token, if the format
 *       has some: a renewal that lands late does not bring it back.
 *   P3  What was lost is given back by its own daemon a margin after that was
 *       told; and what nobody at a host has is not renewed there for long.
 *   P4  Whoever takes what another has for a lease that a version counts has
 *       marked that very record, and the mark stood there for a lease and the
 *       drift, by its clock. It is a new one each time, and left only while
 *       somebody at that host waits.
 *
 * Over a bridge (judge_bridge.c) a key's two records are one lock: 1 and 3 are
 * about whoever has either, and a hold of both is of two as in J1.
 *
 * And at the end, "order": each lock's history could have happened one thing
 * after the other (judge_order.c).
 *
 * Exceptions: what somebody took out or broke by hand, and holds of hosts whose
 * boot clock stood still.
 */
#include "judge_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *
judge_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (p == NULL) {
		(void)fprintf(stderr, "judge: no memory\n");
		abort();
	}
	return p;
}

/* The first finding counts: what follows may be its consequence. */
void
judge_find(struct judge *j, const char *rule, const char *format, ...)
{
	struct judge_finding *f = &j->finding;
	va_list args;

	if (j->guilty)
		return;
	j->guilty = true;
	f->at_ms = j->now_ms;
	(void)snprintf(f->invariant, sizeof(f->invariant), "%s", rule);
	va_start(args, format);
	(void)vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
}

/* ---- what is due ------------------------------------------------------ */

void
judge_due_init(struct judge *j, struct judge_due *d,
    void (*miss)(struct judge *, void *owner), void *owner)
{
	d->timer.kind = TIMER_LOCK;	/* any will do */
	d->miss = miss;
	d->owner = owner;
	if (heap_reserve(&j->heap) < 0) {
		(void)fprintf(stderr, "judge: no memory\n");
		abort();
	}
}

void
judge_due_done(struct judge *j, struct judge_due *d)
{
	heap_release(&j->heap, &d->timer);
}

void
judge_due_set(struct judge *j, struct judge_due *d, uint64_t at_ms)
{
	if (at_ms == JUDGE_NEVER)
		heap_unset(&j->heap, &d->timer);
	else
		heap_set(&j->heap, &d->timer, at_ms);
}

void
judge_due_unset(struct judge *j, struct judge_due *d)
{
	heap_unset(&j->heap, &d->timer);
}

/* All that had to be done before @now_ms has been, or never will. */
static void
judge_pass(struct judge *j, uint64_t now_ms)
{
	struct timer *t;

	while (!j->guilty && (t = heap_first(&j->heap)) != NULL &&
	    t->at_ms < now_ms) {
		struct judge_due *d = (struct judge_due *)t;

		heap_unset(&j->heap, t);
		if (t->at_ms > j->now_ms)
			j->now_ms = t->at_ms;
		d->miss(j, d->owner);
	}
	if (!j->guilty)
		j->now_ms = now_ms;
}

/* ---- hosts and their clocks ------------------------------------------- */

bool
judge_is_known_host(unsigned host)
{
	return host < FACT_HOSTS_MAX;
}

char
judge_host_name(unsigned host)
{
	return judge_is_known_host(host) ? (char)('A' + host) : '?';
}

bool
judge_is_awake(const struct judge *j, unsigned host)
{
	return j->hosts[host].running && !j->hosts[host].paused;
}

bool
judge_is_mute(const struct judge *j, unsigned host)
{
	return !judge_is_awake(j, host) ||
	    j->now_ms < j->hosts[host].mute_until;
}

uint64_t
judge_rate(const struct judge *j, unsigned host)
{
	return (uint64_t)((int64_t)JUDGE_PPM + j->hosts[host].rate_ppm);
}

uint64_t
judge_most_ms(const struct judge *j, unsigned host, uint64_t ms)
{
	uint64_t rate = judge_rate(j, host);

	return (ms * JUDGE_PPM + rate - 1) / rate;
}

uint64_t
judge_least_ms(const struct judge *j, unsigned host, uint64_t ms)
{
	if (ms == 0)
		return 0;
	return (ms - 1) * JUDGE_PPM / judge_rate(j, host) + 1;
}

/* With the drift on top, rounded up. */
uint64_t
judge_stretch_ms(const struct judge *j, uint64_t ms)
{
	return ms + (ms * j->rules.drift_ppm + JUDGE_PPM - 1) / JUDGE_PPM;
}

static void
judge_started(struct judge *j, const struct fact *f)
{
	struct judge_host *h = &j->hosts[f->host];

	if (h->running)
		judge_host_ended(j, f->host, true);
	h->running = true;
	h->paused = false;
	h->started_ms = f->at_ms;
	h->rate_ppm = f->rate_ppm;
}

static void
judge_died(struct judge *j, const struct fact *f)
{
	struct judge_host *h = &j->hosts[f->host];

	if (!h->running)
		return;
	judge_host_ended(j, f->host, f->kind == FACT_DIED);
	h->running = false;
	h->paused = false;
	h->died_ms = f->at_ms;
}

static void
judge_paused(struct judge *j, const struct fact *f)
{
	struct judge_host *h = &j->hosts[f->host];

	h->paused = true;
	if (f->kind != FACT_FROZEN)
		return;
	h->frozen_ms = f->at_ms;
	h->frozen_until = JUDGE_NEVER;
	judge_host_froze(j, f->host);
}

static void
judge_resumed(struct judge *j, const struct fact *f)
{
	struct judge_host *h = &j->hosts[f->host];
	bool stood = h->frozen_until == JUDGE_NEVER;

	h->paused = false;
	h->resumed_ms = f->at_ms;
	h->mute_until = f->at_ms + j->rules.lateness_ms + 1;
	if (stood)
		h->frozen_until = f->at_ms;
	judge_host_resumed(j, f->host, stood ? f->at_ms - h->frozen_ms : 0);
}

/* ---- outside ---------------------------------------------------------- */

struct judge *
judge_new(const struct judge_rules *rules, uint32_t n_namespaces)
{
	struct judge *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->rules = *rules;
	j->n_namespaces = n_namespaces;
	j->quiet_ms = JUDGE_NEVER;
	return j;
}

void
judge_free(struct judge *j)
{
	struct timer *t;

	if (j == NULL)
		return;
	while ((t = heap_first(&j->heap)) != NULL)
		heap_unset(&j->heap, t);
	judge_client_free_all(j);
	judge_lock_free_all(j);
	judge_session_free_all(j);
	judge_kept_free_all(j);
	judge_text_free_all(j);
	heap_done(&j->heap);
	free(j);
}

static void
judge_take(struct judge *j, const struct fact *f)
{
	switch (f->kind) {
	case FACT_STARTED:
		judge_started(j, f);
		return;
	case FACT_DIED:
	case FACT_ENDED:
		judge_died(j, f);
		return;
	case FACT_PAUSED:
	case FACT_FROZEN:
		judge_paused(j, f);
		return;
	case FACT_RESUMED:
		judge_resumed(j, f);
		return;
	case FACT_RELEASES:
		judge_linger_released(j, f->host);
		return;
	case FACT_REPEATED:
		j->hosts[f->host].repeated = true;
		j->hosts[f->host].repeated_ms = f->at_ms;
		return;
	case FACT_QUIET:
		judge_quiet_begin(j);
		return;
	case FACT_LOCK:
		judge_lock_fact(j, f);
		return;
	case FACT_SESSION:
		judge_session_fact(j, f);
		return;
	case FACT_RECORD:
		judge_record_fact(j, f);
		return;
	case FACT_MARKED:
		judge_mark_fact(j, f);
		return;
	case FACT_PEER_HAS:
	case FACT_PEER_LEFT:
		judge_belief_fact(j, f);
		return;
	default:
		judge_client_fact(j, f);
		return;
	}
}

bool
judge_fact(struct judge *j, const struct fact *f)
{
	if (j->guilty)
		return false;
	judge_pass(j, f->at_ms);
	if (!j->guilty)
		judge_take(j, f);
	return !j->guilty;
}

/* Nobody was told of its end: the client looked at its clock. */
static void
judge_end_hold(struct judge *j, const struct judge_hold *h)
{
	struct judge_turn *t = &h->lock->turns[h->turn];

	t->exempt = judge_hold_is_exempt(h);
	if (h->until_ms > j->now_ms)
		return;
	t->end = END_DESERTED;
	t->end_ms = t->ended_ms = h->until_ms;
}

bool
judge_end(struct judge *j, uint64_t at_ms)
{
	const struct judge_lock *l;
	const struct judge_hold *h;

	if (j->guilty)
		return false;
	judge_pass(j, at_ms);
	for (l = j->locks; l != NULL && !j->guilty; l = l->hh.next) {
		DL_FOREACH(l->holds, h)
		{
			judge_end_hold(j, h);
		}
		judge_turns_end(j, l);
		if (!judge_is_foreign(j, l) ||
		    j->rules.foreign[l->namespace_index].tokens)
			judge_order_check(j, l);
	}
	return !j->guilty;
}

const struct judge_finding *
judge_finding(const struct judge *j)
{
	return j->guilty ? &j->finding : NULL;
}

void
judge_count(const struct judge *j, struct judge_counts *ret)
{
	*ret = j->counts;
}
