/*
 * The process at the other end. Its identity comes from the kernel, never from
 * the client; the name is for people only.
 *
 * Root of a container with the socket in it is uid 0, too. So it is asked in
 * which pid namespace the process is: by a pidfd, whose entry in our own /proc
 * has the process's number in each namespace, and which never comes to mean
 * another process. The kernel has it for the socket (since 6.5); else it is
 * opened by number when the client connects, and never later.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/error.h"
#include "common/utf8.h"
#include "ipc/connection/connection.h"
#include "ipc/connection/proc_file.h"

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
void
peer_read_name(struct peer *p)
{
	char name[PROC_COMMAND_MAX + 1];

	if (proc_file_command(p->pid, name))
		(void)peer_rename(p, name, strlen(name));
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Has it one number only, ours? What cannot be read is no. */
static bool
peer_has_one_number(int pidfd)
{
	char text[PROC_FILE_MAX];
	const char *line = proc_file_read_pidfd(pidfd, text) ?
	    proc_file_line(text, "NSpid:\t") : NULL;
	char *end;

	return line != NULL && strtol(line, &end, 10) > 0 && *end == '\n';
}

/* Of the process of this descriptor, which is closed. */
static enum peer_place
peer_place(int pidfd)
{
	enum peer_place place = PEER_ELSEWHERE;

	if (pidfd < 0)
		return place;
	if (peer_has_one_number(pidfd))
		place = PEER_HERE;
	(void)close(pidfd);
	return place;
}

/* The pidfd that the kernel has for the socket. False: it has none for any. */
static bool
peer_open(int fd, int *ret)
{
	socklen_t length = sizeof(*ret);

	*ret = -1;
	return getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, ret, &length) == 0 ||
	    errno != ENOPROTOOPT;
}

/* It has just connected: where the kernel cannot be asked later, now. Reading
 * costs too much for all those that never ask for more than a lock. */
static enum peer_place
peer_first_place(int fd, pid_t pid)
{
	int pidfd;

	if (!peer_open(fd, &pidfd))
		return peer_place(pid > 0 ?
		    (int)syscall(SYS_pidfd_open, pid, 0) : -1);
	if (pidfd >= 0)
		(void)close(pidfd);
	return PEER_PLACE_ASK;
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
	if (p->uid == 0 && name == NULL)
		p->place = peer_first_place(fd, p->pid);
	return name == NULL ? peer_rename(p, "?", 1) :
	    peer_rename(p, name, name_length);
}

int
peer_groups(int fd, gid_t **ret, size_t *ret_count)
{
	socklen_t length = 0;
	gid_t *groups;

	*ret = NULL;
	*ret_count = 0;
	/* The first call only returns the size. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &length) == 0)
		return 0;
	if (errno != ERANGE)
		return DDBLOCK_E_SYSTEM;
	groups = malloc(length);
	if (groups == NULL)
		return DDBLOCK_E_NOMEM;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length) < 0) {
		free(groups);
		return DDBLOCK_E_SYSTEM;
	}
	*ret = groups;
	*ret_count = length / sizeof(*groups);
	return 0;
}

static bool
peer_is_member(int fd, gid_t group)
{
	gid_t *groups;
	size_t n;
	bool found = false;

	if (peer_groups(fd, &groups, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		found = found || groups[i] == group;
	free(groups);
	return found;
}

/* The number in our own /proc of the process of this descriptor; 0 or less: it
 * is not there, or has ended. */
static long
peer_number(int pidfd)
{
	char text[PROC_FILE_MAX];
	const char *line = proc_file_read_pidfd(pidfd, text) ?
	    proc_file_line(text, "Pid:\t") : NULL;

	return line == NULL ? 0 : strtol(line, NULL, 10);
}

/* Has it come to its end, if only in part? Then it may be in no cgroup. */
static bool
peer_has_ended(long pid)
{
	char text[PROC_FILE_MAX], path[64];
	const char *state;

	(void)snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	state = proc_file_read(path, text) ?
	    proc_file_line(text, "State:\t") : NULL;
	return state == NULL || *state == 'Z' || *state == 'X';
}

/* What was read by the number is the process's if it still has that after. */
static char *
peer_read_unit(int pidfd)
{
	char text[PROC_FILE_MAX], path[64], unit[ACCESS_UNIT_MAX];
	long pid = peer_number(pidfd);

	if (pid <= 0)
		return NULL;
	(void)snprintf(path, sizeof(path), "/proc/%ld/cgroup", pid);
	if (!proc_file_read(path, text) || !access_unit(text, unit) ||
	    peer_has_ended(pid) || peer_number(pidfd) != pid)
		return NULL;
	return strdup(unit);
}

const char *
peer_unit(struct peer *p, int fd, bool now)
{
	int pidfd;

	if (p->unit_asked)
		return p->unit;
	p->unit_asked = true;
	if (!peer_open(fd, &pidfd) && now && p->pid > 0)
		pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (pidfd < 0)
		return NULL;
	p->unit = peer_read_unit(pidfd);
	(void)close(pidfd);
	return p->unit;
}

bool
peer_is_root(struct peer *p, int fd, const struct server *s)
{
	int pidfd;

	if (p->uid != 0 || s->admin_any)
		return p->uid == 0;
	if (p->place == PEER_PLACE_ASK) {
		(void)peer_open(fd, &pidfd);
		p->place = peer_place(pidfd);
	}
	return p->place == PEER_HERE;
}

bool
peer_is_own(const struct peer *p)
{
	return p->uid != 0 && p->uid == geteuid();
}

bool
peer_is_admin(struct peer *p, int fd, const struct server *s)
{
	gid_t group = s->admin_group;

	return peer_is_root(p, fd, s) || (group != (gid_t)-1 &&
	    (p->gid == group || peer_is_member(fd, group)));
}

void
peer_done(struct peer *p)
{
	free(p->name);
	p->name = NULL;
	free(p->unit);
	p->unit = NULL;
}

struct server_client
peer_view(const struct peer *p)
{
	return (struct server_client){
		.name = p->name, .pid = p->pid, .uid = p->uid,
	};
}
