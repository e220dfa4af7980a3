/*
 * Addresses: as text, compared with libc's, and which of them are sent to.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "hint_fixture.h"

#define OWN_V4 "10.0.0.1:7400"
#define OWN_ANY_V4 "0.0.0.0:7400"
#define OWN_V6 "[2600:1f00::1]:7400"
#define OWN_ANY "[::]:7400"
#define OWN_LOOPBACK "127.0.0.1:7400"
#define OWN_LOOPBACK_V6 "[::1]:7400"

static const struct {
	const char *own;
	const char *address;
	enum hint_address_verdict verdict;
} judged[] = {
	{ OWN_V4, "10.0.0.2:7400", HINT_ADDRESS_ALLOWED },
	{ OWN_V4, "192.168.1.255:1", HINT_ADDRESS_ALLOWED },
	{ OWN_V4, "203.0.113.9:65535", HINT_ADDRESS_ALLOWED },
	{ OWN_V4, "223.255.255.255:7400", HINT_ADDRESS_ALLOWED },
	{ OWN_ANY_V4, "10.0.0.2:7400", HINT_ADDRESS_ALLOWED },
	{ OWN_ANY, "10.0.0.2:7400", HINT_ADDRESS_ALLOWED },
	{ OWN_ANY, "[2600:1f00::2]:7400", HINT_ADDRESS_ALLOWED },
	{ OWN_V6, "[2600:1f00::2]:7400", HINT_ADDRESS_ALLOWED },
	{ OWN_V6, "[fd12:3456::2]:7400", HINT_ADDRESS_ALLOWED },
	{ OWN_V4, "[::ffff:10.0.0.2]:7400", HINT_ADDRESS_ALLOWED },
	/* Ports. */
	{ OWN_V4, "10.0.0.2:0", HINT_ADDRESS_NO_PORT },
	{ OWN_V6, "[2600:1f00::2]:0", HINT_ADDRESS_NO_PORT },
	/* Of no host. */
	{ OWN_V4, "0.0.0.0:7400", HINT_ADDRESS_UNSPECIFIED },
	{ OWN_V4, "0.1.2.3:7400", HINT_ADDRESS_UNSPECIFIED },
	{ OWN_ANY, "[::]:7400", HINT_ADDRESS_UNSPECIFIED },
	{ OWN_V6, "[::ffff:0.0.0.0]:7400", HINT_ADDRESS_UNSPECIFIED },
	{ OWN_V4, "240.0.0.1:7400", HINT_ADDRESS_RESERVED },
	{ OWN_V4, "255.255.255.254:7400", HINT_ADDRESS_RESERVED },
	{ OWN_V6, "[::10.0.0.2]:7400", HINT_ADDRESS_RESERVED },
	{ OWN_V6, "[::2]:7400", HINT_ADDRESS_RESERVED },
	{ OWN_V6, "[::ffff:0:10.0.0.2]:7400", HINT_ADDRESS_RESERVED },
	{ OWN_V6, "[64:ff9b::127.0.0.1]:7400", HINT_ADDRESS_RESERVED },
	{ OWN_V6, "[64:ff9b:1::1]:7400", HINT_ADDRESS_RESERVED },
	{ OWN_V6, "[2002:7f00:1::]:7400", HINT_ADDRESS_RESERVED },
	{ OWN_V6, "[2001:0:1:2::3]:7400", HINT_ADDRESS_RESERVED },
	{ OWN_V6, "[fec0::1]:7400", HINT_ADDRESS_RESERVED },
	{ OWN_V6, "[4000::1]:7400", HINT_ADDRESS_RESERVED },
	{ OWN_V6, "[100::1]:7400", HINT_ADDRESS_RESERVED },
	/* Loopback: only beside loopback. */
	{ OWN_V4, "127.0.0.1:7400", HINT_ADDRESS_LOOPBACK },
	{ OWN_V4, "127.255.255.254:7400", HINT_ADDRESS_LOOPBACK },
	{ OWN_ANY_V4, "127.0.0.1:7400", HINT_ADDRESS_LOOPBACK },
	{ OWN_ANY, "[::1]:7400", HINT_ADDRESS_LOOPBACK },
	{ OWN_ANY, "[::ffff:127.0.0.1]:7400", HINT_ADDRESS_LOOPBACK },
	{ OWN_LOOPBACK, "127.0.0.1:7401", HINT_ADDRESS_ALLOWED },
	{ OWN_LOOPBACK, "127.0.0.2:7400", HINT_ADDRESS_ALLOWED },
	{ OWN_LOOPBACK, "[::ffff:127.0.0.1]:7401", HINT_ADDRESS_ALLOWED },
	{ OWN_LOOPBACK_V6, "[::1]:7401", HINT_ADDRESS_ALLOWED },
	{ OWN_LOOPBACK, "224.0.0.1:7400", HINT_ADDRESS_MULTICAST },
	{ OWN_LOOPBACK, "127.0.0.1:0", HINT_ADDRESS_NO_PORT },
	/* One link only; among them the services of an instance. */
	{ OWN_V4, "169.254.169.254:80", HINT_ADDRESS_LINK_LOCAL },
	{ OWN_V4, "169.254.0.1:7400", HINT_ADDRESS_LINK_LOCAL },
	{ OWN_V6, "[fe80::1]:7400", HINT_ADDRESS_LINK_LOCAL },
	{ OWN_V6, "[febf::1]:7400", HINT_ADDRESS_LINK_LOCAL },
	{ OWN_V6, "[fd00:ec2::254]:80", HINT_ADDRESS_LINK_LOCAL },
	/* Many hosts. */
	{ OWN_V4, "224.0.0.1:7400", HINT_ADDRESS_MULTICAST },
	{ OWN_V4, "239.255.255.255:7400", HINT_ADDRESS_MULTICAST },
	{ OWN_ANY, "[::ffff:224.0.0.1]:7400", HINT_ADDRESS_MULTICAST },
	{ OWN_V6, "[ff02::1]:7400", HINT_ADDRESS_MULTICAST },
	{ OWN_V6, "[ffff::1]:7400", HINT_ADDRESS_MULTICAST },
	{ OWN_V4, "255.255.255.255:7400", HINT_ADDRESS_BROADCAST },
	{ OWN_ANY, "[::ffff:255.255.255.255]:7400", HINT_ADDRESS_BROADCAST },
	/* What our socket cannot reach. */
	{ OWN_V4, "[2600:1f00::2]:7400", HINT_ADDRESS_FAMILY },
	{ OWN_ANY_V4, "[2600:1f00::2]:7400", HINT_ADDRESS_FAMILY },
	{ OWN_V6, "10.0.0.2:7400", HINT_ADDRESS_FAMILY },
	{ OWN_LOOPBACK, "[::1]:7400", HINT_ADDRESS_FAMILY },
	{ OWN_LOOPBACK_V6, "127.0.0.1:7400", HINT_ADDRESS_FAMILY },
	/* Ours. */
	{ OWN_V4, "10.0.0.1:7400", HINT_ADDRESS_OWN },
	{ OWN_V4, "10.0.0.1:7401", HINT_ADDRESS_ALLOWED },
	{ OWN_LOOPBACK, "127.0.0.1:7400", HINT_ADDRESS_OWN },
	{ OWN_V6, "[2600:1f00::1]:7400", HINT_ADDRESS_OWN },
};

TEST_ROWS(test_judge, judged)
{
	const struct hint_address own = hint_test_address(judged[_i].own);
	const struct hint_address a = hint_test_address(judged[_i].address);

	ck_assert_msg(hint_address_judge(&a, &own) == judged[_i].verdict,
	    "%s from %s: %s", judged[_i].address, judged[_i].own,
	    hint_address_reason(hint_address_judge(&a, &own)));
}

TEST(test_reasons)
{
	for (int i = HINT_ADDRESS_ALLOWED; i <= HINT_ADDRESS_OWN; i++) {
		const char *reason =
		    hint_address_reason((enum hint_address_verdict)i);

		ck_assert_ptr_nonnull(strstr(reason, "address"));
		for (int j = HINT_ADDRESS_ALLOWED; j < i; j++)
			ck_assert_str_ne(reason, hint_address_reason(
			    (enum hint_address_verdict)j));
	}
}

/* ---- as text ------------------------------------------------------------ */

/* What is written again: NULL if it is no address. */
static const struct {
	const char *text;
	const char *again;
} texts[] = {
	{ "192.0.2.1:7400", "192.0.2.1:7400" },
	{ "0.0.0.0:0", "0.0.0.0:0" },
	{ "255.255.255.255:65535", "255.255.255.255:65535" },
	{ "[::]:1", "[::]:1" },
	{ "[::1]:1", "[::1]:1" },
	{ "[1::]:1", "[1::]:1" },
	{ "[2001:DB8::00ff]:1", "[2001:db8::ff]:1" },
	{ "[1:2:3:4:5:6:7:8]:1", "[1:2:3:4:5:6:7:8]:1" },
	{ "[1:2:3:4:5:6:7::]:1", "[1:2:3:4:5:6:7:0]:1" },
	{ "[::2:3:4:5:6:7:8]:1", "[0:2:3:4:5:6:7:8]:1" },
	{ "[1:0:0:4:0:0:0:8]:1", "[1:0:0:4::8]:1" },
	{ "[1:0:0:4:5:0:0:8]:1", "[1::4:5:0:0:8]:1" },
	{ "[1:0:3:4:5:6:7:8]:1", "[1:0:3:4:5:6:7:8]:1" },
	{ "[::ffff:192.0.2.1]:1", "192.0.2.1:1" },
	{ "[::ffff:c000:201]:1", "192.0.2.1:1" },
	{ "[0:0:0:0:0:ffff:1.2.3.4]:1", "1.2.3.4:1" },
	{ "[64:ff9b::1.2.3.4]:1", "[64:ff9b::102:304]:1" },
	{ "", NULL }, { ":1", NULL }, { "1.2.3.4", NULL }, { "1.2.3.4:", NULL },
	{ "1.2.3:1", NULL }, { "1.2.3.4.5:1", NULL }, { "1.2.3.256:1", NULL },
	{ "01.2.3.4:1", NULL }, { "1.2.3.4:01", NULL }, { "1..3.4:1", NULL },
	{ "1.2.3.4:65536", NULL }, { "1.2.3.4:-1", NULL },
	{ "1.2.3.4:+1", NULL }, { " 1.2.3.4:1", NULL }, { "1.2.3.4:1 ", NULL },
	{ "1.2.3.4:99999999999999999999", NULL }, { "127.1:1", NULL },
	{ "0x7f.0.0.1:1", NULL }, { "localhost:1", NULL },
	{ "::1:1", NULL }, { "[::1]", NULL }, { "[::1]:", NULL },
	{ "[::1:1", NULL }, { "[]:1", NULL }, { "[:]:1", NULL },
	{ "[:::]:1", NULL }, { "[1:::2]:1", NULL }, { "[1::2::3]:1", NULL },
	{ "[1:2:3:4:5:6:7]:1", NULL }, { "[1:2:3:4:5:6:7:8:9]:1", NULL },
	{ "[1:2:3:4:5:6:7:8::]:1", NULL }, { "[::1:2:3:4:5:6:7:8]:1", NULL },
	{ "[1:2:3:4::5:6:7:8]:1", NULL }, { "[12345::]:1", NULL },
	{ "[1:]:1", NULL }, { "[:1]:1", NULL }, { "[g::]:1", NULL },
	{ "[fe80::1%eth0]:1", NULL }, { "[::1.2.3]:1", NULL },
	{ "[::1.2.3.4:5]:1", NULL }, { "[1:2:3:4:5:6:7:1.2.3.4]:1", NULL },
	{ "[1.2.3.4]:1", NULL }, { "[::1]]:1", NULL }, { "[[::1]:1", NULL },
};

TEST_ROWS(test_text, texts)
{
	const char *text = texts[_i].text;
	const struct hint_address before = hint_test_address("9.9.9.9:9");
	struct hint_address a = before, b;
	char *exact = malloc(strlen(text) > 0 ? strlen(text) : 1);
	char again[HINT_ADDRESS_TEXT_MAX];
	bool parsed;

	ck_assert_ptr_nonnull(exact);
	memcpy(exact, text, strlen(text));
	parsed = hint_address_parse(exact, strlen(text), &a);
	free(exact);
	ck_assert_msg(parsed == (texts[_i].again != NULL), "%s", text);
	if (!parsed) {
		ck_assert(hint_address_equal(&a, &before));
		return;
	}
	hint_address_format(&a, again);
	ck_assert_str_eq(again, texts[_i].again);
	ck_assert(hint_address_parse(again, strlen(again), &b));
	ck_assert(hint_address_equal(&a, &b));
}

/* A beginning of an address is none. */
TEST(test_cut)
{
	static const char text[] = "[2001:db8::192.0.2.1]:7";
	struct hint_address a;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		ck_assert(!hint_address_parse(text, i, &a));
	ck_assert(hint_address_parse(text, sizeof(text) - 1, &a));
}

/* As libc writes and reads them, but for IPv4-mapped ones. */
TEST_LOOP(test_as_libc, 0, 40)
{
	unsigned short dice[3] = { 5, 6, (unsigned short)_i };

	for (int i = 0; i < 500; i++) {
		struct hint_address a = { .port = (uint16_t)nrand48(dice) }, b;
		char ours[HINT_ADDRESS_TEXT_MAX], theirs[INET6_ADDRSTRLEN];
		char whole[sizeof(theirs) + 16];

		for (int j = 0; j < HINT_IP_BYTES; j += 2)
			if (nrand48(dice) % 100 > 2 * _i) {
				a.ip[j] = (uint8_t)(nrand48(dice) % 3 *
				    nrand48(dice));
				a.ip[j + 1] = (uint8_t)nrand48(dice);
			}
		a.ip[0] |= 0x10;	/* else libc may write dots */
		ck_assert_ptr_nonnull(inet_ntop(AF_INET6, a.ip, theirs,
		    sizeof(theirs)));
		(void)snprintf(whole, sizeof(whole), "[%s]:%u", theirs,
		    (unsigned)a.port);
		hint_address_format(&a, ours);
		ck_assert_str_eq(ours, whole);
		ck_assert(hint_address_parse(ours, strlen(ours), &b));
		ck_assert(hint_address_equal(&a, &b));
	}
}

/* The longest text has room. */
TEST(test_longest)
{
	static const char text[] =
	    "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535";
	const struct hint_address a = hint_test_address(text);
	char again[HINT_ADDRESS_TEXT_MAX];

	ck_assert_uint_eq(sizeof(text), HINT_ADDRESS_TEXT_MAX);
	hint_address_format(&a, again);
	ck_assert_str_eq(again, text);
}
