/*
 * The judge: takes facts, and checks what is due.
 *
 * The promises to clients (doc/safety.md, "Invariants"):
 *
 *   1  While a hold of a lock is valid, no other hold is, unless both share it
 *      within the same limit, and not more than that: from the grant until the
 *      loss is told, the release is requested, the client leaves, or the
 *      deadline that it was last told, whichever is first.
 *   2  The token of an exclusive grant is greater than that of every earlier
 *      grant, that of a shared grant than that of every earlier exclusive
 *      grant.
 *   3  A holder is told of its loss before another client is granted the lock
 *      that could not share it; if the holder cannot be told, its own deadline
 *      has passed.
 *   4  A grant answers a request of a connection that lives, and has a number
 *      of its own; notices and renewals are about a present hold.
 *   5  A connection that has ended gets no more lines, and its holds leave the
 *      table; so does a released hold.
 *   6  Every request gets exactly one final reply, in time; a cancelled
 *      request, at once. No reply is INTERNAL.
 *   7  No client has more requests or holds than it may; and since it may have
 *      fewer, none gets more by a later request.
 *   8  A free lock is granted to its waiter in time; a shared lock to a waiter
 *      that would share it, if there is room and no waiter mark of another host
 *      for exclusive use.
 *
 * Times:
 *
 *   T1  No deadline is later than a lease less a margin after the send of the
 *       latest renewal that the table ever showed, by the owner's clock.
 *   T2  A holder is warned at the time of danger: neither before nor later.
 *   T3  A holder is told of its loss when its deadline comes.
 *   T4  A hold is lost only for a cause: early, only if its session is dead or
 *       gone; as stolen, only if its element left the table. A release finds
 *       the hold stolen only if another host or user took it.
 *   T5  A deadline never goes back.
 *   T6  After the last fault, no holder is warned and no hold expires; but a
 *       client that asked for earlier warnings may be warned.
 *   T7  A lost hold is not reported as released.
 *   T9  A hold that its own terms end has no deadline after that end, is lost
 *       at that end, and no other client is granted the lock before a margin
 *       after, unless they share it without a limit.
 *   T10 A fail-closed hold has no deadline, and is lost only by a break or by
 *       hand.
 *   T11 A lingering hold is resumed in its time only by a client that has the
 *       secret and is the same user: all of it, unchanged or with the reason
 *       for its loss.
 *
 * Of a host that is drained:
 *
 *   D1  No client there is granted a lock that it does not have.
 *   D2  Waiters there are told so at once, and no client after its end.
 *
 * Turns:
 *
 *   F1  On one host, the first request gets the lock first, for any use.
 *   F2  While another host that lives has a waiter mark and is hindered (by
 *       sharers without a limit: for exclusive use), a host grants the lock to
 *       its own waiters for a lease at most, and handover_max times, those
 *       within a poll of the mark not counted (each counted from a look at the
 *       record, and one look may have missed the mark).
 *   F3  A host that released the lock for a waiter mark acquires again after
 *       two polls.
 *   F4  A waiter mark without a waiter is removed by its own daemon, unless the
 *       session was deleted by hand, or the mark restored.
 *   F5  A waiter for a lock that another host holds has its waiter mark in the
 *       record.
 *   F6  No client joins sharers while there is another host's mark for
 *       exclusive use. No client takes a free lock for the same use as the last
 *       holder while there is another host's mark for the other use; but a
 *       client that marks for exclusive use because of its limit may.
 *
 *   F7  Who stands in line before another host has the lock before it, if it
 *       lives, and for a poll and a quarter can have it; and nobody who stands
 *       in no line has it for exclusive use before those who do.
 *
 * Events for watchers of a lock:
 *
 *   W1  Only of a watched lock, from the answer to the end of the watch.
 *   W2  Only of holders that were there, and never of a holder before the last
 *       one told; but of sharers one may be named again.
 *   W3  That a holder is dead, only after its session was marked dead.
 *   W4  In the end, and in time, the truth; and that the contents have changed.
 *
 * Contents of a lock:
 *
 *   K1  The answer to a grant has the contents of the record, except those of
 *       the request itself, which are in the record, too.
 *   K2  An acknowledged change was written.
 *   K3  Only the host of the exclusive holder writes them. An acknowledged
 *       change is replaced only by a later request's; and a change that was
 *       given up does not land after another client was granted the lock.
 *
 * The table (doc/records.md), by the writer:
 *
 *   R1  A lock's token never goes down and stays below 2^53, also across the
 *       deletion of its item, unless that was made a moment before.
 *   R2  A record with a holder has no ttl; a record after the last release has
 *       one, as long as the retention.
 *   R3  A record in exclusive use has one element at most, a record in shared
 *       use as many as its limit; use and limit do not change while there is an
 *       element, and elements come one at a time. Of a session's elements
 *       without a limit, clients have one. A daemon creates a record with one
 *       element, and never deletes it.
 *   R4  An element is removed by its own daemon, or after its session was
 *       marked dead; a fail-closed element only by its own daemon.
 *   R5  Its own daemon removes it only when no client has it any more, and not
 *       before a margin after it told the loss.
 *   R6  A new element raises the token, is its writer's own, of a session that
 *       was open when it was sent, and has that session's lease.
 *   R7  A grant that left comes back only by a repetition of its own request,
 *       sent in that request's time and before the grant's release.
 *   R8  While the elements do not change, only the owner of an exclusive
 *       element raises the token; no release changes it.
 *   R9  A waiter mark is added only to a record with a holder, or with a line
 *       that it joins. A new holder
 *       removes its own marks: for exclusive use, and a sharer those of both
 *       uses.
 *   R10 `dead` is never removed, and no beat follows it; no daemon deletes a
 *       session.
 *   R11 A session's beat only rises, and only by its own daemon.
 *   R12 A session is created by an open (beat 0, the namespace's lease) or by a
 *       burial; its lease never changes, and each renewal extends its ttl.
 *   R13 It is killed only after its beat did not change for a lease and the
 *       drift, by the killer's clock.
 *   R14 It is buried only after it was absent for the same time, while a lock
 *       showed it.
 *   R15 It is closed only when no client has a hold under it, and not before a
 *       margin after the loss of an element still in the table was told.
 *   R16 When a grant is told, its element is in the table, for this use and
 *       limit, and its session is not dead. If several clients have one
 *       element, all share it without a limit.
 *   R17 The token told was written for that hold: above the token before its
 *       element, at most the present token; a sharer has its element's token.
 *   R18 An element of a living session without a client is removed in time.
 *   R22 A daemon gives no token that is not above those that it gave since it
 *       started, also if the record went back; and after a grant of a lock
 *       whose record went back none that any daemon gave before.
 *   R23 A RAISE writes a whole number of seconds, above all tokens of before,
 *       as a client asked.
 *   R21 The line keeps its order: a host joins it at its end, by itself, and
 *       only if it must wait; and it is not longer than it may be.
 *
 * In records that older clients share, where R1, R16, R18, T1, T4, T8, K1 and
 * K2 are those of the record, and so is K3 while it has the same holder:
 *
 *   P1  No daemon takes or frees another client's lock before its lease is over
 *       by the format's rule, unless it is broken.
 *   P2  A released lock is granted again only with a new token, if the format
 *       has tokens: a renewal that lands late does not bring the hold back.
 *   P3  A lost hold is released by its own daemon a margin after the loss was
 *       told; and a host does not renew a hold without a client for long.
 *   P4  A host that takes over a lock whose lease a version counts has marked
 *       that very record, and the mark was there for a lease and the drift, by
 *       its clock. It is a new mark each time, and is left only while a client
 *       waits at that host.
 *
 * Over a bridge (judge_bridge.c) a key's two records are one lock: 1 and 3 are
 * about the holders of either record, and a hold of both is of two as in J1.
 *
 * And at the end, "order": each lock's history has an order in which its events
 * could have happened one after the other (judge_order.c).
 *
 * Exceptions: holds that were removed or broken by hand, and holds of hosts
 * whose boot clock stood still.
 */
#include "judge_contents.h"
#include "judge_drain.h"
#include "judge_takeover.h"

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

/* The first finding counts: later ones may be its consequences. */
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

/* All duties before @now_ms are done, or never will be. */
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
	h->withdrawn = h->releases = false;
	h->holds_max = 0;
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
	judge_contents_free_all(j);
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
		j->hosts[f->host].releases = true;
		judge_linger_released(j, f->host);
		return;
	case FACT_WITHDRAWN:
		judge_drain_begin(j, f->host);
		return;
	case FACT_RETURNED:
		j->hosts[f->host].withdrawn = false;
		return;
	case FACT_LIMITED:
		j->hosts[f->host].holds_max = f->holds_max;
		j->hosts[f->host].limited_ms = f->at_ms;
		return;
	case FACT_INHERITED:
		judge_takeover_end(j, f);
		return;
	case FACT_KEPT:
		judge_takeover_kept(j, f);
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
	case FACT_ANSWERED:
		judge_drain_answered(j, f);
		judge_client_fact(j, f);
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

/* The client was not told of its end: it looked at its clock. */
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

/* 5: it renews none that it does not need. (One that was restored from a backup
 * it may; and one that it opened long ago may land late.) */
static void
judge_end_sessions(struct judge *j, unsigned host)
{
	const struct judge_session *s;
	uint32_t n = 0;

	DL_FOREACH(j->hosts[host].sessions, s)
	{
		n += s->exists && !s->ever_dead && s->back_ms == 0 &&
		    s->ended_ms == JUDGE_NEVER &&
		    j->now_ms < s->changed_ms + s->lease_ms &&
		    j->now_ms < s->sent_ms + s->lease_ms;
	}
	if (n > j->rules.sessions_max)
		judge_find(j, "5", "%c renews %u sessions in the end",
		    judge_host_name(host), n);
}

bool
judge_end(struct judge *j, uint64_t at_ms)
{
	const struct judge_lock *l;
	const struct judge_hold *h;

	if (j->guilty)
		return false;
	judge_pass(j, at_ms);
	if (j->rules.sessions_max > 0 && judge_quiet_is_calm(j)) {
		for (unsigned i = 0; i < FACT_HOSTS_MAX; i++)
			judge_end_sessions(j, i);
	}
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
