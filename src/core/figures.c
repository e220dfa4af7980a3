/*
 * What a namespace counts for metrics.
 *
 * The first entry is for all keys that have no configured prefix. There are
 * few prefixes, and by default none, so a key is compared with all of them.
 */
#include "core/figures.h"

#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

/* The next word from @text on; false: there is none. */
static bool
figures_word(const char **text, struct key *ret)
{
	*text += strspn(*text, " ");
	*ret = (struct key){ *text, strcspn(*text, " ") };
	*text += ret->length;
	return ret->length > 0;
}

int
figures_init(struct namespace *ns, const char *prefixes)
{
	const char *text = prefixes == NULL ? "" : prefixes;
	struct key word;

	ns->figures = calloc(1 + CORE_PREFIXES_MAX, sizeof(*ns->figures));
	if (ns->figures == NULL)
		return DDBLOCK_E_NOMEM;
	ns->n_figures = 1;
	while (ns->n_figures <= CORE_PREFIXES_MAX &&
	    figures_word(&text, &word)) {
		ns->figures[ns->n_figures].prefix = strndup(word.bytes,
		    word.length);
		if (ns->figures[ns->n_figures].prefix == NULL)
			return DDBLOCK_E_NOMEM;
		ns->n_figures++;
	}
	return 0;
}

void
figures_done(struct namespace *ns)
{
	for (uint32_t i = 0; i < ns->n_figures; i++)
		free(ns->figures[i].prefix);
	free(ns->figures);
	ns->figures = NULL;
	ns->n_figures = 0;
}

/* The first prefix that fits. */
static struct core_figures *
figures_of(struct namespace *ns, struct key name)
{
	struct key key;

	if (ns->n_figures == 1)
		return &ns->figures[0];
	key = key_split(name).key;
	for (uint32_t i = 1; i < ns->n_figures; i++) {
		const size_t length = strlen(ns->figures[i].prefix);

		if (key.length >= length &&
		    memcmp(key.bytes, ns->figures[i].prefix, length) == 0)
			return &ns->figures[i];
	}
	return &ns->figures[0];
}

void
figures_granted(struct namespace *ns, struct key name)
{
	ns->counters.granted++;
	figures_of(ns, name)->granted++;
}

void
figures_lost(struct namespace *ns, struct key name, enum core_loss loss)
{
	ns->counters.lost++;
	figures_of(ns, name)->lost[loss]++;
}

void
figures_held(struct namespace *ns, struct key name, uint64_t held_ms)
{
	histogram_add(&figures_of(ns, name)->held, HISTOGRAM_WORK, held_ms);
}

void
figures_endangered(struct namespace *ns, struct key name)
{
	figures_of(ns, name)->endangered++;
}

void
figures_answered(struct namespace *ns, struct key name, int code,
    uint64_t waited_ms)
{
	struct core_figures *f = figures_of(ns, name);

	if (code == 0)
		histogram_add(&f->waited, HISTOGRAM_WORK, waited_ms);
	else
		f->failed[-code]++;
}
