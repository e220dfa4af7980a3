/*
 * Path, mode and owner of a socket that the service manager made are its
 * business, for it makes the socket before the configuration is read. A setting
 * that says something else is not obeyed, and not overlooked either: people
 * would believe that only a group may connect, while everybody may.
 */
#include "daemon/activation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/descriptor_store.h"
#include "daemon/group.h"
#include "ddblock.h"

#define ACTIVATION_HINT "in ddblockd.socket"

/* "FILE:LINE: SETTING has no effect: ...", for a setting that was set. */
static void
activation_warn(const struct config_daemon *d, const char *setting,
    const char *is, const char *directive)
{
	const struct config_origin origin = config_origin_of(d->origins,
	    CONFIG_DAEMON, setting);
	char where[32] = "";

	if (origin.file == NULL)
		return;
	if (origin.line > 0)
		(void)snprintf(where, sizeof(where), ":%u", origin.line);
	log_write(LOG_WARNING, NULL, "%s%s: %s has no effect: the service "
	    "manager made the socket, with %s; set %s= " ACTIVATION_HINT
	    ", or take the setting away", origin.file, where, setting, is,
	    directive);
}

/* Clients that are connected go on; no other can connect. */
static void
activation_tell_lost(const char *path)
{
	log_write(LOG_ERR, NULL, "%s is gone, so that no client can connect: "
	    "its directory was removed when the last daemon ended; set "
	    "RuntimeDirectoryPreserve=yes in ddblockd.service, stop it and "
	    "ddblockd.socket, and start both", path);
}

static void
activation_compare(const struct config_daemon *d, const char *path)
{
	gid_t group;
	char is[sizeof(struct sockaddr_un) + 32];
	struct stat st;

	(void)snprintf(is, sizeof(is), "the path %s", path);
	if (strcmp(d->socket, path) != 0)
		activation_warn(d, "socket", is, "ListenStream");
	if (lstat(path, &st) < 0) {
		if (errno == ENOENT)
			activation_tell_lost(path);
		return; /* or it is not for us to see */
	}
	(void)snprintf(is, sizeof(is), "the mode %04o",
	    (unsigned)(st.st_mode & 0777));
	if ((st.st_mode & 0777) != d->socket_mode)
		activation_warn(d, "socket_mode", is, "SocketMode");
	(void)snprintf(is, sizeof(is), "the group %ju", (uintmax_t)st.st_gid);
	if (d->socket_group != NULL && group_find(d->socket_group, &group) &&
	    group != st.st_gid)
		activation_warn(d, "socket_group", is, "SocketGroup");
}

/* Its path, in @ret; false: it is not a socket as we make them. */
static bool
activation_path(int fd, char ret[sizeof(((struct sockaddr_un *)0)->sun_path) +
    1])
{
	struct sockaddr_un address = { .sun_family = AF_UNSPEC };
	socklen_t length = sizeof(address);
	size_t n;

	if (sd_is_socket(fd, AF_UNIX, SOCK_STREAM, 1) <= 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &length) < 0 ||
	    length <= offsetof(struct sockaddr_un, sun_path) ||
	    address.sun_path[0] != '/')
		return false;
	/* One of the full length has no end. */
	n = strnlen(address.sun_path,
	    length - offsetof(struct sockaddr_un, sun_path));
	memcpy(ret, address.sun_path, n);
	ret[n] = '\0';
	return true;
}

static int
activation_adopt(struct config *config, int fd, char *text, size_t size)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
	char *copy;
	int flags;

	if (!activation_path(fd, path)) {
		(void)snprintf(text, size, "what the service manager hands "
		    "over is not a Unix socket with a path that listens; set "
		    "ListenStream=/PATH " ACTIVATION_HINT);
		return DDBLOCK_E_BAD_REQUEST;
	}
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		(void)snprintf(text, size, "the socket that the service "
		    "manager hands over: %s", strerror(errno));
		return DDBLOCK_E_SYSTEM;
	}
	copy = strdup(path);
	if (copy == NULL) {
		(void)snprintf(text, size, "out of memory");
		return DDBLOCK_E_NOMEM;
	}
	activation_compare(&config->daemon, path);
	free(config->daemon.socket);
	config->daemon.socket = copy;
	return 0;
}

/* Sort the descriptor into @ret. */
static void
activation_sort(struct activation *ret, int fd, const char *name,
    int *n_listening)
{
	if (strcmp(name, DESCRIPTOR_STORE_CONNECTION) == 0) {
		ret->connections[ret->n_connections++] = fd;
	} else if (strcmp(name, DESCRIPTOR_STORE_SHARED) == 0) {
		if (ret->memory >= 0)
			(void)close(ret->memory);
		ret->memory = fd;
	} else if (strcmp(name, DESCRIPTOR_STORE_PROBE) == 0) {
		(void)close(fd);	/* of a process that has ended */
	} else {
		ret->listening = fd;
		++*n_listening;
	}
}

/* The strings that sd_listen_fds_with_names() allocates. */
static void
activation_free_names(char **names)
{
	for (char **name = names; name != NULL && *name != NULL; name++)
		free(*name);
	free(names);
}

int
activation_take(struct config *config, struct activation *ret, char *text,
    size_t size)
{
	char **names = NULL;
	int n_listening = 0;
	/* They are not for the programs that we run, nor is what tells of
	 * them. */
	int n = sd_listen_fds_with_names(1, &names);

	*ret = (struct activation){ .listening = -1, .memory = -1,
		.journal = -1 };
	if (n < 0) {
		(void)snprintf(text, size, "LISTEN_FDS: %s", strerror(-n));
		return DDBLOCK_E_SYSTEM;
	}
	if (n > 0)
		ret->connections = calloc((size_t)n, sizeof(int));
	if (n > 0 && ret->connections == NULL) {
		activation_free_names(names);
		(void)snprintf(text, size, "out of memory");
		return DDBLOCK_E_NOMEM;
	}
	for (int i = 0; i < n; i++)
		activation_sort(ret, SD_LISTEN_FDS_START + i, names[i],
		    &n_listening);
	activation_free_names(names);
	if (n_listening == 0)
		return 0;
	if (n_listening > 1) {
		(void)snprintf(text, size, "the service manager hands over %d "
		    "sockets; leave one ListenStream= " ACTIVATION_HINT,
		    n_listening);
		return DDBLOCK_E_BAD_REQUEST;
	}
	return activation_adopt(config, ret->listening, text, size);
}

void
activation_refuse(struct activation *a)
{
	for (size_t i = 0; i < a->n_connections; i++) {
		/* The manager has a copy, which it keeps until the socket is
		 * shut down. */
		if (a->connections[i] >= 0) {
			(void)shutdown(a->connections[i], SHUT_RDWR);
			(void)close(a->connections[i]);
		}
	}
	a->n_connections = 0;
}

void
activation_done(struct activation *a)
{
	free(a->connections);
	a->connections = NULL;
	a->n_connections = 0;
}
