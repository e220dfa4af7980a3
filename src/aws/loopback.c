/*
 * Which hosts are this one. By their text alone: RFC 6761 reserves the name,
 * and its addresses are not asked for either, because a resolver that is
 * wrong or lies would send what is for this host to another.
 */
#include "aws/loopback.h"

#include <string.h>
#include <strings.h>

#define LOOPBACK_NAME "localhost"
/* Emulators listen on the first, and often on that alone. */
#define LOOPBACK_ADDRESSES "127.0.0.1,[::1]"

/* "127.x.y.z" */
static bool
loopback_is_v4(const char *host, const char *end)
{
	for (int i = 0; i < 4; i++) {
		const char *from = host;
		unsigned value = 0;

		while (host < end && host < from + 3 && *host >= '0' &&
		    *host <= '9')
			value = 10 * value + (unsigned)(*host++ - '0');
		if (host == from || (host > from + 1 && *from == '0') ||
		    value > 255 || (i == 0 && value != 127))
			return false;
		if (i < 3 && (host == end || *host++ != '.'))
			return false;
	}
	return host == end;
}

bool
loopback_is_host(const char *host, size_t length)
{
	static const char *const hosts[] = {
		LOOPBACK_NAME, "::1", "0:0:0:0:0:0:0:1",
	};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (strlen(hosts[i]) == length &&
		    strncasecmp(host, hosts[i], length) == 0)
			return true;
	return loopback_is_v4(host, host + length);
}

const char *
loopback_addresses(const char *host)
{
	return strcasecmp(host, LOOPBACK_NAME) == 0 ? LOOPBACK_ADDRESSES : NULL;
}
