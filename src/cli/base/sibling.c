/*
 * The project's other programs.
 */
#include <config.h>

#include "cli/base/sibling.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/cli.h"

static void
sibling_try(const char *directory, size_t length, char **arguments)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%.*s/%s", (int)length,
	    directory, arguments[0]);

	if (n > 0 && (size_t)n < sizeof(path))
		(void)execv(path, arguments);
}

int
sibling_exec(const char *directory, char **arguments)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *slash;
	int saved;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		if (slash != NULL)
			sibling_try(self, (size_t)(slash - self), arguments);
	}
	sibling_try(directory, strlen(directory), arguments);
	(void)execvp(arguments[0], arguments);
	saved = errno;
	cli_say("cannot run %s: %s; is it installed?", arguments[0],
	    strerror(saved));
	return saved == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_EXECUTE;
}
