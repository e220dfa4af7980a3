/*
 * The list of what a step has changed, and the bytes of entries (saved.h).
 */
#include "core/saved.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/state.h"

/* Without memory for the list everything is written. */
static bool
saving_grow(struct saving *s)
{
	uint32_t n = s->n_allocated == 0 ? 64 : 2 * s->n_allocated;
	struct saved_due *due =
	    reallocarray(s->due, n, sizeof(struct saved_due));

	if (due == NULL)
		return false;
	s->due = due;
	s->n_allocated = n;
	return true;
}

void
saved_add_due(struct saving *s, struct saved *saved, enum saved_kind kind)
{
	if (s->all)
		return;
	if (s->n_due == s->n_allocated && !saving_grow(s)) {
		s->all = true;
		return;
	}
	s->due[s->n_due++] = (struct saved_due){ saved, kind };
	saved->due = s->n_due;
}

void
saved_end(struct core *core, struct saved *saved)
{
	struct saving *s = &core->saving;

	if (saved->due != 0)
		s->due[saved->due - 1].saved = NULL;
	saved->due = 0;
	if (s->journal != NULL)
		journal_end(s->journal, &saved->place);
}

void
saved_renew(const struct core *core, struct saved *saved)
{
	if (core->saving.fresh)
		saved->place = 0;
}

void
saving_done(struct saving *s)
{
	free(s->due);
	*s = (struct saving){ .journal = NULL };
}

/* ---- entries ------------------------------------------------------------ */

void
saved_add(struct saved_bytes *b, const void *data, size_t length)
{
	assert(length <= sizeof(b->bytes) - b->length);
	memcpy(b->bytes + b->length, data, length);
	b->length += length;
}

void
saved_add_text(struct saved_bytes *b, const char *text)
{
	uint16_t size = text == NULL ? 0 : (uint16_t)(strlen(text) + 1);

	saved_add(b, &size, sizeof(size));
	if (size > 0)
		saved_add(b, text, size);
}

const uint8_t *
saved_take_bytes(struct saved_reader *r, size_t length)
{
	const uint8_t *at = r->at;

	if (r->bad || length > r->left) {
		r->bad = true;
		return NULL;
	}
	r->at += length;
	r->left -= length;
	return at;
}

void
saved_take(struct saved_reader *r, void *ret, size_t length)
{
	const uint8_t *bytes = saved_take_bytes(r, length);

	if (bytes == NULL)
		memset(ret, 0, length);
	else
		memcpy(ret, bytes, length);
}

const char *
saved_take_text(struct saved_reader *r)
{
	const uint8_t *bytes;
	uint16_t size;

	saved_take(r, &size, sizeof(size));
	if (size == 0)
		return NULL;
	bytes = saved_take_bytes(r, size);
	if (bytes == NULL || memchr(bytes, '\0', size) != bytes + size - 1) {
		r->bad = true;
		return NULL;
	}
	return (const char *)bytes;
}
