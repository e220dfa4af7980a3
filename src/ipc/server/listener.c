/*
 * The socket file and the acceptance of connections.
 *
 * Mode and group are set between bind() and listen(): until listen() every
 * connect() is refused, so no client connects early. The directory is locked
 * while a stale file is replaced, so that if two daemons start together, one
 * finds the other's socket live.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "ipc/server/room.h"

#define LISTENER_PAUSE_US 200000	/* when there are no descriptors */

/* Whose connections they are is not known before they are accepted, and they
 * wait in one line: so many turns are for all of them. A line of this length is
 * accepted in some 20 ms; the others wait in their connect(), one for each of
 * their threads. */
#define LISTENER_TURNS 3
#define LISTENER_BACKLOG 1024

static const char listener_full[] =
    "ERR LIMIT :too many connections; try again later\n";

/* "WHAT PATH: errno", with DDBLOCK_E_SYSTEM. */
static int
listener_fail(const struct server *s, const char *what, char *text,
    size_t text_size)
{
	int error = errno;

	(void)snprintf(text, text_size, "cannot %s %s: %s", what, s->path,
	    strerror(error));
	return DDBLOCK_E_SYSTEM;
}

static int
listener_address(const struct server *s, struct sockaddr_un *ret, char *text,
    size_t text_size)
{
	size_t length = strlen(s->path);

	if (length == 0 || length >= sizeof(ret->sun_path)) {
		(void)snprintf(text, text_size,
		    "the socket's path has %zu characters; it needs 1 to %zu",
		    length, sizeof(ret->sun_path) - 1);
		return DDBLOCK_E_LIMIT;
	}
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, s->path, length);
	return 0;
}

static int
listener_clear(const struct server *s, const struct sockaddr_un *address,
    char *text, size_t text_size)
{
	struct stat st;
	int live;

	if (lstat(s->path, &st) < 0)
		return errno == ENOENT ? 0 :
		    listener_fail(s, "look at", text, text_size);
	if (!S_ISSOCK(st.st_mode)) {
		(void)snprintf(text, text_size,
		    "%s exists and is not a socket; it is left alone",
		    s->path);
		return DDBLOCK_E_SYSTEM;
	}
	live = socket_file_is_live(address);
	if (live > 0) {
		(void)snprintf(text, text_size,
		    "another daemon serves %s already", s->path);
		return DDBLOCK_E_SYSTEM;
	}
	if (live < 0)
		return listener_fail(s, "connect to", text, text_size);
	if (unlink(s->path) < 0 && errno != ENOENT)
		return listener_fail(s, "remove stale", text, text_size);
	return 0;
}

/* Locked if possible: if the lock is refused we go on without it. */
static int
listener_lock_directory(const struct server *s)
{
	char *copy = strdup(s->path);
	int fd;

	if (copy == NULL)
		return -1;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void)flock(fd, LOCK_EX | LOCK_NB);
	free(copy);
	return fd;
}

static int
listener_bind(struct server *s, const struct sockaddr_un *address,
    const struct server_config *config, char *text, size_t text_size)
{
	gid_t group = config->group;
	struct stat st;

	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return listener_fail(s, "make a socket for", text, text_size);
	if (bind(s->fd, (const struct sockaddr *)address,
	    sizeof(*address)) < 0)
		return listener_fail(s, "bind", text, text_size);
	if (lstat(s->path, &st) < 0)
		return listener_fail(s, "look at", text, text_size);
	socket_file_own(&s->file, &st);
	if (group != (gid_t)-1 && lchown(s->path, (uid_t)-1, group) < 0)
		return listener_fail(s, "set the group of", text, text_size);
	if (chmod(s->path, config->mode) < 0)
		return listener_fail(s, "set the mode of", text, text_size);
	if (listen(s->fd, LISTENER_BACKLOG) < 0)
		return listener_fail(s, "listen on", text, text_size);
	return 0;
}

/* The file, and a socket that listens there. */
static int
listener_make(struct server *s, const struct server_config *config, char *text,
    size_t text_size)
{
	struct sockaddr_un address;
	int lock_fd;
	int r;

	r = listener_address(s, &address, text, text_size);
	if (r < 0)
		return r;
	lock_fd = listener_lock_directory(s);
	r = listener_clear(s, &address, text, text_size);
	if (r == 0)
		r = listener_bind(s, &address, config, text, text_size);
	if (lock_fd >= 0)
		(void)close(lock_fd);
	return r;
}

/* It listens already. Whose is the file? */
static int
listener_adopt(struct server *s, const struct server_config *config,
    char *text, size_t text_size)
{
	struct stat st;

	if (!config->owns_file)
		return 0;
	if (lstat(s->path, &st) < 0)
		return listener_fail(s, "look at", text, text_size);
	if (S_ISSOCK(st.st_mode))
		socket_file_own(&s->file, &st);
	return 0;
}

int
listener_open(struct server *s, const struct server_config *config, char *text,
    size_t text_size)
{
	int r = s->fd >= 0 ? listener_adopt(s, config, text, text_size) :
	    listener_make(s, config, text, text_size);

	if (r < 0)
		return r;
	s->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (s->reserve_fd < 0)
		return listener_fail(s, "reserve a descriptor for", text,
		    text_size);
	return 0;
}

void
listener_close(struct server *s)
{
	if (s->accept_event != NULL)
		event_free(s->accept_event);
	s->accept_event = NULL;
	if (s->accept_pause != NULL)
		event_free(s->accept_pause);
	s->accept_pause = NULL;
	socket_file_remove(&s->file, s->path);
	if (s->fd >= 0)
		(void)close(s->fd);
	s->fd = -1;
	if (s->reserve_fd >= 0)
		(void)close(s->reserve_fd);
	s->reserve_fd = -1;
}

void
listener_tell_full(int fd)
{
	/* Best effort: it is a new socket, so there is room for a line. */
	(void)!send(fd, listener_full, sizeof(listener_full) - 1,
	    MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
listener_refuse(int fd)
{
	listener_tell_full(fd);
	(void)close(fd);
}

static void
listener_pause(struct server *s)
{
	struct timeval pause = { .tv_usec = LISTENER_PAUSE_US };

	(void)event_del(s->accept_event);
	(void)event_add(s->accept_pause, &pause);
}

static void
listener_on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	if (s->reserve_fd < 0)
		s->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	(void)event_add(s->accept_event, NULL);
}

/* There is no descriptor left: give up the spare one to say so. */
static bool
listener_refuse_without_descriptors(struct server *s)
{
	int fd;

	if (s->reserve_fd < 0)
		return false;
	(void)close(s->reserve_fd);
	fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		listener_refuse(fd);
	s->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd >= 0 && s->reserve_fd >= 0;
}

static void
listener_take(struct server *s, int fd)
{
	struct connection *c;
	int r = connection_new(s, fd, NULL, &c);

	if (r < 0 && !s->refusing)
		server_log(s, LOG_WARNING, LOG_NO_USER,
		    "connections are refused: %s",
		    r == DDBLOCK_E_LIMIT ? "there are too many" :
		    error_text(r));
	s->refusing = r < 0; /* one line in the log while it lasts */
	if (r < 0)
		listener_refuse(fd);
}

static void
listener_on_accept(evutil_socket_t listening, short what, void *arg)
{
	struct server *s = arg;
	uint64_t end_ns = clock_monotonic_ns() + LISTENER_TURNS * TURN_NS;

	(void)listening;
	(void)what;
	while (clock_monotonic_ns() < end_ns) {
		int fd = accept4(s->fd, NULL, NULL,
		    SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			listener_take(s, fd);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno == EAGAIN)
			return;
		if ((errno == EMFILE || errno == ENFILE) &&
		    listener_refuse_without_descriptors(s))
			continue;
		/* EMFILE with nothing to accept is seen here too. */
		listener_pause(s);
		return;
	}
}

int
listener_start(struct server *s)
{
	s->accept_event = event_new(s->base, s->fd, EV_READ | EV_PERSIST,
	    listener_on_accept, s);
	s->accept_pause = evtimer_new(s->base, listener_on_pause_over, s);
	if (s->accept_event == NULL || s->accept_pause == NULL ||
	    event_add(s->accept_event, NULL) < 0)
		return DDBLOCK_E_NOMEM;
	return 0;
}
