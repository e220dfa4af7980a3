/*
 * What a program that prints credentials sees of our environment. A list of
 * what it is given, because what it must not have grows: the service manager's
 * sockets, with which it could speak for the daemon, the place of the service's
 * secrets, the settings of a daemon.
 */
#include "identity/provider_environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* "NAME_*": all that begin so. Programs read those of a proxy in both cases. */
static const char *const environment_given[] = {
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ",
	"LANG", "LANGUAGE", "LC_*", "XDG_*", "AWS_*",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
	"REQUESTS_CA_BUNDLE",
};

static bool
environment_is(const char *variable, const char *name)
{
	size_t length = strlen(name);

	if (name[length - 1] == '*')
		return strncmp(variable, name, length - 1) == 0;
	return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

static bool
environment_gives(const char *variable)
{
	const size_t n = sizeof(environment_given) /
	    sizeof(environment_given[0]);

	for (size_t i = 0; i < n; i++)
		if (environment_is(variable, environment_given[i]))
			return true;
	return false;
}

char **
provider_environment_new(char *const *from)
{
	char **given;
	size_t n = 0, to = 0;

	while (from != NULL && from[n] != NULL)
		n++;
	given = calloc(n + 1, sizeof(*given));
	if (given == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (environment_gives(from[i]))
			given[to++] = from[i];
	return given;
}
