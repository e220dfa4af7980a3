/*
 * The file of a Unix socket that listens: whether a process serves it, and
 * whether it is still ours to remove.
 */
#include "common/socket_file.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int
socket_file_is_live(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r, error;

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)address,
	    sizeof(*address)) == 0 || errno == EAGAIN)
		r = 1; /* EAGAIN: its queue is full, so it listens */
	else
		r = errno == ECONNREFUSED ? 0 : -1;
	error = errno;
	(void)close(fd);
	errno = error;
	return r;
}

void
socket_file_own(struct socket_file *f, const struct stat *st)
{
	*f = (struct socket_file){ .ours = true, .device = st->st_dev,
		.inode = st->st_ino };
}

void
socket_file_remove(struct socket_file *f, const char *path)
{
	struct stat st;

	if (f->ours && lstat(path, &st) == 0 && st.st_dev == f->device &&
	    st.st_ino == f->inode)
		(void)unlink(path);
	f->ours = false;
}
