/*
 * Where metrics may be served: on this host only.
 */

#include <sys/un.h>

#include "daemon/metrics_address.h"
#include "test.h"

#define LONG "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	const char *text;
	int family;		/* AF_UNSPEC: it is refused */
} addresses[] = {
	{ "/run/ddblockd/metrics.sock", AF_UNIX },
	{ LONG, AF_UNSPEC },
	{ "127.0.0.1:9876", AF_INET },
	{ "127.255.0.9:1", AF_INET },
	{ "[::1]:65535", AF_INET6 },
	{ "0.0.0.0:9876", AF_UNSPEC },
	{ "10.0.0.1:9876", AF_UNSPEC },
	{ "128.0.0.1:9876", AF_UNSPEC },
	{ "[::]:9876", AF_UNSPEC },
	{ "[::ffff:127.0.0.1]:9876", AF_UNSPEC },
	{ "[2001:db8::1]:9876", AF_UNSPEC },
	{ "localhost:9876", AF_UNSPEC },
	{ "127.0.0.1", AF_UNSPEC },
	{ "127.0.0.1:", AF_UNSPEC },
	{ "127.0.0.1:0", AF_UNSPEC },
	{ "127.0.0.1:65536", AF_UNSPEC },
	{ "127.0.0.1:99999999999", AF_UNSPEC },
	{ "127.0.0.1:+80", AF_UNSPEC },
	{ "127.0.0.1:80x", AF_UNSPEC },
	{ "127.1:80", AF_UNSPEC },
	{ "::1:80", AF_UNSPEC },
	{ "[::1:80", AF_UNSPEC },
	{ "[:80", AF_UNSPEC },
	{ "[]:80", AF_UNSPEC },
	{ ":80", AF_UNSPEC },
	{ "metrics.sock", AF_UNSPEC },
	{ "", AF_UNSPEC },
};

TEST_ROWS(test_addresses, addresses)
{
	struct metrics_address a;
	const char *rule;
	const bool good = metrics_address_read(addresses[_i].text, &a, &rule);

	ck_assert_msg(good == (addresses[_i].family != AF_UNSPEC), "%s",
	    addresses[_i].text);
	if (!good) {
		ck_assert_ptr_nonnull(rule);
		return;
	}
	ck_assert_int_eq(a.socket.ss_family, addresses[_i].family);
	ck_assert((a.path != NULL) == (addresses[_i].family == AF_UNIX));
}
