/*
 * The file of a Unix socket that listens: whether a process serves it, and
 * whether it is still ours to remove.
 */
#ifndef DDBLOCKD_COMMON_SOCKET_FILE_H
#define DDBLOCKD_COMMON_SOCKET_FILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/un.h>

struct socket_file {
	bool ours;		/* it is this one: */
	dev_t device;
	ino_t inode;
};

/* 1: a process listens there; 0: none does; -1: not known, as errno says. */
int socket_file_is_live(const struct sockaddr_un *);

/* It is ours, as lstat(2) shows it now. */
void socket_file_own(struct socket_file *, const struct stat *);

/* Remove it, if it is still the one that is ours: another process may have
 * replaced it. */
void socket_file_remove(struct socket_file *, const char *path);

#endif
