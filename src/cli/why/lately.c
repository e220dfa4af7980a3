/*
 * What the daemon did lately. Another program reads the journal, because that
 * takes libsystemd (history/main.c): so a lock needs no such library, and a
 * client in a container that has none has an answer all the same.
 */
#include <config.h>

#include "cli/why/lately.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/sibling.h"

#define LATELY_SECONDS_MAX 5	/* a journal may be long, its disk slow */
#define LATELY_ARGUMENTS_MAX 12
#define LATELY_ARGUMENT_MAX 4096

/* The child: it does not come back. Its complaints are no part of the answer.
 * (It dies of the alarm if the journal takes too long.) */
static _Noreturn void
lately_ask(const struct cli *cli, const char *key, const char *ns, int out)
{
	static char name[] = "ddblock-history", lately[] = "lately=5",
	    json[] = "json";
	char key_word[LATELY_ARGUMENT_MAX], ns_word[LATELY_ARGUMENT_MAX],
	    sort_word[LATELY_ARGUMENT_MAX];
	char *arguments[LATELY_ARGUMENTS_MAX] = { name, lately, key_word,
		sort_word };
	const int none = open("/dev/null", O_WRONLY);
	size_t n = 4;

	(void)snprintf(key_word, sizeof(key_word), "key=%s", key);
	(void)snprintf(sort_word, sizeof(sort_word), "sort=%s",
	    cli->sort == NULL ? "-" : cli->sort);
	(void)snprintf(ns_word, sizeof(ns_word), "ns=%s", ns);
	if (ns[0] != '\0')
		arguments[n++] = ns_word;
	if (cli->json)
		arguments[n++] = json;
	if (dup2(out, STDOUT_FILENO) < 0 || none < 0 ||
	    dup2(none, STDERR_FILENO) < 0)
		_exit(CLI_FAILED);
	(void)alarm(LATELY_SECONDS_MAX);
	_exit(sibling_exec(PKGLIBEXECDIR, arguments));
}

static void
lately_read(int fd, struct buffer *ret)
{
	char bytes[4096];
	ssize_t n;

	do {
		n = read(fd, bytes, sizeof(bytes));
		if (n > 0)
			(void)buffer_append(ret, bytes, (size_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
}

static void
lately_none(const struct cli *cli, const char *why, struct buffer *ret)
{
	buffer_clear(ret);
	(void)buffer_printf(ret, cli->json ? "{\"journal\":\"%s\"}" :
	    "not known: %s\n", why);
}

void
why_lately(const struct cli *cli, const char *key, const char *ns,
    struct buffer *ret)
{
	int ends[2], status = 0;
	pid_t pid = -1;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		lately_none(cli, strerror(errno), ret);
		return;
	}
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		lately_ask(cli, key, ns, ends[1]);
	(void)close(ends[1]);
	if (pid > 0) {
		lately_read(ends[0], ret);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
	}
	(void)close(ends[0]);
	if (pid < 0)
		lately_none(cli, strerror(errno), ret);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == CLI_NOT_FOUND)
		lately_none(cli, "ddblock-history is not installed", ret);
	else if (WIFSIGNALED(status))
		lately_none(cli, "the journal takes too long to read", ret);
	else if (buffer_failed(ret) != 0 || ret->length == 0)
		lately_none(cli, "the journal cannot be read", ret);
}
