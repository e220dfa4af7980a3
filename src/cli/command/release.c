/*
 * ddblock release: end the helper that `acquire --for-pid` left behind, or all
 * helpers, and wait until they are gone. If the helper was killed, the daemon
 * is asked to release. All other holds belong to their connections.
 */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/pidfd.h"
#include "cli/command/command.h"
#include "cli/hold/holder.h"
#include "common/buffer.h"
#include "ipc/codec.h"

#define RELEASE_WAIT_MS 60000
#define RELEASE_AT_ONCE 256	/* helpers, each with a descriptor */

struct helper {
	uint64_t id;		/* of its hold */
	uint64_t pid;
	int fd;			/* of it, once it is confirmed; or -1 */
	bool confirmed;
	bool told;
	bool left;		/* killed: the process has its hold */
};

struct release {
	struct ddblock *connection;
	struct ddblock_query_options query;
	bool all;
	bool best_effort;
	char name[HOLDER_NAME_SIZE];	/* of the helper; "": any */
	struct helper helpers[RELEASE_AT_ONCE];
	size_t n_helpers;
	uint64_t other_pid;	/* another holder; 0: none */
};

static uint64_t
release_number(const struct ddblock_row *row, const char *name)
{
	size_t length;
	const char *value = ddblock_row_find(row, name, &length);
	uint64_t number;

	if (value == NULL || !codec_parse_number(value, length, &number))
		return 0;
	return number;
}

/* May this call release it? Without a named process, all the user's own holds;
 * of one lock, root may release any user's. */
static bool
release_matches(const struct release *r, const struct ddblock_row *row)
{
	const char *name = ddblock_row_find(row, "name", NULL);
	bool any_user = geteuid() == 0 && (!r->all || r->name[0] != '\0');

	return name != NULL &&
	    strncmp(name, HOLDER_NAME, strlen(HOLDER_NAME)) == 0 &&
	    (any_user || release_number(row, "uid") == geteuid());
}

/* A helper of many locks has a row for each, under one id. */
static struct helper *
release_known(struct release *r, const struct helper *like)
{
	for (size_t i = 0; i < r->n_helpers; i++) {
		if (r->helpers[i].id == like->id &&
		    r->helpers[i].pid == like->pid)
			return &r->helpers[i];
	}
	return NULL;
}

static void
release_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct release *r = arg;
	struct helper helper = { .fd = -1 };

	if (final)
		return;
	helper.id = release_number(row, "id");
	helper.pid = release_number(row, "pid");
	helper.left = ddblock_row_find(row, "left", NULL) != NULL;
	if (!release_matches(r, row))
		r->other_pid = helper.pid;
	else if ((r->name[0] == '\0' ||
	    strcmp(ddblock_row_find(row, "name", NULL), r->name) == 0) &&
	    r->n_helpers < RELEASE_AT_ONCE && release_known(r, &helper) == NULL)
		r->helpers[r->n_helpers++] = helper;
}

static void
release_on_row_again(void *arg, const struct ddblock_row *row, bool final)
{
	struct release *r = arg;
	struct helper *known;

	if (final)
		return;
	known = release_known(r, &(struct helper){
	    .id = release_number(row, "id"),
	    .pid = release_number(row, "pid"),
	});
	if (known != NULL)
		known->confirmed = true;
}

static const char *
release_what(const struct release *r)
{
	return r->all ? "all" : r->query.key;
}

/* No helper holds it: with --all, or --best-effort, that is success. */
static int
release_not_there(const struct release *r)
{
	if (r->all || (r->best_effort && r->other_pid == 0))
		return 0;
	if (r->other_pid != 0)
		cli_say("%s: process %llu holds it by a connection of its own, "
		    "and only that can release it", r->query.key,
		    (unsigned long long)r->other_pid);
	else
		cli_say("%s: no \"ddblock acquire --for-pid\" holds it here; "
		    "\"ddblock get\" shows its holder", r->query.key);
	return ddblock_exit_status(DDBLOCK_E_LOCK_NOT_OWNED);
}

static int
release_tell(const struct release *r, struct helper *helper)
{
	helper->told = helper->confirmed && helper->fd >= 0;
	if (!helper->told)
		return release_not_there(r);
	if (pidfd_signal(helper->fd, SIGTERM) == 0 || errno == ESRCH)
		return 0;
	helper->told = false;
	cli_say("%s: cannot signal process %llu: %s", release_what(r),
	    (unsigned long long)helper->pid, strerror(errno));
	return CLI_FAILED;
}

/* The helper was killed: the daemon is to release its hold. */
static int
release_of_process(const struct release *r, const struct helper *helper)
{
	int code = ddblock_release_for_process(r->connection, helper->id);

	if (code == 0 || code == DDBLOCK_E_NO_SUCH_LOCK ||
	    code == DDBLOCK_E_LOCK_LOST || r->best_effort)
		return 0;
	return cli_failed(r->connection, release_what(r), code);
}

/* Wait for its end. */
static int
release_await(const struct release *r, const struct helper *helper)
{
	struct pollfd ended = { .fd = helper->fd, .events = POLLIN };
	int n;

	do {
		n = poll(&ended, 1, RELEASE_WAIT_MS);
	} while (n < 0 && errno == EINTR);
	if (n > 0)
		return 0;
	cli_say("%s: process %llu does not end; does the daemon answer?",
	    release_what(r), (unsigned long long)helper->pid);
	return r->best_effort ? 0 : CLI_FAILED;
}

/* End the helpers that were found; returns the first failure's status. */
static int
release_end(struct release *r)
{
	int status = 0;
	int code;

	for (size_t i = 0; i < r->n_helpers; i++) {
		if (!r->helpers[i].left)
			r->helpers[i].fd = pidfd_for((pid_t)r->helpers[i].pid);
	}
	/*
	 * Are the processes still the same? Then the descriptors mean the
	 * helpers.
	 */
	code = ddblock_query(r->connection, DDBLOCK_QUERY_HELD, &r->query,
	    release_on_row_again, r);
	if (code < 0)
		status = cli_failed(r->connection, release_what(r), code);
	for (size_t i = 0; code == 0 && i < r->n_helpers; i++) {
		int one = r->helpers[i].left ?
		    release_of_process(r, &r->helpers[i]) :
		    release_tell(r, &r->helpers[i]);

		status = status != 0 ? status : one;
	}
	for (size_t i = 0; i < r->n_helpers; i++) {
		int one = r->helpers[i].told ?
		    release_await(r, &r->helpers[i]) : 0;

		status = status != 0 ? status : one;
		if (r->helpers[i].fd >= 0)
			(void)close(r->helpers[i].fd);
	}
	return status;
}

static int
release_find(struct release *r)
{
	r->n_helpers = 0;
	r->other_pid = 0;
	return ddblock_query(r->connection, DDBLOCK_QUERY_HELD, &r->query,
	    release_on_row, r);
}

static int
release_run(struct release *r)
{
	size_t n;
	int status;

	do {
		int code = release_find(r);

		if (code < 0)
			return cli_failed(r->connection, release_what(r), code);
		n = r->n_helpers;
		if (n == 0)
			return release_not_there(r);
		if (n > 1 && !r->all) {
			cli_say("%s: %zu processes share it; name the one that "
			    "shall leave: --for-pid=PID", r->query.key, n);
			return CLI_USAGE;
		}
		status = release_end(r);
	} while (status == 0 && n == RELEASE_AT_ONCE);
	return status;
}

static bool
release_option(struct release *r, int option)
{
	pid_t pid;

	if (option == 'a')
		r->all = true;
	else if (option == 'b')
		r->best_effort = true;
	else if (holder_parse_pid(optarg, &pid))
		holder_name(pid, r->name);
	else
		return false;
	return true;
}

static int
release_arguments(struct release *r, struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		CLI_COMMON_OPTIONS,
		{ "for-pid", required_argument, NULL, 'p' },
		{ "all", no_argument, NULL, 'a' },
		{ "best-effort", no_argument, NULL, 'b' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = cli_getopt(cli, argc, argv, "hv", options)) != -1) {
		if (option == '?')
			return CLI_USAGE;
		if (!release_option(r, option))
			return cli_bad_value(cli, option, options);
	}
	if (r->all && optind != argc)
		return cli_misused(cli, "all of them, or \"%s\"?",
		    argv[optind]);
	if (!r->all && optind + 1 != argc)
		return cli_misused(cli, optind == argc ?
		    "which lock?" : "one lock at a time");
	r->query.key = r->all ? NULL : argv[optind];
	r->query.ns = cli->ns;
	r->query.sort = cli->sort;
	return 0;
}

int
command_release(struct cli *cli, int argc, char **argv)
{
	struct release r = { .query = DDBLOCK_QUERY_OPTIONS_INIT };
	int status = release_arguments(&r, cli, argc, argv);

	if (status == 0)
		status = cli_open(cli, NULL, &r.connection);
	if (status != 0)
		return status;
	status = release_run(&r);
	ddblock_close(r.connection);
	return status;
}
