/*
 * The calls that block: send, then dispatch until the answer is there.
 */
#include "lib/wait.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>

#include "common/clock.h"
#include "lib/connection.h"
#include "lib/request.h"

void
wait_on_reply(void *arg, struct ddblock *d, const struct ddblock_reply *reply)
{
	struct wait *wait = arg;

	(void)d;
	wait->answered = true;
	wait->code = reply->code;
	wait->cause = reply->cause;
	wait->id = reply->id;
	if (reply->code == 0 && wait->on_row != NULL && reply->row != NULL)
		wait->on_row(wait->arg, reply->row, true);
}

/* If its answer still comes, it has no caller. */
static void
wait_abandon(struct ddblock *d, uint64_t number)
{
	struct request *request = request_find(d, number);

	if (request == NULL)
		return;
	request->abandoned = true;
	request->on_row = NULL;
	request->on_progress = NULL;
	request->on_reply = NULL;
	if (request->kind == REQUEST_ACQUIRE)
		(void)ddblock_cancel(d, number);
}

uint64_t
wait_limit_ms(const struct ddblock *d, uint64_t id)
{
	uint64_t limit_ms = clock_boot_ms() + REQUEST_ANSWER_MS;
	uint64_t until_ms = ddblock_until_boot_ms(d, id);

	return until_ms < limit_ms ? until_ms : limit_ms;
}

static int
wait_timeout(uint64_t limit_ms)
{
	uint64_t now_ms = clock_boot_ms();

	if (limit_ms == DDBLOCK_NEVER_MS)
		return -1;
	if (limit_ms <= now_ms)
		return 0;
	limit_ms -= now_ms;
	return limit_ms > INT_MAX ? INT_MAX : (int)limit_ms;
}

int
wait_until_answered(struct ddblock *d, struct wait *wait)
{
	for (;;) {
		struct pollfd fds[2] = {
			{ .fd = d->socket, .events = POLLIN },
			{ .fd = d->timer, .events = POLLIN },
		};
		int timeout = wait_timeout(wait->limit_ms);
		int r;

		if (d->out.length > 0)
			fds[0].events |= POLLOUT;
		if (poll(fds, 2, timeout) < 0 && errno != EINTR) {
			wait_abandon(d, wait->number);
			return connection_fail(d, DDBLOCK_E_SYSTEM,
			    strerror(errno));
		}
		r = ddblock_dispatch(d);
		if (wait->answered)
			return wait->code;
		if (r == 0 && timeout == 0)
			r = connection_fail(d, DDBLOCK_E_NO_DAEMON,
			    "the daemon does not answer");
		if (r < 0) {
			wait_abandon(d, wait->number);
			return r;
		}
	}
}
