/*
 * A process by descriptor: unlike its number, never another's.
 */
#ifndef DDBLOCKD_CLI_PIDFD_H
#define DDBLOCKD_CLI_PIDFD_H

#include <sys/types.h>

/* The descriptor, or -1 with errno. Readable once the process has ended. */
int pidfd_for(pid_t pid);

/* 0, or -1 with errno. Signal 0: may we? */
int pidfd_signal(int fd, int number);

#endif
