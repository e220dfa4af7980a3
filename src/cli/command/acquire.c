/*
 * ddblock acquire: a lock for a process that exists already, such as a shell
 * script. A helper process stays behind and owns the connection.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/acquire/outer.h"
#include "cli/base/pidfd.h"
#include "cli/base/say.h"
#include "cli/command/command.h"
#include "cli/hold/holder.h"
#include "common/buffer.h"
#include "common/shell_quote.h"

static bool
acquire_option(void *arg, enum cli_option option)
{
	struct holder *holder = arg;

	switch (option) {
	case CLI_OPTION_FOR_PID:
		return holder_parse_pid(optarg, &holder->pid);
	case CLI_OPTION_ON_LOST:
		holder->lost_signal = cli_parse_signal(optarg);
		return holder->lost_signal != 0 || strcmp(optarg, "0") == 0;
	default:
		return request_option(&holder->request, option);
	}
}

static int
acquire_arguments(struct holder *holder, int argc, char **argv)
{
	int status = cli_options(holder->cli, argc, argv, acquire_option,
	    holder);

	if (status != 0)
		return status;
	status = request_operand(holder->cli, &holder->request, argc, argv);
	if (status != 0)
		return status;
	if (optind != argc)
		return cli_misused(holder->cli, "\"%s\" is too much; several "
		    "locks are named by -k each", argv[optind]);
	if (holder->pid == 0)
		return cli_misused(holder->cli, "for which process? A lock "
		    "belongs to a connection, and this command's ends with it. "
		    "Name the process: --for-pid=$$ in a script; or use "
		    "\"ddblock run\"");
	return 0;
}

/* What the helper says. */
struct acquire_answer {
	struct holder_report report;
	char holds[OUTER_HOLDS_BYTES_MAX + 1];
};

/* For the process's children, and for its own next lock. */
static void
acquire_print_holds(const char *holds)
{
	struct buffer b;

	buffer_init(&b, 4 * OUTER_HOLDS_BYTES_MAX + 4);
	(void)buffer_append_text(&b, "; export " OUTER_HOLDS "=");
	shell_quote(&b, holds);
	(void)puts(buffer_failed(&b) == 0 ? b.data : "");
	buffer_done(&b);
}

static void
acquire_print(const struct holder *holder, const struct acquire_answer *answer,
    long helper)
{
	const struct holder_report *report = &answer->report;
	const size_t n = holder->request.n_keys;
	bool json = holder->cli->json;

	(void)printf(json ? "{\"token\":%llu,\"id\":%llu,\"helper\":%ld" :
	    "token=%llu id=%llu helper=%ld",
	    (unsigned long long)report->tokens[0],
	    (unsigned long long)report->id, helper);
	for (size_t i = 0; n > 1 && i < n; i++)
		(void)printf(json ? ",\"token_%zu\":%llu" : " token_%zu=%llu",
		    i + 1, (unsigned long long)report->tokens[i]);
	if (json)
		(void)puts("}");
	else
		acquire_print_holds(answer->holds);
}

/* Read until the helper closes its end. */
static size_t
acquire_read(int fd, char *bytes, size_t size)
{
	size_t length = 0;
	ssize_t n;

	while (length < size) {
		n = read(fd, bytes + length, size - length);
		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		length += n < 0 ? 0 : (size_t)n;
	}
	return length;
}

/* The part of the helper's life in which we wait for it. */
static int
acquire_wait(struct holder *holder, pid_t helper, int fd)
{
	struct acquire_answer answer = { 0 };
	size_t length = acquire_read(fd, (char *)&answer, sizeof(answer) - 1);
	int status;

	if (length >= sizeof(answer.report)) {
		acquire_print(holder, &answer, (long)helper);
		return cli_flush(0);
	}
	/* It has complained already. */
	if (waitpid(helper, &status, 0) == helper && WIFEXITED(status))
		return WEXITSTATUS(status);
	return CLI_FAILED;
}

int
command_acquire(struct cli *cli, int argc, char **argv)
{
	struct holder holder = {
		.cli = cli,
		.request = {
			.options = DDBLOCK_ACQUIRE_OPTIONS_INIT,
			.busy_status = 1,
		},
		.lost_signal = SIGTERM,
	};
	int status = acquire_arguments(&holder, argc, argv);
	int ends[2];
	pid_t helper;

	if (status != 0)
		return status;
	/* First of all: the number must not come to mean another process. */
	holder.pid_fd = pidfd_for(holder.pid);
	if (holder.pid_fd < 0 || pidfd_signal(holder.pid_fd, 0) < 0) {
		cli_say("cannot watch process %ld: %s", (long)holder.pid,
		    strerror(errno));
		return CLI_FAILED;
	}
	if (pipe2(ends, O_CLOEXEC) < 0 || (helper = fork()) < 0) {
		cli_say("cannot start a helper: %s", strerror(errno));
		return CLI_FAILED;
	}
	if (helper == 0) {
		(void)close(ends[0]);
		status = holder_run(&holder, ends[1]);
		say_flush();
		_exit(status);
	}
	(void)close(ends[1]);
	return acquire_wait(&holder, helper, ends[0]);
}
