/*
 * The verbs whose answer has rows, and the words that narrow it.
 */
#include <string.h>

#include "common/error.h"
#include "ipc/connection.h"

struct verbs_state {
	const char *word;
	enum listing_state state;
};

/* What a verb lists, in its states, up to a NULL. */
struct verbs_states {
	struct verbs_state states[4];
	const char *they_are;
};

static const struct verbs_states verbs_locks = {
	{ { "free", LISTING_FREE }, { "held", LISTING_HELD },
	    { "dead", LISTING_DEAD }, { NULL, 0 } },
	"a lock is free, held or dead",
};

static const struct verbs_states verbs_holds = {
	{ { "held", LISTING_HELD }, { "danger", LISTING_DANGER },
	    { "lost", LISTING_LOST }, { NULL, 0 } },
	"a hold is held, in danger or lost: held, danger, lost",
};

/* The bit of the word that begins at @word; 0: there is none such. */
static unsigned
verbs_state(const struct verbs_states *of, const char *word, size_t length)
{
	const struct verbs_state *s;

	for (s = of->states; s->word != NULL; s++) {
		if (strlen(s->word) == length &&
		    memcmp(s->word, word, length) == 0)
			return s->state;
	}
	return 0;
}

/* One word or several, with commas between. */
static int
verbs_states_of(struct connection *c, const struct codec_line *l,
    const struct verbs_states *of, unsigned *ret)
{
	const struct codec_text *text = codec_find(l, "state");
	const char *word = text == NULL ? NULL : text->bytes;
	unsigned states = 0;

	*ret = ~0u;
	while (word != NULL) {
		size_t left = text->length - (size_t)(word - text->bytes);
		const char *comma = memchr(word, ',', left);
		size_t length = comma == NULL ? left : (size_t)(comma - word);
		unsigned state = verbs_state(of, word, length);

		if (state == 0)
			return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
			    "there is no state \"%.*s\"; %s (several: with "
			    "commas between)", length > 60 ? 60 : (int)length,
			    word, of->they_are);
		states |= state;
		*ret = states;
		word = comma == NULL ? NULL : comma + 1;
	}
	return 0;
}

static int
verbs_listing(struct connection *c, enum pending_kind kind,
    const struct codec_line *l, const char *key_name, struct pending **ret)
{
	const struct codec_text *key = codec_find(l, key_name);
	const struct codec_text *sort = codec_find(l, "sort");
	uint64_t namespaces = kind == PENDING_LIST ? 1 : UINT64_MAX;
	struct pending *p = NULL;
	struct key checked;
	int r = verbs_namespaces(c, l, &namespaces);

	if (r == 0 && key != NULL)
		r = verbs_key(c, key, 0, key_name, &checked);
	if (r == 0 && sort != NULL)
		r = verbs_key(c, sort, 1, "sort value", &checked);
	if (r == 0)
		r = verbs_pending_rows(c, kind, l, key, sort, &p);
	if (r < 0)
		return r;
	p->listing->namespaces = namespaces;
	*ret = p;
	return 0;
}

int
verbs_list(struct connection *c, const struct codec_line *l)
{
	struct pending *p = NULL;
	const struct codec_text *progress = codec_find(l, "progress");
	unsigned states = 0;
	uint64_t tell_ms = 0;
	int r = verbs_states_of(c, l, &verbs_locks, &states);

	if (r == 0 && progress != NULL)
		r = verbs_duration(c, progress, "progress", &tell_ms);
	if (r == 0)
		r = verbs_listing(c, PENDING_LIST, l, "prefix", &p);
	if (r < 0)
		return r;
	p->listing->states = states;
	if (progress != NULL)
		listing_tell(c, p->listing, tell_ms);
	r = listing_start(c, p);
	return r == 0 ? 0 : verbs_reason(c, r, "%s", error_text(r));
}

static int
verbs_view(struct connection *c, enum pending_kind kind,
    const struct codec_line *l)
{
	struct pending *p = NULL;
	unsigned states = 0;
	int r = verbs_states_of(c, l, &verbs_holds, &states);

	if (r == 0)
		r = verbs_listing(c, kind, l, "key", &p);
	if (r < 0)
		return r;
	p->listing->states = states;
	p->listing->ready = true;
	server_schedule(c->server, c);
	return 0;
}

int
verbs_held(struct connection *c, const struct codec_line *l)
{
	return verbs_view(c, PENDING_HELD, l);
}

int
verbs_waiting(struct connection *c, const struct codec_line *l)
{
	return verbs_view(c, PENDING_WAITING, l);
}
