/*
 * Watch a lock: its holder, and each change.
 */
#include "lib/connection.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "lib/request.h"
#include "lib/wait.h"
#include "lib/watch.h"

static int
watch_calls_check(struct ddblock *d, const char *key, const char *ns)
{
	if (key == NULL || key[0] == '\0')
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "the key is empty");
	if (ns != NULL && strlen(ns) > CONNECTION_NAME_MAX)
		return connection_fail(d, DDBLOCK_E_UNKNOWN_NAMESPACE, NULL);
	return 0;
}

int
ddblock_watch_start(struct ddblock *d, const char *key, const char *ns,
    const char *sort, ddblock_row_function *on_change,
    ddblock_reply_function *on_reply, void *arg, uint64_t *ret_request)
{
	struct request_draft draft;
	struct watch *watch;
	int r = watch_calls_check(d, key, ns);

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
	watch_add(d, watch);
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
	int r = watch_calls_check(d, key, ns);

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

	/* The answer goes to the waiting call, the changes go to the caller. */
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
