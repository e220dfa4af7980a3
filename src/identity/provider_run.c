/*
 * A program and its output.
 */
#include <config.h>

#include "identity/provider_run.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/clock.h"
#include "common/error.h"
#include "identity/argv.h"
#include "identity/provider_environment.h"

#define RUN_CHUNK_BYTES 4096

extern char **environ;

struct provider_run {
	pid_t pid;		/* 0: waited for */
	int process_fd;		/* readable when it has ended; -1: none */
	int output_fd;		/* -1: none */
	struct event *ended;
	struct event *output;
	struct event *timer;
	struct buffer printed;
	const char *failure;	/* why it was killed; or NULL */
	int code;		/* of that */
	errand_done_fn done;
	void *arg;
};

static void
run_kill(const struct provider_run *p)
{
	if (p->pid > 0)
		(void)kill(-p->pid, SIGKILL);
}

/* What has ended can still be asked for, and must be, once. */
static int
run_reap(struct provider_run *p)
{
	int status = 0;
	pid_t pid;

	do
		pid = waitpid(p->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	p->pid = 0;
	if (pid < 0)
		return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
	    WEXITSTATUS(status);
}

void
provider_run_stop(struct provider_run *p)
{
	if (p == NULL)
		return;
	if (p->ended != NULL)
		event_free(p->ended);
	if (p->output != NULL)
		event_free(p->output);
	if (p->timer != NULL)
		event_free(p->timer);
	if (p->pid > 0) {
		run_kill(p);
		(void)run_reap(p);
	}
	if (p->process_fd >= 0)
		(void)close(p->process_fd);
	if (p->output_fd >= 0)
		(void)close(p->output_fd);
	buffer_done(&p->printed);
	free(p);
}

static void
run_give_up(struct provider_run *p, int code, const char *failure)
{
	p->code = code;
	p->failure = failure;
	(void)event_del(p->output);
	run_kill(p);	/* run_on_ended() goes on */
}

/* All that there is now. True: there may be more later. */
static bool
run_read(struct provider_run *p)
{
	char chunk[RUN_CHUNK_BYTES];
	ssize_t n;

	while ((n = read(p->output_fd, chunk, sizeof(chunk))) > 0 &&
	    buffer_append(&p->printed, chunk, (size_t)n) == 0)
		;
	explicit_bzero(chunk, sizeof(chunk));
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void
run_on_output(evutil_socket_t fd, short what, void *arg)
{
	struct provider_run *p = arg;

	(void)fd;
	(void)what;
	if (run_read(p))
		return;
	(void)event_del(p->output);
	if (buffer_failed(&p->printed) < 0)
		run_give_up(p, DDBLOCK_E_LIMIT, "it prints too much");
}

static void
run_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	run_give_up(arg, DDBLOCK_E_ACQUIRE_TIMEOUT,
	    "it did not end in time, and was killed");
}

/* What it left running has its output still, perhaps: we do not wait for that;
 * the output of the program itself is complete. */
static void
run_on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct provider_run *p = arg;
	struct errand_answer a = { .body = "", .text = "" };
	struct provider_run ended;

	(void)fd;
	(void)what;
	if (p->failure == NULL) {
		(void)run_read(p);
		if (buffer_failed(&p->printed) < 0) {
			p->code = DDBLOCK_E_LIMIT;
			p->failure = "it prints too much";
		}
	}
	a.status = run_reap(p);
	a.code = p->code;
	if (p->failure != NULL) {
		a.text = p->failure;
	} else if (p->printed.data != NULL) {
		a.body = p->printed.data;
		a.body_length = p->printed.length;
	}
	ended = *p;
	buffer_init(&p->printed, 0);
	provider_run_stop(p);
	ended.done(ended.arg, &a);
	buffer_done(&ended.printed);
}

/* What the child needs, and what it leaves for the parent. */
struct run_child {
	char *const *words;
	char **environment;
	int output;
	pid_t parent;
	volatile int error;	/* written behind the compiler's back */
};

static void
run_set_signals(void)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i <= SIGRTMAX; i++)
		(void)sigaction(i, &plain, NULL); /* some cannot be */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool
run_open_null(int flags, int to)
{
	int fd = open("/dev/null", flags);

	if (fd < 0 || fd == to)
		return fd == to;
	return dup2(fd, to) == to;
}

/*
 * The child's side, in the parent's memory (vfork) but with its own files and
 * signals. It dies with the thread that started it, which is the daemon's main
 * thread: what nobody will read must not go on with credentials.
 */
static _Noreturn void
run_become(struct run_child *c)
{
	if (setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
	    dup2(c->output, STDOUT_FILENO) == STDOUT_FILENO &&
	    run_open_null(O_RDONLY, STDIN_FILENO) &&
	    run_open_null(O_WRONLY, STDERR_FILENO)) {
		/* libcurl has sockets that are not closed by themselves. */
		closefrom(STDERR_FILENO + 1);
		run_set_signals();
		if (getppid() != c->parent)
			_exit(127); /* it died before the prctl() */
		(void)execvpe(c->words[0], c->words, c->environment);
	}
	c->error = errno;
	_exit(127);
}

static int
run_spawn(struct provider_run *p, char *const *words, int output)
{
	struct run_child c = {
		.words = words, .output = output, .parent = getpid(),
		.environment = provider_environment_new(environ),
	};
	sigset_t all, before;

	if (c.environment == NULL)
		return ENOMEM;
	/* A handler of ours must not run in the child: it has our memory. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	p->pid = vfork();
	if (p->pid == 0)
		run_become(&c);
	if (p->pid < 0)
		c.error = errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (p->pid > 0 && c.error != 0)
		(void)run_reap(p);
	p->pid = c.error != 0 ? 0 : p->pid;
	free(c.environment);
	return c.error;
}

/* Start it and learn how to hear of it. An errno, or 0. */
static int
run_launch(struct provider_run *p, char *const *words)
{
	int fds[2];
	int e;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return errno;
	p->output_fd = fds[0];
	/* The program's side must be as programs expect it. */
	(void)fcntl(fds[1], F_SETFL, 0);
	e = run_spawn(p, words, fds[1]);
	(void)close(fds[1]);
	if (e != 0)
		return e;
	/* libc has this call only since glibc 2.36. */
	p->process_fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	return p->process_fd < 0 ? errno : 0;
}

static int
run_watch(struct provider_run *p, struct event_base *base, uint32_t timeout_ms)
{
	const struct timeval t = clock_interval(timeout_ms);

	p->output = event_new(base, p->output_fd, EV_READ | EV_PERSIST,
	    run_on_output, p);
	p->ended = event_new(base, p->process_fd, EV_READ, run_on_ended, p);
	p->timer = evtimer_new(base, run_on_timer, p);
	if (p->output == NULL || p->ended == NULL || p->timer == NULL ||
	    event_add(p->output, NULL) < 0 || event_add(p->ended, NULL) < 0 ||
	    evtimer_add(p->timer, &t) < 0)
		return DDBLOCK_E_NOMEM;
	return 0;
}

int
provider_run_start(struct event_base *base, const struct errand *e,
    errand_done_fn done, void *arg, struct provider_run **ret,
    const char **ret_text)
{
	struct argv words;
	struct provider_run *p;
	int r, error;

	r = argv_split(&words, e->command, ret_text);
	if (r < 0)
		return r;
	*ret_text = "out of memory";
	p = calloc(1, sizeof(*p));
	if (p == NULL) {
		argv_done(&words);
		return DDBLOCK_E_NOMEM;
	}
	p->output_fd = -1;
	p->process_fd = -1;
	p->done = done;
	p->arg = arg;
	buffer_init_secret(&p->printed, e->answer_max);
	error = run_launch(p, words.words);
	argv_done(&words);
	r = error != 0 ? DDBLOCK_E_SYSTEM : run_watch(p, base, e->timeout_ms);
	if (r < 0) {
		provider_run_stop(p);
		if (error != 0)
			*ret_text = strerror(error);
		errno = error;
		return r;
	}
	*ret = p;
	return 0;
}
