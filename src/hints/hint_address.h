/*
 * Where hints come from and go to: an IP address and a port, without the types
 * of sockets, as text and by the rules of what may be sent to.
 *
 * The address of another host stands in a table that many may write: it may be
 * anybody's. IPv4 addresses are kept as IPv4-mapped ones, so that each address
 * has one form.
 */
#ifndef DDBLOCKD_HINTS_HINT_ADDRESS_H
#define DDBLOCKD_HINTS_HINT_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HINT_IP_BYTES 16
/* "[" 39 characters "]:65535", and a NUL */
#define HINT_ADDRESS_TEXT_MAX 48

struct hint_address {
	uint8_t ip[HINT_IP_BYTES];	/* ::ffff:a.b.c.d for IPv4 */
	uint16_t port;
};

enum hint_address_verdict {
	HINT_ADDRESS_ALLOWED,
	HINT_ADDRESS_NO_PORT,
	HINT_ADDRESS_UNSPECIFIED,
	HINT_ADDRESS_LOOPBACK,	/* and ours is not */
	HINT_ADDRESS_LINK_LOCAL,	/* also AWS's services of an instance */
	HINT_ADDRESS_MULTICAST,
	HINT_ADDRESS_BROADCAST,
	HINT_ADDRESS_RESERVED,	/* of no host */
	HINT_ADDRESS_FAMILY,	/* ours cannot send there */
	HINT_ADDRESS_OWN,
};

bool hint_address_is_v4(const struct hint_address *);
bool hint_address_equal(const struct hint_address *,
    const struct hint_address *);

/* Whether a hint may be sent there by a socket that is bound to @own. */
enum hint_address_verdict hint_address_judge(const struct hint_address *,
    const struct hint_address *own);

/* For people: "a multicast address". */
const char *hint_address_reason(enum hint_address_verdict);

/* "192.0.2.1:7400", "[2001:db8::1]:7400", in numbers only; false: it is not.
 * There is one way to write an IPv4 address and a port: no leading zeros. */
bool hint_address_parse(const char *text, size_t length,
    struct hint_address *ret);

/* In the form of RFC 5952. */
void hint_address_format(const struct hint_address *,
    char text[HINT_ADDRESS_TEXT_MAX]);

#endif
