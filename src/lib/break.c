/*
 * Break: take a lock from all its holders, for administrators.
 */
#include "lib/connection.h"

#include <string.h>

#include "common/clock.h"
#include "lib/request.h"
#include "lib/wait.h"

/* By its token, or (not NULL) by its record. */
struct break_what {
	uint64_t token;
	const char *record;
};

static int
break_start(struct ddblock *d, const char *key, const char *ns,
    const char *sort, const struct break_what *what, const char *reason,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	struct request_draft draft;
	int r;

	if (key == NULL || key[0] == '\0')
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "the key is empty");
	if (reason == NULL || reason[0] == '\0')
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "there is no reason");
	r = request_new(d, REQUEST_OTHER, VERB_BREAK, &draft);
	if (r < 0)
		return r;
	request_write_name(d, key, ns, sort);
	if (what->record != NULL)
		protocol_write_text(&d->out, ARGUMENT_RECORD, what->record);
	else
		protocol_write(&d->out, ARGUMENT_TOKEN, what->token);
	protocol_write_text(&d->out, ARGUMENT_REASON, reason);
	return request_send_for(d, &draft, function, arg, ret_request);
}

static int
break_wait(struct ddblock *d, const char *key, const char *ns,
    const char *sort, const struct break_what *what, const char *reason)
{
	struct wait wait = { .limit_ms = clock_boot_ms() + REQUEST_ANSWER_MS };
	int r;

	r = break_start(d, key, ns, sort, what, reason, wait_on_reply, &wait,
	    &wait.number);
	if (r < 0)
		return r;
	return wait_until_answered(d, &wait);
}

int
ddblock_break_start(struct ddblock *d, const char *key, const char *ns,
    const char *sort, uint64_t token, const char *reason,
    ddblock_reply_function *function, void *arg, uint64_t *ret_request)
{
	const struct break_what what = { .token = token };

	return break_start(d, key, ns, sort, &what, reason, function, arg,
	    ret_request);
}

int
ddblock_break(struct ddblock *d, const char *key, const char *ns,
    const char *sort, uint64_t token, const char *reason)
{
	const struct break_what what = { .token = token };

	return break_wait(d, key, ns, sort, &what, reason);
}

int
ddblock_break_record(struct ddblock *d, const char *key, const char *ns,
    const char *sort, const char *record, const char *reason)
{
	const struct break_what what = { .record = record };

	if (record == NULL || record[0] == '\0')
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "there is no record");
	return break_wait(d, key, ns, sort, &what, reason);
}
