/*
 * Waiting for a lock.
 */
#include <config.h>

#include "cli/wait.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cli/outer.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "ipc/codec.h"

/* A daemon that has not answered so long after it should have, never will. */
#define WAIT_ANSWER_MS 30000

static bool
wait_add_key(struct wait_request *request, const char *key)
{
	if (request->n_keys == DDBLOCK_KEYS_MAX)
		return false;
	request->keys[request->n_keys++] = key;
	return true;
}

int
wait_operand(struct cli *cli, struct wait_request *request, int argc,
    char **argv)
{
	const char *complaint = keep_complaint(&request->keep);

	if (complaint != NULL)
		return cli_misused(cli, "%s", complaint);
	if (request->n_keys == 0) {
		if (optind == argc)
			return cli_misused(cli, "which lock?");
		(void)wait_add_key(request, argv[optind++]);
		if (optind < argc && strcmp(argv[optind], "--") == 0)
			optind++;
	}
	request->name = request->keys[0];
	if (request->n_keys > 1) {
		(void)snprintf(request->several, sizeof(request->several),
		    "%.80s and %zu more", request->keys[0],
		    request->n_keys - 1);
		request->name = request->several;
	}
	return 0;
}

bool
wait_option(struct wait_request *request, int option)
{
	uint64_t number;

	switch (option) {
	case 'k':
		return wait_add_key(request, optarg);
	case 'n':
		request->wait_ms = 0;
		return true;
	case 's':
		request->mode = DDBLOCK_SHARED;
		return true;
	case 'c':
		if (!codec_parse_number(optarg, strlen(optarg), &number) ||
		    number == 0 || number > UINT32_MAX)
			return false;
		request->mode = DDBLOCK_SHARED;
		request->limit = (uint32_t)number;
		return true;
	case WAIT_OPTION_FAIL_CLOSED:
		request->policy = DDBLOCK_FAIL_CLOSED;
		return true;
	case 'w':
		request->wait_ms = DDBLOCK_WAIT_FOREVER;
		return strcmp(optarg, "forever") == 0 ||
		    cli_parse_wait(optarg, &request->wait_ms);
	case 'E':
		if (!codec_parse_number(optarg, strlen(optarg), &number) ||
		    number > 255)
			return false;
		request->busy_status = (int)number;
		return true;
	case WAIT_OPTION_MAX_HOLD:
		return cli_parse_wait(optarg, &request->max_hold_ms) &&
		    request->max_hold_ms > 0;
	case WAIT_OPTION_OWNER:
		request->owner = optarg;
		return optarg[0] != '\0';
	case WAIT_OPTION_DANGER:
		request->danger_ms = -1;
		return strcmp(optarg, "never") == 0 ||
		    (cli_parse_wait(optarg, &request->danger_ms) &&
			request->danger_ms > 0);
	default:
		return keep_option(&request->keep, option);
	}
}

struct wait_state {
	const struct wait_request *request;
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

/* Why it was not granted; and the exit status for that. */
static void
wait_explain(struct wait_state *w, struct ddblock *d,
    const struct ddblock_reply *reply)
{
	const char *name = w->request->name;
	struct buffer b;
	bool busy = reply->code == DDBLOCK_E_LOCK_BUSY ||
	    reply->code == DDBLOCK_E_ACQUIRE_TIMEOUT;
	int code = reply->cause != 0 ? reply->cause : reply->code;

	/* Of several, the one that is in the way. */
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
	wait_field(&b, reply->row, ", ", "policy");
	wait_field(&b, reply->row, ", unchanged for ", "unchanged");
	wait_field(&b, reply->row, ", alive: ", "alive");
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

/* With the connection the waiting ends, but what was granted for a process in
 * the same moment does not: nobody would know that it has it. */
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
	const struct wait_request *request = w->request;

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

int
wait_for_lock(struct cli *cli, struct ddblock *d,
    struct wait_request *request, uint64_t *ret_id)
{
	struct ddblock_acquire_options options = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	struct wait_state w = { .request = request };
	uint64_t limit_ms = DDBLOCK_NEVER_MS;
	int status = outer_check(cli, d, request);
	int r;

	*ret_id = 0;
	if (status != 0 || request->inside)
		return status;
	options.ns = cli->ns;
	options.sort = cli->sort;
	options.wait_ms = request->wait_ms;
	options.mode = request->mode;
	options.limit = request->limit;
	options.policy = request->policy;
	options.owner = request->owner;
	options.max_hold_ms = request->max_hold_ms;
	options.danger_ms = request->danger_ms;
	if (request->for_process) {
		options.process_fd = request->process_fd;
		options.loss_signal = request->loss_signal;
	}
	keep_ask(&request->keep, &options);
	if (request->wait_ms >= 0 &&
	    request->wait_ms != DDBLOCK_WAIT_FOREVER)
		limit_ms = clock_boot_ms() + (uint64_t)request->wait_ms +
		    WAIT_ANSWER_MS;
	r = ddblock_acquire_several_start(d, request->keys, request->n_keys,
	    &options, wait_on_answer, &w, &w.number);
	if (r < 0)
		return cli_failed(d, request->name, r);
	progress_init(&request->progress, cli,
	    request->n_keys == 1 ? request->keys[0] : NULL, request->quiet);
	status = wait_loop(&w, d, &request->progress, limit_ms);
	progress_done(&request->progress);
	*ret_id = w.id;
	return status;
}
