/*
 * What it would cost to speak with DynamoDB from a process of its own: a write
 * of 1 KB that goes through another process, over a socket pair, against the
 * same write without; and the hop alone. (doc/architecture.md: One process.)
 */
#include <config.h>	/* strcasestr() */

#include "bench.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOP_MESSAGE_MAX 16384
#define HOP_VALUE_BYTES 900
#define HOP_DELAY_MS 20
#define HOP_TIMES 5000
#define HOP_MAX_US 50		/* a hundredth of what DynamoDB takes */

/* A message: its length before it. */
struct hop_message {
	uint32_t length;
	char bytes[HOP_MESSAGE_MAX];
};

struct hop {
	int http;		/* to the endpoint; -1: none, it is an echo */
	int relay;		/* to the process between */
	pid_t pid;
	struct hop_message request;
};

static void
hop_read_all(int fd, void *to, size_t length)
{
	for (size_t at = 0; at < length;) {
		ssize_t n = read(fd, (char *)to + at, length - at);

		if (n <= 0)
			die("the other end is gone");
		at += (size_t)n;
	}
}

static void
hop_send(int fd, const struct hop_message *m)
{
	const size_t length = sizeof(m->length) + m->length;

	if (write(fd, m, length) != (ssize_t)length)
		die("write: %s", strerror(errno));
}

static void
hop_receive(int fd, struct hop_message *m)
{
	hop_read_all(fd, &m->length, sizeof(m->length));
	if (m->length > sizeof(m->bytes))
		die("a message is too long");
	hop_read_all(fd, m->bytes, m->length);
}

/* The answer to a request, over HTTP. */
static void
hop_exchange(int fd, const struct hop_message *request,
    struct hop_message *answer)
{
	const char *end = NULL, *size;
	size_t length = 0, wanted = 0;

	if (write(fd, request->bytes, request->length) !=
	    (ssize_t)request->length)
		die("write: %s", strerror(errno));
	while (end == NULL || length < wanted) {
		ssize_t n = read(fd, answer->bytes + length,
		    sizeof(answer->bytes) - 1 - length);

		if (n <= 0)
			die("the endpoint is gone");
		length += (size_t)n;
		answer->bytes[length] = '\0';
		if (end == NULL)
			end = strstr(answer->bytes, "\r\n\r\n");
		size = strcasestr(answer->bytes, "\r\nContent-Length:");
		if (end != NULL && size != NULL)
			wanted = (size_t)(end + 4 - answer->bytes) +
			    strtoul(size + 17, NULL, 10);
	}
	if (strncmp(answer->bytes, "HTTP/1.1 200", 12) != 0)
		die("the endpoint says: %s", answer->bytes);
	answer->length = (uint32_t)length;
}

static void
hop_answer(int http, const struct hop_message *request,
    struct hop_message *answer)
{
	if (http >= 0)
		hop_exchange(http, request, answer);
	else
		memcpy(answer, request, sizeof(request->length) +
		    request->length);
}

static void
hop_relay(int fd, int http)
{
	static struct hop_message request, answer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		hop_receive(fd, &request);
		hop_answer(http, &request, &answer);
		hop_send(fd, &answer);
	}
}

static int
hop_connect(const char *url)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	char host[64], port[16];
	const int on = 1;
	int fd;

	if (sscanf(url, "http://%63[^:]:%15[0-9]", host, port) != 2 ||
	    getaddrinfo(host, port, &hints, &found) != 0)
		die("the endpoint is %s", url);
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
		die("%s: %s", url, strerror(errno));
	freeaddrinfo(found);
	return fd;
}

static void
hop_write_request(struct hop_message *m, const char *table)
{
	static char value[HOP_VALUE_BYTES + 1];
	char body[2048];
	int length;

	memset(value, 'x', HOP_VALUE_BYTES);
	length = snprintf(body, sizeof(body), "{\"TableName\":\"%s\",\"Key\":"
	    "{\"key\":{\"S\":\"bench/hop\"}},\"UpdateExpression\":"
	    "\"SET hop = :v\",\"ExpressionAttributeValues\":"
	    "{\":v\":{\"S\":\"%s\"}}}", table, value);
	m->length = (uint32_t)snprintf(m->bytes, sizeof(m->bytes),
	    "POST / HTTP/1.1\r\nHost: localhost\r\n"
	    "Content-Type: application/x-amz-json-1.0\r\n"
	    "X-Amz-Target: DynamoDB_20120810.UpdateItem\r\n"
	    "X-Amz-Date: 20260101T000000Z\r\n"
	    "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/"
	    "us-east-1/dynamodb/aws4_request, SignedHeaders=host, "
	    "Signature=0\r\nContent-Length: %d\r\n\r\n%s", length, body);
}

/* @url: NULL for the hop alone. */
static void
hop_open(struct hop *h, const char *url, const char *table)
{
	int fds[2];

	h->http = url == NULL ? -1 : hop_connect(url);
	hop_write_request(&h->request, table);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		die("socketpair: %s", strerror(errno));
	h->pid = fork();
	if (h->pid < 0)
		die("fork: %s", strerror(errno));
	if (h->pid == 0)
		hop_relay(fds[1], url == NULL ? -1 : hop_connect(url));
	close(fds[1]);
	h->relay = fds[0];
}

static void
hop_close(struct hop *h)
{
	kill(h->pid, SIGKILL);
	waitpid(h->pid, NULL, 0);
	close(h->relay);
	if (h->http >= 0)
		close(h->http);
}

static double
hop_measure(const struct hop *h, bool hops)
{
	static struct hop_message answer;
	double start_us = now_us();

	if (hops) {
		hop_send(h->relay, &h->request);
		hop_receive(h->relay, &answer);
	} else {
		hop_answer(h->http, &h->request, &answer);
	}
	return now_us() - start_us;
}

static void
hop_compare(const char *what, const char *url, const char *table,
    size_t times)
{
	static struct hop hop;
	struct pairs pairs;

	hop_open(&hop, url, table);
	pairs_init(&pairs, times);
	for (size_t i = 0; i < times / 10; i++) {
		hop_measure(&hop, true);
		hop_measure(&hop, false);
	}
	for (size_t i = 0; i < times; i++) {
		double with = hop_measure(&hop, true);

		pairs_add(&pairs, with, hop_measure(&hop, false));
	}
	report_note_us(what, &pairs);
	pairs_done(&pairs);
	hop_close(&hop);
}

/* The hop alone: how long, and of both processes together. */
static void
hop_alone(void)
{
	static struct hop hop;
	double times[HOP_TIMES], cpu_us;
	char text[32];

	hop_open(&hop, NULL, "");
	for (size_t i = 0; i < HOP_TIMES; i++)
		hop_measure(&hop, true);
	cpu_us = process_cpu_us(hop.pid) + process_cpu_us(getpid());
	for (size_t i = 0; i < HOP_TIMES; i++)
		times[i] = hop_measure(&hop, true);
	cpu_us = process_cpu_us(hop.pid) + process_cpu_us(getpid()) - cpu_us;
	snprintf(text, sizeof(text), "%.1f us", median(times, HOP_TIMES));
	report_row("1 KB to another process and back", text, "",
	    median(times, HOP_TIMES), AT_MOST, HOP_MAX_US);
	snprintf(text, sizeof(text), "%.1f us", cpu_us / HOP_TIMES);
	report_row("the same, processor time of both", text, "",
	    cpu_us / HOP_TIMES, AT_MOST, HOP_MAX_US);
	hop_close(&hop);
}

void
bench_hop(void)
{
	const char *local = getenv("AWS_ENDPOINT_URL_DYNAMODB");
	char url[64];
	pid_t endpoint = endpoint_start(HOP_DELAY_MS, NULL, url, sizeof(url));

	hop_alone();
	hop_compare("1 KB to an endpoint of 20 ms (direct)", url,
	    ENDPOINT_TABLE, 200);
	kill(endpoint, SIGKILL);
	if (local == NULL) {
		report_missed("1 KB to DynamoDB Local (direct)",
		    "there is no endpoint");
		return;
	}
	init_table("ddblock-hop");
	hop_compare("1 KB to DynamoDB Local (direct)", local, "ddblock-hop",
	    2000);
}
