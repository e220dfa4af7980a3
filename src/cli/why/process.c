/*
 * A client's process. See process.h.
 */
#include <config.h>

#include "cli/why/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

#define PROCESS_FILE_MAX 4096
#define PROCESS_DEPTH_MAX 4	/* of children's children */
#define PROCESS_CHILDREN_MAX 64	/* that are looked at, in all */
#define PROCESS_SLACK_MS 1000	/* a tick, and a time that was rounded */

/* The beginning of a file of a process, and a NUL. False: there is none. */
static bool
process_read(pid_t pid, const char *name, char *to, size_t size,
    size_t *ret_length)
{
	char path[64];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, to, size - 1);
	(void)close(fd);
	if (n < 0)
		return false;
	to[n] = '\0';
	if (ret_length != NULL)
		*ret_length = (size_t)n;
	return true;
}

struct process_stat {
	bool is_ours;		/* a ddblock */
	char state;
	uint64_t began_ms;	/* since the boot */
};

/* proc_pid_stat(5): its name, in parentheses, may have any characters. */
static bool
process_stat(pid_t pid, struct process_stat *ret)
{
	const long ticks = sysconf(_SC_CLK_TCK);
	char text[PROCESS_FILE_MAX];
	unsigned long long began = 0;
	const char *at;

	if (ticks <= 0 ||
	    !process_read(pid, "stat", text, sizeof(text), NULL))
		return false;
	at = strrchr(text, ')');
	if (at == NULL || sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s "
	    "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ret->state,
	    &began) != 2)
		return false;
	ret->is_ours = strstr(text, " (ddblock) ") != NULL;
	ret->began_ms = began * 1000 / (uint64_t)ticks;
	return true;
}

static bool
process_is_of(pid_t pid, uint64_t uid)
{
	char text[PROCESS_FILE_MAX];
	uint64_t real, effective;
	const char *at;

	if (!process_read(pid, "status", text, sizeof(text), NULL))
		return false;
	at = strstr(text, "\nUid:");
	return at != NULL && sscanf(at + 5, "%" SCNu64 " %" SCNu64, &real,
	    &effective) == 2 && (real == uid || effective == uid);
}

/* The words of its command line, with spaces between. */
static void
process_command(pid_t pid, char *to, size_t size)
{
	size_t length = 0;

	to[0] = '\0';
	if (!process_read(pid, "cmdline", to, size, &length))
		return;
	while (length > 0 && to[length - 1] == '\0')
		length--;
	for (size_t i = 0; i < length; i++) {
		if (to[i] == '\0')
			to[i] = ' ';
	}
}

/* A descendant that is stopped, or 0. */
static pid_t
process_stopped_child(pid_t pid, unsigned depth, unsigned *room)
{
	char name[64];
	char text[PROCESS_FILE_MAX];
	char *at = text;

	(void)snprintf(name, sizeof(name), "task/%ld/children", (long)pid);
	if (depth == 0 || !process_read(pid, name, text, sizeof(text), NULL))
		return 0;
	while (*room > 0) {
		char *end;
		const long child = strtol(at, &end, 10);
		struct process_stat stat;
		pid_t below;

		if (end == at || child <= 0)
			break;
		at = end;
		(*room)--;
		if (!process_stat((pid_t)child, &stat))
			continue;
		if (stat.state == 'T')
			return (pid_t)child;
		below = process_stopped_child((pid_t)child, depth - 1, room);
		if (below > 0)
			return below;
	}
	return 0;
}

void
why_process_look(struct why_process *p, pid_t pid, uint64_t uid,
    uint64_t ago_ms)
{
	unsigned room = PROCESS_CHILDREN_MAX;
	const uint64_t now_ms = clock_boot_ms();
	struct process_stat stat;

	*p = (struct why_process){ .pid = pid };
	if (!process_stat(pid, &stat) || !process_is_of(pid, uid) ||
	    (ago_ms != WHY_UNKNOWN_MS &&
	    stat.began_ms + ago_ms > now_ms + PROCESS_SLACK_MS)) {
		p->gone = true;
		return;
	}
	if (stat.state == 'Z' || stat.state == 'X') {
		p->gone = true;
		return;
	}
	p->seen = true;
	p->stopped = stat.state == 'T';
	process_command(pid, p->command, sizeof(p->command));
	/* What `ddblock run` runs is its child; another program's children may
	 * have nothing to do with the lock. */
	if (stat.is_ours && !p->stopped)
		p->stopped_child = process_stopped_child(pid,
		    PROCESS_DEPTH_MAX, &room);
}
