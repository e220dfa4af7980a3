/*
 * Files of /proc that say something of a process.
 */
#ifndef DDBLOCKD_IPC_CONNECTION_PROC_FILE_H
#define DDBLOCKD_IPC_CONNECTION_PROC_FILE_H

#include <stdbool.h>

#define PROC_FILE_MAX 4096	/* what is beyond is not read */

/* False: it cannot be read, or is empty. */
bool proc_file_read(const char *path, char ret[PROC_FILE_MAX]);
/* What there is of a pidfd of ours. */
bool proc_file_read_pidfd(int pidfd, char ret[PROC_FILE_MAX]);

/* What follows @name ("Uid:\t") in the line that begins with it; NULL: none
 * does. */
const char *proc_file_line(const char *text, const char *name);

#endif
