/*
 * All the processes that descend from one. A process can leave its group and
 * its session, but not its parent; and whose parent has ended has the reaper
 * of orphans (PR_SET_CHILD_SUBREAPER) for one. So who is such a reaper, and
 * kills and lists again until there is none, has ended them all, however fast
 * they multiply: a list is of one moment, and its gaps are in the next.
 *
 * A cgroup would list them, too, and cgroup.kill end them in one write. But
 * few may make one: an ordinary user only below one that was delegated to him,
 * a container mostly none, and to start the command in one moves it out of the
 * limits and accounts of its caller's. What works everywhere is needed
 * anyway, and two ways are twice as much that can be wrong.
 *
 * They are ended because a lock is lost, and that must not wait for anything.
 * So nothing here allocates memory; and because a descriptor more may not be
 * had, those that the reaper needs to see its children are open before.
 */
#include <config.h>

#include "cli/family.h"

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

#define FAMILY_PATH_MAX 64
#define FAMILY_PIECE_MAX 4096	/* that is read of a folder at once */

struct family_stat {
	char state;		/* 0: it lives, and that is all we know */
	pid_t parent;
	pid_t group;
	pid_t session;
};

/* As the kernel writes it. */
struct family_entry {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

/* The numbers among the names in a folder. */
struct family_folder {
	int fd;
	long length;		/* of the piece; negative: it cannot be read */
	long at;
	_Alignas(struct family_entry) char piece[FAMILY_PIECE_MAX];
};

static void
family_add(struct family *f, pid_t pid)
{
	if (pid > 0 && f->n < FAMILY_MAX)
		f->pids[f->n++] = pid;
}

/* Was there nothing to be seen? Else it cannot be looked at, just now. */
static bool
family_is_hidden(int error)
{
	return error == ENOENT || error == ESRCH || error == EACCES ||
	    error == EPERM;
}

static int
family_open_file(pid_t pid, const char *name)
{
	char path[FAMILY_PATH_MAX];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int
family_open_children(pid_t pid, pid_t task)
{
	char name[FAMILY_PATH_MAX / 2];

	(void)snprintf(name, sizeof(name), "task/%d/children", (int)task);
	return family_open_file(pid, name);
}

/* "NUMBER NUMBER ..."; one may begin in one piece and end in the next. */
static bool
family_read_list(struct family *f, int fd)
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
			family_add(f, pid);
			pid = 0;
		}
	}
	return n == 0 || family_is_hidden(errno);
}

static void
family_rewind(struct family_folder *folder, int fd)
{
	folder->fd = fd;
	folder->length = folder->at = 0;
	if (lseek(fd, 0, SEEK_SET) < 0)
		folder->length = -1;
}

static pid_t
family_next(struct family_folder *folder)
{
	for (;;) {
		const struct family_entry *entry;

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
family_add_listed(struct family *f, pid_t pid)
{
	struct family_folder tasks;
	int fd = family_open_file(pid, "task");
	bool seen = true;
	pid_t task;

	if (fd < 0)
		return family_is_hidden(errno);
	family_rewind(&tasks, fd);
	while (seen && (task = family_next(&tasks)) != 0) {
		int list = family_open_children(pid, task);

		seen = list < 0 ? family_is_hidden(errno) :
		    family_read_list(f, list);
		if (list >= 0)
			(void)close(list);
	}
	if (tasks.length < 0)
		seen = seen && family_is_hidden(errno);
	(void)close(fd);
	return seen;
}

/* ---- what is known of one ----------------------------------------------- */

static bool
family_read_stat(int fd, struct family_stat *ret)
{
	char bytes[512];
	const char *after;
	int parent, group, session;
	ssize_t n = pread(fd, bytes, sizeof(bytes) - 1, 0);

	if (n < 0)
		return false;
	errno = ESRCH;
	bytes[n] = '\0';
	after = strrchr(bytes, ')'); /* of the name, which may be anything */
	if (after == NULL || sscanf(after + 1, " %c %d %d %d", &ret->state,
	    &parent, &group, &session) != 4)
		return false;
	ret->parent = (pid_t)parent;
	ret->group = (pid_t)group;
	ret->session = (pid_t)session;
	return true;
}

/* False: all of it is not known, and its parent is 0. */
static bool
family_look(pid_t pid, struct family_stat *ret)
{
	int fd = family_open_file(pid, "stat");
	bool seen = fd >= 0 && family_read_stat(fd, ret);
	bool hidden = !seen && family_is_hidden(errno);

	if (fd >= 0)
		(void)close(fd);
	if (seen)
		return true;
	*ret = (struct family_stat){
		.state = hidden ? 'X' : '\0',
		.group = getpgid(pid),
		.session = getsid(pid),
	};
	return hidden;
}

/* Is it a child of ours? This needs no descriptor. */
static bool
family_is_own(pid_t pid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)pid, &info,
	    WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) == 0;
}

static bool
family_add_unlisted(struct family *f, const struct family_root *root, pid_t pid)
{
	struct family_folder all;
	bool own = pid == getpid();
	bool seen = true;
	pid_t one;

	family_rewind(&all, root->all);
	while ((one = family_next(&all)) != 0) {
		struct family_stat about = { .parent = 0 };

		if (!own)
			seen = family_look(one, &about) && seen;
		if (own ? family_is_own(one) : about.parent == pid)
			family_add(f, one);
	}
	return seen && all.length == 0;
}

/* ---- the root ----------------------------------------------------------- */

int
family_open(struct family_root *root, pid_t pid)
{
	struct family none = { .n = 0 };

	*root = (struct family_root)FAMILY_NONE;
	root->pid = pid;
	root->all = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root->all >= 0)
		root->about = family_open_file(pid, "stat");
	if (root->about < 0) {
		family_close(root);
		return -1;
	}
	root->children = family_open_children(pid, pid);
	/* The first time the kernel needs memory for it. */
	if (root->children >= 0)
		(void)family_read_list(&none, root->children);
	else if (errno != ENOENT) {
		family_close(root);
		return -1;
	}
	return 0;
}

void
family_close(struct family_root *root)
{
	const int fds[] = { root->children, root->about, root->all };
	int saved = errno;

	for (size_t i = 0; i < sizeof(fds) / sizeof(int); i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
	}
	root->children = root->about = root->all = -1;
	errno = saved;
}

bool
family_add_children(struct family *f, const struct family_root *root)
{
	size_t n = f->n;

	if (root->children < 0)
		return family_add_unlisted(f, root, root->pid);
	if (family_add_listed(f, root->pid))
		return true;
	f->n = n;
	return family_read_list(f, root->children);
}

bool
family_is_stopped(const struct family_root *root)
{
	struct family_stat about;

	return !family_read_stat(root->about, &about) ||
	    about.state == 'T' || about.state == 't';
}

/* ---- all of them -------------------------------------------------------- */

static bool
family_has(const struct family *f, pid_t pid)
{
	for (size_t i = 0; f != NULL && i < f->n; i++) {
		if (f->pids[i] == pid)
			return true;
	}
	return false;
}

static bool
family_list(struct family *f, const struct family_root *root,
    const struct family *not)
{
	bool seen;
	size_t kept = 0;

	f->n = 0;
	seen = family_add_children(f, root);
	for (size_t i = 0; i < f->n; i++) {
		if (!family_has(not, f->pids[i]))
			f->pids[kept++] = f->pids[i];
	}
	f->n = kept;
	for (size_t i = 0; i < f->n; i++) {
		bool one = root->children >= 0 ?
		    family_add_listed(f, f->pids[i]) :
		    family_add_unlisted(f, root, f->pids[i]);

		seen = seen && one;
	}
	return seen;
}

static bool
family_is_chosen(const struct family_stat *about,
    const struct family_choice *choice)
{
	if ((about->state == 'Z' || about->state == 'X') && !choice->ended_too)
		return false;
	if (choice->group_not != 0 && about->group == choice->group_not)
		return false;
	return !choice->one_session || about->session == choice->session;
}

size_t
family_signal(const struct family_root *root, int number,
    const struct family_choice *choice)
{
	static struct family f; /* a stack may not grow any more */
	bool seen = family_list(&f, root, choice->not);
	size_t n = 0;

	for (size_t i = 0; i < f.n; i++) {
		struct family_stat about;

		seen = family_look(f.pids[i], &about) && seen;
		if (!family_is_chosen(&about, choice))
			continue;
		n++;
		if (number != 0 && about.state != 'X')
			(void)kill(f.pids[i], number);
	}
	return n == 0 && !seen ? 1 : n;
}
