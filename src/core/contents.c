/*
 * Contents of a lock, and how they change.
 */
#include "core/contents.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "core/typed.h"
#include "ddblock.h"

bool
revision_equal(struct revision a, struct revision b)
{
	return a.sequence == b.sequence && a.random == b.random;
}

bool
revision_is_less(struct revision a, struct revision b)
{
	return a.sequence < b.sequence ||
	    (a.sequence == b.sequence && a.random < b.random);
}

static bool
contents_key_is(struct key a, struct key b)
{
	return a.length == b.length &&
	    (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

static const struct attribute *
contents_find(const struct contents *c, struct key name)
{
	for (size_t i = 0; i < c->n_attributes; i++) {
		if (contents_key_is(c->attributes[i].name, name))
			return &c->attributes[i];
	}
	return NULL;
}

size_t
contents_size(const struct contents *c)
{
	size_t size = c->data.length;

	for (size_t i = 0; i < c->n_attributes; i++)
		size += c->attributes[i].name.length +
		    c->attributes[i].value.length;
	return size;
}

bool
contents_are_empty(const struct contents *c)
{
	return c->data.length == 0 && c->n_attributes == 0;
}

bool
contents_are_equal(const struct contents *a, const struct contents *b)
{
	if (!contents_key_is(a->data, b->data) ||
	    a->n_attributes != b->n_attributes)
		return false;
	for (size_t i = 0; i < a->n_attributes; i++) {
		const struct attribute *one = &a->attributes[i];
		const struct attribute *other = contents_find(b, one->name);

		if (other == NULL || one->typed != other->typed ||
		    !contents_key_is(one->value, other->value))
			return false;
	}
	return true;
}

/* ---- what may be written ---------------------------------------------- */

static bool
contents_is_text(struct key text)
{
	size_t n;

	for (size_t i = 0; i < text.length; i += n) {
		n = utf8_character(text.bytes + i, text.length - i);
		if (n == 0 || text.bytes[i] == '\0')
			return false;
	}
	return true;
}

static const char *
contents_refuse_attribute(const struct attribute *a)
{
	const char *reason = NULL;

	if (a->name.length == 0 || a->name.length > ATTRIBUTE_NAME_MAX)
		return "an attribute's name has 1 to 255 bytes";
	if (!contents_is_text(a->name) ||
	    memchr(a->name.bytes, ':', a->name.length) != NULL)
		return "an attribute's name is UTF-8 text without NUL and "
		    "without a colon";
	if (!contents_is_text(a->value))
		return "an attribute's value is not UTF-8 text without NUL; "
		    "bytes of any kind go into data, or into an attribute of "
		    "the type B";
	if (a->typed)
		(void)typed_check(a->value.bytes, a->value.length, &reason);
	return reason;
}

const char *
contents_refuse(const struct contents *c)
{
	const char *reason;

	if (c->n_attributes > ATTRIBUTES_MAX)
		return "a lock has at most 32 attributes";
	if (contents_size(c) > CONTENTS_MAX)
		return "data and attributes have at most 307200 bytes in all";
	for (size_t i = 0; i < c->n_attributes; i++) {
		const struct attribute *a = &c->attributes[i];

		reason = contents_refuse_attribute(a);
		if (reason != NULL)
			return reason;
		if (contents_find(c, a->name) != a)
			return "an attribute is given twice";
	}
	return NULL;
}

/* ---- copies ----------------------------------------------------------- */

static struct key
contents_put_bytes(char **at, struct key bytes)
{
	struct key copy = { *at, bytes.length };

	if (bytes.length > 0)
		memcpy(*at, bytes.bytes, bytes.length);
	*at += bytes.length;
	return copy;
}

size_t
contents_room(const struct contents *c)
{
	return c->n_attributes * sizeof(struct attribute) + contents_size(c);
}

void
contents_put(const struct contents *c, void *memory, struct contents *ret)
{
	struct attribute *attributes = memory;
	char *at = (char *)(attributes + c->n_attributes);

	for (size_t i = 0; i < c->n_attributes; i++) {
		const struct attribute *a = &c->attributes[i];

		attributes[i].name = contents_put_bytes(&at, a->name);
		attributes[i].value = contents_put_bytes(&at, a->value);
		attributes[i].typed = a->typed;
	}
	*ret = (struct contents){
		.data = contents_put_bytes(&at, c->data),
		.attributes = attributes,
		.n_attributes = c->n_attributes,
	};
}

struct contents *
contents_copy(const struct contents *c)
{
	struct contents *copy = malloc(sizeof(*copy) + contents_room(c));

	if (copy != NULL)
		contents_put(c, copy + 1, copy);
	return copy;
}

struct change *
change_copy(const struct change *change)
{
	struct change *copy =
	    malloc(sizeof(*copy) + contents_room(&change->contents));

	if (copy == NULL)
		return NULL;
	*copy = *change;
	contents_put(&change->contents, copy + 1, &copy->contents);
	return copy;
}

/* ---- changes ---------------------------------------------------------- */

static bool
change_takes_out(const struct attribute *a)
{
	return a->typed && a->value.length == 0;
}

int
change_apply(const struct change *change, const struct contents *base,
    struct contents **ret)
{
	const struct contents *new = &change->contents;
	bool spared = change->spares_data && base->data.length > 0;
	struct contents *c;
	struct attribute *attributes;
	size_t n = 0;

	c = malloc(sizeof(*c) + (base->n_attributes + new->n_attributes) *
	    sizeof(*attributes));
	if (c == NULL)
		return DDBLOCK_E_NOMEM;
	attributes = (struct attribute *)(c + 1);
	for (size_t i = 0; !change->clears && i < base->n_attributes; i++) {
		if (contents_find(new, base->attributes[i].name) == NULL)
			attributes[n++] = base->attributes[i];
	}
	for (size_t i = 0; i < new->n_attributes; i++) {
		if (!change_takes_out(&new->attributes[i]))
			attributes[n++] = new->attributes[i];
	}
	*c = (struct contents){ .attributes = attributes, .n_attributes = n };
	if (change->sets_data && !spared)
		c->data = new->data;
	else if (!change->clears || spared)
		c->data = base->data;
	if (n > ATTRIBUTES_MAX || contents_size(c) > CONTENTS_MAX) {
		free(c);
		return DDBLOCK_E_LIMIT;
	}
	*ret = c;
	return 0;
}

void
change_leave_out(const struct change *change, struct contents *c)
{
	struct attribute *attributes = (struct attribute *)(c + 1);
	size_t n = 0;

	assert(c->attributes == attributes);
	if (change->sets_data &&
	    contents_key_is(change->contents.data, c->data))
		c->data.length = 0;
	for (size_t i = 0; i < c->n_attributes; i++) {
		if (contents_find(&change->contents, attributes[i].name) ==
		    NULL)
			attributes[n++] = attributes[i];
	}
	c->n_attributes = n;
}
