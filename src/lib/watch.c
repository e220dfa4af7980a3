/*
 * The locks that this connection watches.
 */
#include "lib/watch.h"

#include <stdlib.h>
#include <string.h>

#include "lib/request.h"
#include "lib/row.h"

#define WATCH_SORT_NONE "-"	/* of a lock without a sort value */

static const char *
watch_namespace(const struct ddblock *d, const char *name_space)
{
	return name_space == NULL || name_space[0] == '\0' ?
	    d->default_namespace : name_space;
}

struct watch *
watch_find(const struct ddblock *d, const char *key, const char *name_space,
    const char *sort)
{
	const char *ns = watch_namespace(d, name_space);
	struct watch *watch;

	if (sort == NULL)
		sort = WATCH_SORT_NONE;
	TAILQ_FOREACH(watch, &d->watches, entry) {
		if (strcmp(watch->key, key) == 0 &&
		    strcmp(watch->sort, sort) == 0 && strcmp(ns,
		    watch_namespace(d, watch->name_space)) == 0)
			return watch;
	}
	return NULL;
}

void
watch_free(struct ddblock *d, struct watch *watch)
{
	TAILQ_REMOVE(&d->watches, watch, entry);
	free(watch);
}

void
watch_free_all(struct ddblock *d)
{
	while (!TAILQ_EMPTY(&d->watches))
		watch_free(d, TAILQ_FIRST(&d->watches));
}

/* The callback may end this watch. */
static void
watch_tell(struct watch *watch, const struct ddblock_row *row)
{
	if (watch->on_change != NULL)
		watch->on_change(watch->arg, row, false);
}

void
watch_answered(struct ddblock *d, uint64_t request,
    const struct ddblock_row *row, int code)
{
	struct watch *watch, ended;

	TAILQ_FOREACH(watch, &d->watches, entry) {
		if (watch->request == request)
			break;
	}
	if (watch == NULL)
		return;
	if (code == 0) {
		watch_tell(watch, row);
		return;
	}
	ended = *watch;
	watch_free(d, watch);
	/* Who asked for it was answered before the connection broke. */
	if (ended.again && ended.on_change != NULL)
		ended.on_change(ended.arg, row, true);
}

void
watch_changed(struct ddblock *d, const struct ddblock_row *row)
{
	const struct codec_text *key = codec_find(&row->line, "key");
	const struct codec_text *ns = codec_find(&row->line, "ns");
	const struct codec_text *sort = codec_find(&row->line, "sort");
	struct watch *watch = NULL;

	if (key != NULL && ns != NULL)
		watch = watch_find(d, key->bytes, ns->bytes,
		    sort == NULL ? NULL : sort->bytes);
	if (watch != NULL)
		watch_tell(watch, row);
}

struct watch *
watch_new(const char *key, const char *ns, const char *sort)
{
	size_t key_size = strlen(key) + 1;
	size_t sort_size;
	struct watch *watch;

	if (sort == NULL)
		sort = WATCH_SORT_NONE;
	sort_size = strlen(sort) + 1;
	watch = calloc(1, sizeof(*watch) + key_size + sort_size);
	if (watch == NULL)
		return NULL;
	(void)memcpy(watch->key, key, key_size);
	(void)memcpy(watch->key + key_size, sort, sort_size);
	watch->sort = watch->key + key_size;
	if (ns != NULL)
		(void)memcpy(watch->name_space, ns, strlen(ns) + 1);
	return watch;
}

void
watch_add(struct ddblock *d, struct watch *watch)
{
	TAILQ_INSERT_TAIL(&d->watches, watch, entry);
}

void
watch_again(struct ddblock *d)
{
	struct watch *watch;

	TAILQ_FOREACH(watch, &d->watches, entry) {
		struct request_draft draft;

		if (request_find(d, watch->request) != NULL ||
		    request_new(d, REQUEST_WATCH, VERB_WATCH, &draft) < 0)
			continue;
		request_write_name(d, watch->key,
		    watch->name_space[0] == '\0' ? NULL : watch->name_space,
		    strcmp(watch->sort, WATCH_SORT_NONE) == 0 ? NULL :
		    watch->sort);
		watch->again = true;
		(void)request_send(d, &draft, &watch->request);
	}
}
