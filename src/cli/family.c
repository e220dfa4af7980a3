/*
 * All the processes that descend from one. A process can leave its group and
 * its session, but not its parent; and whose parent has ended has the reaper
 * of orphans (PR_SET_CHILD_SUBREAPER) for one. So who is such a reaper, and
 * kills and lists again until there is none, has ended them all, however fast
 * they multiply: a list is of one moment, and its gaps are in the next.
 */
#include <config.h>

#include "cli/family.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAMILY_PATH_MAX 64

struct family_stat {
	char state;
	pid_t parent;
	pid_t group;
	pid_t session;
};

static void
family_add(struct family *f, pid_t pid)
{
	if (pid > 0 && f->n < FAMILY_MAX)
		f->pids[f->n++] = pid;
}

/* "NUMBER NUMBER ..."; one may begin in one piece and end in the next. */
static bool
family_read_list(struct family *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[1024];
	pid_t pid = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (bytes[i] >= '0' && bytes[i] <= '9') {
				pid = pid * 10 + (bytes[i] - '0');
				continue;
			}
			family_add(f, pid);
			pid = 0;
		}
	}
	(void)close(fd);
	return true;
}

/* The numbers among the names in a folder. */
static pid_t
family_next(DIR *folder)
{
	struct dirent *entry;

	while ((entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			return (pid_t)strtol(entry->d_name, NULL, 10);
	}
	return 0;
}

void
family_add_children(struct family *f, pid_t pid)
{
	char path[FAMILY_PATH_MAX];
	DIR *tasks;
	pid_t task;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return; /* it has ended */
	while ((task = family_next(tasks)) != 0) {
		(void)snprintf(path, sizeof(path),
		    "/proc/%d/task/%d/children", (int)pid, (int)task);
		(void)family_read_list(f, path);
	}
	(void)closedir(tasks);
}

static bool
family_look(pid_t pid, struct family_stat *ret)
{
	char path[FAMILY_PATH_MAX];
	char bytes[512];
	const char *after;
	int parent, group, session;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, bytes, sizeof(bytes) - 1);
	(void)close(fd);
	if (n <= 0)
		return false;
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

void
family_add_children_slowly(struct family *f, pid_t pid)
{
	DIR *all = opendir("/proc");
	struct family_stat about;
	pid_t one;

	if (all == NULL)
		return;
	while ((one = family_next(all)) != 0) {
		if (family_look(one, &about) && about.parent == pid)
			family_add(f, one);
	}
	(void)closedir(all);
}

static bool
family_has(const struct family *f, pid_t pid)
{
	for (size_t i = 0; f != NULL && i < f->n; i++) {
		if (f->pids[i] == pid)
			return true;
	}
	return false;
}

static void
family_list(struct family *f, pid_t root, const struct family *not)
{
	bool listed = access("/proc/thread-self/children", R_OK) == 0;
	size_t kept = 0;

	f->n = 0;
	for (size_t i = 0; i <= f->n; i++) {
		pid_t pid = i == 0 ? root : f->pids[i - 1];

		if (listed)
			family_add_children(f, pid);
		else
			family_add_children_slowly(f, pid);
		if (i > 0)
			continue;
		for (size_t j = 0; j < f->n; j++) {
			if (!family_has(not, f->pids[j]))
				f->pids[kept++] = f->pids[j];
		}
		f->n = kept;
	}
}

bool
family_is_stopped(pid_t pid)
{
	struct family_stat about;

	return family_look(pid, &about) &&
	    (about.state == 'T' || about.state == 't');
}

size_t
family_signal(pid_t root, int number, const struct family_choice *choice)
{
	struct family f;
	size_t n = 0;

	family_list(&f, root, choice->not);
	for (size_t i = 0; i < f.n; i++) {
		struct family_stat about;

		if (!family_look(f.pids[i], &about))
			about = (struct family_stat){ .state = 'X' };
		if ((about.state == 'Z' || about.state == 'X') &&
		    !choice->ended_too)
			continue;
		if ((choice->group_not != 0 &&
		    about.group == choice->group_not) ||
		    (choice->one_session && about.session != choice->session))
			continue;
		n++;
		if (number != 0 && about.state != 'X')
			(void)kill(f.pids[i], number);
	}
	return n;
}
