/*
 * The process at the other end. Its identity comes from the kernel, never from
 * the client; the name is for people only.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/error.h"
#include "common/utf8.h"
#include "ipc/connection/connection.h"

/*
 * Copy @name, cut to a bounded length, without characters that would harm a
 * terminal.
 */
int
peer_rename(struct peer *p, const char *name, size_t length)
{
	char *copy = malloc(CONNECTION_NAME_MAX + 1);
	char *smaller;
	size_t to = 0;
	size_t i = 0;

	if (copy == NULL)
		return DDBLOCK_E_NOMEM;
	while (i < length) {
		size_t n = utf8_shown(name + i, length - i);
		bool bad = n == 0;
		size_t more = bad ? 1 : n;

		if (to + more > CONNECTION_NAME_MAX)
			break;
		if (bad)
			copy[to] = '?';
		else
			memcpy(copy + to, name + i, n);
		to += more;
		i += more;
	}
	copy[to] = '\0';
	smaller = realloc(copy, to + 1);
	free(p->name);
	p->name = smaller == NULL ? copy : smaller;
	return 0;
}

/* The command's name while it still runs; the process may be gone already. */
static int
peer_read_name(struct peer *p)
{
	char path[64];
	char name[64];
	ssize_t n = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", (long)p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, sizeof(name));
		(void)close(fd);
	}
	if (n > 0 && name[n - 1] == '\n')
		n--;
	if (n <= 0)
		return peer_rename(p, "?", 1);
	return peer_rename(p, name, (size_t)n);
}

int
peer_init(struct peer *p, int fd, const char *name, size_t name_length)
{
	struct ucred credentials;
	socklen_t length = sizeof(credentials);
	const int on = 1;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials,
	    &length) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return DDBLOCK_E_SYSTEM;
	*p = (struct peer){
		.pid = credentials.pid,
		.uid = credentials.uid,
		.gid = credentials.gid,
	};
	return name == NULL ? peer_read_name(p) :
	    peer_rename(p, name, name_length);
}

/* Its other groups, when it connected. */
static bool
peer_is_member(int fd, gid_t group)
{
	socklen_t length = 0;
	gid_t *groups = NULL;
	bool found = false;

	/* The first call only returns the size. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &length) == 0 ||
	    errno != ERANGE)
		return false;
	groups = malloc(length);
	if (groups != NULL && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS,
	    groups, &length) == 0) {
		for (size_t i = 0; i < length / sizeof(*groups); i++)
			found = found || groups[i] == group;
	}
	free(groups);
	return found;
}

bool
peer_is_admin(const struct peer *p, int fd, gid_t admin_group)
{
	if (p->uid == 0)
		return true;
	return admin_group != (gid_t)-1 &&
	    (p->gid == admin_group || peer_is_member(fd, admin_group));
}

void
peer_done(struct peer *p)
{
	free(p->name);
	p->name = NULL;
}

void
peer_owner(const struct peer *p, const char *host, char *text,
    size_t text_size)
{
	(void)snprintf(text, text_size, "%.120s/%s:%ld", host, p->name,
	    (long)p->pid);
}
