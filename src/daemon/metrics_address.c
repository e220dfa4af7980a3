/*
 * Where metrics are served. Names are not looked up: what is not a number is
 * refused.
 */
#include "daemon/metrics_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define METRICS_HOST_MAX 64

static const char metrics_forms[] =
    "it must be the absolute path of a Unix socket, 127.0.0.1:PORT or "
    "[::1]:PORT";

static bool
metrics_address_path(const char *text, struct metrics_address *ret)
{
	struct sockaddr_un *to = (struct sockaddr_un *)(void *)&ret->socket;
	const size_t length = strlen(text);

	if (length >= sizeof(to->sun_path))
		return false;
	to->sun_family = AF_UNIX;
	memcpy(to->sun_path, text, length + 1);
	ret->length = sizeof(*to);
	ret->path = text;
	return true;
}

static bool
metrics_address_port(const char *text, uint16_t *ret)
{
	unsigned long port;
	char *end;

	if (text[0] < '0' || text[0] > '9' || strlen(text) > 5)
		return false;
	port = strtoul(text, &end, 10);
	*ret = htons((uint16_t)port);
	return *end == '\0' && port >= 1 && port <= UINT16_MAX;
}

/* The text before the port is @host, without brackets. */
static bool
metrics_address_host(const char *host, bool is_ipv6, uint16_t port,
    struct metrics_address *ret, const char **ret_rule)
{
	struct sockaddr_in *four = (struct sockaddr_in *)(void *)&ret->socket;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&ret->socket;
	bool is_own;

	if (is_ipv6) {
		six->sin6_family = AF_INET6;
		six->sin6_port = port;
		ret->length = sizeof(*six);
		if (inet_pton(AF_INET6, host, &six->sin6_addr) != 1)
			return false;
		is_own = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) != 0;
	} else {
		four->sin_family = AF_INET;
		four->sin_port = port;
		ret->length = sizeof(*four);
		if (inet_pton(AF_INET, host, &four->sin_addr) != 1)
			return false;
		is_own = ntohl(four->sin_addr.s_addr) >> 24 == 127;
	}
	if (!is_own)
		*ret_rule = "other hosts could read it: it must be 127.0.0.1, "
		    "[::1] or a Unix socket, and a proxy may stand before that";
	return is_own;
}

bool
metrics_address_read(const char *text, struct metrics_address *ret,
    const char **ret_rule)
{
	const char *colon = strrchr(text, ':');
	const bool is_ipv6 = text[0] == '[';
	char host[METRICS_HOST_MAX];
	size_t length;
	uint16_t port;

	*ret = (struct metrics_address){ .path = NULL };
	*ret_rule = metrics_forms;
	if (text[0] == '/') {
		*ret_rule = "the kernel allows 107 bytes; use a shorter path";
		return metrics_address_path(text, ret);
	}
	if (colon == NULL || !metrics_address_port(colon + 1, &port))
		return false;
	length = (size_t)(colon - text);
	if (is_ipv6 && (length < 2 || text[length - 1] != ']'))
		return false;
	length -= is_ipv6 ? 2 : 0;
	if (length >= sizeof(host))
		return false;
	(void)snprintf(host, sizeof(host), "%.*s", (int)length,
	    text + (is_ipv6 ? 1 : 0));
	return metrics_address_host(host, is_ipv6, port, ret, ret_rule);
}
