/*
 * ddblock top: a screen of the daemon's locks. A program of its own draws it,
 * because a lock in a script should not wait for the libraries of a terminal.
 */
#include <config.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/sibling.h"
#include "cli/command/command.h"

#define TOP_INTERVAL_MS 2000
#define TOP_INTERVAL_MIN_MS 100
#define TOP_INTERVAL_MAX_MS (7 * 86400 * 1000)

struct top_options {
	int64_t interval_ms;	/* 0: not said */
	const char *filter;
	bool once;
};

static bool
top_option(void *arg, enum cli_option option)
{
	struct top_options *o = arg;

	switch (option) {
	case CLI_OPTION_SNAPSHOT:
		o->once = true;
		return true;
	case CLI_OPTION_FILTER:
		o->filter = optarg;
		return strlen(optarg) < 256;
	default:
		return cli_parse_time(optarg, &o->interval_ms) &&
		    o->interval_ms >= TOP_INTERVAL_MIN_MS &&
		    o->interval_ms <= TOP_INTERVAL_MAX_MS;
	}
}

/* Become the program that does it. Returns only if that fails. */
static int
top_become(const struct cli *cli, const struct top_options *o,
    const char *path)
{
	char text[PATH_MAX + 64];
	char number[24];
	const char *arguments[] = { "ddblock-top", text,
		cli->ns == NULL ? "" : cli->ns,
		cli->sort == NULL ? "" : cli->sort,
		o->filter == NULL ? "" : o->filter, number,
		!o->once ? "screen" : cli->json ? "json" : "text",
		o->interval_ms > 0 ? "twice" : NULL, NULL };

	(void)snprintf(text, sizeof(text), "%s", path);
	(void)snprintf(number, sizeof(number), "%lld",
	    (long long)(o->interval_ms > 0 ? o->interval_ms :
	    TOP_INTERVAL_MS));
	return sibling_exec(PKGLIBEXECDIR, (char **)(uintptr_t)arguments);
}

int
command_top(struct cli *cli, int argc, char **argv)
{
	struct top_options o = { .once = false };
	char path[PATH_MAX];
	struct ddblock *d;
	int status = cli_options(cli, argc, argv, top_option, &o);

	if (status != 0)
		return status;
	if (!cli_count_operands(cli, argc, argv, 0, 0))
		return CLI_USAGE;
	if (cli->json && !o.once)
		return cli_misused(cli, "--json goes with --once");
	if (!o.once && (isatty(STDIN_FILENO) != 1 ||
	    isatty(STDOUT_FILENO) != 1))
		return cli_misused(cli, "it needs a terminal; for a file or a "
		    "program there is --once");
	/* Is there a daemon? What is wrong with it is said here, as always. */
	status = cli_open(cli, NULL, &d);
	if (status != 0)
		return status;
	(void)snprintf(path, sizeof(path), "%s", ddblock_path(d));
	ddblock_close(d);
	return top_become(cli, &o, path);
}
