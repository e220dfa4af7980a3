/*
 * Changes of the contents of a lock: their arguments in ACQUIRE, TRY, RENEW and
 * RELEASE.
 */
#include <string.h>

#include "ddblock.h"
#include "ipc/verbs/room.h"

#define UPDATE_PREFIX "attr."
#define UPDATE_TYPED ":json"

/* Is it attr.NAME or attr.NAME:json? */
static bool
update_name(const struct codec_text *name, struct attribute *ret)
{
	const size_t prefix = strlen(UPDATE_PREFIX);
	const size_t type = strlen(UPDATE_TYPED);
	struct key rest;

	if (name->length < prefix ||
	    memcmp(name->bytes, UPDATE_PREFIX, prefix) != 0)
		return false;
	rest = (struct key){ name->bytes + prefix, name->length - prefix };
	ret->typed = rest.length >= type && memcmp(
	    rest.bytes + rest.length - type, UPDATE_TYPED, type) == 0;
	if (ret->typed)
		rest.length -= type;
	ret->name = rest;
	return true;
}

/* An empty value with a type removes the attribute; only its name counts. */
static int
update_check(struct connection *c, const struct codec_text *name,
    const struct attribute *a)
{
	struct attribute checked = *a;
	const struct contents one = { { NULL, 0 }, &checked, 1 };
	const char *reason;

	if (a->value.length == 0)
		checked.typed = false;
	if (contents_size(&one) > CONTENTS_MAX)
		return 0;	/* the total is bounded, too */
	reason = contents_refuse(&one);
	if (reason == NULL)
		return 0;
	return connection_reason(c, DDBLOCK_E_BAD_REQUEST, "%.60s: %s",
	    name->bytes, reason);
}

static int
update_attributes(struct connection *c, const struct codec_line *l,
    struct update *ret)
{
	struct contents *to = &ret->change.contents;

	to->attributes = ret->attributes;
	for (size_t i = 0; i < l->n_arguments; i++) {
		const struct codec_argument *a = &l->arguments[i];
		struct attribute *one = &ret->attributes[to->n_attributes];
		int r;

		if (!update_name(&a->name, one))
			continue;
		one->value = (struct key){ a->value.bytes, a->value.length };
		r = update_check(c, &a->name, one);
		if (r < 0)
			return r;
		for (size_t k = 0; k < to->n_attributes; k++) {
			const struct key *name = &ret->attributes[k].name;

			if (name->length == one->name.length && memcmp(
			    name->bytes, one->name.bytes, name->length) == 0)
				return connection_reason(c,
				    DDBLOCK_E_BAD_REQUEST,
				    "attr.%.*s is given twice",
				    (int)name->length, name->bytes);
		}
		to->n_attributes++;
	}
	return 0;
}

static int
update_limits(struct connection *c, const struct contents *contents)
{
	size_t size = contents_size(contents);

	if (size > CONTENTS_MAX)
		return connection_reason(c, DDBLOCK_E_LIMIT,
		    "data and attributes have %zu bytes; %d are allowed",
		    size, CONTENTS_MAX);
	if (contents->n_attributes > ATTRIBUTES_MAX)
		return connection_reason(c, DDBLOCK_E_LIMIT,
		    "these are %zu attributes; a lock has at most %d",
		    contents->n_attributes, ATTRIBUTES_MAX);
	/*
	 * Unread output of other clients does not count: this could be a
	 * release.
	 */
	if (size > 0 && c->user->pending_bytes + size >
	    c->server->limits.queued_bytes_per_uid_max / 2)
		return connection_reason(c, DDBLOCK_E_LIMIT, "too much data of "
		    "this user's requests has no reply yet");
	return 0;
}

int
update_read(struct connection *c, const struct protocol_request *q,
    struct update *ret, const struct change **ret_change)
{
	const struct codec_text *data = protocol_text(q, ARGUMENT_DATA);
	struct change *change = &ret->change;
	int r;

	*change = (struct change){ .sets_data = data != NULL };
	if (data != NULL)
		change->contents.data =
		    (struct key){ data->bytes, data->length };
	r = update_attributes(c, q->line, ret);
	if (r == 0)
		r = update_limits(c, &change->contents);
	if (r < 0)
		return r;
	change->clears = !protocol_is(q, ARGUMENT_KEEP);
	change->spares_data = !protocol_is(q, ARGUMENT_REPLACE_DATA);
	*ret_change = data != NULL || protocol_given(q, ARGUMENT_KEEP) ||
	    change->contents.n_attributes > 0 ? change : NULL;
	return 0;
}
