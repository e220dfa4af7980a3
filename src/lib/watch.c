/*
 * Watches: who holds a lock, and each change of that. The daemon names the lock
 * in its events, so that is how a watch is found.
 */
#include "lib/connection.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

struct watch {
	TAILQ_ENTRY(watch) entry;
	uint64_t request;		/* that began it */
	ddblock_row_function *on_change;
	void *arg;
	char name_space[CONNECTION_NAME_MAX + 1];	/* "": default */
	const char *sort;		/* behind the key */
	char key[];
};

#define WATCH_SORT_NONE "-"	/* of a lock without a sort value */

static const char *
watch_namespace(const struct ddblock *d, const char *name_space)
{
	return name_space == NULL || name_space[0] == '\0' ?
	    d->default_namespace : name_space;
}

static struct watch *
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

static void
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
	struct watch *watch;

	TAILQ_FOREACH(watch, &d->watches, entry) {
		if (watch->request == request)
			break;
	}
	if (watch == NULL)
		return;
	if (code < 0)
		watch_free(d, watch);
	else
		watch_tell(watch, row);
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

static int
watch_check(struct ddblock *d, const char *key, const char *ns)
{
	if (key == NULL || key[0] == '\0')
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "the key is empty");
	if (ns != NULL && strlen(ns) > CONNECTION_NAME_MAX)
		return connection_fail(d, DDBLOCK_E_UNKNOWN_NAMESPACE, NULL);
	return 0;
}

static struct watch *
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

int
ddblock_watch_start(struct ddblock *d, const char *key, const char *ns,
    const char *sort, ddblock_row_function *on_change,
    ddblock_reply_function *on_reply, void *arg, uint64_t *ret_request)
{
	struct request_draft draft;
	struct watch *watch;
	int r = watch_check(d, key, ns);

	if (r < 0)
		return r;
	if (watch_find(d, key, ns, sort) != NULL)
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "this connection watches the lock already");
	watch = watch_new(key, ns, sort);
	if (watch == NULL)
		return connection_fail(d, DDBLOCK_E_NOMEM, NULL);
	watch->on_change = on_change;
	watch->arg = arg;
	r = request_new(d, REQUEST_WATCH, VERB_WATCH, &draft);
	if (r == 0) {
		request_write_name(d, key, ns, sort);
		r = request_send_for(d, &draft, on_reply, arg,
		    &watch->request);
	}
	if (r < 0) {
		free(watch);
		return r;
	}
	TAILQ_INSERT_TAIL(&d->watches, watch, entry);
	if (ret_request != NULL)
		*ret_request = watch->request;
	return 0;
}

int
ddblock_unwatch(struct ddblock *d, const char *key, const char *ns,
    const char *sort)
{
	struct request_draft draft;
	struct watch *watch;
	int r = watch_check(d, key, ns);

	if (r < 0)
		return r;
	watch = watch_find(d, key, ns, sort);
	if (watch == NULL)
		return connection_fail(d, DDBLOCK_E_NO_SUCH_LOCK,
		    "this connection does not watch that lock");
	watch_free(d, watch);
	r = request_new(d, REQUEST_OTHER, VERB_UNWATCH, &draft);
	if (r < 0)
		return r;
	request_write_name(d, key, ns, sort);
	return request_send(d, &draft, NULL);
}

int
ddblock_watch(struct ddblock *d, const char *key, const char *ns,
    const char *sort, ddblock_row_function *on_change, void *arg)
{
	struct wait wait = { .limit_ms = clock_boot_ms() + REQUEST_ANSWER_MS };
	struct watch *watch;
	int r;

	/* The answer is the wait's, the changes are the caller's. */
	r = ddblock_watch_start(d, key, ns, sort, on_change, wait_on_reply,
	    &wait, &wait.number);
	if (r < 0)
		return r;
	watch = watch_find(d, key, ns, sort);
	if (watch != NULL)
		watch->arg = arg;
	r = wait_until_answered(d, &wait);
	if (r < 0 && d->error == 0 && watch_find(d, key, ns, sort) != NULL)
		(void)ddblock_unwatch(d, key, ns, sort);
	return r;
}
