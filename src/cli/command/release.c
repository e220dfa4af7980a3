/*
 * ddblock release: have the daemon end what `acquire --for-pid` holds for a
 * process, or all of it. The helper that it left behind hears of that from the
 * daemon; it may live in another pid namespace, where its number means another
 * process, so no process is signalled here. All other holds belong to their
 * connections.
 */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/base/row_value.h"
#include "cli/hold/holder.h"

#define RELEASE_AT_ONCE 256	/* holds */

struct release {
	struct ddblock *connection;
	struct ddblock_query_options query;
	bool all;
	bool best_effort;
	char name[HOLDER_NAME_SIZE];	/* of the helper; "": any */
	uint64_t ids[RELEASE_AT_ONCE];	/* of the helpers' holds */
	size_t n_ids;
	size_t n_ended;
	uint64_t other_pid;	/* another holder; 0: none */
};

/* May this call release it? Without a named process, all the user's own holds;
 * of one lock, root may release any user's. */
static bool
release_matches(const struct release *r, const struct ddblock_row *row)
{
	const char *name = ddblock_row_find(row, "name", NULL);
	bool any_user = geteuid() == 0 && (!r->all || r->name[0] != '\0');

	return name != NULL &&
	    strncmp(name, HOLDER_NAME, strlen(HOLDER_NAME)) == 0 &&
	    (any_user || row_number_or(row, "uid", 0) == geteuid());
}

/* A helper of many locks has a row for each, under one id. */
static bool
release_knows(const struct release *r, uint64_t id)
{
	for (size_t i = 0; i < r->n_ids; i++) {
		if (r->ids[i] == id)
			return true;
	}
	return false;
}

static void
release_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct release *r = arg;
	uint64_t id;

	if (final)
		return;
	id = row_number_or(row, "id", 0);
	if (!release_matches(r, row))
		r->other_pid = row_number_or(row, "pid", 0);
	else if ((r->name[0] == '\0' ||
	    strcmp(ddblock_row_find(row, "name", NULL), r->name) == 0) &&
	    r->n_ids < RELEASE_AT_ONCE && !release_knows(r, id))
		r->ids[r->n_ids++] = id;
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

/* What ended meanwhile is nothing to complain of; what was lost is not ours to
 * release any more. */
static bool
release_is_good(struct release *r, int code)
{
	if (code == 0 || code == DDBLOCK_E_NO_SUCH_LOCK) {
		r->n_ended++;
		return true;
	}
	if (code == DDBLOCK_E_LOCK_LOST)
		return r->all || r->best_effort;
	return r->best_effort && code != DDBLOCK_E_LOCK_NOT_OWNED;
}

/* End the holds that were found; returns the first failure's status. */
static int
release_end(struct release *r)
{
	int status = 0;

	r->n_ended = 0;
	for (size_t i = 0; i < r->n_ids; i++) {
		int code =
		    ddblock_release_for_process(r->connection, r->ids[i]);

		if (!release_is_good(r, code) && status == 0)
			status = cli_failed(r->connection, release_what(r),
			    code);
	}
	return status;
}

static int
release_find(struct release *r)
{
	r->n_ids = 0;
	r->other_pid = 0;
	return ddblock_query(r->connection, DDBLOCK_QUERY_HELD, &r->query,
	    release_on_row, r);
}

static int
release_run(struct release *r)
{
	int status;

	do {
		int code = release_find(r);

		if (code < 0)
			return cli_failed(r->connection, release_what(r), code);
		if (r->n_ids == 0)
			return release_not_there(r);
		if (r->n_ids > 1 && !r->all) {
			cli_say("%s: %zu processes share it; name the one that "
			    "shall leave: --for-pid=PID", r->query.key,
			    r->n_ids);
			return CLI_USAGE;
		}
		status = release_end(r);
	} while (status == 0 && r->n_ids == RELEASE_AT_ONCE && r->n_ended > 0);
	return status;
}

static bool
release_option(void *arg, enum cli_option option)
{
	struct release *r = arg;
	pid_t pid;

	if (option == CLI_OPTION_ALL)
		r->all = true;
	else if (option == CLI_OPTION_BEST_EFFORT)
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
	int status = cli_options(cli, argc, argv, release_option, r);

	if (status != 0)
		return status;
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
