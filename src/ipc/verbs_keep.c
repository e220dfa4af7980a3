/*
 * What is to become of what clients keep in a lock: the arguments of ACQUIRE,
 * TRY, RENEW and RELEASE for it.
 */
#include <string.h>

#include "ddblock.h"
#include "ipc/connection.h"

#define KEEP_PREFIX "attr."
#define KEEP_TYPED ":json"

/* Is it attr.NAME or attr.NAME:json? */
static bool
keep_name(const struct codec_text *name, struct attribute *ret)
{
	const size_t prefix = strlen(KEEP_PREFIX), type = strlen(KEEP_TYPED);
	struct key rest;

	if (name->length < prefix ||
	    memcmp(name->bytes, KEEP_PREFIX, prefix) != 0)
		return false;
	rest = (struct key){ name->bytes + prefix, name->length - prefix };
	ret->typed = rest.length >= type && memcmp(
	    rest.bytes + rest.length - type, KEEP_TYPED, type) == 0;
	if (ret->typed)
		rest.length -= type;
	ret->name = rest;
	return true;
}

/* An empty value of a type takes the attribute out; its name counts. */
static int
keep_check(struct connection *c, const struct codec_text *name,
    const struct attribute *a)
{
	struct attribute checked = *a;
	const struct contents one = { { NULL, 0 }, &checked, 1 };
	const char *reason;

	if (a->value.length == 0)
		checked.typed = false;
	if (contents_size(&one) > CONTENTS_MAX)
		return 0;	/* so is the whole */
	reason = contents_refuse(&one);
	if (reason == NULL)
		return 0;
	return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "%.60s: %s",
	    name->bytes, reason);
}

static int
keep_attributes(struct connection *c, const struct codec_line *l,
    struct verbs_change *ret)
{
	struct contents *to = &ret->change.contents;

	to->attributes = ret->attributes;
	for (size_t i = 0; i < l->n_arguments; i++) {
		const struct codec_argument *a = &l->arguments[i];
		struct attribute *one = &ret->attributes[to->n_attributes];
		int r;

		if (!keep_name(&a->name, one))
			continue;
		one->value = (struct key){ a->value.bytes, a->value.length };
		r = keep_check(c, &a->name, one);
		if (r < 0)
			return r;
		for (size_t k = 0; k < to->n_attributes; k++) {
			const struct key *name = &ret->attributes[k].name;

			if (name->length == one->name.length && memcmp(
			    name->bytes, one->name.bytes, name->length) == 0)
				return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
				    "attr.%.*s is given twice",
				    (int)name->length, name->bytes);
		}
		to->n_attributes++;
	}
	return 0;
}

static int
keep_limits(struct connection *c, const struct contents *contents)
{
	size_t size = contents_size(contents);

	if (size > CONTENTS_MAX)
		return verbs_reason(c, DDBLOCK_E_LIMIT,
		    "data and attributes have %zu bytes; %d are allowed",
		    size, CONTENTS_MAX);
	if (contents->n_attributes > ATTRIBUTES_MAX)
		return verbs_reason(c, DDBLOCK_E_LIMIT,
		    "these are %zu attributes; a lock has at most %d",
		    contents->n_attributes, ATTRIBUTES_MAX);
	/* Not what others leave unread: it could be a release. */
	if (size > 0 && c->user->pending_bytes + size >
	    c->server->limits.queued_bytes_per_uid_max / 2)
		return verbs_reason(c, DDBLOCK_E_LIMIT, "too much data of "
		    "this user's requests has no reply yet");
	return 0;
}

int
verbs_change(struct connection *c, const struct protocol_request *q,
    struct verbs_change *ret, const struct change **ret_change)
{
	const struct codec_text *data = protocol_text(q, ARGUMENT_DATA);
	struct change *change = &ret->change;
	int r;

	*change = (struct change){ .sets_data = data != NULL };
	if (data != NULL)
		change->contents.data =
		    (struct key){ data->bytes, data->length };
	r = keep_attributes(c, q->line, ret);
	if (r == 0)
		r = keep_limits(c, &change->contents);
	if (r < 0)
		return r;
	change->clears = !protocol_is(q, ARGUMENT_KEEP);
	change->spares_data = !protocol_is(q, ARGUMENT_REPLACE_DATA);
	*ret_change = data != NULL || protocol_given(q, ARGUMENT_KEEP) ||
	    change->contents.n_attributes > 0 ? change : NULL;
	return 0;
}
