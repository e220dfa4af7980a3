/*
 * Bytes of clients through the real server and the real core, over sockets, in
 * virtual time. The store is the one in memory, with faults. What a client is
 * told must be the protocol's, and what the core saved after each step must be
 * what another core can go on from.
 *
 *	0ACQUIRE k	a line of client 0 (of 0 to 3, which connect then)
 *	~0ACQ		the same without its LF
 *	p0ACQUIRE k process=yes		with a pidfd, of a child that waits
 *	+2500		so many milliseconds pass
 *	?o		the store from now on: ok; l loses its answers; r
 *			refuses; d does not answer
 *	-0		the client ends its connection; /0 only its half of it
 *	!s		the daemon stops; !r and releases what is held
 *	*ak		another host acquires k in the first namespace; s shares
 *			it, w waits for it, r releases it; o opens that host's
 *			session, b lets it beat
 *
 * Any other line is one of client 0.
 */
#include <config.h>	/* the build's */

#include "fuzz.h"

#include <event2/event.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "common/clock.h"
#include "common/journal.h"
#include "ddblock.h"
#include "ipc/codec.h"
#include "ipc/server.h"
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
#define JOURNAL_SIZE (64 * 1024)

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
	struct other_host other;
	struct journal journal;
	bool journals;
	int clients[CLIENTS];	/* -1: not connected */
	struct buffer in[CLIENTS];	/* what the daemon said */
	struct sockaddr_un address;
	socklen_t address_length;
} w;

static _Alignas(64) uint8_t journal_memory[JOURNAL_SIZE];

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
	if (w.journals && core_save(w.core, &w.journal) < 0)
		w.journals = false;
}

static int
world_step(void *arg, struct core_event *event)
{
	struct core_update update;
	struct core_action *a, *next;
	int r;

	(void)arg;
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
	if (other_host_asked(&w.other, o))
		return;
	world_tell(o, w.fault == 'l' ? &lost : outcome);
}

static void
world_on_sending(void *arg, const struct operation *o, uint64_t beat)
{
	(void)arg;
	if (other_host_asked(&w.other, o))
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
	static uint64_t n;

	(void)arg;
	*ret = (struct ident){ 1, ++n };
	return 0;
}

static const struct server_calls calls = {
	.step = world_step, .core = world_core,
	.n_namespaces = world_n_namespaces,
	.namespace_name = world_namespace_name, .defaults = world_defaults,
	.store_status = world_store_status, .check = world_check,
	.log = world_log, .secret = world_secret, .replace = world_replace,
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
	if (connect(w.clients[i], (struct sockaddr *)&w.address,
	    w.address_length) < 0) {
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

/* A process that a lock can be for, and that may be signalled. */
static int
world_open_process(void)
{
	static pid_t child;

	if (child > 0 && waitpid(child, NULL, WNOHANG) == 0)
		return (int)syscall(SYS_pidfd_open, child, 0);
	child = fork();
	FUZZ_CHECK(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Not libFuzzer's handlers. */
		for (int i = 1; i < NSIG; i++)
			(void)signal(i, SIG_DFL);
		for (;;)
			(void)pause();
	}
	return (int)syscall(SYS_pidfd_open, child, 0);
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
		fd = world_open_process();
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

static int
world_listen(void)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0);

	w.address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	w.address_length = sizeof(w.address);
	/* A name of the kernel's choice, without a file. */
	FUZZ_CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&w.address,
	    sizeof(w.address.sun_family)) == 0);
	FUZZ_CHECK(getsockname(fd, (struct sockaddr *)&w.address,
	    &w.address_length) == 0);
	FUZZ_CHECK(listen(fd, CLIENTS) == 0);
	return fd;
}

static void
world_open(void)
{
	struct store_opening opening = {
		.host = "h", .version = "0", .outcome = world_on_outcome,
	};
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
		.version = "0", .host = "h",
	};
	struct core_event event = { .type = CORE_TIMER };
	char text[512];

	fuzz_reset_clock();
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
	w.core = fuzz_new_core(clock_boot_ms());
	journal_format(&w.journal, journal_memory, sizeof(journal_memory));
	w.journals = true;
	config.fd = world_listen();
	FUZZ_CHECK(server_new(w.base, &config, &calls, NULL, &w.server, text,
	    sizeof(text)) == 0);
	(void)world_step(NULL, &event);
	world_turn();
}

/* Another core goes on from what this one saved. */
static void
world_succeed(void)
{
	const enum journal_state state = journal_state(journal_memory,
	    sizeof(journal_memory));
	struct core *core;

	if (!w.journals || state == JOURNAL_EMPTY)
		return;
	FUZZ_CHECK(state == JOURNAL_GOOD);
	core = fuzz_inherit(journal_memory, sizeof(journal_memory),
	    clock_boot_ms());
	FUZZ_CHECK(core != NULL);
	core_free(core);
}

static void
world_close(void)
{
	server_free(w.server);
	for (int i = 0; i < NAMESPACES; i++)
		store_free(w.stores[i]);
	core_free(w.core);
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
	world_succeed();
	world_close();
	return 0;
}
