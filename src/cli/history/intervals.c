/*
 * Intervals of the audit trail's lines: what each line does. See intervals.h.
 */
#include <config.h>

#include "cli/history/intervals.h"

#include <stdlib.h>
#include <string.h>

#include "cli/history/entry.h"

#define INTERVALS_MACHINES_MAX 256
#define INTERVALS_BREAK_BACK_MAX 200	/* to look for what was broken */

struct intervals {
	uint64_t since_us, until_us;
	size_t max;
	struct entry *all;
	struct entry *open;	/* a table */
	size_t n;
	size_t n_left_out;
	bool failed;		/* out of memory */
	struct {
		char machine[EVENT_WORD_MAX];
		char boot[EVENT_WORD_MAX];
	} boots[INTERVALS_MACHINES_MAX];
	size_t n_boots;
};

static const struct {
	const char *word;
	const char *text;
} interval_ends[] = {
#define END(id, word, text) [INTERVAL_##id] = { #word, text },
	INTERVAL_ENDS(END)
#undef END
};

const char *
interval_end_word(enum interval_end end)
{
	return interval_ends[end].word;
}

const char *
interval_end_text(enum interval_end end)
{
	return interval_ends[end].text;
}

struct intervals *
intervals_new(uint64_t since_us, uint64_t until_us, size_t max)
{
	struct intervals *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->since_us = since_us;
	s->until_us = until_us;
	s->max = max;
	return s;
}

static void
intervals_drop(struct intervals *s, struct entry *e)
{
	DL_DELETE(s->all, e);
	s->n--;
	entry_free(e);
}

void
intervals_free(struct intervals *s)
{
	if (s == NULL)
		return;
	HASH_CLEAR(hh, s->open);
	while (s->all != NULL)
		intervals_drop(s, s->all);
	free(s);
}

static void
intervals_set(struct intervals *s, char **to, const char **shown,
    const char *text)
{
	s->failed = !entry_set(to, shown, text) || s->failed;
}

/* The earliest that has ended makes room. */
static void
intervals_make_room(struct intervals *s)
{
	struct entry *e = s->all;

	while (s->n >= s->max && e != NULL) {
		struct entry *next = e->next;

		if (!entry_is_open(e)) {
			intervals_drop(s, e);
			s->n_left_out++;
		}
		e = next;
	}
}

/* NULL: it is of no interest, or there is no memory. */
static struct entry *
intervals_begin(struct intervals *s, const struct event *e, bool began)
{
	char id[ENTRY_ID_MAX];
	struct entry *new;

	if (e->wall_us > s->until_us)
		return NULL;
	intervals_make_room(s);
	entry_id(e, id);
	new = entry_new(e, id);
	s->failed = s->failed || new == NULL;
	if (new == NULL)
		return NULL;
	new->shown.began = began;
	DL_APPEND(s->all, new);
	s->n++;
	HASH_ADD_KEYPTR(hh, s->open, new->id, strlen(new->id), new);
	s->failed = s->failed || new->hh.tbl == NULL;
	return new;
}

/* What ended before the time that is asked for is of no use. */
static void
intervals_end(struct intervals *s, struct entry *i, enum interval_end end,
    const struct moment *at)
{
	if (i->hh.tbl != NULL)
		HASH_DELETE(hh, s->open, i);
	i->hh.tbl = NULL;
	i->shown.end = end;
	i->shown.until_us = at->wall_us;
	i->shown.is_bound = end == INTERVAL_GONE || end == INTERVAL_REBOOT;
	if (i->shown.began && !i->shown.is_bound)
		entry_measure(i, at);
	if (at->wall_us < s->since_us &&
	    strcmp(i->shown.reason, "broken") != 0)
		intervals_drop(s, i);
}

static void
intervals_end_now(struct intervals *s, struct entry *i, enum interval_end end,
    const struct event *e)
{
	const struct moment at = moment_of(e);

	intervals_end(s, i, end, &at);
}

static struct entry *
intervals_find(struct intervals *s, const struct event *e)
{
	char id[ENTRY_ID_MAX];
	struct entry *i;

	entry_id(e, id);
	HASH_FIND_STR(s->open, id, i);
	return i;
}

/* The interval that a line goes on with, whose beginning may be missing. */
static struct entry *
intervals_of(struct intervals *s, const struct event *e)
{
	struct entry *i = intervals_find(s, e);

	return i != NULL ? i : intervals_begin(s, e, false);
}

/* ---- what the lines do ------------------------------------------------ */

/* All without an end of the boots before. */
static void
intervals_reboot(struct intervals *s, const struct event *e)
{
	struct entry *i, *next;

	HASH_ITER(hh, s->open, i, next)
	{
		if (i->shown.end != INTERVAL_NONE ||
		    !entry_is_of_other_boot(i, e))
			continue;
		if (i->stopped.wall_us > 0)
			intervals_end(s, i, INTERVAL_STOPPED, &i->stopped);
		else
			intervals_end_now(s, i, INTERVAL_REBOOT, e);
	}
}

static void
intervals_stopped(struct intervals *s, const struct event *e)
{
	struct entry *i, *next;

	HASH_ITER(hh, s->open, i, next)
	{
		if (entry_is_of_daemon(i, e))
			i->stopped = moment_of(e);
	}
}

static void
intervals_started(struct intervals *s, const struct event *e)
{
	struct entry *i, *next;

	HASH_ITER(hh, s->open, i, next)
	{
		if (!entry_is_of_daemon(i, e) || i->shown.end != INTERVAL_NONE)
			continue;
		if (e->inherited)
			i->stopped.wall_us = 0;
		else if (i->stopped.wall_us > 0)
			intervals_end(s, i, INTERVAL_STOPPED, &i->stopped);
		else
			intervals_end_now(s, i, INTERVAL_GONE, e);
	}
}

void
intervals_finish(struct intervals *s)
{
	struct entry *i, *next;

	HASH_ITER(hh, s->open, i, next)
	{
		if (i->shown.end == INTERVAL_NONE && i->stopped.wall_us > 0)
			intervals_end(s, i, INTERVAL_STOPPED, &i->stopped);
	}
}

/* The first line after a boot ends what was held before it. */
static void
intervals_see_boot(struct intervals *s, const struct event *e)
{
	size_t i = 0;

	while (i < s->n_boots && strcmp(s->boots[i].machine, e->machine) != 0)
		i++;
	if (i == INTERVALS_MACHINES_MAX)
		return;
	if (i < s->n_boots && strcmp(s->boots[i].boot, e->boot) != 0)
		intervals_reboot(s, e);
	if (i == s->n_boots)
		s->n_boots++;
	memcpy(s->boots[i].machine, e->machine, sizeof(e->machine));
	memcpy(s->boots[i].boot, e->boot, sizeof(e->boot));
}

/* The hold under its former token, or in its former mode. */
static void
intervals_downgrade(struct intervals *s, const struct event *e)
{
	struct entry *i, *next;

	HASH_ITER(hh, s->open, i, next)
	{
		if (i->hold == e->hold && entry_is_of_lock(i, e) &&
		    entry_is_of_daemon(i, e))
			intervals_end_now(s, i, INTERVAL_DOWNGRADED, e);
	}
}

/* A reentrant hold is granted more than once, and ends once. */
static void
intervals_granted(struct intervals *s, const struct event *e)
{
	if (strcmp(e->reason, "downgrade") == 0)
		intervals_downgrade(s, e);
	if (intervals_find(s, e) == NULL)
		(void)intervals_begin(s, e, true);
}

static void
intervals_ended(struct intervals *s, const struct event *e,
    enum interval_end end)
{
	struct entry *i = intervals_of(s, e);

	if (i == NULL)
		return;
	intervals_set(s, &i->reason, &i->shown.reason, e->reason);
	/* So CORE_END_CLOSED says, and only that. */
	if (end == INTERVAL_RELEASED &&
	    strstr(e->reason, "it stays held") != NULL)
		i->shown.end = INTERVAL_KEPT;
	else
		intervals_end_now(s, i, end, e);
}

static void
intervals_resumed(struct intervals *s, const struct event *e)
{
	struct entry *i = intervals_of(s, e);

	if (i == NULL)
		return;
	i->shown.resumes++;
	if (!e->has_client)
		return;
	i->shown.has_client = true;
	i->shown.uid = e->uid;
	i->shown.pid = e->pid;
	intervals_set(s, &i->name, &i->shown.name, e->name);
}

static void
intervals_endangered(struct intervals *s, const struct event *e)
{
	struct entry *i = intervals_of(s, e);

	if (i != NULL)
		i->shown.dangers++;
}

/* What was broken: it has no end yet, because its client left it or its daemon,
 * on another host, hears of it later; or it ended just now. */
static struct entry *
intervals_find_broken(struct intervals *s, const struct event *e)
{
	struct entry *i, *next;
	size_t n = 0;

	HASH_ITER(hh, s->open, i, next)
	{
		if (entry_is_of_lock(i, e) && (i->shown.end == INTERVAL_KEPT ||
		    strcmp(i->shown.token, e->token) == 0))
			return i;
	}
	for (i = s->all == NULL ? NULL : s->all->prev;
	    i != NULL && n < INTERVALS_BREAK_BACK_MAX; n++) {
		if (entry_is_of_lock(i, e) && i->broken_by == NULL &&
		    strcmp(i->shown.reason, "broken") == 0)
			return i;
		i = i == s->all ? NULL : i->prev;
	}
	return NULL;
}

static void
intervals_broken(struct intervals *s, const struct event *e)
{
	struct entry *i;
	bool ends;

	if (strcmp(e->code, "OK") != 0)
		return;
	i = intervals_find_broken(s, e);
	ends = i != NULL && i->shown.end == INTERVAL_KEPT;
	if (i == NULL) {
		/* The holder's host has another journal. */
		i = intervals_begin(s, e, false);
		if (i == NULL)
			return;
		i->shown.has_client = false;
		i->shown.host = i->shown.name = "";
		ends = true;
	}
	intervals_set(s, &i->broken_by, &i->shown.broken_by, e->broken_by);
	if (!ends)
		return;
	intervals_set(s, &i->reason, &i->shown.reason, "broken");
	intervals_end_now(s, i, INTERVAL_LOST, e);
}

bool
intervals_add(struct intervals *s, const struct event *e)
{
	intervals_see_boot(s, e);
	switch (e->kind) {
	case TRAIL_START:
		intervals_started(s, e);
		break;
	case TRAIL_STOP:
		intervals_stopped(s, e);
		break;
	case TRAIL_GRANT:
		intervals_granted(s, e);
		break;
	case TRAIL_RESUME:
		intervals_resumed(s, e);
		break;
	case TRAIL_RELEASE:
		intervals_ended(s, e, INTERVAL_RELEASED);
		break;
	case TRAIL_LOSS:
		intervals_ended(s, e, INTERVAL_LOST);
		break;
	case TRAIL_DANGER:
		intervals_endangered(s, e);
		break;
	case TRAIL_BREAK:
		intervals_broken(s, e);
		break;
	default:
		break;
	}
	return !s->failed;
}

/* ---- the result ------------------------------------------------------- */

static bool
intervals_overlaps(const struct intervals *s, const struct interval *i)
{
	return i->until_us == 0 || i->until_us >= s->since_us;
}

const struct interval *
intervals_next(const struct intervals *s, const struct interval *after)
{
	const struct entry *e = after == NULL ? s->all :
	    ((const struct entry *)after)->next;

	while (e != NULL && !intervals_overlaps(s, &e->shown))
		e = e->next;
	return e == NULL ? NULL : &e->shown;
}

size_t
intervals_left_out(const struct intervals *s)
{
	return s->n_left_out;
}
