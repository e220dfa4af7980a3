/*
 * A lock as a store shows it, kept.
 */
#include <stdlib.h>
#include <string.h>

#include "core/operation.h"

static void *
lock_record_put(char **at, const void *bytes, size_t size)
{
	char *copy = *at;

	if (size > 0)
		memcpy(copy, bytes, size);
	*at += size;
	return copy;
}

static size_t
lock_record_room(const char *text)
{
	return text == NULL ? 0 : strlen(text) + 1;
}

static const char *
lock_record_put_text(char **at, const char *text)
{
	return text == NULL ? NULL :
	    lock_record_put(at, text, lock_record_room(text));
}

bool
lock_record_is_kept(const struct lock_record *record)
{
	return record->mode == LOCK_MODE_EXCLUSIVE && record->n_holders == 1 &&
	    !ident_is_none(record->kept) &&
	    ident_equal(record->kept, record->holders[0].grant);
}

/* What must be aligned comes before texts. */
struct lock_record *
lock_record_copy(const struct lock_record *r)
{
	size_t holders = r->n_holders * sizeof(*r->holders);
	size_t exclusive = r->n_exclusive_waiters * sizeof(struct ident);
	size_t shared = r->n_shared_waiters * sizeof(struct ident);
	size_t line = r->n_line * sizeof(struct ident);
	size_t marks = r->n_marks * sizeof(struct ident);
	size_t contents = contents_room(&r->contents);
	struct lock_record *copy = malloc(sizeof(*copy) + holders +
	    exclusive + shared + line + marks + contents +
	    lock_record_room(r->owner) + lock_record_room(r->broken_by) +
	    lock_record_room(r->version) + lock_record_room(r->token_text));
	char *at = (char *)(copy + 1);

	if (copy == NULL)
		return NULL;
	*copy = *r;
	copy->holders = lock_record_put(&at, r->holders, holders);
	copy->exclusive_waiters =
	    lock_record_put(&at, r->exclusive_waiters, exclusive);
	copy->shared_waiters = lock_record_put(&at, r->shared_waiters, shared);
	copy->line = lock_record_put(&at, r->line, line);
	copy->marks = lock_record_put(&at, r->marks, marks);
	contents_put(&r->contents, at, &copy->contents);
	at += contents;
	copy->owner = lock_record_put_text(&at, r->owner);
	copy->broken_by = lock_record_put_text(&at, r->broken_by);
	copy->version = lock_record_put_text(&at, r->version);
	copy->token_text = lock_record_put_text(&at, r->token_text);
	return copy;
}
