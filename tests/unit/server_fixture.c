/*
 * The script that stands in for the core, and the client's side of a socket.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/clock.h"
#include "common/error.h"
#include "ipc/connection/connection.h"
#include "ipc/server.h"
#include "store/store.h"
#include "server_fixture.h"

struct fixture t;

void
perform_reply(const struct core_request *q, int code)
{
	const struct core_holder_view holder = {
		.held = true, .owner = "h/n:1", .token = 5, .seen = true,
		.unchanged_ms = 4000, .mode = t.core.mode,
		.limit = t.core.limit, .n_holders = 2, .lease_ms = 20000,
	};
	struct core_reply reply = {
		.action.type = CORE_REPLY, .client = q->client,
		.request = q->request, .verb = q->verb, .code = code,
		.hold = 7, .token = 123, .terms = q->terms,
		.remaining_ms = 18999, .until_ms = 123456, .margin_ms = 1000,
		.holder = &holder,
	};

	server_perform(t.server, &reply.action);
}

static void
perform_rows(const struct core_request *q)
{
	char key[900];
	struct core_row rows[100];
	struct core_rows action = {
		.action.type = CORE_ROWS, .client = q->client,
		.request = q->request, .rows = rows, .n_rows = 100,
	};

	memset(key, 'k', sizeof(key));
	for (size_t i = 0; i < 100; i++)
		rows[i] = (struct core_row){
			.key = { key, sizeof(key) },
			.holder = { .held = i % 2 == 0 },
		};
	server_perform(t.server, &action.action);
}

static int
fake_step(void *arg, struct core_event *event)
{
	struct seen *seen = &t.seen[t.n_seen];

	(void)arg;
	if (t.on_step != NULL)
		t.on_step();
	if (t.refuse < 0)
		return t.refuse;
	ck_assert_uint_lt(t.n_seen, EVENTS_MAX);
	t.n_seen++;
	*seen = (struct seen){ .type = event->type };
	if (event->type == CORE_CONTINUE && !t.quiet_lists) {
		struct core_request q = {
			.client = event->more.client,
			.request = event->more.request, .verb = CORE_LIST,
		};

		if (t.list_pages > 0) {
			t.list_pages--;
			perform_rows(&q);
		} else {
			perform_reply(&q, 0);
		}
	}
	if (event->type != CORE_REQUEST) {
		seen->client = event->client;
		return 0;
	}
	seen->request = event->request;
	seen->key_length = event->request.key.length;
	if (seen->key_length >= sizeof(seen->key))
		seen->key_length = sizeof(seen->key) - 1;
	if (seen->key_length > 0)
		memcpy(seen->key, event->request.key.bytes, seen->key_length);
	if (event->request.owner != NULL)
		(void)snprintf(seen->owner, sizeof(seen->owner), "%.100s",
		    event->request.owner);
	seen->client = event->request.client;
	if (event->request.verb == CORE_LIST && !t.quiet_lists)
		perform_rows(&event->request);
	else if (t.answer)
		perform_reply(&event->request, 0);
	return 0;
}

static const struct core *
fake_core(void *arg)
{
	(void)arg;
	return &t.core;
}

static uint32_t
fake_n_namespaces(void *arg)
{
	(void)arg;
	return 2;
}

static const char *
fake_namespace_name(void *arg, uint32_t index)
{
	(void)arg;
	return index == 0 ? "default" : "other";
}

static void
fake_store_status(void *arg, uint32_t index, struct store_status *ret)
{
	(void)arg;
	*ret = (struct store_status){
		.kind = "sqlite", .scope = "host", .where = "/x",
		.sorts = index == 0, .last_text = "",
	};
}

/* The tests of real daemons have the real thing. */
static int
fake_check(void *arg, uint32_t index, uint64_t client, uint64_t request)
{
	(void)arg;
	(void)index;
	(void)client;
	(void)request;
	return DDBLOCK_E_NOMEM;
}

static void
fake_log(void *arg, int priority, int64_t user, const char *text)
{
	(void)arg;
	(void)user;
	(void)priority;
	(void)snprintf(t.log, sizeof(t.log), "%s", text);
}

/* The views that the real core would give. */
/* The next line, without those of other clients. */
bool
core_next_hold_of(const struct core *core, uint64_t client, uint64_t after,
    uint64_t now_ms, struct core_hold_view *ret)
{
	return client == core->holder &&
	    core_next_hold(core, after, now_ms, ret);
}

bool
core_next_hold(const struct core *core, uint64_t after, uint64_t now_ms,
    struct core_hold_view *ret)
{
	(void)now_ms;
	if (after >= core->n_holds)
		return false;
	*ret = (struct core_hold_view){
		.hold = after + 1, .id = after + 1, .client = core->holder,
		.namespace_index = (uint32_t)(after % 2),
		.key = { "k\0s", after + 1 == core->sorted ? 3 : 1 },
		.token = 9,
		.terms = { .mode = core->mode, .limit = core->limit },
		.held_ms = 1500, .remaining_ms = 2500,
	};
	return true;
}

bool
core_view_hold(const struct core *core, uint64_t hold, uint64_t now_ms,
    struct core_hold_view *ret)
{
	return hold > 0 && core_next_hold(core, hold - 1, now_ms, ret);
}

bool
core_next_waiter(const struct core *core, uint64_t after, uint64_t now_ms,
    struct core_waiter_view *ret)
{
	uint64_t end_ns = clock_monotonic_ns() + core->waiter_ns;

	(void)now_ms;
	while (clock_monotonic_ns() < end_ns)
		;
	if (after >= 1)
		return false;
	*ret = (struct core_waiter_view){
		.serial = 1, .client = core->holder, .key = { "w", 1 },
		.terms = { .mode = core->mode, .limit = core->limit },
		.ahead = core->watcher == 0 ? 2 : core->ahead,
		.waited_ms = 1000,
		.cause = DDBLOCK_E_UNREACHABLE,
	};
	return true;
}

void
core_view_namespace(const struct core *core, uint32_t index, uint64_t now_ms,
    struct core_namespace_view *ret)
{
	(void)core;
	(void)index;
	(void)now_ms;
	*ret = (struct core_namespace_view){ .open = true, .locks = 3 };
}

bool
core_client_holds(const struct core *core, uint64_t client, uint32_t index)
{
	return client == core->holder && index == 0;
}

bool
core_view_request(const struct core *core, uint64_t client, uint64_t request,
    uint64_t now_ms, struct core_waiter_view *ret)
{
	(void)client;
	(void)request;
	return core_next_waiter(core, 0, now_ms, ret);
}

bool
core_view_watch(const struct core *core, uint64_t client, uint32_t index,
    struct key key, struct core_holder_view *ret_holder, int *ret_cause)
{
	(void)index;
	(void)key;
	*ret_holder = (struct core_holder_view){
		.held = core->token > 0, .token = core->token,
		.mode = LOCK_MODE_EXCLUSIVE, .n_holders = 1,
	};
	*ret_cause = 0;
	return client == core->watcher;
}

/* The walk over watches is for rules of access, which tests of a real daemon
 * have. */
bool
core_watch_of(const struct core *core, uint64_t client, uint32_t n,
    uint32_t *ret_namespace_index, struct key *ret)
{
	(void)core;
	(void)client;
	(void)n;
	(void)ret_namespace_index;
	(void)ret;
	return false;
}

static struct server_defaults
fake_defaults(void *arg, uint32_t index)
{
	(void)arg;
	return (struct server_defaults){
		.wait_ms = index == 0 ? CORE_FOREVER : 30000,
	};
}

static int
fake_secret(void *arg, struct ident *ret)
{
	(void)arg;
	*ret = (struct ident){ 1, 2 };
	return 0;
}

const struct server_calls fake_calls = {
	.step = fake_step, .core = fake_core,
	.n_namespaces = fake_n_namespaces,
	.namespace_name = fake_namespace_name, .defaults = fake_defaults,
	.store_status = fake_store_status, .check = fake_check,
	.log = fake_log, .secret = fake_secret,
};

struct server_config
configuration(void)
{
	return (struct server_config){
		.path = t.path, .fd = -1, .mode = 0640, .group = (gid_t)-1,
		.admin_group = (gid_t)-1,
		.limits = {
			.connections_max = 50,
			.connections_per_uid_max = 40,
			.requests_per_connection_max = 16,
			.requests_max = 1000,
			.queued_bytes_max = 1024 * 1024,
			.queued_bytes_per_uid_max = 4 * 1024 * 1024,
		},
		.version = "1.2.3", .host = "h",
	};
}

void
start_with(const struct server_config *config)
{
	char text[256];
	int r = server_new(t.base, config, &fake_calls, NULL, &t.server,
	    text, sizeof(text));

	ck_assert_msg(r == 0, "%s", text);
}

void
setup(void)
{
	struct server_config config;

	memset(&t, 0, sizeof(t));
	(void)snprintf(t.directory, sizeof(t.directory),
	    "/tmp/check_server.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(t.directory));
	(void)snprintf(t.path, sizeof(t.path), "%s/sock", t.directory);
	t.base = event_base_new();
	ck_assert_ptr_nonnull(t.base);
	config = configuration();
	start_with(&config);
}

void
teardown(void)
{
	server_free(t.server);
	event_base_free(t.base);
	(void)unlink(t.path);
	ck_assert_int_eq(rmdir(t.directory), 0);
}

int
client(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	ck_assert_int_ge(fd, 0);
	memcpy(address.sun_path, t.path, strlen(t.path));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address,
	    sizeof(address)), 0);
	return fd;
}

/* Until all is done: a user may owe turns on a slow processor. */
void
turn(void)
{
	for (int i = 0; i < 20 || (t.server->work_scheduled && i < 1000); i++)
		ck_assert_int_ge(event_base_loop(t.base, EVLOOP_NONBLOCK), 0);
}

void
say(int fd, const char *text)
{
	size_t length = strlen(text);

	ck_assert_int_eq(send(fd, text, length, MSG_NOSIGNAL),
	    (ssize_t)length);
	turn();
}

void
expect(int fd, const char *text)
{
	char got[4096];
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

	got[n < 0 ? 0 : n] = '\0';
	ck_assert_str_eq(got, text);
}

void
expect_nothing(int fd)
{
	char c;

	ck_assert_int_eq(recv(fd, &c, 1, 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
}

void
expect_end(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, 0);

	ck_assert_msg(n == 0 || (n < 0 && errno == ECONNRESET),
	    "the connection lives");
	(void)close(fd);
}

void
ask(int fd, const char *request, const char *reply)
{
	say(fd, request);
	expect(fd, reply);
}

size_t
drain_lines(int fd)
{
	size_t lines = 0;
	char got[65536];
	ssize_t n;

	while ((n = recv(fd, got, sizeof(got), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			lines += got[i] == '\n';
		turn();
	}
	return lines;
}
