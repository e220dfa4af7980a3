/*
 * A round of PINGs: which hosts are asked, when it is over, and what is said
 * of it.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "ddblock.h"
#include "hints/hint_findings.h"
#include "hints/hint_round.h"
#include "test.h"

#define KEY " 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define OURS "192.0.2.1:7400"
#define DIGEST UINT64_C(0xfffffffffffffffe)	/* it goes round, too */

static struct hint_round r;
static struct finding f;
static const struct hint_findings_table whole = { .all = true };

static void
setup(void)
{
	struct hint_address own, public;

	ck_assert(hint_address_parse("0.0.0.0:7400", 12, &own));
	ck_assert(hint_address_parse(OURS, strlen(OURS), &public));
	hint_round_init(&r, &own, &public, "web-1", DIGEST);
	memset(&f, 'x', sizeof(f));
}

TEST_FIXTURE(setup, NULL)

static struct hint_id
id_of(uint32_t number)
{
	struct hint_id id = { { 1 } };

	memcpy(&id.bytes[4], &number, sizeof(number));
	return id;
}

/* Peers have the numbers of their order. */
static void
add(const char *contact, const char *host)
{
	const struct hint_round_session s = {
		.id = id_of(r.n), .contact = contact, .host = host,
	};

	hint_round_add(&r, &s);
}

static void
add_some(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		char contact[128], host[16];

		(void)snprintf(contact, sizeof(contact), "192.0.2.%u:7400" KEY,
		    i + 2);
		(void)snprintf(host, sizeof(host), "web-%u", i + 2);
		add(contact, host);
	}
}

/* Ask it, and have its answer after so long. */
static uint32_t
ask(uint32_t peer, unsigned try, uint64_t took_us)
{
	const struct hint_id id = id_of(peer);

	ck_assert(hint_round_wants(&r, peer, try));
	hint_round_sent(&r, peer, try, 0, 1000);
	return hint_round_heard(&r, &id, hint_round_digest(&r, peer, try),
	    1000 + took_us);
}

static void
expect(enum finding_state state, const char *text)
{
	ck_assert(hint_findings_heard(&r, &whole, &f));
	ck_assert_str_eq(f.check, "hints");
	ck_assert_str_eq(f.text, text);
	ck_assert_int_eq(f.state, state);
	ck_assert_int_eq(f.advice[0] == '\0', state == FINDING_OK);
}

/* ---- the round ----------------------------------------------------------- */

/* Over the table it took longer; the second way is the one that counts. */
TEST(test_answered)
{
	add_some(1);
	ck_assert(!hint_round_is_over(&r));
	ck_assert_uint_eq(ask(0, 0, 20000), 0);
	ck_assert(!hint_round_is_over(&r));
	ck_assert_uint_eq(ask(0, 1, 350), HINT_ROUND_NOBODY);
	ck_assert(hint_round_is_over(&r));
	ck_assert(!hint_round_wants(&r, 0, 0));
	ck_assert(!hint_round_wants(&r, 0, 1));
	expect(FINDING_OK, "1 host hears us (0.4 ms)");
}

/* The first was lost, the second not; or the first is late. */
TEST(test_again)
{
	const struct hint_id second = id_of(1);

	add_some(2);
	hint_round_sent(&r, 0, 0, 0, 500);
	hint_round_sent(&r, 1, 0, 0, 500);
	ck_assert_uint_eq(ask(0, 1, 100), HINT_ROUND_NOBODY);
	hint_round_sent(&r, 1, 1, 0, 1000);
	ck_assert_uint_eq(hint_round_heard(&r, &second,
	    hint_round_digest(&r, 1, 0), 4500), HINT_ROUND_NOBODY);
	ck_assert(!hint_round_is_over(&r));
	expect(FINDING_OK,
	    "2 hosts hear us (fastest 0.1 ms, slowest 4.0 ms)");
}

/* A number of another round, of another host, and one that was never sent. */
TEST(test_others_pongs)
{
	const struct hint_id ids[] = { id_of(0), id_of(1) };

	add_some(2);
	hint_round_sent(&r, 0, 0, 0, 1000);
	ck_assert_uint_eq(hint_round_heard(&r, &ids[0], DIGEST - 1, 2000),
	    HINT_ROUND_NOBODY);
	ck_assert_uint_eq(hint_round_heard(&r, &ids[0], DIGEST + 4, 2000),
	    HINT_ROUND_NOBODY);
	ck_assert_uint_eq(hint_round_heard(&r, &ids[1],
	    hint_round_digest(&r, 0, 0), 2000), HINT_ROUND_NOBODY);
	ck_assert_uint_eq(hint_round_heard(&r, &ids[0],
	    hint_round_digest(&r, 0, 1), 2000), HINT_ROUND_NOBODY);
	ck_assert(!r.peers[0].answered && !r.peers[1].answered);
}

TEST(test_no_room)
{
	const struct hint_round_session another = {
		.id = id_of(9999), .contact = "192.0.2.9:7401" KEY,
	};

	add_some(HINT_ROUND_MAX);
	hint_round_add(&r, &another);
	hint_round_add(&r, &another);
	ck_assert_uint_eq(r.n, HINT_ROUND_MAX);
	for (uint32_t i = 0; i < r.n; i++) {
		(void)ask(i, 0, 100);
		(void)ask(i, 1, 100);
	}
	ck_assert(hint_round_is_over(&r));
	expect(FINDING_OK, "200 hosts hear us (fastest 0.1 ms, slowest 0.1 "
	    "ms); 2 more were not asked");
}

/* ---- in words ------------------------------------------------------------ */

TEST(test_nobody)
{
	ck_assert(hint_round_is_over(&r));
	expect(FINDING_OK, "no other host hears hints");
	add(NULL, "web-2");
	add("words", "web-3");
	hint_round_add(&r, &(struct hint_round_session){ .expired = true });
	ck_assert(hint_round_is_over(&r));
	expect(FINDING_OK, "no other host hears hints; 2 sessions are of hosts "
	    "without hints; 1 session has expired");
	ck_assert(!hint_findings_refused(&r, &f));
}

TEST(test_silent)
{
	add_some(1);
	hint_round_sent(&r, 0, 0, 0, 1000);
	hint_round_sent(&r, 0, 1, 0, 1000);
	ck_assert(!hint_round_is_over(&r));
	expect(FINDING_WARNING, "no other host hears us; 1 does not answer: "
	    "192.0.2.2:7400 (web-2)");
	ck_assert_str_eq(f.advice, "is UDP open from here to it, and from it "
	    "to 192.0.2.1:7400? Or it died lately: such a host looks alive "
	    "until its lease ends. Meanwhile locks are found by polls");
}

TEST(test_silent_some)
{
	add_some(9);
	(void)ask(3, 0, 100);
	for (uint32_t i = 0; i < r.n; i++)
		hint_round_sent(&r, i, 1, 0, 1000);
	expect(FINDING_WARNING, "1 host hears us (0.1 ms); 8 do not answer: "
	    "192.0.2.2:7400 (web-2), 192.0.2.3:7400 (web-3), 192.0.2.4:7400 "
	    "(web-4), 192.0.2.6:7400 (web-6), 192.0.2.7:7400 (web-7) and 3 "
	    "more");
	ck_assert_str_eq(f.advice, "is UDP open from here to them, and from "
	    "them to 192.0.2.1:7400? Or they died lately: such a host looks "
	    "alive until its lease ends. Meanwhile locks are found by polls");
}

/* The longest addresses and names have room, and those after them. */
TEST(test_long_names)
{
	static const struct hint_findings_table part = {
		.n_examined = UINT64_MAX,
	};
	char host[HINT_ROUND_HOST_MAX + 10];

	memset(host, 'h', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	ck_assert(hint_address_parse("[::]:1", 6, &r.own));
	for (int i = 0; i < 7; i++) {
		char contact[128];

		(void)snprintf(contact, sizeof(contact),
		    "[2001:1111:2222:3333:4444:5555:6666:777%d]:65535" KEY, i);
		add(contact, host);
	}
	r.n_more = r.n_without = r.n_expired = 999999;
	ck_assert(hint_findings_heard(&r, &part, &f));
	ck_assert_ptr_nonnull(strstr(f.text, "(hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"
	    "hhhhhhhh) and 2 more; 999999 more were not asked; "));
	ck_assert_ptr_nonnull(strstr(f.text, "; only the first "
	    "18446744073709551615 items of the table were looked at"));
}

/* A restarted host has two sessions for a while, and a namespace each: it is
 * one host, which hears us if any of them does. */
TEST(test_one_host)
{
	for (int i = 0; i < 3; i++)
		add("192.0.2.7:7400" KEY, "web-7");
	expect(FINDING_WARNING, "no other host hears us; 1 does not answer: "
	    "192.0.2.7:7400 (web-7)");
	(void)ask(2, 0, 100);
	expect(FINDING_OK, "1 host hears us (0.1 ms)");
	(void)ask(0, 0, 900);
	ck_assert(hint_findings_heard(&r, &whole, &f));
	ck_assert_ptr_nonnull(strstr(f.text, "1 host hears us ("));
}

TEST(test_limited)
{
	add_some(2);
	hint_round_sent(&r, 0, 0, DDBLOCK_E_LIMIT, 1000);
	hint_round_sent(&r, 0, 1, DDBLOCK_E_LIMIT, 1000);
	(void)ask(1, 0, 100);
	hint_round_sent(&r, 1, 1, DDBLOCK_E_LIMIT, 1000);
	expect(FINDING_WARNING, "1 host hears us (0.1 ms); 1 does not answer: "
	    "192.0.2.2:7400 (web-2); 1 of them was not asked: too many hints "
	    "at once");
	ck_assert_str_eq(f.advice, "check again in a moment");
}

/* ---- where nothing is sent ----------------------------------------------- */

static const struct {
	const char *contact;
	const char *host;
	const char *text;	/* NULL: it need not be asked */
} refused[] = {
	{ "239.1.1.1:7400" KEY, "web-2",
	    "239.1.1.1:7400 (web-2): a multicast address" },
	{ "127.0.0.1:7400" KEY, NULL, "127.0.0.1:7400: a loopback address" },
	{ "[2001:db8::1]:7400" KEY, "web-2",
	    "[2001:db8::1]:7400 (web-2): an address of another IP version" },
	{ "192.0.2.9:0" KEY, "web\n2",
	    "192.0.2.9:0 (web?2): an address without a port" },
	{ OURS KEY, "web-2", OURS " (web-2): our own address" },
	{ OURS KEY, NULL, OURS ": our own address" },
	{ OURS KEY, "web-1", NULL },
};

TEST_ROWS(test_refused, refused)
{
	char text[256];

	add(refused[_i].contact, refused[_i].host);
	ck_assert(hint_round_is_over(&r));
	if (refused[_i].text == NULL) {
		expect(FINDING_OK, "no other host hears hints");
		ck_assert(!hint_findings_refused(&r, &f));
		return;
	}
	ck_assert(!hint_round_wants(&r, 0, 0));
	ck_assert(!hint_findings_heard(&r, &whole, &f));
	ck_assert(hint_findings_refused(&r, &f));
	(void)snprintf(text, sizeof(text), "nothing is sent to %s",
	    refused[_i].text);
	ck_assert_str_eq(f.text, text);
	ck_assert_int_eq(f.state, FINDING_WARNING);
	ck_assert_ptr_nonnull(strstr(f.advice, "set hints_address there"));
}

TEST(test_refused_key)
{
	add_some(2);
	hint_round_sent(&r, 0, 0, DDBLOCK_E_UNSUPPORTED, 1000);
	ck_assert(!hint_round_wants(&r, 0, 1));
	(void)ask(1, 0, 100);
	expect(FINDING_OK, "1 host hears us (0.1 ms)");
	ck_assert(hint_findings_refused(&r, &f));
	ck_assert_str_eq(f.text, "nothing is sent to 192.0.2.2:7400 (web-2): "
	    "a public key that is none");
}

TEST(test_no_round)
{
	hint_findings_unbound(&f);
	ck_assert_str_eq(f.text, "the address for hints is not ours yet: there "
	    "are none");
	hint_findings_unknown(&f);
	ck_assert_str_eq(f.text, "the session's item does not say yet where "
	    "this host hears hints");
	hint_findings_unlisted(DDBLOCK_E_UNREACHABLE, "time-out", &f);
	ck_assert_str_eq(f.text, "which other hosts there are is not known: "
	    "time-out");
	ck_assert_str_eq(f.advice, "");
	hint_findings_unlisted(DDBLOCK_E_ACCESS_DENIED, "denied", &f);
	ck_assert_str_eq(f.advice, "hints need it not; to see which hosts hear "
	    "them, allow dynamodb:Scan");
	ck_assert_int_eq(f.state, FINDING_WARNING);
}
