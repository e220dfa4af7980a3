/*
 * A process by descriptor: unlike a number, it never means another process.
 */
#ifndef DDBLOCKD_CLI_BASE_PIDFD_H
#define DDBLOCKD_CLI_BASE_PIDFD_H

#include <sys/types.h>

/* The descriptor, or -1 with errno. Readable once the process has ended. */
int pidfd_for(pid_t pid);

/* 0, or -1 with errno. Signal 0 asks whether we may. */
int pidfd_signal(int fd, int number);

#endif
