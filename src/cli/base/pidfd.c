/*
 * A process by descriptor. libc has these calls only since glibc 2.36.
 */
#include <config.h>

#include "cli/base/pidfd.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int
pidfd_for(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

int
pidfd_signal(int fd, int number)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
}
