/*
 * Bytes of clients through the real server and the real core, over sockets, in
 * virtual time. The store is the one in memory, with faults. What a client is
 * told must be the protocol's, and what the daemon saved after each step must
 * be what another one can go on from: with the same connections.
 *
 *	0ACQUIRE k	a line of client 0 (of 0 to 3, which connect then)
 *	~0ACQ		the same without its LF
 *	p0ACQUIRE k process=yes		with a pidfd, of a child that waits
 *	+2500		so many milliseconds pass
 *	?o		the store from now on: ok; l loses its answers; r
 *			refuses; d does not answer
 *	-0		the client ends its connection; /0 only its half of it
 *	!s		the daemon stops; !r and releases what is held; !k it
 *			ends, and another one goes on
 *	*ak		another host acquires k in the first namespace; s shares
 *			it, w waits for it, r releases it; o opens that host's
 *			session, b lets it beat
 *
 * Any other line is one of client 0.
 */
#include <config.h>	/* the build's */

#include "fuzz.h"

#include <event2/event.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"
#include "common/clock.h"
#include "ddblock.h"
#include "ipc/codec.h"
#include "ipc/server.h"
#include "manager.h"
#include "other_host.h"
#include "settings.h"
#include "store/kind.h"

#define CLIENTS 4
#define NAMESPACES FUZZ_NAMESPACES
#define LINES_MAX 100
#define OPERATIONS_MAX 256
#define TURNS 4	/* a line, the store's outcome, the reply, and one more */
#define TIMERS_MAX 64
#define ADVANCE_MAX_MS 200000

extern const struct store_kind store_memory_kind;

static struct world {
	struct event_base *base;
	struct server *server;
	struct core *core;
	struct store *stores[NAMESPACES];
	uint64_t next_ms;
	char fault;
	struct operation *held[OPERATIONS_MAX];	/* by the store's fault */
	size_t n_held;
	bool stepping;
	uint64_t n_secrets;
	struct other_host other;
	struct manager manager;
	int clients[CLIENTS];	/* -1: not connected */
	struct buffer in[CLIENTS];	/* what the daemon said */
} w;

/* ---- the daemon's part -------------------------------------------------- */

static void
world_hold(struct operation *o)
{
	FUZZ_CHECK(w.n_held < OPERATIONS_MAX);
	w.held[w.n_held++] = o;
}

static void
world_submit(struct operation *o)
{
	FUZZ_CHECK(operation_is_sound(o));
	if (w.fault == 'r' || w.fault == 'd')
		world_hold(o);
	else
		store_submit(w.stores[o->namespace_index], o);
}

static void
world_save(void)
{
	struct manager *m = &w.manager;

	if (!m->journals)
		return;
	if (w.server != NULL)
		server_save(w.server);
	if (core_save(w.core, &m->journal) == 0)
		return;
	m->journals = false;
	if (w.server != NULL)
		(void)server_journal(w.server, NULL);
}

static int
world_step(void *arg, struct core_event *event)
{
	struct core_update update;
	struct core_action *a, *next;
	int r;

	(void)arg;
	if (w.server == NULL)
		return DDBLOCK_E_SHUTTING_DOWN;
	FUZZ_CHECK(!w.stepping);
	w.stepping = true;
	event->now_ms = clock_boot_ms();
	r = core_step(w.core, event, &update);
	for (a = update.actions; a != NULL; a = a->next)
		server_perform(w.server, a);
	world_save();
	for (a = update.actions; a != NULL; a = next) {
		next = a->next;
		if (a->type == CORE_SUBMIT)
			world_submit(
			    &((struct core_submit *)(void *)a)->operation);
	}
	w.next_ms = update.next_ms;
	w.stepping = false;
	return r;
}

static void
world_tell(struct operation *o, const struct outcome *outcome)
{
	struct core_event event = {
		.type = CORE_STORED,
		.stored = { .operation = o, .outcome = outcome },
	};

	(void)world_step(NULL, &event);
}

static void
world_on_outcome(void *arg, struct operation *o, const struct outcome *outcome)
{
	struct outcome lost = {
		.kind = OUTCOME_UNKNOWN, .code = DDBLOCK_E_UNREACHABLE,
		.unanswered = true, .unanswered_ms = clock_boot_ms(),
	};

	(void)arg;
	if (other_host_asked(&w.other, o) || w.server == NULL)
		return;
	world_tell(o, w.fault == 'l' ? &lost : outcome);
}

static void
world_on_sending(void *arg, const struct operation *o, uint64_t beat)
{
	(void)arg;
	if (other_host_asked(&w.other, o) || w.server == NULL)
		return;
	core_sending(w.core, o, beat);
	world_save();
}

/* Those that the store would not have, or has not answered. */
static void
world_end_held(void)
{
	const struct outcome outcome = {
		.kind = w.fault == 'd' ? OUTCOME_UNKNOWN : OUTCOME_REFUSED,
		.code = w.fault == 'd' ? DDBLOCK_E_UNREACHABLE :
		    DDBLOCK_E_THROTTLED,
	};
	struct operation *held[OPERATIONS_MAX];
	const size_t n = w.n_held;

	memcpy(held, w.held, sizeof(held));
	w.n_held = 0;
	for (size_t i = 0; i < n; i++)
		world_tell(held[i], &outcome);
}

static const struct core *
world_core(void *arg)
{
	(void)arg;
	return w.core;
}

static uint32_t
world_n_namespaces(void *arg)
{
	(void)arg;
	return NAMESPACES;
}

static const char *
world_namespace_name(void *arg, uint32_t index)
{
	(void)arg;
	return fuzz_core_config.namespaces[index].name;
}

static struct server_defaults
world_defaults(void *arg, uint32_t index)
{
	(void)arg;
	return (struct server_defaults){
		.wait_ms = index == 0 ? CORE_FOREVER : 30000,
	};
}

static void
world_store_status(void *arg, uint32_t index, struct store_status *ret)
{
	(void)arg;
	store_view_status(w.stores[index], ret);
}

static int
world_replace(void *arg, uint64_t client, int fd, char *text, size_t size)
{
	(void)arg;
	(void)client;
	(void)fd;
	(void)snprintf(text, size, "not here");
	return DDBLOCK_E_UNSUPPORTED;
}

static int
world_check(void *arg, uint32_t index, uint64_t client, uint64_t request)
{
	(void)arg;
	(void)index;
	(void)client;
	(void)request;
	return DDBLOCK_E_LIMIT;
}

static void
world_log(void *arg, int priority, int64_t user, const char *text)
{
	(void)arg;
	(void)priority;
	(void)user;
	FUZZ_CHECK(codec_is_line(text, strlen(text)));
}

static int
world_secret(void *arg, struct ident *ret)
{
	(void)arg;
	*ret = (struct ident){ 1, ++w.n_secrets };
	return 0;
}

static uint64_t
world_keep(void *arg, int fd, bool is_memory)
{
	(void)arg;
	return manager_keep(&w.manager, fd, is_memory);
}

static bool
world_grow(void *arg)
{
	(void)arg;
	return false;
}

static const struct server_calls calls = {
	.step = world_step, .core = world_core,
	.n_namespaces = world_n_namespaces,
	.namespace_name = world_namespace_name, .defaults = world_defaults,
	.store_status = world_store_status, .check = world_check,
	.log = world_log, .secret = world_secret, .replace = world_replace,
	.keep = world_keep, .grow = world_grow,
};

/* ---- the clients' part -------------------------------------------------- */

/* Each line is one of the protocol's. */
static void
world_hear_lines(struct buffer *b)
{
	struct codec_line line;
	const char *reason;
	char *end;

	while (b->length > 0 &&
	    (end = memchr(b->data, '\n', b->length)) != NULL) {
		const size_t length = (size_t)(end - b->data);

		FUZZ_CHECK(codec_parse(b->data, length, false, &line,
		    &reason) == 0);
		buffer_consume(b, length + 1);
	}
}

static void
world_hear(int i)
{
	char got[16384];
	ssize_t n;

	if (w.clients[i] < 0)
		return;
	while ((n = recv(w.clients[i], got, sizeof(got), MSG_DONTWAIT)) > 0)
		FUZZ_CHECK(buffer_append(&w.in[i], got, (size_t)n) == 0);
	world_hear_lines(&w.in[i]);
}

static void
world_turn(void)
{
	for (int i = 0; i < TURNS; i++)
		FUZZ_CHECK(event_base_loop(w.base, EVLOOP_NONBLOCK) >= 0);
	for (int i = 0; i < CLIENTS; i++)
		world_hear(i);
	if (w.fault == 'r')
		world_end_held();
}

static void
world_connect(int i)
{
	if (w.clients[i] >= 0)
		return;
	w.clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	FUZZ_CHECK(w.clients[i] >= 0);
	/* A daemon that stops does not listen. */
	if (connect(w.clients[i], (struct sockaddr *)&w.manager.address,
	    w.manager.address_length) < 0) {
		(void)close(w.clients[i]);
		w.clients[i] = -1;
	}
	world_turn();
}

static void
world_end_client(int i)
{
	if (w.clients[i] < 0)
		return;
	(void)close(w.clients[i]);
	w.clients[i] = -1;
	buffer_clear(&w.in[i]);
}

static void
world_say(int i, const char *bytes, size_t length, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { (void *)(uintptr_t)bytes, length };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	world_connect(i);
	if (length == 0 || w.clients[i] < 0)
		return;
	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	(void)sendmsg(w.clients[i], &m, MSG_NOSIGNAL);
}

/* ---- a daemon, and the next --------------------------------------------- */

/* What it asked of the store is done, or not, and nobody hears of it. */
static void
world_end_daemon(void)
{
	if (!server_leave(w.server))
		w.manager.journals = false;
	server_free(w.server);
	w.server = NULL;
	w.n_held = 0;
	FUZZ_CHECK(event_base_loop(w.base, EVLOOP_NONBLOCK) >= 0);
	core_free(w.core);
	w.core = NULL;
}

static void
world_start_core(const struct server_legacy *legacy,
    struct core_inherited *ret)
{
	if (legacy->journal == NULL) {
		w.core = fuzz_new_core(clock_boot_ms());
		return;
	}
	w.core = fuzz_inherit(legacy->journal, legacy->journal_size,
	    clock_boot_ms(), ret);
	FUZZ_CHECK(w.core != NULL);
}

static void
world_start_server(uint64_t client_last)
{
	struct server_config config = {
		.path = "/x", .mode = 0600, .group = (gid_t)-1,
		.admin_group = (gid_t)-1,
		.limits = {
			.connections_max = 8, .connections_per_uid_max = 8,
			.requests_per_connection_max = 16,
			.requests_max = 1000,
			.queued_bytes_max = 1024 * 1024,
			.queued_bytes_per_uid_max = 4 * 1024 * 1024,
		},
		.version = "0", .host = "h", .client_last = client_last,
	};
	char text[512];

	config.fd = fcntl(w.manager.listening, F_DUPFD_CLOEXEC, 0);
	FUZZ_CHECK(server_new(w.base, &config, &calls, NULL, &w.server, text,
	    sizeof(text)) == 0);
	(void)server_journal(w.server, &w.manager.journal);
}

static void
world_start_daemon(void)
{
	struct server_legacy legacy = manager_pass_on(&w.manager);
	struct core_inherited inherited = { .n_holds = 0 };
	struct core_event timer = { .type = CORE_TIMER };
	struct core_event event = { .type = CORE_CAME_BACK };
	uint32_t n;

	world_start_core(&legacy, &inherited);
	world_start_server(inherited.client_last);
	FUZZ_CHECK(server_inherit(w.server, &legacy, &n) == 0);
	manager_passed(&w.manager);
	event.came_back.is_here = server_is_here;
	event.came_back.seal = server_seal_secret;
	event.came_back.arg = w.server;
	if (legacy.journal != NULL)
		(void)world_step(NULL, &event);
	server_go_on(w.server);
	(void)world_step(NULL, &timer);
	world_turn();
}

/* ---- an input ----------------------------------------------------------- */

static void
world_wait(uint64_t ms)
{
	const uint64_t until_ms = clock_boot_ms() +
	    (ms < ADVANCE_MAX_MS ? ms : ADVANCE_MAX_MS);

	for (int i = 0; i < TIMERS_MAX && w.next_ms <= until_ms; i++) {
		struct core_event event = { .type = CORE_TIMER };
		const uint64_t now_ms = clock_boot_ms();

		if (w.next_ms > now_ms)
			fuzz_advance(w.next_ms - now_ms);
		world_end_held();
		(void)world_step(NULL, &event);
		world_turn();
	}
	if (until_ms > clock_boot_ms())
		fuzz_advance(until_ms - clock_boot_ms());
	world_turn();
}

static void
world_stop(char how)
{
	struct core_event event = {
		.type = how == 'r' ? CORE_STOP_RELEASE : CORE_STOP,
	};

	server_stop(w.server, 1000);
	(void)world_step(NULL, &event);
}

static void
world_say_line(struct fuzz_input in, char how)
{
	int i = 0, fd = -1;

	if (in.length > 0 && in.at[0] >= '0' && in.at[0] < '0' + CLIENTS) {
		i = *in.at++ - '0';
		in.length--;
	}
	if (how == 'p')
		fd = fuzz_open_process();
	world_say(i, in.at, in.length, fd);
	if (how != '~')
		world_say(i, "\n", 1, -1);
	if (fd >= 0)
		(void)close(fd);
}

static void
world_obey(struct fuzz_input in)
{
	const char how = in.length > 0 ? in.at[0] : '\n';
	const char what = in.length > 1 ? in.at[1] : '0';
	uint64_t ms;

	if (how == '+' && codec_parse_number(in.at + 1, in.length - 1, &ms)) {
		world_wait(ms);
	} else if (how == '?') {
		world_end_held();
		w.fault = what;
	} else if (how == '-') {
		world_end_client(what & (CLIENTS - 1));
	} else if (how == '/') {
		if (w.clients[what & (CLIENTS - 1)] >= 0)
			(void)shutdown(w.clients[what & (CLIENTS - 1)],
			    SHUT_WR);
	} else if (how == '!' && what == 'k') {
		world_end_daemon();
		world_start_daemon();
	} else if (how == '!') {
		world_stop(what);
	} else if (how == '*' && in.length > 1) {
		in.at += 2;
		in.length -= 2;
		other_host_ask(&w.other, w.stores[0], what, in);
	} else if (how == '~' || how == 'p') {
		in.at++;
		in.length--;
		world_say_line(in, how);
	} else {
		world_say_line(in, '0');
	}
	world_turn();
}

static void
world_open(void)
{
	struct store_opening opening = {
		.host = "h", .version = "0", .outcome = world_on_outcome,
	};
	char text[512];

	fuzz_reset_clock();
	fuzz_reset_cores();
	memset(&w, 0, sizeof(w));
	w.fault = 'o';
	w.base = event_base_new();
	FUZZ_CHECK(w.base != NULL);
	opening.base = w.base;
	for (int i = 0; i < CLIENTS; i++) {
		w.clients[i] = -1;
		buffer_init(&w.in[i], SIZE_MAX);
	}
	for (int i = 0; i < NAMESPACES; i++) {
		FUZZ_CHECK(store_memory_kind.open(&opening, &w.stores[i], text,
		    sizeof(text)) == 0);
		store_on_attempts(w.stores[i], world_on_sending, NULL, NULL);
	}
	manager_open(&w.manager);
	world_start_daemon();
}

static void
world_close(void)
{
	world_end_daemon();
	for (int i = 0; i < NAMESPACES; i++)
		store_free(w.stores[i]);
	manager_close(&w.manager);
	event_base_free(w.base);
	for (int i = 0; i < CLIENTS; i++) {
		world_end_client(i);
		buffer_done(&w.in[i]);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size), line;

	world_open();
	for (int i = 0; i < LINES_MAX && fuzz_line(&in, &line); i++)
		world_obey(line);
	world_wait(0);
	/* Another daemon can go on from what there is. */
	world_end_daemon();
	world_start_daemon();
	world_close();
	return 0;
}
