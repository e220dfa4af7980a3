/*
 * The socket of hints. See hint_socket.h.
 *
 * It never waits: what the kernel does not take at once is dropped, because the
 * peer polls all the same. It asks for no SO_BROADCAST, so that the kernel
 * refuses what looks like a host and is the broadcast address of a subnet.
 */
#include "config.h"

#include "hints/hint_socket.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "ddblock.h"

#define ERRNO_MAX 256

enum hint_socket_way { HINT_SOCKET_IN, HINT_SOCKET_OUT };

struct hint_socket {
	int fd;
	struct event *event;
	struct hints *hints;
	struct hint_socket_calls calls;
	void *arg;
	struct hint_address address;
	bool told[HINT_SOCKET_OUT + 1][ERRNO_MAX];
};

/* ---- addresses ---------------------------------------------------------- */

/* As a socket bound to @own wants it. */
static socklen_t
hint_socket_name(const struct hint_address *own, const struct hint_address *a,
    struct sockaddr_storage *ret)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	memset(ret, 0, sizeof(*ret));
	if (hint_address_is_v4(own)) {
		v4.sin_port = htons(a->port);
		memcpy(&v4.sin_addr, a->ip + HINT_IP_BYTES - 4, 4);
		memcpy(ret, &v4, sizeof(v4));
		return sizeof(v4);
	}
	v6.sin6_port = htons(a->port);
	memcpy(&v6.sin6_addr, a->ip, HINT_IP_BYTES);
	memcpy(ret, &v6, sizeof(v6));
	return sizeof(v6);
}

static int
hint_socket_read_port(struct hint_socket *s)
{
	struct sockaddr_storage name;
	socklen_t length = sizeof(name);
	in_port_t port;

	if (getsockname(s->fd, (struct sockaddr *)&name, &length) < 0)
		return -1;
	/* It is at one place in both. */
	memcpy(&port, (const char *)&name + offsetof(struct sockaddr_in,
	    sin_port), sizeof(port));
	s->address.port = ntohs(port);
	return 0;
}

/* ---- what does not work ------------------------------------------------- */

/* A host that is away is no news for each hint. */
static void
hint_socket_tell(struct hint_socket *s, enum hint_socket_way way, int error,
    const struct hint_address *to)
{
	char where[HINT_ADDRESS_TEXT_MAX], text[256];
	const size_t i = error >= 0 && error < ERRNO_MAX ? (size_t)error : 0;

	if (s->told[way][i] || s->calls.trouble == NULL)
		return;
	s->told[way][i] = true;
	hint_address_format(to, where);
	(void)snprintf(text, sizeof(text), "hints cannot be %s %s: %s; "
	    "said once", way == HINT_SOCKET_OUT ? "sent to" : "received at",
	    where, strerror(error));
	s->calls.trouble(s->arg, text);
}

/* ---- datagrams ---------------------------------------------------------- */

int
hint_socket_send(struct hint_socket *s, const struct hint_id *session,
    const struct hint_id *peer, const struct hint_body *body)
{
	uint8_t bytes[HINT_BYTES];
	struct sockaddr_storage name;
	struct hint_address to;
	socklen_t length;
	ssize_t n;
	int r = hints_encode(s->hints, session, peer, body, clock_boot_ms(),
	    bytes, &to);

	if (r < 0)
		return r;
	length = hint_socket_name(&s->address, &to, &name);
	do {
		n = sendto(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT,
		    (const struct sockaddr *)&name, length);
	} while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(bytes))
		return 0;
	hints_counters(s->hints)->failed++;
	/* A queue that is full is a moment, and no trouble. */
	if (n < 0 && errno != EAGAIN && errno != ENOBUFS)
		hint_socket_tell(s, HINT_SOCKET_OUT, errno, &to);
	return DDBLOCK_E_SYSTEM;
}

/* To the peer's address, not to where the question came from. */
static void
hint_socket_answer(struct hint_socket *s, const struct hint *ping)
{
	struct hint_body pong = ping->body;

	pong.kind = HINT_PONG;
	/* What is lost here is asked for again. */
	(void)hint_socket_send(s, &ping->head.receiver, &ping->head.sender,
	    &pong);
}

static void
hint_socket_take(struct hint_socket *s, const uint8_t *bytes, size_t length)
{
	struct hint hint;

	switch (hints_decode(s->hints, bytes, length, clock_boot_ms(), &hint)) {
	case HINT_ACCEPTED:
		if (hint.body.kind == HINT_PING)
			hint_socket_answer(s, &hint);
		if (s->calls.hint != NULL)
			s->calls.hint(s->arg, &hint);
		return;
	case HINT_UNKNOWN:
	case HINT_FORGED:
		if (hint.look && s->calls.stranger != NULL)
			s->calls.stranger(s->arg, &hint.head, bytes);
		return;
	case HINT_MALFORMED:
	case HINT_NOT_OURS:
	case HINT_OVER_RATE:
	case HINT_REPLAYED:
	case HINT_LATE:
		return;	/* counted, and without an answer */
	}
}

void
hint_socket_again(struct hint_socket *s, const uint8_t bytes[HINT_BYTES])
{
	hint_socket_take(s, bytes, HINT_BYTES);
}

static void
hint_socket_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct hint_socket *s = arg;
	uint8_t bytes[HINT_BYTES + 1];	/* so that a longer one is seen */

	(void)what;
	for (int i = 0; i < HINT_SOCKET_TURN; i++) {
		const ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n >= 0) {
			hint_socket_take(s, bytes, (size_t)n);
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			hint_socket_tell(s, HINT_SOCKET_IN, errno,
			    &s->address);
		return;
	}
}

/* ---- its life ----------------------------------------------------------- */

static int
hint_socket_fail(const char *what, const struct hint_address *address,
    char *text, size_t text_size)
{
	const int error = errno;
	char where[HINT_ADDRESS_TEXT_MAX];

	hint_address_format(address, where);
	(void)snprintf(text, text_size, "cannot %s %s for hints: %s", what,
	    where, strerror(error));
	return DDBLOCK_E_SYSTEM;
}

static int
hint_socket_bind(struct hint_socket *s, const struct hint_address *address,
    char *text, size_t text_size)
{
	const bool v4 = hint_address_is_v4(address);
	const int off = 0;
	struct sockaddr_storage name;
	socklen_t length = hint_socket_name(address, address, &name);

	s->fd = socket(v4 ? AF_INET : AF_INET6,
	    SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return hint_socket_fail("make a socket for", address, text,
		    text_size);
	/* Bound to ::, it is for IPv4, too (hint_address_judge()). */
	if (!v4 && setsockopt(s->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off,
	    sizeof(off)) < 0)
		return hint_socket_fail("prepare", address, text, text_size);
	if (bind(s->fd, (const struct sockaddr *)&name, length) < 0)
		return hint_socket_fail("bind", address, text, text_size);
	if (hint_socket_read_port(s) < 0)
		return hint_socket_fail("look at", address, text, text_size);
	return 0;
}

int
hint_socket_new(struct event_base *base, const struct hint_address *address,
    struct hints *hints, const struct hint_socket_calls *calls, void *arg,
    struct hint_socket **ret, char *text, size_t text_size)
{
	struct hint_socket *s = calloc(1, sizeof(*s));
	int r;

	if (s == NULL) {
		(void)snprintf(text, text_size, "out of memory");
		return DDBLOCK_E_NOMEM;
	}
	s->fd = -1;
	s->hints = hints;
	s->calls = *calls;
	s->arg = arg;
	s->address = *address;
	r = hint_socket_bind(s, address, text, text_size);
	if (r < 0) {
		hint_socket_free(s);
		return r;
	}
	s->event = event_new(base, s->fd, EV_READ | EV_PERSIST,
	    hint_socket_on_readable, s);
	if (s->event == NULL || event_add(s->event, NULL) < 0) {
		(void)snprintf(text, text_size, "out of memory");
		hint_socket_free(s);
		return DDBLOCK_E_NOMEM;
	}
	*ret = s;
	return 0;
}

void
hint_socket_free(struct hint_socket *s)
{
	if (s == NULL)
		return;
	if (s->event != NULL)
		event_free(s->event);
	if (s->fd >= 0)
		(void)close(s->fd);
	free(s);
}

struct hint_address
hint_socket_address(const struct hint_socket *s)
{
	return s->address;
}
