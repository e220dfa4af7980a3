/*
 * The store in memory: what clients keep in a lock.
 */
#include <assert.h>
#include <string.h>

#include "model_store.h"

static void
model_put_bytes(char *to, size_t size, struct key from)
{
	assert(from.length < size);
	if (from.length > 0)
		memcpy(to, from.bytes, from.length);
	to[from.length] = '\0';
}

void
model_put_contents(struct model_contents *c, const struct contents *from,
    struct revision revision)
{
	assert(from->n_attributes <= MODEL_ATTRIBUTES_MAX);
	c->revision = revision;
	model_put_bytes(c->data, sizeof(c->data), from->data);
	c->data_length = from->data.length;
	c->n_attributes = from->n_attributes;
	for (size_t i = 0; i < c->n_attributes; i++) {
		const struct attribute *a = &from->attributes[i];

		model_put_bytes(c->attributes[i].name,
		    sizeof(c->attributes[i].name), a->name);
		model_put_bytes(c->attributes[i].value,
		    sizeof(c->attributes[i].value), a->value);
		c->attributes[i].typed = a->typed;
	}
}

static struct key
model_view_text(const char *text)
{
	return (struct key){ text, strlen(text) };
}

void
model_view_contents(struct model_contents *c, struct lock_record *ret)
{
	ret->revision = c->revision;
	ret->contents.data = (struct key){ c->data, c->data_length };
	for (size_t i = 0; i < c->n_attributes; i++)
		c->shown[i] = (struct attribute){
			model_view_text(c->attributes[i].name),
			model_view_text(c->attributes[i].value),
			c->attributes[i].typed,
		};
	ret->contents.attributes = c->shown;
	ret->contents.n_attributes = c->n_attributes;
}
