/*
 * A new connection: how far it comes is told, once, and never from
 * within the start.
 */
#include <arpa/inet.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aws/probe.h"
#include "ddblock.h"
#include "test.h"

static struct event_base *base;
static struct probe *probe;
static struct probe_report got;
static unsigned answers;
static pthread_mutex_t lookup_gate = PTHREAD_MUTEX_INITIALIZER;

/* A port with a listener, or without. */
static int
listening(bool listens, unsigned *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t length = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	if (listens)
		ck_assert_int_eq(listen(fd, 4), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &length), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static int
lookup_loopback(const char *host, const char *port,
    const struct addrinfo *hints, struct addrinfo **ret)
{
	struct addrinfo numeric = *hints;

	(void)host;
	numeric.ai_flags = AI_NUMERICHOST;
	return getaddrinfo("127.0.0.1", port, &numeric, ret);
}

static int
lookup_nothing(const char *host, const char *port,
    const struct addrinfo *hints, struct addrinfo **ret)
{
	(void)host;
	(void)port;
	(void)hints;
	(void)ret;
	return EAI_NONAME;
}

static int
lookup_hangs(const char *host, const char *port,
    const struct addrinfo *hints, struct addrinfo **ret)
{
	(void)pthread_mutex_lock(&lookup_gate);
	(void)pthread_mutex_unlock(&lookup_gate);
	return lookup_nothing(host, port, hints, ret);
}

static void
on_answer(void *arg, const struct probe_report *r)
{
	(void)arg;
	got = *r;
	answers++;
	(void)event_base_loopbreak(base);
}

static void
start(const char *scheme, const char *host, unsigned port,
    uint64_t timeout_ms, int (*lookup)(const char *, const char *,
    const struct addrinfo *, struct addrinfo **))
{
	char url[128];
	const struct probe_config config = { .url = url,
		.timeout_ms = timeout_ms, .lookup = lookup };

	base = event_base_new();
	answers = 0;
	(void)snprintf(url, sizeof(url), "%s://%s:%u", scheme, host, port);
	ck_assert_int_eq(probe_start(base, &config, on_answer, NULL, &probe),
	    0);
	ck_assert_uint_eq(answers, 0);
}

static void
finish(enum probe_stage stage, const char *text)
{
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_uint_eq(answers, 1);
	ck_assert_msg(got.stage == stage, "%u: %s", got.stage, got.text);
	ck_assert_msg(strstr(got.text, text) != NULL, "%s", got.text);
	event_base_free(base);
}

TEST(test_connects)
{
	unsigned port;
	int fd = listening(true, &port);

	start("http", "127.0.0.1", port, 60000, NULL);
	finish(PROBE_DONE, "");
	ck_assert(got.literal && got.loopback && !got.tls);
	ck_assert_str_eq(got.address, "127.0.0.1");
	start("http", "table.example", port, 60000, lookup_loopback);
	finish(PROBE_DONE, "");
	ck_assert(!got.literal);
	ck_assert_str_eq(got.host, "table.example");
	ck_assert_str_eq(got.addresses, "127.0.0.1");
	(void)close(fd);
}

TEST(test_no_name)
{
	start("https", "table.example", 443, 60000, lookup_nothing);
	finish(PROBE_LOOKUP, gai_strerror(EAI_NONAME));
	(void)pthread_mutex_lock(&lookup_gate);
	start("https", "table.example", 443, 10, lookup_hangs);
	finish(PROBE_LOOKUP, "no answer within 10 ms");
	(void)pthread_mutex_unlock(&lookup_gate);
}

TEST(test_refused)
{
	unsigned port;
	int fd = listening(false, &port);

	start("http", "table.example", port, 60000, lookup_loopback);
	finish(PROBE_CONNECT, "");
	ck_assert(got.text[0] != '\0');
	(void)close(fd);
}

/* A server that accepts the connection, and never speaks TLS. */
TEST(test_no_tls)
{
	unsigned port;
	int fd = listening(true, &port);

	start("https", "127.0.0.1", port, 50, NULL);
	finish(PROBE_TLS, "");
	(void)close(fd);
}

TEST(test_cancelled)
{
	unsigned port;
	int fd = listening(true, &port);

	start("http", "127.0.0.1", port, 60000, NULL);
	probe_cancel(probe);
	ck_assert_int_eq(event_base_dispatch(base), 1);	/* nothing is left */
	ck_assert_uint_eq(answers, 0);
	event_base_free(base);
	/* And with a connection on its way. */
	start("https", "127.0.0.1", port, 60000, NULL);
	ck_assert_int_eq(event_base_loop(base, EVLOOP_ONCE), 0);
	probe_cancel(probe);
	ck_assert_uint_eq(answers, 0);
	event_base_free(base);
	(void)close(fd);
}

TEST(test_no_url)
{
	const struct probe_config config = { .url = "ftp://x",
		.timeout_ms = 1 };

	base = event_base_new();
	ck_assert_int_eq(probe_start(base, &config, on_answer, NULL, &probe),
	    DDBLOCK_E_BAD_REQUEST);
	event_base_free(base);
}
