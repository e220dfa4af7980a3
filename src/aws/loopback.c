/*
 * Which hosts are this one. By their text alone: RFC 6761 reserves the name,
 * and libcurl never looks it up.
 */
#include "aws/loopback.h"

#include <string.h>
#include <strings.h>

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
		"localhost", "::1", "0:0:0:0:0:0:0:1",
	};

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (strlen(hosts[i]) == length &&
		    strncasecmp(host, hosts[i], length) == 0)
			return true;
	return loopback_is_v4(host, host + length);
}
