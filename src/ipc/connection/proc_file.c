/*
 * Files of /proc that say something of a process.
 */
#include "config.h"

#include "ipc/connection/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool
proc_file_read(const char *path, char ret[PROC_FILE_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n = 0;

	if (fd < 0)
		return false;
	while (length < PROC_FILE_MAX - 1) {
		n = read(fd, ret + length, PROC_FILE_MAX - 1 - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	(void)close(fd);
	ret[length] = '\0';
	return n >= 0 && length > 0;
}

bool
proc_file_read_pidfd(int pidfd, char ret[PROC_FILE_MAX])
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	return proc_file_read(path, ret);
}

bool
proc_file_command(pid_t pid, char ret[PROC_COMMAND_MAX + 1])
{
	char path[64];
	ssize_t n = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, ret, PROC_COMMAND_MAX);
		(void)close(fd);
	}
	if (n > 0 && ret[n - 1] == '\n')
		n--;
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

const char *
proc_file_line(const char *text, const char *name)
{
	size_t length = strlen(name);

	while (text != NULL && strncmp(text, name, length) != 0) {
		text = strchr(text, '\n');
		text = text == NULL ? NULL : text + 1;
	}
	return text == NULL ? NULL : text + length;
}
