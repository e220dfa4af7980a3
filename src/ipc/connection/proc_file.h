/*
 * Files of /proc that say something of a process.
 */
#ifndef DDBLOCKD_IPC_CONNECTION_PROC_FILE_H
#define DDBLOCKD_IPC_CONNECTION_PROC_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#define PROC_FILE_MAX 4096	/* what is beyond is not read */
#define PROC_COMMAND_MAX 63	/* of a thread of the kernel; else 15 */

/* False: it cannot be read, or is empty. */
bool proc_file_read(const char *path, char ret[PROC_FILE_MAX]);
/* What there is of a pidfd of ours. */
bool proc_file_read_pidfd(int pidfd, char ret[PROC_FILE_MAX]);

/* The kernel's name of a process's command, of which it may change all but the
 * length. False: it is gone, or has none. */
bool proc_file_command(pid_t, char ret[PROC_COMMAND_MAX + 1]);

/* What follows @name ("Uid:\t") in the line that begins with it; NULL: none
 * does. */
const char *proc_file_line(const char *text, const char *name);

#endif
