/*
 * ddblock release: end the helper that `acquire --for-pid` left behind, and
 * wait until it is gone. Other holds are their connections' own.
 */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/holder.h"
#include "cli/pidfd.h"
#include "common/buffer.h"
#include "ipc/codec.h"

#define RELEASE_WAIT_MS 60000

struct release {
	struct ddblock *connection;
	struct ddblock_query_options query;
	char name[HOLDER_NAME_SIZE];	/* of whose helper; "": anybody's */
	size_t n_helpers;	/* of ours that hold it */
	uint64_t id;		/* of the last one's hold */
	uint64_t pid;		/* of the last one */
	uint64_t other_pid;	/* who else holds it; 0: nobody */
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

static void
release_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct release *r = arg;
	const char *name = ddblock_row_find(row, "name", NULL);
	uint64_t pid = release_number(row, "pid");

	if (final)
		return;
	if (name == NULL || strncmp(name, HOLDER_NAME,
	    strlen(HOLDER_NAME)) != 0 || (geteuid() != 0 &&
	    release_number(row, "uid") != geteuid())) {
		r->other_pid = pid;
		return;
	}
	if (r->name[0] != '\0' && strcmp(name, r->name) != 0)
		return;
	r->n_helpers++;
	r->id = release_number(row, "id");
	r->pid = pid;
}

static int
release_find(struct release *r)
{
	r->id = r->pid = r->other_pid = 0;
	r->n_helpers = 0;
	return ddblock_query(r->connection, DDBLOCK_QUERY_HELD, &r->query,
	    release_on_row, r);
}

static int
release_not_there(const struct release *r)
{
	if (r->other_pid != 0)
		cli_say("%s: process %llu holds it by a connection of its own, "
		    "and only that can release it", r->query.key,
		    (unsigned long long)r->other_pid);
	else
		cli_say("%s: no \"ddblock acquire --for-pid\" holds it here; "
		    "\"ddblock get\" says who does", r->query.key);
	return ddblock_exit_status(DDBLOCK_E_LOCK_NOT_OWNED);
}

/* Tell the helper, whom @fd names, and wait for its end. */
static int
release_end(const struct release *r, int fd)
{
	struct pollfd ended = { .fd = fd, .events = POLLIN };
	int n;

	if (pidfd_signal(fd, SIGTERM) < 0 && errno != ESRCH) {
		cli_say("%s: cannot signal process %llu: %s", r->query.key,
		    (unsigned long long)r->pid, strerror(errno));
		return CLI_FAILED;
	}
	do {
		n = poll(&ended, 1, RELEASE_WAIT_MS);
	} while (n < 0 && errno == EINTR);
	if (n > 0)
		return 0;
	cli_say("%s: process %llu does not end; does the daemon answer?",
	    r->query.key, (unsigned long long)r->pid);
	return CLI_FAILED;
}

static int
release_run(struct release *r)
{
	uint64_t id;
	uint64_t pid;
	int status;
	int code = release_find(r);
	int fd;

	if (code < 0)
		return cli_failed(r->connection, r->query.key, code);
	if (r->n_helpers == 0)
		return release_not_there(r);
	if (r->n_helpers > 1) {
		cli_say("%s: %zu processes share it; name the one that shall "
		    "leave: --for-pid=PID", r->query.key, r->n_helpers);
		return CLI_USAGE;
	}
	id = r->id;
	pid = r->pid;
	fd = pidfd_for((pid_t)pid);
	/* Is it still the same? Then the descriptor means the helper. */
	code = release_find(r);
	if (code < 0)
		status = cli_failed(r->connection, r->query.key, code);
	else if (fd < 0 || r->id != id || r->pid != pid)
		status = release_not_there(r);
	else
		status = release_end(r, fd);
	if (fd >= 0)
		(void)close(fd);
	return status;
}

static int
release_arguments(struct release *r, struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		CLI_COMMON_OPTIONS,
		{ "for-pid", required_argument, NULL, 'p' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = cli_getopt(cli, argc, argv, "hv", options)) != -1) {
		pid_t pid;

		if (option == '?')
			return CLI_USAGE;
		if (!holder_parse_pid(optarg, &pid))
			return cli_bad_value(cli, option, options);
		holder_name(pid, r->name);
	}
	if (optind + 1 != argc)
		return cli_misused(cli, optind == argc ?
		    "which lock?" : "one lock at a time");
	r->query.key = argv[optind];
	r->query.ns = cli->ns;
	r->query.sort = cli->sort;
	return 0;
}

int
cmd_release(struct cli *cli, int argc, char **argv)
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
