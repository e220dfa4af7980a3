/*
 * Where requests go. libcurl parses it, so that the checked parts are the ones
 * it will use.
 */
#include "aws/endpoint.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "aws/loopback.h"
#include "common/error.h"

static bool
endpoint_has(CURLU *u, CURLUPart part)
{
	char *value = NULL;
	bool has = curl_url_get(u, part, &value, 0) == CURLUE_OK &&
	    value[0] != '\0';

	curl_free(value);
	return has;
}

/* Only what a signature for "/" covers. */
static const char *
endpoint_check_rest(CURLU *u)
{
	char *path = NULL;
	bool root = curl_url_get(u, CURLUPART_PATH, &path, 0) == CURLUE_OK &&
	    strcmp(path, "/") == 0;

	curl_free(path);
	if (!root)
		return "a path is not supported";
	if (endpoint_has(u, CURLUPART_QUERY) ||
	    endpoint_has(u, CURLUPART_FRAGMENT))
		return "a query is not supported";
	if (endpoint_has(u, CURLUPART_USER) ||
	    endpoint_has(u, CURLUPART_PASSWORD))
		return "credentials do not belong there";
	return NULL;
}

static bool
endpoint_is_literal(const char *host)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, address) == 1 ||
	    inet_pton(AF_INET6, host, address) == 1;
}

static const char *
endpoint_take(CURLU *u, struct endpoint *e)
{
	char *scheme = NULL, *host = NULL, *port = NULL;
	const char *reason = "it has no host";
	size_t length;
	bool v6, standard;

	if (curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) !=
	    CURLUE_OK)
		goto out;
	e->tls = strcmp(scheme, "https") == 0;
	reason = "it must begin with https:// or http://";
	if (!e->tls && strcmp(scheme, "http") != 0)
		goto out;
	length = strlen(host);
	reason = "the host or the port is too long";
	if (length == 0 || length > ENDPOINT_HOST_MAX ||
	    strlen(port) >= sizeof(e->port))
		goto out;

	v6 = host[0] == '[' && length > 2;
	(void)snprintf(e->host, sizeof(e->host), "%.*s",
	    v6 ? (int)length - 2 : (int)length, v6 ? host + 1 : host);
	(void)snprintf(e->port, sizeof(e->port), "%s", port);
	standard = strcmp(port, e->tls ? "443" : "80") == 0;
	(void)snprintf(e->authority, sizeof(e->authority), "%s%s%s", host,
	    standard ? "" : ":", standard ? "" : port);
	(void)snprintf(e->url, sizeof(e->url), "%s://%s/", scheme,
	    e->authority);
	/* libcurl writes an address in its one form, however it was given. */
	e->literal = endpoint_is_literal(e->host);
	e->loopback = loopback_is_host(e->host, strlen(e->host));
	reason = NULL;
out:
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	return reason;
}

int
endpoint_parse(const char *url, bool allow_plain_http, struct endpoint *ret,
    char *text, size_t text_size)
{
	struct endpoint e = { .tls = false };
	const char *reason;
	CURLU *u = curl_url();

	if (u == NULL)
		return DDBLOCK_E_NOMEM;
	if (curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK)
		reason = "it is not a URL such as https://HOST[:PORT]";
	else if ((reason = endpoint_take(u, &e)) == NULL)
		reason = endpoint_check_rest(u);
	curl_url_cleanup(u);

	if (reason == NULL && !e.tls && !e.loopback && !allow_plain_http)
		reason = "plain http is allowed to loopback only, unless "
		    "allow_plain_http is set";
	if (reason != NULL) {
		(void)snprintf(text, text_size, "endpoint \"%.100s\": %s",
		    url, reason);
		return DDBLOCK_E_BAD_REQUEST;
	}
	*ret = e;
	return 0;
}
