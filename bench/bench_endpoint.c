/*
 * The cost of the daemon when the endpoint costs nothing: its processor time
 * for an acquire and a release with 64 in flight, against a bare curl multi
 * loop that sends the same two bodies unsigned: as in libcurl's manual, and on
 * the daemon's own event loop; and how long a thousand acquires take at once
 * when each answer takes 20 ms, against what the connections allow.
 */
#include "bench.h"

#include <curl/curl.h>
#include <event2/event.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aws/pool.h"
#include "common/clock.h"
#include "dialect/dialect.h"

#define IN_FLIGHT 64
#define CYCLES 400		/* in a turn, of a fraction of a second: */
#define REPETITIONS 11		/* other load of the machine hits both */
#define DAEMONS 11		/* where memory comes to lie makes some 5 % */
#define AT_ONCE 1000
#define DELAY_MS 20
#define CONNECTIONS 64		/* of the daemon, for locks */
#define BODY_MAX 4096

/* ---- the bare loop ---- */

struct bare_request {
	char body[BODY_MAX];
	char target[64];
};

struct bare;

struct bare_lane {
	struct bare *bare;
	CURL *easy;
	struct curl_slist *headers;
	size_t cycle;
	bool releasing;
};

struct bare {
	CURLM *multi;			/* as in the manual; or NULL: */
	struct event_base *base;
	struct pool *pool;
	struct bare_request cycles[CYCLES][2];
	size_t next;
	size_t running;
	struct bare_lane lanes[IN_FLIGHT];
};

/* A process that is told the first key's number of each turn. */
struct bare_process {
	pid_t pid;
	int to;
	int from;	/* how much processor time the turn took, in us */
};

static void
bare_write(struct bare_request *r, const struct dialect_table *table,
    const struct operation *operation)
{
	struct dialect_attempt attempt = { .step = DIALECT_DO };
	struct dialect_request request;
	struct dialect_view view;

	attempt.wall_ms = clock_wall_ms();
	dialect_request_init(&request);
	dialect_view_init(&view);
	if (dialect_native.request(table, operation, &attempt, &request,
	    &view) != 0 || request.body.length >= BODY_MAX)
		die("a request: %s", view.text);
	memcpy(r->body, request.body.data, request.body.length + 1);
	snprintf(r->target, sizeof(r->target),
	    "X-Amz-Target: DynamoDB_20120810.%s", request.operation);
	dialect_view_clear(&view);
	dialect_request_done(&request);
}

/* As the core asks for it: the same owner, the same length of the key. */
static void
bare_prepare(struct bare *b, uint64_t serial)
{
	static const struct dialect_table table = {
		.table = ENDPOINT_TABLE, .key_attribute = "key",
		.ttl_attribute = "ttl", .retention_s = 7 * 24 * 3600,
		.host = "a-host", .pid = "1", .version = "bench",
	};

	for (size_t i = 0; i < CYCLES; i++) {
		struct operation o = { .kind = OPERATION_ACQUIRE };
		char key[64];

		snprintf(key, sizeof(key), "bench/endpoint/%012" PRIu64,
		    serial++);
		o.key.bytes = key;
		o.key.length = strlen(key);
		o.me.session.high = 0x0123456789abcdef;
		o.me.grant.low = serial;
		o.me.lease_ms = 20000;
		o.tokens = 1;
		o.mode = LOCK_MODE_EXCLUSIVE;
		o.owner = "a-host/ddblock-bench:1234567";
		bare_write(&b->cycles[i][0], &table, &o);
		o.kind = OPERATION_RELEASE;
		o.holders = &o.me;
		o.n_holders = 1;
		bare_write(&b->cycles[i][1], &table, &o);
	}
}

static size_t
bare_read(char *from, size_t size, size_t n, void *arg)
{
	(void)from;
	(void)arg;
	return size * n;
}

/* False: there is nothing more to do. */
static bool
bare_go(struct bare_lane *l)
{
	struct bare *b = l->bare;
	struct bare_request *r;

	if (!l->releasing) {
		if (b->next == CYCLES)
			return false;
		l->cycle = b->next++;
	}
	r = &b->cycles[l->cycle][l->releasing ? 1 : 0];
	curl_slist_free_all(l->headers);
	l->headers = curl_slist_append(NULL,
	    "Content-Type: application/x-amz-json-1.0");
	l->headers = curl_slist_append(l->headers, r->target);
	curl_easy_setopt(l->easy, CURLOPT_HTTPHEADER, l->headers);
	curl_easy_setopt(l->easy, CURLOPT_POSTFIELDS, r->body);
	curl_easy_setopt(l->easy, CURLOPT_POSTFIELDSIZE,
	    (long)strlen(r->body));
	if (b->multi != NULL)
		return curl_multi_add_handle(b->multi, l->easy) == CURLM_OK;
	return pool_start(b->pool, l->easy) == 0;
}

static void
bare_on_finished(void *arg, CURL *easy, CURLcode result)
{
	struct bare *b = arg;
	struct bare_lane *l = NULL;
	long status = 0;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&l);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (result != CURLE_OK || status != 200)
		die("the endpoint says %ld: %s", status,
		    curl_easy_strerror(result));
	l->releasing = !l->releasing;
	if (!bare_go(l) && --b->running == 0 && b->multi == NULL)
		event_base_loopbreak(b->base);
}

static void
bare_perform(struct bare *b)
{
	CURLMsg *message;
	int left;

	while (b->running > 0) {
		if (curl_multi_perform(b->multi, &left) != CURLM_OK)
			die("curl_multi_perform() failed");
		while ((message = curl_multi_info_read(b->multi, &left)) !=
		    NULL) {
			CURL *easy = message->easy_handle;
			CURLcode result = message->data.result;

			curl_multi_remove_handle(b->multi, easy);
			bare_on_finished(b, easy, result);
		}
		if (b->running > 0)
			curl_multi_poll(b->multi, NULL, 0, 1000, NULL);
	}
}

static void
bare_init(struct bare *b, const char *url, bool on_our_loop)
{
	if (!on_our_loop) {
		b->multi = curl_multi_init();
	} else {
		b->base = event_base_new();
		if (pool_new(b->base, IN_FLIGHT, bare_on_finished, NULL,
		    b, &b->pool) != 0)
			die("no curl multi handle");
	}
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		struct bare_lane *l = &b->lanes[i];

		l->bare = b;
		l->easy = curl_easy_init();
		curl_easy_setopt(l->easy, CURLOPT_PRIVATE, l);
		curl_easy_setopt(l->easy, CURLOPT_URL, url);
		curl_easy_setopt(l->easy, CURLOPT_POST, 1L);
		curl_easy_setopt(l->easy, CURLOPT_NOSIGNAL, 1L);
		curl_easy_setopt(l->easy, CURLOPT_WRITEFUNCTION, bare_read);
	}
}

static void
bare_run(struct bare *b)
{
	b->next = 0;
	b->running = IN_FLIGHT;
	for (size_t i = 0; i < IN_FLIGHT; i++) {
		b->lanes[i].releasing = false;
		(void)bare_go(&b->lanes[i]);
	}
	if (b->multi == NULL)
		event_base_dispatch(b->base);
	else
		bare_perform(b);
}

/* Until no request waits for a turn any more. */
static void
bare_serve(const char *url, bool on_our_loop, int from, int to)
{
	static struct bare b;
	uint64_t serial;

	bare_init(&b, url, on_our_loop);
	while (read(from, &serial, sizeof(serial)) == sizeof(serial)) {
		double us;

		bare_prepare(&b, serial);
		us = process_cpu_us(getpid());
		bare_run(&b);
		us = process_cpu_us(getpid()) - us;
		if (write(to, &us, sizeof(us)) != sizeof(us))
			break;
	}
}

static void
bare_start(struct bare_process *p, const char *url, bool on_our_loop)
{
	int to[2], from[2];

	if (pipe(to) != 0 || pipe(from) != 0 || (p->pid = fork()) < 0)
		die("no process");
	if (p->pid == 0) {
		close(to[1]);
		close(from[0]);
		bare_serve(url, on_our_loop, to[0], from[1]);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	p->to = to[1];
	p->from = from[0];
}

static void
bare_stop(struct bare_process *p)
{
	close(p->to);
	close(p->from);
	process_wait(p->pid, "the bare loop");
}

/* Processor time of a turn, in us for one cycle. */
static double
bare_measure(struct bare_process *p, uint64_t *serial)
{
	double us = 0;

	if (write(p->to, serial, sizeof(*serial)) != sizeof(*serial) ||
	    read(p->from, &us, sizeof(us)) != sizeof(us))
		die("the bare loop failed");
	*serial += CYCLES;
	return us / CYCLES;
}

/* ---- ours ---- */

static void
ours_start(struct daemon *d, const char *name, const char *url)
{
	char settings[512];

	snprintf(settings, sizeof(settings), "store = dynamodb\n"
	    "table = " ENDPOINT_TABLE "\nendpoint = %s\nregion = us-east-1\n"
	    "request_rate = 0\n"
	    "access_key_id = AKIDEXAMPLE\nsecret_access_key = secret\n", url);
	daemon_start(d, name, settings);
}

static void
ours_go(struct line_client *c, uint64_t *serial)
{
	line_send(c, "TRY bench/endpoint/%012" PRIu64 "\n", (*serial)++);
}

/* The same for the daemon, asked over as many connections; each goes on as
 * soon as it has its answer. */
static double
ours_measure(struct daemon *d, struct line_client *clients, uint64_t *serial)
{
	double start_us = process_cpu_us(d->pid);
	struct pollfd polls[IN_FLIGHT];
	bool releasing[IN_FLIGHT] = { false };
	size_t begun = IN_FLIGHT, done = 0;

	for (size_t i = 0; i < IN_FLIGHT; i++) {
		polls[i] = (struct pollfd){ clients[i].fd, POLLIN, 0 };
		ours_go(&clients[i], serial);
	}
	while (done < CYCLES && poll(polls, IN_FLIGHT, -1) > 0) {
		for (size_t i = 0; i < IN_FLIGHT; i++) {
			uint64_t id;

			if ((polls[i].revents & POLLIN) == 0)
				continue;
			id = line_read_ok(&clients[i]);
			if (!releasing[i])
				line_send(&clients[i], "RELEASE id=%" PRIu64
				    "\n", id);
			else if (++done <= CYCLES && begun++ < CYCLES)
				ours_go(&clients[i], serial);
			releasing[i] = !releasing[i];
		}
	}
	return (process_cpu_us(d->pid) - start_us) / CYCLES;
}

/* All sides in turns, each in processes of its own. */
static void
endpoint_compare(const char *url, int nth, struct pairs *to_manual,
    struct pairs *to_libevent)
{
	static struct line_client clients[IN_FLIGHT];
	uint64_t serial = (uint64_t)nth << 32;
	struct bare_process manual, libevent;
	struct daemon daemon;
	char name[32];

	snprintf(name, sizeof(name), "endpoint-%d", nth);
	bare_start(&manual, url, false);
	bare_start(&libevent, url, true);
	ours_start(&daemon, name, url);
	processors_take_last(manual.pid);
	processors_take_last(libevent.pid);
	processors_take_last(daemon.pid);
	for (size_t i = 0; i < IN_FLIGHT; i++)
		line_open(&clients[i], daemon.socket);
	for (int i = -1; i < REPETITIONS; i++) {
		double theirs = bare_measure(&manual, &serial);
		double ours = ours_measure(&daemon, clients, &serial);
		double theirs_here = bare_measure(&libevent, &serial);

		if (i < 0)	/* connections are made */
			continue;
		pairs_add(to_manual, ours, theirs);
		pairs_add(to_libevent, ours, theirs_here);
	}
	for (size_t i = 0; i < IN_FLIGHT; i++)
		line_close(&clients[i]);
	daemon_stop(&daemon);
	bare_stop(&libevent);	/* which has the other's pipe, too */
	bare_stop(&manual);
}

static void
endpoint_cpu(void)
{
	struct pairs to_manual, to_libevent;
	pid_t endpoint;
	char url[64];

	/* Waking a process on another processor costs more than the measured
	 * work. */
	processors_leave_last();
	endpoint = endpoint_start(0, NULL, url, sizeof(url));
	pairs_init(&to_manual, DAEMONS * REPETITIONS);
	pairs_init(&to_libevent, DAEMONS * REPETITIONS);
	for (int i = 0; i < DAEMONS; i++)
		endpoint_compare(url, i, &to_manual, &to_libevent);
	report_us("endpoint that costs nothing, processor time of lock + "
	    "release", &to_manual, AT_MOST, 1.5);
	report_note_us("the same, against a bare loop on libevent",
	    &to_libevent);
	pairs_done(&to_manual);
	pairs_done(&to_libevent);
	kill(endpoint, SIGKILL);
	waitpid(endpoint, NULL, 0);
	processors_all();
}

static double
at_once_measure(struct line_client *c, uint64_t *serial)
{
	double start_us = now_us(), us;

	for (int i = 0; i < AT_ONCE; i++)
		line_send(c, "TRY bench/at-once/%012" PRIu64 "\n",
		    (*serial)++);
	for (int i = 0; i < AT_ONCE; i++)
		line_read_ok(c);
	us = now_us() - start_us;
	line_send(c, "RELEASE all=yes\n");
	while (line_read(c)[0] == '+')
		continue;
	return us;
}

static void
endpoint_at_once(void)
{
	static struct line_client client;
	char url[64], ours[32], theirs[32];
	pid_t endpoint = endpoint_start(DELAY_MS, NULL, url, sizeof(url));
	double us[REPETITIONS], ideal_us, middle;
	struct daemon daemon;
	uint64_t serial = 0;

	ours_start(&daemon, "at-once", url);
	line_open(&client, daemon.socket);
	at_once_measure(&client, &serial);	/* the connections */
	for (int i = 0; i < REPETITIONS; i++)
		us[i] = at_once_measure(&client, &serial);
	middle = median(us, REPETITIONS);
	ideal_us = (double)((AT_ONCE + CONNECTIONS - 1) / CONNECTIONS *
	    DELAY_MS * 1000);
	snprintf(ours, sizeof(ours), "%.0f ms", middle / 1000);
	snprintf(theirs, sizeof(theirs), "%.0f ms", ideal_us / 1000);
	report_row("endpoint of 20 ms, 1,000 locks at once", ours, theirs,
	    middle / ideal_us, AT_MOST, 2);
	line_close(&client);
	daemon_stop(&daemon);
	kill(endpoint, SIGKILL);
	waitpid(endpoint, NULL, 0);
}

void
bench_endpoint(void)
{
	endpoint_cpu();
	endpoint_at_once();
}
