/*
 * Waiting for a lock.
 */
#include <config.h>

#include "cli/acquire/wait.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "cli/acquire/outer.h"
#include "cli/base/age.h"
#include "cli/base/row_value.h"
#include "common/buffer.h"
#include "common/clock.h"

/* A daemon that is so late will never answer. */
#define WAIT_ANSWER_MS 30000
#define WAIT_NONE_MS 50		/* connecting took no time */

struct wait_state {
	const struct lock_request *request;
	uint64_t number;	/* of the request to the daemon */
	bool given_up;
	bool answered;
	int code;
	int status;	/* of a failure */
	uint64_t id;
};

static void
wait_field(struct buffer *b, const struct ddblock_row *row,
    const char *before, const char *name)
{
	size_t length;
	const char *value = row == NULL ? NULL :
	    ddblock_row_find(row, name, &length);

	if (value == NULL || length == 0)
		return;
	(void)buffer_append_text(b, before);
	(void)cli_clean(b, value, length);
}

/* Nothing but a release or a break ends it, and nobody is there to release
 * it. */
static bool
wait_is_for_ever(const struct ddblock_row *row)
{
	const char *alive = row == NULL ? NULL :
	    ddblock_row_find(row, "alive", NULL);

	return alive != NULL && strcmp(alive, "no") == 0 &&
	    ddblock_row_find(row, "policy", NULL) != NULL;
}

static void
wait_time(struct buffer *b, const struct ddblock_row *row, const char *before,
    const char *name)
{
	uint64_t seconds;
	time_t when;
	struct tm parts;
	char text[64];

	if (row == NULL || !row_number(row, name, &seconds))
		return;
	when = (time_t)seconds;
	if (localtime_r(&when, &parts) != NULL &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts) > 0)
		(void)buffer_printf(b, "%s%s", before, text);
}

/* It has run in this period. That is as it should be, and is said to those that
 * look on. */
static void
wait_explain_due(struct wait_state *w, const struct ddblock *d,
    const struct ddblock_reply *reply)
{
	struct buffer b;

	w->status = w->request->not_due_status;
	if (!w->request->progress.enabled)
		return;
	buffer_init(&b, 8192);
	(void)cli_clean(&b, w->request->name, strlen(w->request->name));
	(void)buffer_printf(&b, ": %s", ddblock_last_text(d));
	wait_time(&b, reply->row, "; it began at ", "ran_at");
	wait_time(&b, reply->row, ", the next may from ", "due_at");
	cli_say("%s", b.data == NULL ? "" : b.data);
	buffer_done(&b);
}

/* Why the lock was not granted; returns the exit status for that. */
static void
wait_explain(struct wait_state *w, struct ddblock *d,
    const struct ddblock_reply *reply)
{
	const char *name = w->request->name;
	struct buffer b;
	bool busy = reply->code == DDBLOCK_E_LOCK_BUSY ||
	    reply->code == DDBLOCK_E_ACQUIRE_TIMEOUT;
	int code = reply->cause != 0 ? reply->cause : reply->code;

	if (reply->code == DDBLOCK_E_NOT_DUE) {
		wait_explain_due(w, d, reply);
		return;
	}
	/* Of many locks, the one that is not free. */
	if (reply->row != NULL && ddblock_row_find(reply->row, "key", NULL))
		name = ddblock_row_find(reply->row, "key", NULL);
	if (!busy || reply->cause != 0) {
		w->status = cli_failed(d, name, code);
		return;
	}
	buffer_init(&b, 8192);
	(void)cli_clean(&b, name, strlen(name));
	(void)buffer_printf(&b, ": %s", ddblock_error_text(reply->code));
	wait_field(&b, reply->row, "; held by ", "owner");
	if (reply->row != NULL)
		age_of_holder(&b, " for ", reply->row);
	wait_field(&b, reply->row, ", ", "policy");
	wait_field(&b, reply->row, ", unchanged for ", "unchanged");
	wait_field(&b, reply->row, ", alive: ", "alive");
	if (wait_is_for_ever(reply->row))
		(void)buffer_append_text(&b, ": only a break ends that");
	cli_say("%s", b.data == NULL ? "" : b.data);
	buffer_done(&b);
	w->status = w->request->busy_status;
}

static void
wait_on_answer(void *arg, struct ddblock *d, const struct ddblock_reply *reply)
{
	struct wait_state *w = arg;

	w->answered = true;
	w->code = reply->code;
	w->id = reply->id;
	if (reply->code < 0 && !w->given_up)
		wait_explain(w, d, reply);
}

static int
wait_timeout(const struct progress *p, uint64_t limit_ms)
{
	uint64_t now_ms = clock_boot_ms();
	int timeout = progress_timeout(p);
	uint64_t left_ms = limit_ms > now_ms ? limit_ms - now_ms : 0;

	if (limit_ms != DDBLOCK_NEVER_MS && left_ms < INT32_MAX &&
	    (timeout < 0 || left_ms < (uint64_t)timeout))
		timeout = (int)left_ms;
	return timeout;
}

/* The waiting ends with the connection. A grant for a process in the same
 * moment does not end: the process would hold it unknowingly. */
static void
wait_give_up(struct wait_state *w, struct ddblock *d)
{
	uint64_t limit_ms = clock_boot_ms() + WAIT_ANSWER_MS;

	w->given_up = true;
	if (!w->request->for_process || ddblock_cancel(d, w->number) < 0)
		return;
	while (!w->answered) {
		struct pollfd one = { .fd = ddblock_fd(d), .events = POLLIN };
		uint64_t now_ms = clock_boot_ms();

		if (one.fd < 0 || now_ms >= limit_ms ||
		    (poll(&one, 1, (int)(limit_ms - now_ms)) < 0 &&
		    errno != EINTR))
			return;
		(void)ddblock_dispatch(d);
	}
	if (w->id != 0)
		(void)ddblock_release(d, w->id);
	w->id = 0;
}

static int
wait_loop(struct wait_state *w, struct ddblock *d, struct progress *p,
    uint64_t limit_ms)
{
	const struct lock_request *request = w->request;

	while (!w->answered) {
		struct pollfd fds[2] = {
			{ .fd = ddblock_fd(d), .events = POLLIN },
			{ .fd = request->interrupt_fd, .events = POLLIN },
		};
		int status = 0;

		if (fds[0].fd < 0 ||
		    (poll(fds, 2, wait_timeout(p, limit_ms)) < 0 &&
		    errno != EINTR))
			return cli_failed(d, request->name, DDBLOCK_E_SYSTEM);
		if (fds[1].revents != 0)
			status = request->on_interrupt(request->arg);
		if (status != 0) {
			wait_give_up(w, d);
			return status;
		}
		(void)ddblock_dispatch(d);
		if (!w->answered && clock_boot_ms() >= limit_ms) {
			cli_say("%s: the daemon does not answer",
			    request->name);
			return ddblock_exit_status(DDBLOCK_E_NO_DAEMON);
		}
		if (!w->answered)
			progress_tick(p, d);
	}
	return w->status;
}

static void
wait_on_event(void *arg, struct ddblock *d, const struct ddblock_event *event)
{
	(void)arg;
	cli_say_connection(d, event);
}

static bool
wait_is_limited(const struct lock_request *request)
{
	return request->options.wait_ms >= 0 &&
	    request->options.wait_ms != DDBLOCK_WAIT_FOREVER;
}

/* What is left of the wait for the lock; no less than a millisecond. */
static int64_t
wait_left(const struct lock_request *request, uint64_t from_ms)
{
	int64_t wait_ms = request->options.wait_ms;
	int64_t gone_ms = (int64_t)(clock_boot_ms() - from_ms);

	if (wait_ms <= 0 || wait_ms == DDBLOCK_WAIT_FOREVER ||
	    gone_ms < WAIT_NONE_MS)
		return wait_ms;
	return wait_ms > gone_ms ? wait_ms - gone_ms : 1;
}

int
wait_open(struct cli *cli, const char *name, struct lock_request *request,
    struct ddblock **ret)
{
	struct ddblock_connect_options options = DDBLOCK_CONNECT_OPTIONS_INIT;
	uint64_t from_ms = clock_boot_ms();
	int status;

	options.name = request_client_name(request, name);
	options.resume = 1;
	options.interrupt_fd = request->interrupt_fd;
	request->from_ms = from_ms;
	request->asked_ms = wait_is_limited(request) ?
	    (uint64_t)request->options.wait_ms : DDBLOCK_NEVER_MS;
	do {
		options.wait_ms = wait_left(request, from_ms);
		status = cli_connect(cli, options, ret);
		if (status == CLI_INTERRUPTED) {
			status = request->on_interrupt(request->arg);
			if (status == 0)
				status = CLI_INTERRUPTED;
		}
	} while (status == CLI_INTERRUPTED);
	if (status != 0)
		return status;
	request->options.wait_ms = wait_left(request, from_ms);
	ddblock_on_event(*ret, wait_on_event, NULL);
	return 0;
}

int
wait_for_lock(struct cli *cli, struct ddblock *d,
    struct lock_request *request, uint64_t *ret_id)
{
	struct ddblock_acquire_options *options = &request->options;
	struct wait_state w = { .request = request };
	uint64_t limit_ms = DDBLOCK_NEVER_MS;
	int status = outer_check(cli, d, request);
	int r;

	*ret_id = 0;
	if (status != 0 || request->inside)
		return status;
	options->ns = cli->ns;
	options->sort = cli->sort;
	contents_ask(&request->contents, options);
	if (wait_is_limited(request))
		limit_ms = clock_boot_ms() + (uint64_t)options->wait_ms +
		    WAIT_ANSWER_MS;
	r = ddblock_acquire_several_start(d, request->keys, request->n_keys,
	    options, wait_on_answer, &w, &w.number);
	if (r < 0)
		return cli_failed(d, request->name, r);
	progress_init(&request->progress, cli,
	    request->n_keys == 1 ? request->keys[0] : NULL, request->from_ms,
	    request->asked_ms, request->quiet);
	status = wait_loop(&w, d, &request->progress, limit_ms);
	progress_done(&request->progress);
	*ret_id = w.id;
	return status;
}
