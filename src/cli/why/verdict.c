/*
 * What stands in the way. The order of the questions is that of what a person
 * has to know first: a hold that is about to be lost matters more than the
 * reason why its holder does not end.
 */
#include <config.h>

#include "cli/why/verdict.h"

#include "ddblock.h"

#define WHY_TENTHS_BELOW_MS 10000

const char *
why_state_word(enum why_state state)
{
	static const char *const words[] = {
#define WHY(id, word) [WHY_##id] = #word,
		WHY_STATES(WHY)
#undef WHY
	};

	return words[state];
}

const char *
why_time(uint64_t ms, char to[WHY_TIME_MAX])
{
	return time_text(ms, WHY_TENTHS_BELOW_MS, to);
}

/* Those of the holds here that are not lost yet. */
static enum why_state
why_judge_here(const struct why_facts *f)
{
	size_t n_lost = 0, n_danger = 0, n_stopped = 0, n_lingering = 0;
	size_t n_stays = 0;

	for (size_t i = 0; i < f->n_holds; i++) {
		const struct why_hold *h = &f->holds[i];
		const struct why_process *p = &h->client.process;

		n_lost += h->lost;
		n_danger += h->danger;
		n_lingering += !h->lost && h->lingers_ms != WHY_UNKNOWN_MS;
		n_stays += !h->lost && h->client.left &&
		    h->at_least_ms != WHY_UNKNOWN_MS;
		n_stopped += !h->lost && (p->stopped || p->stopped_child > 0 ||
		    h->of.stopped);
	}
	if (f->n_holds > 0 && n_lost == f->n_holds)
		return WHY_LOST;
	return n_danger > 0 ? WHY_DANGER : n_stopped > 0 ? WHY_STOPPED :
	    n_lingering > 0 ? WHY_LINGERING : n_stays > 0 ? WHY_STAYS :
	    WHY_HELD;
}

/* A host that lives renews four times in a lease. */
static bool
why_is_silent(const struct why_lock *l)
{
	return l->unchanged_ms != WHY_UNKNOWN_MS &&
	    l->lease_ms != WHY_UNKNOWN_MS &&
	    l->unchanged_ms > l->lease_ms / 2;
}

enum why_state
why_judge(const struct why_facts *f)
{
	const struct why_lock *l = &f->lock;

	if (f->code == DDBLOCK_E_DENIED)
		return WHY_HIDDEN;
	if (f->code != 0)
		return f->n_holds > 0 ? why_judge_here(f) : WHY_UNKNOWN;
	/* What was lost here may be on its way out of the record. */
	if (!l->held)
		return f->n_holds > 0 && why_judge_here(f) == WHY_LOST ?
		    WHY_LOST : WHY_FREE;
	if (l->fail_closed && l->silent)
		return WHY_KEPT;
	if (l->dead)
		return WHY_DEAD;
	if (l->here || f->n_holds > 0)
		return why_judge_here(f);
	return why_is_silent(l) ? WHY_SILENT : WHY_ELSEWHERE;
}
