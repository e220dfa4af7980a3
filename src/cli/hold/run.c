/*
 * One run: wait for a lock, run a command under it, and release it.
 */
#include <config.h>

#include "cli/hold/run.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/acquire/outer.h"
#include "cli/acquire/wait.h"
#include "cli/base/say.h"
#include "cli/hold/front.h"
#include "cli/hold/supervise.h"
#include "common/clock.h"
#include "common/utf8.h"

bool
run_option(struct run *run, enum cli_option option)
{
	switch (option) {
	case CLI_OPTION_ON_DANGER:
		run->danger_signal = cli_parse_signal(optarg);
		return run->danger_signal != 0;
	case CLI_OPTION_COMMAND:
		run->shell_text = optarg;
		return true;
	case CLI_OPTION_CLOSE:
		/* What keeps the lock stays open in the command, which needs
		 * it when we are killed (child.c). It keeps no lock when the
		 * command has ended: we release it then. */
		return true;
	case CLI_OPTION_NO_FORK:
		run->no_fork = true;
		return true;
	default:
		return request_option(&run->request, option);
	}
}

/* The word after the key, which is an option there only as with flock(1). */
static int
run_after_key(struct run *run, int argc, char **argv)
{
	static const char name[] = "--command";
	const size_t length = sizeof(name) - 1;
	char *word = argv[optind++];
	bool has_value = strncmp(word, name, length) == 0 &&
	    word[length] == '=';

	if (!has_value && strcmp(word, "-c") != 0 && strcmp(word, name) != 0)
		return cli_misused(run->cli, "\"%s\" stands after the key; "
		    "options go before it, and before a command of that name "
		    "goes \"--\"", word);
	if (run->shell_text != NULL)
		return cli_misused(run->cli, "one command at a time");
	if (has_value)
		run->shell_text = word + length + 1;
	else if (optind < argc)
		run->shell_text = argv[optind++];
	else
		return cli_misused(run->cli, "%s needs a value", word);
	return 0;
}

static void
run_by_shell(struct run *run)
{
	static char shell[] = "/bin/sh", option[] = "-c";
	char *chosen = getenv("SHELL");

	run->shell_argv[0] =
	    chosen == NULL || chosen[0] == '\0' ? shell : chosen;
	run->shell_argv[1] = option;
	run->shell_argv[2] = run->shell_text;
	run->argv = run->shell_argv;
}

int
run_operands(struct run *run, int argc, char **argv)
{
	bool named = run->request.n_keys > 0;
	int status;

	if (run->no_fork)
		return cli_misused(run->cli, "-F: a lock with a lease needs a "
		    "process that watches the command and ends it in time. "
		    "Without -F that process passes signals and the status "
		    "on; for a process that must keep its number there is "
		    "\"ddblock acquire --for-pid\"");
	status = request_operand(run->cli, &run->request, argc, argv);
	if (status != 0)
		return status;
	if (!named && optind < argc && strcmp(argv[optind], "--") == 0)
		optind++;
	else if (!named && optind < argc && argv[optind][0] == '-')
		status = run_after_key(run, argc, argv);
	if (status != 0)
		return status;
	if (run->shell_text != NULL && optind < argc)
		return cli_misused(run->cli, "the shell's command is one "
		    "word: \"%s\" is too much", argv[optind]);
	if (run->shell_text == NULL && optind == argc)
		return cli_misused(run->cli, "which command?");
	run->argv = argv + optind;
	if (run->shell_text != NULL)
		run_by_shell(run);
	return 0;
}

/* A signal while waiting: the command will not run. */
int
run_on_interrupt(void *arg)
{
	struct run *run = arg;
	int number = signals_next(&run->signals);

	switch (number) {
	case SIGHUP:
	case SIGINT:
	case SIGQUIT:
	case SIGTERM:
	case SIGUSR1:
	case SIGUSR2:
		run->told_to_end = true;
		return CLI_SIGNAL + number;
	case SIGTSTP:
		(void)raise(SIGSTOP);
		return 0;
	default:
		return 0;
	}
}

static int
run_set_number(const char *name, uint64_t number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return setenv(name, text, 1);
}

/* DDBLOCK_KEY and DDBLOCK_TOKEN; of each lock with _1, _2, .. */
static int
run_set_lock(const struct run *run, size_t index, const char *suffix)
{
	const char *key = run->request.keys[index];
	char name[32];

	(void)snprintf(name, sizeof(name), "DDBLOCK_KEY%s", suffix);
	if (setenv(name, key, 1) < 0)
		return -1;
	(void)snprintf(name, sizeof(name), "DDBLOCK_TOKEN%s", suffix);
	if (run->request.inside)
		return setenv(name, run->request.tokens[index], 1);
	if (ddblock_token_text(run->connection, run->id, key) != NULL)
		return setenv(name,
		    ddblock_token_text(run->connection, run->id, key), 1);
	return run_set_number(name,
	    ddblock_token_of(run->connection, run->id, key));
}

static int
run_environment(const struct run *run)
{
	const struct lock_request *request = &run->request;
	char path[PATH_MAX];
	char suffix[24];
	int r;

	/* The command may change its directory. */
	r = setenv("DDBLOCK_SOCKET", cli_socket_path(run->connection, path), 1);
	if (r == 0)
		r = run_set_number("DDBLOCK_KEYS", request->n_keys);
	if (r == 0 && !request->inside)
		r = contents_set_environment(
		    ddblock_found(run->connection, run->id));
	if (r == 0 && !request->inside &&
	    !outer_add(run->connection, run->id, request))
		r = -1;
	if (r == 0)
		r = run_set_lock(run, 0, "");
	for (size_t i = 0; r == 0 && i < request->n_keys; i++) {
		(void)snprintf(suffix, sizeof(suffix), "_%zu", i + 1);
		r = run_set_lock(run, i, suffix);
	}
	if (r == 0)
		return 0;
	cli_say("cannot set the environment: %s", strerror(errno));
	return CLI_FAILED;
}

struct run_answer {
	bool given;
	int code;
};

static void
run_on_released(void *arg, struct ddblock *d,
    const struct ddblock_reply *reply)
{
	struct run_answer *answer = arg;

	(void)d;
	answer->given = true;
	answer->code = reply->code;
}

/*
 * Release, and wait for the answer: a program that waits for our end may rely
 * on it. But wait no longer than the hold's deadline, and stop when told to
 * end.
 */
static int
run_release(struct run *run)
{
	uint64_t until_ms = ddblock_until_boot_ms(run->connection, run->id);
	struct run_answer answer = { .given = false };
	int r = ddblock_release_start(run->connection, run->id,
	    run_on_released, &answer, NULL);

	while (r == 0 && !answer.given) {
		struct pollfd fds[2] = {
			{ .fd = ddblock_fd(run->connection),
			    .events = POLLIN },
			{ .fd = run->signals.fd, .events = POLLIN },
		};
		uint64_t now_ms = clock_boot_ms();
		uint64_t left_ms = until_ms > now_ms ? until_ms - now_ms : 0;

		if (left_ms == 0)
			return DDBLOCK_E_NO_DAEMON;
		if (poll(fds, 2, left_ms > INT_MAX ? INT_MAX :
		    (int)left_ms) < 0 && errno != EINTR)
			return DDBLOCK_E_SYSTEM;
		if (fds[1].revents != 0 && run_on_interrupt(run) != 0)
			return DDBLOCK_E_CANCELLED;
		r = ddblock_dispatch(run->connection);
	}
	return answer.given ? answer.code : r;
}

/* The command ran under the lock; did it hold the lock to the end? */
static int
run_finish(struct run *run, const struct supervise *s, int status)
{
	uint64_t until_ms = ddblock_until_boot_ms(run->connection, run->id);
	int r;

	/* Without the process in front, the policy says whether it is
	 * released. */
	if (s->lost || s->front_died)
		return status;
	/* Where only success counts, a release would say it (--counts). */
	if (status != 0 && run->request.options.counts_at_end)
		return status;
	r = run_release(run);
	if (r == 0)
		return status;
	if (s->ended && (r == DDBLOCK_E_LOCK_STOLEN ||
	    s->ended_ms >= until_ms)) {
		cli_say("%s: the lock was lost while the command ran",
		    run->request.name);
		return CLI_LOST;
	}
	cli_say("%s: the lock could not be released (%s); it ends with its "
	    "lease", run->request.name, ddblock_error_text(r));
	return status;
}

/* The process that holds the lock. */
static int
run_behind(struct run *run, struct front *front)
{
	struct supervise s = {
		.name = run->request.name,
		.connection = run->connection,
		.id = run->id,
		.signals = &run->signals,
		.front = front,
		.danger_signal = run->danger_signal,
	};
	int status = run_environment(run);

	if (status == 0)
		status = supervise_run(&s, run->argv);
	status = run_finish(run, &s, status);
	front->share->lost = s.lost || status == CLI_LOST;
	front->share->told_to_end = run->told_to_end || s.told_to_end;
	return status;
}

static int
run_locked(struct run *run)
{
	struct front front;
	int status;

	switch (front_fork(&front, &run->signals)) {
	case -1:
		cli_say("cannot watch the lock: %s", strerror(errno));
		return CLI_FAILED;
	case 0:
		_exit(run_behind(run, &front));
	default:
		break;
	}
	/* Only the other process uses the connection. This process keeps it
	 * open, too, which keeps the lock until no process of the command is
	 * left. */
	status = front_wait(&front);
	run->lost = front.share->lost;
	run->told_to_end = run->told_to_end || front.share->told_to_end;
	front_done(&front);
	return status;
}

/* Under an outer hold: its holder watches all descendants. */
static int
run_inside(struct run *run)
{
	int status = run_environment(run);

	if (status != 0)
		return status;
	(void)sigprocmask(SIG_SETMASK, &run->signals.before, NULL);
	(void)execvp(run->argv[0], run->argv);
	return child_complain(run->argv[0], errno);
}

int
run_init(struct run *run)
{
	if (signals_init(&run->signals) == 0) {
		say_nonblocking();
		return 0;
	}
	cli_say("cannot read signals: %s", strerror(errno));
	return CLI_FAILED;
}

/* The holder is the command: of a text for the shell, its first word. NULL: it
 * has no name that can be shown. */
static const char *
run_name(struct run *run)
{
	const char *path = run->shell_text != NULL ? run->shell_text :
	    run->argv[0];
	const size_t length = strcspn(path, " \t\n;&|");
	const char *name = path;

	for (size_t i = 0; i < length; i++) {
		if (path[i] == '/')
			name = path + i + 1;
	}
	(void)snprintf(run->name, sizeof(run->name), "%.*s",
	    (int)(path + length - name), name);
	return run->name[0] == '\0' || !utf8_is_shown(run->name) ? NULL :
	    run->name;
}

int
run_once(struct run *run)
{
	int status;

	run->id = 0;
	run->lost = run->told_to_end = false;
	run->request.interrupt_fd = run->signals.fd;
	run->request.on_interrupt = run_on_interrupt;
	run->request.arg = run;
	status = wait_open(run->cli, run_name(run), &run->request,
	    &run->connection);
	if (status != 0)
		return status;
	status = wait_for_lock(run->cli, run->connection, &run->request,
	    &run->id);
	if (run->request.inside)
		status = run_inside(run);
	else if (run->id != 0)
		status = run_locked(run);
	ddblock_close(run->connection);
	return status;
}
