/*
 * Hints over real sockets, on loopback: there and back, an answer to a PING,
 * silence to all else, the bound of a turn, and troubles told once.
 */
#include <arpa/inet.h>
#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "ddblock.h"
#include "hint_fixture.h"
#include "hints/hint_socket.h"

struct end {
	struct hint_host host;
	struct hint_socket *socket;
	struct hint last;
	unsigned n_hints;
	unsigned n_strangers;
	uint8_t letter[HINT_BYTES];	/* of the last one */
	unsigned n_troubles;
	char trouble[256];
};

static struct event_base *base;
static struct end a, b;
static int stranger_fd;

static void
on_hint(void *arg, const struct hint *hint)
{
	struct end *e = arg;

	e->last = *hint;
	e->n_hints++;
}

static void
on_stranger(void *arg, const struct hint_head *head,
    const uint8_t bytes[HINT_BYTES])
{
	struct end *e = arg;

	e->last.head = *head;
	memcpy(e->letter, bytes, HINT_BYTES);
	e->n_strangers++;
}

static void
on_trouble(void *arg, const char *text)
{
	struct end *e = arg;

	(void)snprintf(e->trouble, sizeof(e->trouble), "%s", text);
	e->n_troubles++;
}

static void
start(struct end *e, uint8_t id, const char *address)
{
	static const struct hint_socket_calls calls = {
		on_hint, on_stranger, on_trouble,
	};
	char text[256] = "";
	const struct siphash_key key = { { id, 2 } };

	memset(e, 0, sizeof(*e));
	e->host.address = hint_test_address(address);
	ck_assert_int_eq(hints_new(&hints_limits_default, &e->host.address,
	    &key, &e->host.hints), 0);
	hint_host_session(&e->host, id, id);
	ck_assert_msg(hint_socket_new(base, &e->host.address, e->host.hints,
	    &calls, e, &e->socket, text, sizeof(text)) == 0, "%s", text);
	e->host.address = hint_socket_address(e->socket);
	ck_assert_uint_ne(e->host.address.port, 0);
}

static void
stop(struct end *e)
{
	hint_socket_free(e->socket);
	hints_free(e->host.hints);
}

static void
setup(void)
{
	base = event_base_new();
	ck_assert_ptr_nonnull(base);
	start(&a, 1, "127.0.0.1:0");
	start(&b, 2, "127.0.0.1:0");
	hint_host_meet(&a.host, &b.host);
	hint_host_meet(&b.host, &a.host);
	stranger_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(stranger_fd, 0);
}

static void
teardown(void)
{
	(void)close(stranger_fd);
	stop(&a);
	stop(&b);
	hint_socket_free(NULL);
	event_base_free(base);
}

TEST_FIXTURE(setup, teardown)

static int
send_hint(struct end *from, const struct end *to, enum hint_kind kind)
{
	const struct hint_body body = hint_test_body(kind, 1);

	return hint_socket_send(from->socket, &from->host.party.id,
	    &to->host.party.id, &body);
}

/* What a stranger sends, to the port of @to. */
static void
throw(const struct end *to, const void *bytes, size_t length)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_port = htons(to->host.address.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	ck_assert_int_eq(sendto(stranger_fd, bytes, length, 0,
	    (const struct sockaddr *)&name, sizeof(name)), (ssize_t)length);
}

/* Datagrams on loopback are there when they are sent. */
static void
turn(void)
{
	ck_assert_int_ge(event_base_loop(base, EVLOOP_NONBLOCK), 0);
}

static bool
stranger_heard(void)
{
	char byte;

	return recv(stranger_fd, &byte, 1, MSG_DONTWAIT) >= 0;
}

TEST(test_there_and_back)
{
	ck_assert_int_eq(send_hint(&a, &b, HINT_FREED), 0);
	turn();
	ck_assert_uint_eq(b.n_hints, 1);
	ck_assert_int_eq(b.last.body.kind, HINT_FREED);
	ck_assert(hint_id_equal(&b.last.head.sender, &a.host.party.id));
	ck_assert_int_eq(send_hint(&b, &a, HINT_WANTED), 0);
	turn();
	ck_assert_uint_eq(a.n_hints, 1);
	ck_assert_int_eq(a.last.body.kind, HINT_WANTED);
	ck_assert_uint_eq(a.n_troubles + b.n_troubles, 0);
}

TEST(test_ping)
{
	ck_assert_int_eq(send_hint(&a, &b, HINT_PING), 0);
	turn();
	turn();
	ck_assert_int_eq(b.last.body.kind, HINT_PING);
	ck_assert_uint_eq(a.n_hints, 1);
	ck_assert_int_eq(a.last.body.kind, HINT_PONG);
	ck_assert_uint_eq(a.last.body.digests[0],
	    hint_test_body(HINT_PING, 1).digests[0]);
	/* A PONG has no answer. */
	turn();
	turn();
	ck_assert_uint_eq(hints_counters(a.host.hints)->sent, 1);
	ck_assert_uint_eq(hints_counters(b.host.hints)->sent, 1);
}

/* A PING that came from elsewhere is answered to the peer, and only once. */
TEST(test_ping_of_another_place)
{
	uint8_t bytes[HINT_BYTES];

	ck_assert_int_eq(hint_host_encode(&a.host, &b.host, HINT_PING,
	    clock_boot_ms(), bytes), 0);
	throw(&b, bytes, sizeof(bytes));
	throw(&b, bytes, sizeof(bytes));
	turn();
	turn();
	ck_assert_uint_eq(a.n_hints, 1);
	ck_assert_uint_eq(hints_counters(b.host.hints)->sent, 1);
	ck_assert_uint_eq(hints_counters(b.host.hints)->replayed, 1);
	ck_assert(!stranger_heard());
}

TEST(test_silence)
{
	uint8_t bytes[2 * HINT_BYTES] = { 0 };
	const struct hints_counters *n = hints_counters(b.host.hints);

	throw(&b, "", 0);
	throw(&b, "x", 1);
	throw(&b, bytes, HINT_BYTES);
	ck_assert_int_eq(hint_host_encode(&a.host, &b.host, HINT_PING,
	    clock_boot_ms(), bytes), 0);
	throw(&b, bytes, HINT_BYTES + 1);	/* cut, it would be a hint */
	throw(&b, bytes, HINT_BYTES - 1);
	bytes[HINT_BYTES - 1] ^= 1;
	throw(&b, bytes, HINT_BYTES);
	bytes[4] ^= 1;
	throw(&b, bytes, HINT_BYTES);
	bytes[20] ^= 1;
	throw(&b, bytes, HINT_BYTES);
	turn();
	turn();
	ck_assert_uint_eq(n->malformed, 5);
	ck_assert_uint_eq(n->forged, 1);
	ck_assert_uint_eq(n->unknown, 1);
	ck_assert_uint_eq(n->not_ours, 1);
	ck_assert_uint_eq(n->sent, 0);
	ck_assert_uint_eq(b.n_hints, 0);
	/* The forger's session may have another key. */
	ck_assert_uint_eq(b.n_strangers, 2);
	ck_assert_uint_eq(b.last.head.sender.bytes[0], 0);
	ck_assert(!stranger_heard());
}

/* What came before its sender was known is read when it is. */
TEST(test_again)
{
	struct end c;

	start(&c, 3, "127.0.0.1:0");
	hint_host_meet(&c.host, &b.host);
	ck_assert_int_eq(send_hint(&c, &b, HINT_FREED), 0);
	turn();
	ck_assert_uint_eq(b.n_strangers, 1);
	ck_assert(hint_id_equal(&b.last.head.sender, &c.host.party.id));
	hint_socket_again(b.socket, b.letter);
	ck_assert_uint_eq(b.n_hints, 0);
	hint_host_meet(&b.host, &c.host);
	hint_socket_again(b.socket, b.letter);
	ck_assert_uint_eq(b.n_hints, 1);
	ck_assert_int_eq(b.last.body.kind, HINT_FREED);
	hint_socket_again(b.socket, b.letter);	/* once */
	ck_assert_uint_eq(b.n_hints, 1);
	stop(&c);
}

/* A flood has a turn, and then others have one. */
TEST(test_turn)
{
	const struct hints_counters *n = hints_counters(b.host.hints);

	for (int i = 0; i < HINT_SOCKET_TURN + 10; i++)
		throw(&b, "x", 1);
	ck_assert_int_ge(event_base_loop(base, EVLOOP_ONCE), 0);
	ck_assert_uint_eq(n->malformed, HINT_SOCKET_TURN);
	turn();
	ck_assert_uint_eq(n->malformed, HINT_SOCKET_TURN + 10);
}

/* The kernel refuses: a socket on loopback reaches no other host. */
TEST(test_trouble_once)
{
	struct end far = { .host = { .party = { .id = hint_test_id(3),
		.public_key = { 9 } },
		.address = hint_test_address("192.0.2.1:9") } };

	hint_host_meet(&a.host, &far.host);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(send_hint(&a, &far, HINT_FREED),
		    DDBLOCK_E_SYSTEM);
	ck_assert_uint_eq(a.n_troubles, 1);
	ck_assert_ptr_nonnull(strstr(a.trouble, "sent to 192.0.2.1:9: "));
	ck_assert_uint_eq(hints_counters(a.host.hints)->failed, 3);
	ck_assert_int_eq(send_hint(&a, &b, HINT_FREED), 0);
	far.host.address = hint_test_address("255.255.255.255:9");
	hint_host_meet(&a.host, &far.host);
	ck_assert_int_eq(send_hint(&a, &far, HINT_FREED), DDBLOCK_E_DENIED);
	ck_assert_uint_eq(hints_counters(a.host.hints)->failed, 3);
}

/* A peer that is not there: nobody waits, nothing is told. */
TEST(test_peer_is_away)
{
	hint_socket_free(b.socket);
	b.socket = NULL;
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(send_hint(&a, &b, HINT_FREED), 0);
		turn();
	}
	ck_assert_uint_eq(a.n_troubles, 0);
}

TEST(test_address_in_use)
{
	struct hint_socket *second = NULL;
	const struct hint_socket_calls none = { NULL, NULL, NULL };
	char text[256] = "";

	ck_assert_int_eq(hint_socket_new(base, &b.host.address, a.host.hints,
	    &none, NULL, &second, text, sizeof(text)), DDBLOCK_E_SYSTEM);
	ck_assert_ptr_null(second);
	ck_assert_ptr_nonnull(strstr(text, "cannot bind 127.0.0.1:"));
}

/* Without anybody to be told, all goes on. */
TEST(test_no_calls)
{
	const struct hint_socket_calls none = { NULL, NULL, NULL };
	const struct hint_address any = hint_test_address("127.0.0.1:0");
	char text[256] = "";
	uint8_t bytes[HINT_BYTES];

	hint_socket_free(b.socket);
	ck_assert_int_eq(hint_socket_new(base, &any, b.host.hints, &none,
	    NULL, &b.socket, text, sizeof(text)), 0);
	b.host.address = hint_socket_address(b.socket);
	hint_host_meet(&a.host, &b.host);
	ck_assert_int_eq(send_hint(&a, &b, HINT_PING), 0);
	ck_assert_int_eq(hint_host_encode(&a.host, &b.host, HINT_PING,
	    clock_boot_ms(), bytes), 0);
	bytes[4] ^= 1;
	throw(&b, bytes, sizeof(bytes));
	turn();
	turn();
	ck_assert_uint_eq(hints_counters(b.host.hints)->accepted, 1);
	ck_assert_uint_eq(hints_counters(b.host.hints)->unknown, 1);
	ck_assert_uint_eq(a.n_hints, 1);
}

static bool
has_ipv6(void)
{
	const struct sockaddr_in6 name = { .sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const bool has = fd >= 0 && bind(fd, (const struct sockaddr *)&name,
	    sizeof(name)) == 0;

	if (fd >= 0)
		(void)close(fd);
	return has;
}

TEST(test_ipv6)
{
	struct end c, d;

	if (!has_ipv6())
		return;
	start(&c, 3, "[::1]:0");
	start(&d, 4, "[::1]:0");
	hint_host_meet(&c.host, &d.host);
	hint_host_meet(&d.host, &c.host);
	ck_assert_int_eq(send_hint(&c, &d, HINT_PING), 0);
	turn();
	turn();
	ck_assert_int_eq(c.last.body.kind, HINT_PONG);
	stop(&c);
	stop(&d);
}

/* A socket for both hears IPv4. */
TEST(test_both)
{
	struct end c;

	if (!has_ipv6())
		return;
	start(&c, 3, "[::]:0");
	c.host.address.ip[10] = c.host.address.ip[11] = 0xff;
	c.host.address.ip[12] = 127;
	c.host.address.ip[15] = 1;
	hint_host_meet(&a.host, &c.host);
	hint_host_meet(&c.host, &a.host);
	ck_assert_int_eq(send_hint(&a, &c, HINT_FREED), 0);
	turn();
	ck_assert_uint_eq(c.n_hints, 1);
	stop(&c);
}
