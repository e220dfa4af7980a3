/*
 * Break: take a lock from all who hold it, for administrators.
 */
#include "lib/connection.h"

#include <string.h>

#include "common/clock.h"

int
ddblock_break_start(struct ddblock *d, const char *key, const char *ns,
    const char *sort, uint64_t token, const char *reason,
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
	r = request_new(d, REQUEST_OTHER, "BREAK", &draft);
	if (r < 0)
		return r;
	request_write_name(d, key, ns, sort);
	codec_number(&d->out, "token", token);
	codec_text_value(&d->out, "reason", reason);
	return request_send_for(d, &draft, function, arg, ret_request);
}

int
ddblock_break(struct ddblock *d, const char *key, const char *ns,
    const char *sort, uint64_t token, const char *reason)
{
	struct wait wait = { .limit_ms = clock_boot_ms() + REQUEST_ANSWER_MS };
	int r;

	r = ddblock_break_start(d, key, ns, sort, token, reason,
	    wait_on_reply, &wait, &wait.number);
	if (r < 0)
		return r;
	return wait_until_answered(d, &wait);
}
