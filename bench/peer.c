/*
 * Processes at the other end of a socket: the daemon under test, and a bare
 * libevent line echo server, which is what its socket side is held against.
 */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

char bench_directory[BENCH_PATH_MAX];

static const char *
program_path(const char *variable, const char *fallback)
{
	const char *path = getenv(variable);

	return path != NULL ? path : fallback;
}

const char *
bench_ddblock(void)
{
	return program_path("DDBLOCK", "./ddblock");
}

static void
socket_address(struct sockaddr_un *address, const char *path)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path))
		die("the path of the socket is too long: %s", path);
	memcpy(address->sun_path, path, strlen(path) + 1);
}

static void
daemon_write_config(const struct daemon *d, const char *settings)
{
	char path[BENCH_PATH_MAX + 32];
	FILE *f;

	snprintf(path, sizeof(path), "%s/ddblockd.conf", d->directory);
	f = fopen(path, "we");
	/* There may be a secret in it. */
	if (f == NULL || fchmod(fileno(f), 0600) != 0)
		die("%s: %s", path, strerror(errno));
	fprintf(f, "[daemon]\nsocket = %s\nlog = stderr\n"
	    "log_level = %s\naudit_trail = %s\nstop_wait = 0\n%s", d->socket,
	    d->trail != NULL ? "info" : "warning",
	    d->trail != NULL ? d->trail : "no", d->limits);
	if (d->journal != NULL)
		fprintf(f, "journal = %s\n", d->journal);
	fprintf(f, "\n[namespace default]\n%s", settings);
	if (strstr(settings, "store = ") == NULL)
		fprintf(f, "file = %s/default.db\n", d->directory);
	if (fclose(f) != 0)
		die("%s: %s", path, strerror(errno));
}

/* The child's part: never returns. */
static void
daemon_exec(const struct daemon *d, const char *notify)
{
	char config[BENCH_PATH_MAX + 64];
	char log[BENCH_PATH_MAX + 32];
	const char *program = program_path("DDBLOCKD", "./ddblockd");
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	snprintf(config, sizeof(config), "--config=%s/ddblockd.conf",
	    d->directory);
	snprintf(log, sizeof(log), "%s/log", d->directory);
	fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		_exit(126);
	setenv("NOTIFY_SOCKET", notify, 1);
	if (d->manager != NULL)
		manager_hand_over(d->manager);
	execl(program, "ddblockd", config, (char *)NULL);
	_exit(127);
}

static void
daemon_prepare(struct daemon *d, const char *name, const char *settings)
{
	if (d->limits == NULL)
		d->limits = "queued_bytes_per_uid_max = 1024M\n";
	snprintf(d->directory, sizeof(d->directory), "%.900s/%s",
	    bench_directory, name);
	snprintf(d->socket, sizeof(d->socket), "%.990s/sock", d->directory);
	if (mkdir(d->directory, 0700) != 0)
		die("%s: %s", d->directory, strerror(errno));
	daemon_write_config(d, settings);
	daemon_start_again(d);
}

void
daemon_start(struct daemon *d, const char *name, const char *settings)
{
	*d = (struct daemon){ .pid = 0 };
	daemon_prepare(d, name, settings);
}

void
daemon_start_trailed(struct daemon *d, const char *name, const char *settings,
    const char *trail)
{
	*d = (struct daemon){ .trail = trail };
	daemon_prepare(d, name, settings);
}

void
daemon_start_set(struct daemon *d, const char *name, const char *settings,
    const char *lines)
{
	*d = (struct daemon){ .limits = lines };
	daemon_prepare(d, name, settings);
}

void
daemon_start_public(struct daemon *d, const char *name, const char *settings)
{
	*d = (struct daemon){ .limits = "socket_mode = 0666\n" };
	daemon_prepare(d, name, settings);
	if (chmod(bench_directory, 0711) != 0 || chmod(d->directory, 0711) != 0)
		die("%s: %s", d->directory, strerror(errno));
}

void
daemon_start_kept(struct daemon *d, const char *name, const char *settings,
    struct manager *manager, const char *journal)
{
	*d = (struct daemon){ .manager = manager, .journal = journal };
	daemon_prepare(d, name, settings);
}

void
daemon_start_again(struct daemon *d)
{
	struct manager short_lived, *m = &short_lived;

	if (d->manager == NULL)
		manager_open(m);
	else
		m = d->manager;
	d->pid = fork();
	if (d->pid < 0)
		die("fork: %s", strerror(errno));
	if (d->pid == 0)
		daemon_exec(d, m->address);
	manager_wait_ready(m, d->directory);
	if (d->manager == NULL)
		manager_close(m);
}

void
daemon_kill(struct daemon *d)
{
	kill(d->pid, SIGKILL);
	while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

void
daemon_remove(struct daemon *d)
{
	DIR *directory = opendir(d->directory);
	const struct dirent *entry;

	if (directory == NULL)
		die("%s: %s", d->directory, strerror(errno));
	while ((entry = readdir(directory)) != NULL)
		(void)unlinkat(dirfd(directory), entry->d_name, 0);
	closedir(directory);
	if (rmdir(d->directory) != 0)
		die("%s: %s", d->directory, strerror(errno));
}

void
daemon_stop(struct daemon *d)
{
	/* The second one does not wait for holders. */
	kill(d->pid, SIGTERM);
	kill(d->pid, SIGTERM);
	while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

void
init_table(const char *table)
{
	char option[128];
	pid_t pid;

	snprintf(option, sizeof(option), "--table=%.100s", table);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0) {
		execl(program_path("DDBLOCKD", "./ddblockd"), "ddblockd",
		    "--init-table", "--store=dynamodb", option, (char *)NULL);
		_exit(127);
	}
	process_wait(pid, "ddblockd --init-table");
}

void
process_wait(pid_t pid, const char *what)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			die("waitpid: %s", strerror(errno));
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		die("%s failed (wait status %d)", what, status);
}

static void
echo_on_read(struct bufferevent *connection, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(connection);
	struct evbuffer *out = bufferevent_get_output(connection);
	size_t length;
	char *line;

	(void)arg;
	while ((line = evbuffer_readln(in, &length, EVBUFFER_EOL_LF)) !=
	    NULL) {
		evbuffer_add(out, line, length);
		evbuffer_add(out, "\n", 1);
		free(line);
	}
}

static void
echo_on_event(struct bufferevent *connection, short what, void *arg)
{
	(void)arg;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		bufferevent_free(connection);
}

static void
echo_on_accept(struct evconnlistener *listener, evutil_socket_t fd,
    struct sockaddr *address, int length, void *base)
{
	struct bufferevent *connection = bufferevent_socket_new(base, fd,
	    BEV_OPT_CLOSE_ON_FREE);

	(void)listener;
	(void)address;
	(void)length;
	bufferevent_setcb(connection, echo_on_read, NULL, echo_on_event, NULL);
	bufferevent_enable(connection, EV_READ | EV_WRITE);
}

void
echo_server_run(int fd)
{
	struct event_base *base = event_base_new();

	if (base == NULL || evconnlistener_new(base, echo_on_accept, base, 0,
	    0, fd) == NULL)
		_exit(1);
	event_base_dispatch(base);
	_exit(0);
}

pid_t
echo_server_start(const char *path)
{
	struct sockaddr_un address;
	pid_t pid;
	int fd;

	socket_address(&address, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address,
	    sizeof(address)) != 0 || listen(fd, 128) != 0)
		die("%s: %s", path, strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid > 0) {
		close(fd);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	echo_server_run(fd);
}
