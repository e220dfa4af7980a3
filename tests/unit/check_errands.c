/*
 * Files, programs and HTTP exchanges of sources of credentials, for real: no
 * errand blocks the loop, each has an end, and none leaves anything behind.
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "http_stub.h"
#include "identity/provider_fetch.h"
#include "identity/provider_file.h"
#include "identity/provider_run.h"
#include "test.h"

#define TIMEOUT_MS 10000

struct told {
	unsigned times;
	int code;
	int error;
	int status;
	size_t length;
	bool is_exposed;
	char body[512];
	char text[512];
};

static struct event_base *base;
static struct told told;
static char directory[] = "/tmp/check_errands.XXXXXX";
static char path[128];

static void
open_all(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/file", directory);
	told = (struct told){ .times = 0 };
}

static void
close_all(void)
{
	(void)unlink(path);
	ck_assert_int_eq(rmdir(directory), 0);
	event_base_free(base);
}

static void
on_done(void *arg, const struct errand_answer *a)
{
	(void)arg;
	told.times++;
	told.code = a->code;
	told.error = a->error;
	told.status = a->status;
	told.length = a->body_length;
	told.is_exposed = a->is_exposed;
	ck_assert_int_eq(a->body[a->body_length], '\0');
	(void)snprintf(told.body, sizeof(told.body), "%s", a->body);
	(void)snprintf(told.text, sizeof(told.text), "%s", a->text);
}

/* Goes round the loop until it has been told. */
static void
wait_told(void)
{
	ck_assert_uint_eq(told.times, 0);	/* not from within the start */
	while (told.times == 0)
		ck_assert_int_eq(event_base_loop(base, EVLOOP_ONCE), 0);
	ck_assert_uint_eq(told.times, 1);
	told.times = 0;
}

static void
write_file(const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	(void)fputs(text, f);
	(void)fclose(f);
}

/* ---- files ---- */

static void
do_file(struct errand *e)
{
	struct provider_file *f;

	e->path = path;
	ck_assert_int_eq(provider_file_start(base, e, on_done, NULL, &f), 0);
	wait_told();
}

TEST(test_read)
{
	struct errand e = {
		.kind = ERRAND_READ, .timeout_ms = TIMEOUT_MS,
		.answer_max = 10,
	};

	open_all();
	do_file(&e);
	ck_assert_int_eq(told.code, DDBLOCK_E_SYSTEM);
	ck_assert_int_eq(told.error, ENOENT);
	write_file("0123456789");
	do_file(&e);
	ck_assert_int_eq(told.code, 0);
	ck_assert_str_eq(told.body, "0123456789");
	write_file("0123456789a");
	do_file(&e);
	ck_assert_int_eq(told.code, DDBLOCK_E_LIMIT);
	ck_assert_str_eq(told.body, "");
	write_file("");
	do_file(&e);
	ck_assert_int_eq(told.code, 0);
	ck_assert_uint_eq(told.length, 0);
	close_all();
}

/* What everybody could have written is not read; that everybody can read it is
 * said. A token of a kubelet is of the second kind. */
TEST(test_read_of_what_is_others)
{
	struct errand e = {
		.kind = ERRAND_READ, .timeout_ms = TIMEOUT_MS,
		.answer_max = 10,
	};

	open_all();
	write_file("secret");
	(void)chmod(path, 0640);
	do_file(&e);
	ck_assert_int_eq(told.code, 0);
	ck_assert(!told.is_exposed);
	(void)chmod(path, 0644);
	do_file(&e);
	ck_assert_int_eq(told.code, 0);
	ck_assert_str_eq(told.body, "secret");
	ck_assert(told.is_exposed);
	(void)chmod(path, 0602);
	do_file(&e);
	ck_assert_int_eq(told.code, DDBLOCK_E_DENIED);
	ck_assert_str_eq(told.body, "");
	ck_assert_ptr_nonnull(strstr(told.text, "chmod o-w"));
	close_all();
}

TEST(test_write)
{
	struct errand e = {
		.kind = ERRAND_WRITE, .timeout_ms = TIMEOUT_MS,
		.body = "secret", .body_length = 6,
	};
	struct errand again = {
		.kind = ERRAND_READ, .timeout_ms = TIMEOUT_MS,
		.answer_max = 10,
	};
	struct stat st;

	open_all();
	write_file("before");
	(void)chmod(path, 0644);
	do_file(&e);
	ck_assert_int_eq(told.code, 0);
	do_file(&again);
	ck_assert_str_eq(told.body, "secret");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	close_all();
}

/* A failed write leaves the old file, and no other. */
TEST(test_write_fails)
{
	struct errand e = {
		.kind = ERRAND_WRITE, .timeout_ms = TIMEOUT_MS,
		.body = "x", .body_length = 1,
	};

	open_all();
	ck_assert_int_eq(mkdir(path, 0700), 0);
	do_file(&e);	/* a file cannot take the place of a directory */
	ck_assert_int_eq(told.code, DDBLOCK_E_SYSTEM);
	ck_assert_int_eq(told.error, EISDIR);
	ck_assert_int_eq(rmdir(path), 0);
	close_all();
}

/* A pipe without a writer. */
TEST(test_read_of_a_pipe)
{
	struct errand e = {
		.kind = ERRAND_READ, .timeout_ms = TIMEOUT_MS,
		.answer_max = 10,
	};

	open_all();
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	do_file(&e);
	ck_assert_uint_eq(told.length, 0);
	close_all();
}

TEST(test_file_stop)
{
	struct errand e = {
		.kind = ERRAND_READ, .timeout_ms = TIMEOUT_MS,
		.answer_max = 10, .path = path,
	};
	struct provider_file *f;

	open_all();
	for (unsigned i = 0; i < 8; i++) {
		ck_assert_int_eq(provider_file_start(base, &e, on_done, NULL,
		    &f), 0);
		provider_file_stop(f);
	}
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(told.times, 0);
	close_all();
}

/* ---- programs ---- */

static void
do_run(const char *command, uint32_t timeout_ms, size_t answer_max)
{
	const struct errand e = {
		.kind = ERRAND_RUN, .timeout_ms = timeout_ms,
		.answer_max = answer_max, .command = command,
	};
	const char *text;
	struct provider_run *p;

	ck_assert_int_eq(provider_run_start(base, &e, on_done, NULL, &p, &text),
	    0);
	wait_told();
	/* No zombie, nor anything else of ours. */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}

TEST(test_run)
{
	open_all();
	do_run("printf 'a b'", TIMEOUT_MS, 100);
	ck_assert_int_eq(told.code, 0);
	ck_assert_int_eq(told.status, 0);
	ck_assert_str_eq(told.body, "a b");
	do_run("sh -c 'echo out; echo err >&2; exit 3'", TIMEOUT_MS, 100);
	ck_assert_int_eq(told.code, 0);
	ck_assert_int_eq(told.status, 3);
	ck_assert_str_eq(told.body, "out\n");
	do_run("sh -c 'kill -9 $$'", TIMEOUT_MS, 100);
	ck_assert_int_eq(told.status, 128 + SIGKILL);
	/* Its input is at its end. */
	do_run("cat", TIMEOUT_MS, 100);
	ck_assert_int_eq(told.status, 0);
	ck_assert_uint_eq(told.length, 0);
	close_all();
}

/* Signals are as a program expects them, though ours are ignored. */
TEST(test_run_has_plain_signals)
{
	open_all();
	do_run("sh -c 'kill -PIPE $$; echo alive'", TIMEOUT_MS, 100);
	ck_assert_int_eq(told.status, 128 + SIGPIPE);
	close_all();
}

/* It is not told how to speak for the daemon, nor where secrets are. */
TEST(test_run_has_little_environment)
{
	static const char *const names[] = { "NOTIFY_SOCKET", "LISTEN_FDS",
		"LISTEN_PID", "WATCHDOG_USEC", "CREDENTIALS_DIRECTORY",
		"DDBLOCK_SOCKET", "XAWS_A", "PATHS", "JOURNAL_STREAM" };

	open_all();
	ck_assert_int_eq(clearenv(), 0);
	ck_assert_int_eq(setenv("PATH", "/usr/bin:/bin", 1), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_int_eq(setenv(names[i], "x", 1), 0);
	ck_assert_int_eq(setenv("HOME", "/h", 1), 0);
	ck_assert_int_eq(setenv("AWS_PROFILE", "a=b", 1), 0);
	ck_assert_int_eq(setenv("LC_TIME", "C", 1), 0);
	ck_assert_int_eq(setenv("https_proxy", "", 1), 0);
	do_run("env", TIMEOUT_MS, 100000);
	ck_assert_int_eq(told.status, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_msg(strstr(told.body, names[i]) == NULL, "%s",
		    names[i]);
	ck_assert_ptr_nonnull(strstr(told.body, "PATH=/"));
	ck_assert_ptr_nonnull(strstr(told.body, "HOME=/h\n"));
	ck_assert_ptr_nonnull(strstr(told.body, "AWS_PROFILE=a=b\n"));
	ck_assert_ptr_nonnull(strstr(told.body, "LC_TIME=C\n"));
	ck_assert_ptr_nonnull(strstr(told.body, "https_proxy=\n"));
	close_all();
}

/* It is killed with its daemon, also by kill -9: its pipe ends. */
TEST(test_run_dies_with_us)
{
	struct errand e = {
		.kind = ERRAND_RUN, .timeout_ms = TIMEOUT_MS,
		.answer_max = 100,
	};
	struct pollfd pipe_end = { .events = POLLIN };
	char command[256], byte;
	const char *text;
	struct provider_run *p;
	pid_t daemon;

	open_all();
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	pipe_end.fd = open(path, O_RDONLY | O_NONBLOCK);
	ck_assert_int_ge(pipe_end.fd, 0);
	(void)snprintf(command, sizeof(command),
	    "sh -c 'exec 3>%s; echo >&3; "
	    "exec tail -f /dev/null >/dev/null'", path);
	e.command = command;
	daemon = fork();
	if (daemon == 0) {
		if (provider_run_start(base, &e, on_done, NULL, &p, &text)
		    == 0)
			for (;;)
				(void)pause();
		_exit(1);
	}
	ck_assert_int_gt(daemon, 0);
	ck_assert_int_eq(poll(&pipe_end, 1, TIMEOUT_MS), 1);
	ck_assert_int_eq(read(pipe_end.fd, &byte, 1), 1);
	ck_assert_int_eq(kill(daemon, SIGKILL), 0);
	ck_assert_int_eq(waitpid(daemon, NULL, 0), daemon);
	ck_assert_int_eq(poll(&pipe_end, 1, TIMEOUT_MS), 1);
	ck_assert_int_eq(read(pipe_end.fd, &byte, 1), 0);
	(void)close(pipe_end.fd);
	close_all();
}

/* It has none of our descriptors: with a client's connection it would keep that
 * client's locks. */
TEST(test_run_has_no_connections)
{
	char command[64];
	int fds[2];

	open_all();
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	(void)snprintf(command, sizeof(command),
	    "sh -c 'test ! -e /proc/self/fd/%d'", fds[1]);
	do_run(command, TIMEOUT_MS, 100);
	ck_assert_int_eq(told.code, 0);
	ck_assert_int_eq(told.status, 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
	close_all();
}

TEST(test_run_too_long)
{
	open_all();
	/* Its child has the pipe, too, and is killed with it. */
	do_run("sh -c 'echo half; tail -f /dev/null & wait'", 50, 100);
	ck_assert_int_eq(told.code, DDBLOCK_E_ACQUIRE_TIMEOUT);
	ck_assert_str_eq(told.body, "");
	close_all();
}

TEST(test_run_prints_too_much)
{
	open_all();
	do_run("yes", TIMEOUT_MS, 100000);
	ck_assert_int_eq(told.code, DDBLOCK_E_LIMIT);
	do_run("sh -c 'printf 0123456789'", TIMEOUT_MS, 9);
	ck_assert_int_eq(told.code, DDBLOCK_E_LIMIT);
	ck_assert_str_eq(told.body, "");
	close_all();
}

/* A program is killed with all that it started: their pipe ends. */
TEST(test_run_leaves_nothing)
{
	struct pollfd pipe_end = { .events = POLLIN };
	char command[256], byte;

	open_all();
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	pipe_end.fd = open(path, O_RDONLY | O_NONBLOCK);
	ck_assert_int_ge(pipe_end.fd, 0);
	(void)snprintf(command, sizeof(command), "sh -c 'exec 3>%s; "
	    "echo >&3; tail -f /dev/null >/dev/null & printf 0123456789; "
	    "wait'", path);
	do_run(command, TIMEOUT_MS, 9);
	ck_assert_int_eq(told.code, DDBLOCK_E_LIMIT);
	ck_assert_int_eq(read(pipe_end.fd, &byte, 1), 1);
	ck_assert_int_eq(poll(&pipe_end, 1, TIMEOUT_MS), 1);
	ck_assert_int_eq(read(pipe_end.fd, &byte, 1), 0);
	(void)close(pipe_end.fd);
	close_all();
}

/* What goes on in the background with its output open, and out of the group
 * that ends, is not waited for. */
TEST(test_run_leaves_something_running)
{
	open_all();
	do_run("sh -c 'trap exit TERM; echo done; setsid sh -c \"echo \\$\\$; "
	    "kill \\$PPID; exec tail -f /dev/null\" & wait'", TIMEOUT_MS, 100);
	ck_assert_int_eq(told.code, 0);
	ck_assert_int_eq(strncmp(told.body, "done\n", 5), 0);
	ck_assert_int_eq(kill((pid_t)strtol(told.body + 5, NULL, 10),
	    SIGKILL), 0);
	close_all();
}

TEST(test_run_refused)
{
	struct errand e = {
		.kind = ERRAND_RUN, .timeout_ms = TIMEOUT_MS,
		.answer_max = 100, .command = "/nonexistent/program",
	};
	const char *text = "";
	struct provider_run *p;

	if (test_is_emulated("qemu's posix_spawn() tells no error"))
		return;
	open_all();
	ck_assert_int_eq(provider_run_start(base, &e, on_done, NULL, &p, &text),
	    DDBLOCK_E_SYSTEM);
	ck_assert_str_eq(text, strerror(ENOENT));
	e.command = "echo 'half";
	ck_assert_int_eq(provider_run_start(base, &e, on_done, NULL, &p, &text),
	    DDBLOCK_E_BAD_REQUEST);
	ck_assert_ptr_nonnull(strstr(text, "has no end"));
	close_all();
}

TEST(test_run_stop)
{
	const struct errand e = {
		.kind = ERRAND_RUN, .timeout_ms = TIMEOUT_MS,
		.answer_max = 100, .command = "tail -f /dev/null",
	};
	const char *text;
	struct provider_run *p;

	open_all();
	ck_assert_int_eq(provider_run_start(base, &e, on_done, NULL, &p, &text),
	    0);
	provider_run_stop(p);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_uint_eq(told.times, 0);
	close_all();
}

/* ---- HTTP ---- */

static struct stub stub;

/* @operation is the server's action (http_stub.h). */
static void
do_fetch(struct errand *e, const char *operation, const char *where)
{
	char target[64], url[128];
	struct provider_fetch *f;

	(void)snprintf(target, sizeof(target), "DynamoDB_20120810.%s",
	    operation);
	(void)snprintf(url, sizeof(url), "http://%s:%u/latest/token?a=b",
	    where, stub.port);
	e->kind = ERRAND_FETCH;
	e->url = url;
	if (e->timeout_ms == 0)
		e->timeout_ms = TIMEOUT_MS;
	e->answer_max = 100;
	e->headers[e->n_headers++] =
	    (struct errand_header){ "X-Amz-Target", target };
	ck_assert_int_eq(provider_fetch_start(base, e, 1440938160, on_done,
	    NULL, &f), 0);
	wait_told();
}

static bool
sent(const char *part)
{
	return strstr(stub.last, part) != NULL;
}

TEST(test_fetch)
{
	struct errand get = { .method = "GET" };
	struct errand put = { .method = "PUT" };
	struct errand post = {
		.method = "POST", .body = "a=b", .body_length = 3,
		.headers = { { "Content-Type", "x/y" } }, .n_headers = 1,
	};
	struct errand refused = { .method = "GET" };

	open_all();
	stub_init(&stub, base);
	do_fetch(&get, "Echo", "127.0.0.1");
	ck_assert_int_eq(told.code, 0);
	ck_assert_int_eq(told.status, 200);
	ck_assert(sent("GET /latest/token?a=b HTTP/1.1\r\n"));
	do_fetch(&put, "Echo", "localhost");
	ck_assert_int_eq(told.status, 200);
	ck_assert(sent("PUT /latest/token?a=b HTTP/1.1\r\n"));
	ck_assert(sent("\r\nContent-Length: 0\r\n"));
	ck_assert(!sent("Content-Type"));
	do_fetch(&post, "Echo", "127.0.0.1");
	ck_assert_str_eq(told.body, "a=b");
	ck_assert(sent("POST /latest/token?a=b HTTP/1.1\r\n"));
	ck_assert(sent("\r\nContent-Type: x/y\r\n"));
	ck_assert(!sent("Expect"));
	do_fetch(&refused, "Refuse", "127.0.0.1");
	ck_assert_int_eq(told.code, 0);
	ck_assert_int_eq(told.status, 400);
	stub_done(&stub);
	close_all();
}

TEST(test_fetch_signed)
{
	struct credentials c = { .expires_ms = 0 };
	char text[128];
	struct errand e = {
		.method = "POST", .body = "Action=AssumeRole",
		.body_length = 17, .signer = &c, .service = "sts",
		.region = "eu-central-1",
	};

	ck_assert_int_eq(credentials_set(&c, "AKID", "verysecret", "token",
	    text, sizeof(text)), 0);
	open_all();
	stub_init(&stub, base);
	do_fetch(&e, "Echo", "127.0.0.1");
	ck_assert_int_eq(told.status, 200);
	ck_assert(sent("\r\nX-Amz-Date: 20150830T123600Z\r\n"));
	ck_assert(sent("\r\nX-Amz-Security-Token: token\r\n"));
	ck_assert(sent("\r\nAuthorization: AWS4-HMAC-SHA256 "
	    "Credential=AKID/20150830/eu-central-1/sts/aws4_request, "
	    "SignedHeaders=host;x-amz-date;x-amz-security-token;"
	    "x-amz-target, Signature="));
	ck_assert(!sent("verysecret"));
	stub_done(&stub);
	credentials_done(&c);
	close_all();
}

TEST(test_fetch_fails)
{
	struct errand hang = { .method = "GET", .timeout_ms = 200 };
	struct errand huge = { .method = "GET" };
	struct errand closed = { .method = "GET" };
	struct errand unknown = { .method = "GET" };
	struct errand plain = {
		.kind = ERRAND_FETCH, .method = "GET", .timeout_ms = 1000,
		.url = "http://192.0.2.1/",
	};
	struct provider_fetch *f;

	open_all();
	stub_init(&stub, base);
	do_fetch(&hang, "Hang", "127.0.0.1");
	ck_assert_int_eq(told.code, DDBLOCK_E_UNREACHABLE);
	ck_assert_ptr_nonnull(strstr(told.text, "no answer within 200 ms"));
	do_fetch(&huge, "Huge", "127.0.0.1");
	ck_assert_int_eq(told.code, DDBLOCK_E_LIMIT);
	ck_assert_str_eq(told.body, "");
	do_fetch(&closed, "Close", "127.0.0.1");
	ck_assert_int_eq(told.code, DDBLOCK_E_UNREACHABLE);
	unknown.plain_allowed = true;
	do_fetch(&unknown, "Echo", "nowhere.invalid");
	ck_assert_int_eq(told.code, DDBLOCK_E_UNREACHABLE);
	ck_assert_ptr_nonnull(strstr(told.text, "nowhere.invalid"));
	/* What signs, or is a secret, does not go in the open. */
	ck_assert_int_eq(provider_fetch_start(base, &plain, 0, on_done, NULL,
	    &f), DDBLOCK_E_BAD_REQUEST);
	stub_done(&stub);
	close_all();
}
