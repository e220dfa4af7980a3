/*
 * Connecting to the daemon, and what the user hears of that connection.
 */
#include <config.h>

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/cli.h"
#include "common/clock.h"

static const char *
connect_path(const struct cli *cli)
{
	const char *path = cli->socket;

	if (path == NULL || path[0] == '\0')
		path = getenv("DDBLOCK_SOCKET");
	return path == NULL || path[0] == '\0' ? DDBLOCK_SOCKET : path;
}

/* How long to wait for a daemon. False: a complaint was made. */
static bool
connect_wait(const struct cli *cli, int64_t *ret_ms)
{
	const char *text = cli->wait_daemon;

	if (text == NULL)
		text = getenv("DDBLOCK_WAIT_DAEMON");
	*ret_ms = 0;
	if (text == NULL || text[0] == '\0' || strcmp(text, "no") == 0)
		return true;
	*ret_ms = DDBLOCK_WAIT_FOREVER;
	if (strcmp(text, "yes") == 0 || cli_parse_wait(text, ret_ms))
		return true;
	(void)cli_misused(cli, cli->wait_daemon != NULL ?
	    "--wait-daemon is yes, or a time, such as 30s or 1d, not \"%s\"" :
	    "DDBLOCK_WAIT_DAEMON is yes, or a time, such as 30s or 1d, "
	    "not \"%s\"", text);
	return false;
}

/* There is something, but not for this user: who may connect, and what to do
 * about it. */
static void
connect_not_allowed(const char *path)
{
	const struct group *group;
	struct stat st;

	if (stat(path, &st) < 0) {
		cli_say("not allowed to connect to %s: %s", path,
		    errno == EACCES ? "this user may not enter its directory" :
		    strerror(errno));
		return;
	}
	if (!S_ISSOCK(st.st_mode)) {
		cli_say("%s is no socket: name that of ddblockd with --socket "
		    "or DDBLOCK_SOCKET", path);
		return;
	}
	group = (st.st_mode & S_IWGRP) == 0 || st.st_gid == 0 ? NULL :
	    getgrgid(st.st_gid);
	if (group == NULL)
		cli_say("not allowed to connect to %s: its owner and its "
		    "group may (socket_group in ddblockd.conf(5), or "
		    "SocketGroup= of ddblockd.socket)", path);
	else
		cli_say("not allowed to connect to %s: its owner and the "
		    "members of %s may; an administrator adds you (usermod -a "
		    "-G %s USER), and then log in again", path,
		    group->gr_name, group->gr_name);
}

static int
connect_failed(const struct cli *cli, int r, int error)
{
	const char *path = connect_path(cli);

	if (r == DDBLOCK_E_NO_DAEMON && error == EACCES) {
		connect_not_allowed(path);
		return ddblock_exit_status(DDBLOCK_E_DENIED);
	}
	if (r == DDBLOCK_E_NO_DAEMON)
		cli_say("no daemon at %s: %s; start ddblockd, or name its "
		    "socket with --socket or DDBLOCK_SOCKET", path,
		    strerror(error));
	else if (r == DDBLOCK_E_BAD_REQUEST)
		cli_say("%s: too long for the path of a socket", path);
	else
		cli_say("%s: %s", path, ddblock_error_text(r));
	return ddblock_exit_status(r);
}

static void
connect_on_wait(void *arg, int error)
{
	const char *path = arg;

	cli_say("no daemon at %s: %s; waiting for one", path, strerror(error));
}

int
cli_connect(const struct cli *cli, struct ddblock_connect_options options,
    struct ddblock **ret)
{
	int64_t most_ms = options.wait_ms, wait_ms;
	int r, error;

	if (!connect_wait(cli, &wait_ms))
		return CLI_USAGE;
	if (most_ms > 0 && most_ms < wait_ms)
		wait_ms = most_ms;
	options.path = cli->socket;
	options.wait_ms = wait_ms;
	options.on_wait = connect_on_wait;
	options.wait_arg = (void *)(uintptr_t)connect_path(cli);
	r = ddblock_connect(&options, ret);
	error = errno;
	if (r == DDBLOCK_E_CANCELLED)
		return CLI_INTERRUPTED;
	return r == 0 ? 0 : connect_failed(cli, r, error);
}

int
cli_open(const struct cli *cli, const char *name, struct ddblock **ret)
{
	struct ddblock_connect_options options = DDBLOCK_CONNECT_OPTIONS_INIT;

	options.name = name;
	return cli_connect(cli, options, ret);
}

void
cli_say_connection(const struct ddblock *d, const struct ddblock_event *event)
{
	uint64_t now_ms = clock_boot_ms();

	if (event->kind == DDBLOCK_EVENT_RESUMED)
		cli_say("connected to the daemon again");
	else if (event->kind == DDBLOCK_EVENT_BROKEN &&
	    event->until_boot_ms == DDBLOCK_NEVER_MS)
		cli_say("the connection to the daemon broke (%s); trying "
		    "again", ddblock_last_text(d));
	else if (event->kind == DDBLOCK_EVENT_BROKEN)
		cli_say("the connection to the daemon broke (%s); trying "
		    "again for %.1f s, as long as the lock is safe",
		    ddblock_last_text(d), event->until_boot_ms > now_ms ?
		    (double)(event->until_boot_ms - now_ms) / 1000 : 0.0);
}
