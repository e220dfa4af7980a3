/*
 * Where a hint may be sent to. See hint_address.h.
 *
 * The broadcast address of a subnet looks like any other: the kernel knows it,
 * and refuses to send there, because the socket never asks for SO_BROADCAST.
 */
#include "hints/hint_address.h"

#include <string.h>

/* The first @bits bits of an address, and what it then is. */
struct hint_prefix {
	uint8_t ip[HINT_IP_BYTES];
	uint8_t bits;
	enum hint_address_verdict verdict;
};

#define V4_BITS 96	/* before the address itself */
#define V4(a, b, c, d, n, verdict)                                             \
	{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d },            \
	    V4_BITS + (n), verdict }

/* The first that fits counts (IANA's registries of special addresses). */
static const struct hint_prefix hint_prefixes[] = {
	V4(0, 0, 0, 0, 8, HINT_ADDRESS_UNSPECIFIED),
	V4(127, 0, 0, 0, 8, HINT_ADDRESS_LOOPBACK),
	V4(169, 254, 0, 0, 16, HINT_ADDRESS_LINK_LOCAL),
	V4(224, 0, 0, 0, 4, HINT_ADDRESS_MULTICAST),
	V4(255, 255, 255, 255, 32, HINT_ADDRESS_BROADCAST),
	V4(240, 0, 0, 0, 4, HINT_ADDRESS_RESERVED),
	V4(0, 0, 0, 0, 0, HINT_ADDRESS_ALLOWED),
	{ { 0 }, 128, HINT_ADDRESS_UNSPECIFIED },
	{ { [15] = 1 }, 128, HINT_ADDRESS_LOOPBACK },
	/* Forms of IPv4 addresses: a second name of one that is refused. */
	{ { 0 }, 96, HINT_ADDRESS_RESERVED },
	{ { [8] = 0xff, 0xff }, 96, HINT_ADDRESS_RESERVED },
	{ { 0x00, 0x64, 0xff, 0x9b }, 32, HINT_ADDRESS_RESERVED },
	{ { 0x20, 0x02 }, 16, HINT_ADDRESS_RESERVED },
	{ { 0x20, 0x01, 0x00, 0x00 }, 32, HINT_ADDRESS_RESERVED },
	/* AWS: services of an instance, as 169.254.169.254 is. */
	{ { 0xfd, 0x00, 0x0e, 0xc2 }, 32, HINT_ADDRESS_LINK_LOCAL },
	{ { 0xfe, 0x80 }, 10, HINT_ADDRESS_LINK_LOCAL },
	{ { 0xff }, 8, HINT_ADDRESS_MULTICAST },
	{ { 0xfc }, 7, HINT_ADDRESS_ALLOWED },
	{ { 0x20 }, 3, HINT_ADDRESS_ALLOWED },
	{ { 0 }, 0, HINT_ADDRESS_RESERVED },
};

static bool
hint_prefix_fits(const struct hint_prefix *p, const uint8_t ip[HINT_IP_BYTES])
{
	const unsigned whole = p->bits / 8, rest = p->bits % 8;

	return memcmp(p->ip, ip, whole) == 0 &&
	    (rest == 0 || (p->ip[whole] ^ ip[whole]) >> (8 - rest) == 0);
}

static enum hint_address_verdict
hint_address_kind(const struct hint_address *a)
{
	const struct hint_prefix *p = hint_prefixes;

	while (!hint_prefix_fits(p, a->ip))	/* the last fits all */
		p++;
	return p->verdict;
}

bool
hint_address_is_v4(const struct hint_address *a)
{
	static const struct hint_prefix mapped =
	    V4(0, 0, 0, 0, 0, HINT_ADDRESS_ALLOWED);

	return hint_prefix_fits(&mapped, a->ip);
}

bool
hint_address_equal(const struct hint_address *a, const struct hint_address *b)
{
	return a->port == b->port &&
	    memcmp(a->ip, b->ip, HINT_IP_BYTES) == 0;
}

/* A socket at :: is for both. */
static bool
hint_address_reaches(const struct hint_address *own,
    const struct hint_address *a)
{
	static const uint8_t any[HINT_IP_BYTES];

	return memcmp(own->ip, any, sizeof(any)) == 0 ||
	    hint_address_is_v4(own) == hint_address_is_v4(a);
}

enum hint_address_verdict
hint_address_judge(const struct hint_address *a,
    const struct hint_address *own)
{
	const enum hint_address_verdict kind = hint_address_kind(a);

	if (a->port == 0)
		return HINT_ADDRESS_NO_PORT;
	if (kind != HINT_ADDRESS_ALLOWED && (kind != HINT_ADDRESS_LOOPBACK ||
	    hint_address_kind(own) != HINT_ADDRESS_LOOPBACK))
		return kind;
	if (!hint_address_reaches(own, a))
		return HINT_ADDRESS_FAMILY;
	return hint_address_equal(a, own) ? HINT_ADDRESS_OWN :
	    HINT_ADDRESS_ALLOWED;
}

const char *
hint_address_reason(enum hint_address_verdict verdict)
{
	static const char *const reasons[] = {
		[HINT_ADDRESS_ALLOWED] = "an address of a host",
		[HINT_ADDRESS_NO_PORT] = "an address without a port",
		[HINT_ADDRESS_UNSPECIFIED] = "an unspecified address",
		[HINT_ADDRESS_LOOPBACK] = "a loopback address",
		[HINT_ADDRESS_LINK_LOCAL] = "a link-local address",
		[HINT_ADDRESS_MULTICAST] = "a multicast address",
		[HINT_ADDRESS_BROADCAST] = "a broadcast address",
		[HINT_ADDRESS_RESERVED] = "a reserved address",
		[HINT_ADDRESS_FAMILY] = "an address of another IP version",
		[HINT_ADDRESS_OWN] = "our own address",
	};

	return reasons[verdict];
}
