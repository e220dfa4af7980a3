/*
 * All the processes that descend from one. A process can leave its group and
 * its session, but not its parent; and an orphan's parent is the reaper of
 * orphans (PR_SET_CHILD_SUBREAPER). So a reaper that kills and lists again
 * until no process is left has ended them all, however fast they multiply: a
 * list shows one moment, and the next list shows what it missed.
 *
 * A cgroup would list them, too, and cgroup.kill end them in one write. But few
 * processes may make a cgroup: an ordinary user only below a cgroup delegated
 * to that user, a container mostly not at all. And a command started in a new
 * cgroup leaves the limits and accounts of its caller's. A way that works
 * everywhere is needed anyway, and a second way would be a second source of
 * defects.
 *
 * They are ended because a lock is lost, and that must not wait for anything.
 * So nothing here allocates memory. Later, no descriptor may be free: the
 * reaper opens early the descriptors that it needs to see its children.
 */
#include <config.h>

#include "cli/hold/descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DESCENDANTS_PATH_MAX 64
#define DESCENDANTS_PIECE_MAX 4096	/* that is read of a folder at once */

struct descendants_stat {
	char state;		/* 0: it lives; more is not known */
	pid_t parent;
	pid_t group;
	pid_t session;
};

/* As the kernel writes it. */
struct descendants_entry {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

/* The numbers among the names in a folder. */
struct descendants_folder {
	int fd;
	long length;		/* of the piece; negative: it cannot be read */
	long at;
	_Alignas(struct descendants_entry) char piece[DESCENDANTS_PIECE_MAX];
};

static void
descendants_add(struct descendants *d, pid_t pid)
{
	if (pid > 0 && d->n < DESCENDANTS_MAX)
		d->pids[d->n++] = pid;
}

/* Does it not exist? Otherwise it only cannot be read just now. */
static bool
descendants_is_hidden(int error)
{
	return error == ENOENT || error == ESRCH || error == EACCES ||
	    error == EPERM;
}

static int
descendants_open_file(pid_t pid, const char *name)
{
	char path[DESCENDANTS_PATH_MAX];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int
descendants_open_children(pid_t pid, pid_t task)
{
	char name[DESCENDANTS_PATH_MAX / 2];

	(void)snprintf(name, sizeof(name), "task/%d/children", (int)task);
	return descendants_open_file(pid, name);
}

/* "NUMBER NUMBER ..."; a number may be split between two pieces. */
static bool
descendants_read_list(struct descendants *d, int fd)
{
	char bytes[1024];
	pid_t pid = 0;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		at += n;
		for (ssize_t i = 0; i < n; i++) {
			if (bytes[i] >= '0' && bytes[i] <= '9') {
				pid = pid * 10 + (bytes[i] - '0');
				continue;
			}
			descendants_add(d, pid);
			pid = 0;
		}
	}
	return n == 0 || descendants_is_hidden(errno);
}

static void
descendants_rewind(struct descendants_folder *folder, int fd)
{
	folder->fd = fd;
	folder->length = folder->at = 0;
	if (lseek(fd, 0, SEEK_SET) < 0)
		folder->length = -1;
}

static pid_t
descendants_next(struct descendants_folder *folder)
{
	for (;;) {
		const struct descendants_entry *entry;

		if (folder->length < 0)
			return 0;
		if (folder->at == folder->length) {
			folder->at = 0;
			folder->length = syscall(SYS_getdents64, folder->fd,
			    folder->piece, sizeof(folder->piece));
			if (folder->length == 0)
				return 0;
			continue;
		}
		entry = (const void *)(folder->piece + folder->at);
		folder->at += entry->length;
		if (entry->name[0] >= '1' && entry->name[0] <= '9')
			return (pid_t)strtol(entry->name, NULL, 10);
	}
}

/* Of a process and all its threads. */
static bool
descendants_add_listed(struct descendants *d, pid_t pid)
{
	struct descendants_folder tasks;
	int fd = descendants_open_file(pid, "task");
	bool seen = true;
	pid_t task;

	if (fd < 0)
		return descendants_is_hidden(errno);
	descendants_rewind(&tasks, fd);
	while (seen && (task = descendants_next(&tasks)) != 0) {
		int list = descendants_open_children(pid, task);

		seen = list < 0 ? descendants_is_hidden(errno) :
		    descendants_read_list(d, list);
		if (list >= 0)
			(void)close(list);
	}
	if (tasks.length < 0)
		seen = seen && descendants_is_hidden(errno);
	(void)close(fd);
	return seen;
}

/*
 * ---- what is known of a process
 * -----------------------------------------------
 */

static bool
descendants_read_stat(int fd, struct descendants_stat *ret)
{
	char bytes[512];
	const char *after;
	int parent, group, session;
	ssize_t n = pread(fd, bytes, sizeof(bytes) - 1, 0);

	if (n < 0)
		return false;
	errno = ESRCH;
	bytes[n] = '\0';
	after = strrchr(bytes, ')'); /* of the name, which may be any bytes */
	if (after == NULL || sscanf(after + 1, " %c %d %d %d", &ret->state,
	    &parent, &group, &session) != 4)
		return false;
	ret->parent = (pid_t)parent;
	ret->group = (pid_t)group;
	ret->session = (pid_t)session;
	return true;
}

/* False: something is not known, and its parent is 0. */
static bool
descendants_look(pid_t pid, struct descendants_stat *ret)
{
	int fd = descendants_open_file(pid, "stat");
	bool seen = fd >= 0 && descendants_read_stat(fd, ret);
	bool hidden = !seen && descendants_is_hidden(errno);

	if (fd >= 0)
		(void)close(fd);
	if (seen)
		return true;
	*ret = (struct descendants_stat){
		.state = hidden ? 'X' : '\0',
		.group = getpgid(pid),
		.session = getsid(pid),
	};
	return hidden;
}

/* Is it a child of ours? This needs no descriptor. */
static bool
descendants_is_own(pid_t pid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)pid, &info,
	    WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) == 0;
}

static bool
descendants_add_unlisted(struct descendants *d,
    const struct ancestor *ancestor, pid_t pid)
{
	struct descendants_folder all;
	bool own = pid == getpid();
	bool seen = true;
	pid_t one;

	descendants_rewind(&all, ancestor->all);
	while ((one = descendants_next(&all)) != 0) {
		struct descendants_stat about = { .parent = 0 };

		if (!own)
			seen = descendants_look(one, &about) && seen;
		if (own ? descendants_is_own(one) : about.parent == pid)
			descendants_add(d, one);
	}
	return seen && all.length == 0;
}

/* ---- the ancestor ------------------------------------------------------- */

int
ancestor_open(struct ancestor *ancestor, pid_t pid)
{
	struct descendants none = { .n = 0 };

	*ancestor = (struct ancestor)ANCESTOR_NONE;
	ancestor->pid = pid;
	ancestor->all = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ancestor->all >= 0)
		ancestor->about = descendants_open_file(pid, "stat");
	if (ancestor->about < 0) {
		ancestor_close(ancestor);
		return -1;
	}
	ancestor->children = descendants_open_children(pid, pid);
	/* The first time the kernel needs memory for it. */
	if (ancestor->children >= 0)
		(void)descendants_read_list(&none, ancestor->children);
	else if (errno != ENOENT) {
		ancestor_close(ancestor);
		return -1;
	}
	return 0;
}

void
ancestor_close(struct ancestor *ancestor)
{
	const int fds[] = {
		ancestor->children, ancestor->about, ancestor->all,
	};
	int saved = errno;

	for (size_t i = 0; i < sizeof(fds) / sizeof(int); i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
	}
	ancestor->children = ancestor->about = ancestor->all = -1;
	errno = saved;
}

bool
descendants_add_children(struct descendants *d, const struct ancestor *ancestor)
{
	size_t n = d->n;

	if (ancestor->children < 0)
		return descendants_add_unlisted(d, ancestor, ancestor->pid);
	if (descendants_add_listed(d, ancestor->pid))
		return true;
	d->n = n;
	return descendants_read_list(d, ancestor->children);
}

bool
ancestor_is_stopped(const struct ancestor *ancestor)
{
	struct descendants_stat about;

	return !descendants_read_stat(ancestor->about, &about) ||
	    about.state == 'T' || about.state == 't';
}

/* ---- all of them -------------------------------------------------------- */

static bool
descendants_has(const struct descendants *d, pid_t pid)
{
	for (size_t i = 0; d != NULL && i < d->n; i++) {
		if (d->pids[i] == pid)
			return true;
	}
	return false;
}

static bool
descendants_list(struct descendants *d, const struct ancestor *ancestor,
    const struct descendants *except)
{
	bool seen;
	size_t kept = 0;

	d->n = 0;
	seen = descendants_add_children(d, ancestor);
	for (size_t i = 0; i < d->n; i++) {
		if (!descendants_has(except, d->pids[i]))
			d->pids[kept++] = d->pids[i];
	}
	d->n = kept;
	for (size_t i = 0; i < d->n; i++) {
		bool one = ancestor->children >= 0 ?
		    descendants_add_listed(d, d->pids[i]) :
		    descendants_add_unlisted(d, ancestor, d->pids[i]);

		seen = seen && one;
	}
	return seen;
}

static bool
descendants_is_chosen(const struct descendants_stat *about,
    const struct descendants_filter *filter)
{
	if ((about->state == 'Z' || about->state == 'X') && !filter->with_ended)
		return false;
	if (filter->except_group != 0 && about->group == filter->except_group)
		return false;
	return !filter->one_session || about->session == filter->session;
}

size_t
descendants_signal(const struct ancestor *ancestor, int number,
    const struct descendants_filter *filter)
{
	static struct descendants d; /* a stack may not grow any more */
	bool seen = descendants_list(&d, ancestor, filter->except);
	size_t n = 0;

	for (size_t i = 0; i < d.n; i++) {
		struct descendants_stat about;

		seen = descendants_look(d.pids[i], &about) && seen;
		if (!descendants_is_chosen(&about, filter))
			continue;
		n++;
		if (number != 0 && about.state != 'X')
			(void)kill(d.pids[i], number);
	}
	return n == 0 && !seen ? 1 : n;
}
