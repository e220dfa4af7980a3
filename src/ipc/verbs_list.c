/*
 * The verbs whose answer has rows, and the words that narrow it.
 */
#include <string.h>

#include "common/error.h"
#include "ipc/connection.h"

static const struct {
	const char *word;
	enum listing_state state;
} verbs_states[] = {
	{ "free", LISTING_FREE },
	{ "held", LISTING_HELD },
	{ "dead", LISTING_DEAD },
};

#define VERBS_STATES (sizeof(verbs_states) / sizeof(verbs_states[0]))

/* The bit of the word that begins at @word; 0: there is none such. */
static unsigned
verbs_state(const char *word, size_t length)
{
	for (size_t i = 0; i < VERBS_STATES; i++) {
		if (strlen(verbs_states[i].word) == length &&
		    memcmp(verbs_states[i].word, word, length) == 0)
			return verbs_states[i].state;
	}
	return 0;
}

/* One word or several, with commas between. */
static int
verbs_states_of(struct connection *c, const struct codec_line *l,
    unsigned *ret)
{
	const struct codec_text *text = codec_find(l, "state");
	const char *word = text == NULL ? NULL : text->bytes;
	unsigned states = 0;

	*ret = LISTING_ANY_STATE;
	while (word != NULL) {
		size_t left = text->length - (size_t)(word - text->bytes);
		const char *comma = memchr(word, ',', left);
		size_t length = comma == NULL ? left : (size_t)(comma - word);
		unsigned state = verbs_state(word, length);

		if (state == 0)
			return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
			    "there is no state \"%.*s\"; a lock is free, held "
			    "or dead (several: with commas between)",
			    length > 60 ? 60 : (int)length, word);
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
	uint64_t namespaces = kind == PENDING_LIST ? 1 : UINT64_MAX;
	struct pending *p = NULL;
	struct key checked;
	int r = verbs_namespaces(c, l, &namespaces);

	if (r == 0 && key != NULL)
		r = verbs_key(c, key, 0, key_name, &checked);
	if (r == 0 && c->n_listings >= CONNECTION_LISTINGS_MAX)
		r = verbs_reason(c, DDBLOCK_E_LIMIT, "%u listings of this "
		    "connection have no reply yet", c->n_listings);
	if (r == 0)
		r = verbs_room(c);
	if (r == 0)
		r = verbs_pending(c, kind, l, &p);
	if (r < 0)
		return r;
	p->listing = listing_new(key);
	if (p->listing == NULL) {
		pending_free(c, p);
		return verbs_reason(c, DDBLOCK_E_LIMIT, "out of memory");
	}
	c->n_listings++;
	p->listing->namespaces = namespaces;
	*ret = p;
	return 0;
}

int
verbs_list(struct connection *c, const struct codec_line *l)
{
	struct pending *p = NULL;
	unsigned states = 0;
	uint64_t tell_ms = 0;
	int r = verbs_states_of(c, l, &states);

	if (r == 0)
		r = verbs_duration(c, l, "progress", &tell_ms);
	if (r == 0)
		r = verbs_listing(c, PENDING_LIST, l, "prefix", &p);
	if (r < 0)
		return r;
	p->listing->states = states;
	if (codec_find(l, "progress") != NULL)
		listing_tell(c, p->listing, tell_ms);
	r = listing_start(c, p);
	return r == 0 ? 0 : verbs_reason(c, r, "%s", error_text(r));
}

static int
verbs_view(struct connection *c, enum pending_kind kind,
    const struct codec_line *l)
{
	struct pending *p = NULL;
	int r = verbs_listing(c, kind, l, "key", &p);

	if (r < 0)
		return r;
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
