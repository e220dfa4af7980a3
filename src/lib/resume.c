/*
 * Resume, on a new connection, holds that linger from an old one.
 */
#include "lib/connection.h"

#include <string.h>

#include "common/clock.h"
#include "lib/request.h"
#include "lib/wait.h"

const char *
ddblock_secret(const struct ddblock *d)
{
	return d->secret[0] == '\0' ? NULL : d->secret;
}

int
ddblock_resume_start(struct ddblock *d, const char *secret,
    ddblock_row_function *on_row, ddblock_reply_function *on_reply, void *arg,
    uint64_t *ret_request)
{
	struct request_draft draft;
	int r = connection_need_timer(d);

	if (r < 0)
		return r;
	if (secret == NULL || strlen(secret) > CONNECTION_SECRET_MAX)
		return connection_fail(d, DDBLOCK_E_BAD_REQUEST,
		    "this is no secret");
	r = request_new(d, REQUEST_RESUME, VERB_RESUME, &draft);
	if (r < 0)
		return r;
	protocol_write_text(&d->out, ARGUMENT_SECRET, secret);
	draft.request->on_row = on_row;
	r = request_send_for(d, &draft, on_reply, arg, ret_request);
	/*
	 * Set before the answer: if it is wrong, no hold lingers by any secret.
	 */
	if (r == 0 && secret != d->secret && TAILQ_EMPTY(&d->holds))
		(void)memcpy(d->secret, secret, strlen(secret) + 1);
	return r;
}

static void
resume_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	const struct wait *wait = arg;

	if (wait->on_progress != NULL)
		wait->on_progress(wait->arg, row, final);
}

int
ddblock_resume(struct ddblock *d, const char *secret,
    ddblock_row_function *on_row, void *arg)
{
	/* Of its rows, without the last line. */
	struct wait wait = {
		.limit_ms = clock_boot_ms() + REQUEST_ANSWER_MS,
		.on_progress = on_row,
		.arg = arg,
	};
	int r = ddblock_resume_start(d, secret, resume_on_row, wait_on_reply,
	    &wait, &wait.number);

	return r < 0 ? r : wait_until_answered(d, &wait);
}
