/*
 * An interval while it is made. See entry.h.
 */
#include <config.h>

#include "cli/history/entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_CLOCK_US 2000000	/* less is no change of a clock */

struct moment
moment_of(const struct event *e)
{
	struct moment at = { .wall_us = e->wall_us, .boot_us = e->boot_us };

	memcpy(at.boot, e->boot, sizeof(at.boot));
	return at;
}

void
entry_id(const struct event *e, char ret[ENTRY_ID_MAX])
{
	/* Without a unit a daemon is known by its process only. */
	(void)snprintf(ret, ENTRY_ID_MAX, "%s\n%s\n%" PRIu64 "\n%s\n%s\n"
	    "%s\n%" PRIu64 "\n%s", e->machine, e->unit,
	    e->unit[0] == '\0' ? e->daemon : 0, e->ns, e->key, e->sort,
	    e->hold, e->token);
}

static const char *
entry_keep(char **at, const char *text)
{
	const size_t size = strlen(text) + 1;
	char *kept = *at;

	memcpy(kept, text, size);
	*at += size;
	return kept;
}

bool
entry_set(char **to, const char **shown, const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		return false;
	free(*to);
	*shown = *to = copy;
	return true;
}

struct entry *
entry_new(const struct event *e, const char *id)
{
	const char *const texts[] = { e->boot, e->machine, e->host, e->unit,
		e->ns, e->key, e->sort, e->token, e->owner, id };
	const char *kept[sizeof(texts) / sizeof(texts[0])];
	size_t size = 0;
	struct entry *new;
	char *at;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		size += strlen(texts[i]) + 1;
	new = calloc(1, sizeof(*new) + size);
	if (new == NULL)
		return NULL;
	at = new->texts;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		kept[i] = entry_keep(&at, texts[i]);
	new->boot = kept[0];
	new->machine = kept[1];
	new->shown.host = kept[2];
	new->unit = kept[3];
	new->shown.ns = kept[4];
	new->shown.key = kept[5];
	new->shown.sort = kept[6];
	new->shown.token = kept[7];
	new->shown.owner = kept[8];
	new->id = kept[9];
	new->shown.reason = new->shown.broken_by = "";
	new->shown.name = "";
	new->boot_us = e->boot_us;
	new->hold = e->hold;
	new->daemon = e->daemon;
	new->shown.from_us = e->wall_us;
	new->shown.shared = e->shared;
	new->shown.has_client = e->has_client;
	new->shown.uid = e->uid;
	new->shown.pid = e->pid;
	if (entry_set(&new->name, &new->shown.name, e->name))
		return new;
	entry_free(new);
	return NULL;
}

void
entry_free(struct entry *e)
{
	free(e->name);
	free(e->reason);
	free(e->broken_by);
	free(e);
}

/* By the clock that nobody sets, if that is the same one. */
void
entry_measure(struct entry *i, const struct moment *e)
{
	const uint64_t from_us = i->shown.from_us;
	const bool same = strcmp(i->boot, e->boot) == 0 && i->boot_us > 0 &&
	    e->boot_us >= i->boot_us;
	const uint64_t wall_us = e->wall_us > from_us ?
	    e->wall_us - from_us : 0;
	const uint64_t boot_us = same ? e->boot_us - i->boot_us : wall_us;

	i->shown.held_us = boot_us;
	i->shown.clock_set = (wall_us > boot_us ? wall_us - boot_us :
	    boot_us - wall_us) > ENTRY_CLOCK_US || e->wall_us < from_us;
}

bool
entry_is_open(const struct entry *e)
{
	return e->shown.end == INTERVAL_NONE || e->shown.end == INTERVAL_KEPT;
}

bool
entry_is_of_lock(const struct entry *i, const struct event *e)
{
	return strcmp(i->shown.key, e->key) == 0 &&
	    strcmp(i->shown.sort, e->sort) == 0 &&
	    strcmp(i->shown.ns, e->ns) == 0;
}

bool
entry_is_of_daemon(const struct entry *i, const struct event *e)
{
	return strcmp(i->machine, e->machine) == 0 &&
	    strcmp(i->unit, e->unit) == 0 &&
	    (i->unit[0] != '\0' || i->daemon == e->daemon);
}

bool
entry_is_of_other_boot(const struct entry *i, const struct event *e)
{
	return strcmp(i->machine, e->machine) == 0 &&
	    strcmp(i->boot, e->boot) != 0;
}
