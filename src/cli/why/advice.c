/*
 * What to do. Nothing is advised that the facts do not bear out: a process is
 * named only if /proc shows that it is the client's, a time only if the daemon
 * has observed it, and a command only if its words can be pasted.
 */
#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "cli/why/advice.h"
#include "ddblock.h"

#define ADVICE_TEXT_MAX 1024
#define ADVICE_COMMAND_MAX (16 * WHY_TEXT_MAX)

/* One more; NULL: there is no room for it. */
static struct why_advice *
advice_add(struct why_advices *all, const char *text)
{
	struct why_advice *a;

	if (all->n == WHY_ADVICE_MAX)
		return NULL;
	a = &all->all[all->n++];
	buffer_init(&a->text, ADVICE_TEXT_MAX);
	buffer_init(&a->command, ADVICE_COMMAND_MAX);
	(void)buffer_append_text(&a->text, text);
	return a;
}

/* "ddblock run -n KEY -- COMMAND..." */
static void
advice_ddblock(struct why_advice *a, const struct why_facts *f,
    const char *before, const char *after)
{
	if (a != NULL && f->words[0] != '\0')
		(void)buffer_printf(&a->command, "ddblock %s %s%s", before,
		    f->words, after);
}

/* May this host grant anything? */
static bool
advice_can_grant(const struct why_facts *f, struct why_advices *all)
{
	const struct why_daemon *d = &f->daemon;
	struct why_advice *a;

	if (d->draining) {
		a = advice_add(all, "this host grants no new locks, because it "
		    "is drained. An administrator ends that:");
		if (a != NULL)
			(void)buffer_append_text(&a->command,
			    "ddblock undrain");
		return false;
	}
	if (d->removed) {
		(void)advice_add(all, "the namespace is in the configuration "
		    "no more: nothing new is granted there.");
		return false;
	}
	if (d->known && !d->open) {
		a = advice_add(all, "the daemon cannot grant anything now: its "
		    "session is not open. See what is wrong with the store:");
		if (a != NULL)
			(void)buffer_append_text(&a->command, "ddblock check");
		return false;
	}
	return true;
}

/* A new client is last in line. */
static void
advice_line(const struct why_facts *f, struct why_advices *all)
{
	struct why_advice *a;

	if (f->n_waiters == 0 || (a = advice_add(all, "")) == NULL)
		return;
	(void)buffer_printf(&a->text, "%zu wait%s here before you.",
	    f->n_waiters + f->n_more_waiters,
	    f->n_waiters + f->n_more_waiters == 1 ? "s" : "");
}

static void
advice_free(const struct why_facts *f, struct why_advices *all)
{
	if (!advice_can_grant(f, all))
		return;
	if (f->n_waiters > 0) {
		(void)advice_add(all, "wait: the first waiter is about to get "
		    "it.");
		return;
	}
	advice_ddblock(advice_add(all, "nothing holds it. This gets it:"), f,
	    "run -n", " -- COMMAND...");
}

static void
advice_break(const struct why_facts *f, const char *why,
    struct why_advices *all)
{
	const struct why_lock *l = &f->lock;
	struct why_advice *a = advice_add(all, why);

	if (a == NULL || f->words[0] == '\0')
		return;
	/* Without a token it shows the holder, and asks. */
	if (l->token[0] == '\0' || strcmp(l->token, "0") == 0)
		advice_ddblock(a, f, "break --reason=WHY", "");
	else
		(void)buffer_printf(&a->command, "ddblock break --token=%s "
		    "--reason=WHY %s", l->token, f->words);
}

/* The last resort, if its holder lives. */
static void
advice_break_living(const struct why_facts *f, struct why_advices *all)
{
	advice_break(f, "or, as an administrator, break it; if its holder "
	    "still works, it goes on without protection:", all);
}

static void
advice_kill(struct why_advices *all, const char *signal, pid_t pid,
    const char *text)
{
	struct why_advice *a = advice_add(all, text);

	if (a != NULL)
		(void)buffer_printf(&a->command, "kill%s %ld", signal,
		    (long)pid);
}

/* The processes that are stopped, of holds that are not lost. */
static void
advice_stopped(const struct why_facts *f, struct why_advices *all)
{
	for (size_t i = 0; i < f->n_holds; i++) {
		const struct why_client *c = &f->holds[i].client;
		const struct why_process *of = &f->holds[i].of;
		const char *text = "a process of its holder is stopped (state "
		    "T), and the lock stays held meanwhile. Let it go on:";

		if (f->holds[i].lost)
			continue;
		if (c->process.stopped)
			advice_kill(all, " -CONT", c->process.pid, text);
		if (c->process.stopped_child > 0)
			advice_kill(all, " -CONT", c->process.stopped_child,
			    text);
		if (of->stopped && of->pid != c->process.pid)
			advice_kill(all, " -CONT", of->pid, text);
	}
}

/* Of one hold, by a process that is known for sure, how to end it. */
static void
advice_end(const struct why_facts *f, struct why_advices *all)
{
	const struct why_hold *h = f->holds;
	const struct why_process *p = h->of.pid != 0 ? &h->of :
	    &h->client.process;

	if (f->n_holds != 1 || f->n_more_holds > 0 || h->lost || !p->seen)
		return;
	if (f->uid != 0 && f->uid != h->client.uid) {
		(void)advice_add(all, "or ask its user to end its process: the "
		    "lock is free when that has ended.");
		return;
	}
	advice_kill(all, "", p->pid, "or end its process: the lock is free "
	    "when that has ended.");
}

/* It is on the way to all of its locks: the next one tells more. */
static void
advice_kept_for(const struct why_facts *f, struct why_advices *all)
{
	struct why_advice *a = f->kept_for[0] == '\0' ? NULL :
	    advice_add(all, "see what its client waits for:");

	if (a != NULL && f->kept_words[0] != '\0')
		(void)buffer_printf(&a->command, "ddblock why %s",
		    f->kept_words);
}

static void
advice_held(const struct why_facts *f, struct why_advices *all)
{
	const struct why_lock *l = &f->lock;
	struct why_advice *a;

	advice_stopped(f, all);
	advice_kept_for(f, all);
	advice_line(f, all);
	if (l->shared && l->limit > l->holders && f->n_waiters == 0) {
		a = advice_add(all, "");
		if (a == NULL)
			return;
		(void)buffer_printf(&a->text, "%" PRIu64 " of %" PRIu64
		    " places are taken. For one of the others:", l->holders,
		    l->limit);
		if (f->words[0] != '\0')
			(void)buffer_printf(&a->command, "ddblock run -n "
			    "-c %" PRIu64 " %s -- COMMAND...", l->limit,
			    f->words);
		return;
	}
	advice_ddblock(advice_add(all, l->shared && l->limit > 0 ?
	    "wait until one of them is done:" : l->shared ?
	    "to have it alone, wait until all of them are done:" :
	    "wait until it is done:"), f, "run -w 10m", " -- COMMAND...");
	advice_end(f, all);
	advice_break_living(f, all);
}

static void
advice_danger(const struct why_facts *f, struct why_advices *all)
{
	struct why_advice *a = advice_add(all, "find out why the lease is not "
	    "renewed; the holder was warned, and loses the lock in time if it "
	    "stays so:");

	if (a != NULL)
		(void)buffer_append_text(&a->command, "ddblock check");
	advice_stopped(f, all);
}

static void
advice_lost(const struct why_facts *f, struct why_advices *all)
{
	(void)advice_add(all, "wait some seconds: its holder was told that it "
	    "lost the lock, which others can have a margin later.");
	for (size_t i = 0; i < f->n_holds; i++) {
		const struct why_process *p = &f->holds[i].client.process;

		if (p->seen && !p->stopped && p->stopped_child == 0)
			advice_kill(all, "", p->pid, "its process is still "
			    "there. If it works on, it does so without "
			    "protection. End it:");
		else if (p->seen)
			advice_kill(all, " -KILL", p->pid, "its process is "
			    "still there, stopped, and cannot have noticed. If "
			    "it goes on, it does so without protection. End "
			    "it:");
	}
}

static void
advice_lingering(const struct why_facts *f, struct why_advices *all)
{
	struct why_advice *a = advice_add(all, "");
	char time[WHY_TIME_MAX];
	uint64_t ms = 0;

	for (size_t i = 0; i < f->n_holds; i++) {
		if (f->holds[i].lingers_ms != WHY_UNKNOWN_MS &&
		    f->holds[i].lingers_ms > ms)
			ms = f->holds[i].lingers_ms;
	}
	if (a != NULL)
		(void)buffer_printf(&a->text, "wait %s: if its client does not "
		    "come back by then, the lock is free.", why_time(ms, time));
	advice_break_living(f, all);
}

/* Longer than its client needed it, so that no other one follows too soon. */
static void
advice_stays(const struct why_facts *f, struct why_advices *all)
{
	struct why_advice *a = advice_add(all, "");
	char time[WHY_TIME_MAX];
	uint64_t ms = 0;

	for (size_t i = 0; i < f->n_holds; i++) {
		if (f->holds[i].at_least_ms != WHY_UNKNOWN_MS &&
		    f->holds[i].at_least_ms > ms)
			ms = f->holds[i].at_least_ms;
	}
	if (a != NULL)
		(void)buffer_printf(&a->text, "wait %s: then it is free.",
		    why_time(ms, time));
	advice_break(f, "or, as an administrator, break it: its client is "
	    "done with it:", all);
}

static void
advice_elsewhere(const struct why_facts *f, struct why_advices *all)
{
	const struct why_lock *l = &f->lock;
	const char *at = strchr(l->owner, '/');
	struct why_advice *a;

	advice_line(f, all);
	a = advice_add(all, "");
	if (a != NULL && at != NULL && f->daemon.format[0] == '\0')
		(void)buffer_printf(&a->text, "ask on its host (%.*s, as its "
		    "owner's name has it) what it does:",
		    (int)(at - l->owner), l->owner);
	else if (a != NULL)
		(void)buffer_append_text(&a->text, "ask on its host what it "
		    "does:");
	advice_ddblock(a, f, "why", "");
	a = advice_add(all, l->unchanged_ms != WHY_UNKNOWN_MS ||
	    l->fail_closed ? "or wait:" :
	    "or wait. Nobody here does, so this daemon does not observe that "
	    "host: only from now on could it say whether it lives. If it is "
	    "gone, the waiter gets the lock after its lease:");
	advice_ddblock(a, f, "run -w 10m", " -- COMMAND...");
	advice_break_living(f, all);
}

static void
advice_silent(const struct why_facts *f, struct why_advices *all)
{
	const struct why_lock *l = &f->lock;
	struct why_advice *a;
	char silent[WHY_TIME_MAX], until[WHY_TIME_MAX];

	if (l->fail_closed) {
		advice_break(f, "it is held fail-closed, so nobody can take "
		    "it over. If its host is gone, find out what became of "
		    "the work; then an administrator breaks it:", all);
		return;
	}
	a = advice_add(all, "");
	if (a == NULL)
		return;
	(void)buffer_printf(&a->text, "wait%s%s: its host has been silent for "
	    "%s", l->expires_ms == WHY_UNKNOWN_MS ? "" : " ",
	    l->expires_ms == WHY_UNKNOWN_MS ? "" :
	    why_time(l->expires_ms, until), why_time(l->unchanged_ms, silent));
	(void)buffer_append_text(&a->text, l->expires_ms == WHY_UNKNOWN_MS ?
	    ". If it stays so, a waiter gets the lock after its lease." :
	    "; its lease ends then, and a waiter gets the lock.");
	if (f->n_waiters == 0)
		advice_ddblock(a, f, "run -w 10m", " -- COMMAND...");
}

static void
advice_dead(const struct why_facts *f, struct why_advices *all)
{
	if (!advice_can_grant(f, all))
		return;
	if (f->n_waiters > 0)
		(void)advice_add(all, "wait: the first waiter is about to get "
		    "it.");
	else
		advice_ddblock(advice_add(all, "its holder is gone. This gets "
		    "it:"), f, "run -n", " -- COMMAND...");
}

static void
advice_unknown(const struct why_facts *f, struct why_advices *all)
{
	struct why_advice *a;

	if (f->code == DDBLOCK_E_BAD_RECORD) {
		(void)advice_add(all, "mend its record in the store, or remove "
		    "it if nothing holds the lock: as it is, no client gets "
		    "it.");
		return;
	}
	if (f->code == DDBLOCK_E_SHUTTING_DOWN || f->code == DDBLOCK_E_LIMIT) {
		(void)advice_add(all, "ask again in a moment.");
		return;
	}
	a = advice_add(all, "the store did not say who holds it. See what is "
	    "wrong with it:");
	if (a != NULL)
		(void)buffer_append_text(&a->command, "ddblock check");
}

static void
advice_hidden(const struct why_facts *f, struct why_advices *all)
{
	struct why_advice *a = advice_add(all, "you may not see this lock. "
	    "Ask an administrator, who can see it, and which rule of access "
	    "says so:");

	if (a != NULL && f->words[0] != '\0')
		(void)buffer_printf(&a->command, "ddblock why %s", f->words);
}

void
why_advise(const struct why_facts *f, enum why_state state,
    struct why_advices *ret)
{
	static void (*const by_state[])(const struct why_facts *,
	    struct why_advices *) = {
		[WHY_FREE] = advice_free, [WHY_HELD] = advice_held,
		[WHY_STOPPED] = advice_held, [WHY_DANGER] = advice_danger,
		[WHY_LOST] = advice_lost, [WHY_LINGERING] = advice_lingering,
		[WHY_STAYS] = advice_stays,
		[WHY_ELSEWHERE] = advice_elsewhere,
		[WHY_SILENT] = advice_silent, [WHY_DEAD] = advice_dead,
		[WHY_UNKNOWN] = advice_unknown, [WHY_HIDDEN] = advice_hidden,
	};

	ret->n = 0;
	if (state == WHY_KEPT)
		advice_break(f, "only a break ends this: find out what became "
		    "of the work that was done under it; then an administrator "
		    "breaks it:", ret);
	else
		by_state[state](f, ret);
}

void
why_advices_done(struct why_advices *all)
{
	for (size_t i = 0; i < all->n; i++) {
		buffer_done(&all->all[i].text);
		buffer_done(&all->all[i].command);
	}
	all->n = 0;
}
