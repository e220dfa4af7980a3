/*
 * The endpoint that ECS and EKS give a container. It gets a token, and gives
 * keys: which hosts may be asked without TLS is a closed list.
 */
#include <string.h>
#include <strings.h>

#include "aws/loopback.h"
#include "common/buffer.h"
#include "common/error.h"
#include "identity/chain_internal.h"

#define CONTAINER_ECS "http://169.254.170.2"
#define CONTAINER_TIMEOUT_MS 2000	/* botocore's */
#define CONTAINER_ATTEMPTS_MAX 3
#define CONTAINER_HOST_MAX 255
#define CONTAINER_URL_MAX 2048

static bool
container_is_trusted(const char *host)
{
	static const char *const hosts[] = {
		"169.254.170.2", "169.254.170.23", "fd00:ec2::23",
	};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (strcasecmp(host, hosts[i]) == 0)
			return true;
	return loopback_is_host(host, strlen(host));
}

/* The host of what follows "http://"; false: there is none, or it is not the
 * only thing before the path but for a port. */
static bool
container_host(const char *rest, char host[CONTAINER_HOST_MAX + 1])
{
	size_t length = strcspn(rest, "/?#"), host_length;
	const char *end;

	if (memchr(rest, '@', length) != NULL ||
	    memchr(rest, '\\', length) != NULL)
		return false;
	if (rest[0] == '[') {
		end = memchr(rest, ']', length);
		rest++;
		if (end == NULL || (end[1] != ':' && end + 1 != rest - 1 +
		    length))
			return false;
		host_length = (size_t)(end - rest);
	} else {
		end = memchr(rest, ':', length);
		host_length = end != NULL ? (size_t)(end - rest) : length;
	}
	if (host_length == 0 || host_length > CONTAINER_HOST_MAX)
		return false;
	memcpy(host, rest, host_length);
	host[host_length] = '\0';
	return true;
}

/* Why it may not be asked; NULL: it may. */
static const char *
container_fault(const char *url)
{
	char host[CONTAINER_HOST_MAX + 1];

	if (strlen(url) > CONTAINER_URL_MAX)
		return "it is too long";
	for (const char *c = url; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~')
			return "it has characters that cannot be in a URL";
	if (strncasecmp(url, "https://", 8) == 0)
		return container_host(url + 8, host) ? NULL :
		    "it has no host";
	if (strncasecmp(url, "http://", 7) != 0 ||
	    !container_host(url + 7, host))
		return "it is not a URL such as http://HOST/PATH";
	return container_is_trusted(host) ? NULL : "without TLS only loopback, "
	    "169.254.170.2, 169.254.170.23 and [fd00:ec2::23] are asked";
}

static int
container_url(struct chain_search *s, const char *relative, const char *full,
    char **ret)
{
	const char *fault;
	struct buffer url;
	int r;

	buffer_init(&url, CONTAINER_URL_MAX + sizeof(CONTAINER_ECS));
	if (relative != NULL)
		r = buffer_printf(&url, "%s%s", CONTAINER_ECS, relative);
	else
		r = buffer_append_text(&url, full);
	if (r == DDBLOCK_E_NOMEM)
		return r;
	fault = r < 0 ? "it is too long" :
	    container_fault(url.data != NULL ? url.data : "");
	if (fault != NULL)
		r = chain_fail(s, "AWS_CONTAINER_CREDENTIALS_%s_URI: %s",
		    relative != NULL ? "RELATIVE" : "FULL", fault);
	else
		r = chain_keep(s, ret, url.data);
	buffer_done(&url);
	return r;
}

/* The file beats the token: it is read again each time. */
static int
container_token(struct chain_search *s, struct chain_source *source)
{
	const char *file = chain_variable(s->inputs,
	    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *token = chain_variable(s->inputs,
	    "AWS_CONTAINER_AUTHORIZATION_TOKEN");

	if (file != NULL && file[0] == '\0')
		return chain_fail(s, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE "
		    "is set and empty");
	if (file != NULL)
		return chain_keep(s, &source->token_file, file);
	if (token != NULL && strpbrk(token, "\r\n") != NULL)
		return chain_fail(s, "AWS_CONTAINER_AUTHORIZATION_TOKEN has "
		    "more than one line, which no header may have");
	return chain_keep(s, &source->token, token);
}

int
chain_container(struct chain_search *s)
{
	struct chain_source *source = &s->chain->source;
	const char *relative = chain_variable(s->inputs,
	    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = chain_variable(s->inputs,
	    "AWS_CONTAINER_CREDENTIALS_FULL_URI");
	int r;

	if (relative == NULL && full == NULL)
		return CHAIN_ABSENT;
	source->kind = CHAIN_CONTAINER;
	source->timeout_ms = CONTAINER_TIMEOUT_MS;
	source->attempts_max = CONTAINER_ATTEMPTS_MAX;
	r = container_url(s, relative, full, &source->url);
	if (r == 0)
		r = container_token(s, source);
	return r < 0 ? r : CHAIN_FOUND;
}
