/*
 * The lock next to the embedded store's file.
 *
 * A file of its own, because closing any descriptor of the database itself
 * would drop SQLite's own locks; and never removed, because removing a file
 * that another process is about to lock would give both a lock.
 */
#include "store/sqlite_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/ignored.h"
#include "ddblock.h"

int
sqlite_lock_explain(const char *path, const char *what, int error, char *text,
    size_t text_size)
{
	const char *advice = "";
	int code = DDBLOCK_E_SYSTEM;

	switch (error) {
	case EACCES:
	case EPERM:
		code = DDBLOCK_E_DENIED;
		advice = "; give the daemon's user the right to write the "
		    "file and its directory";
		break;
	case ENOENT:
		code = DDBLOCK_E_NO_TABLE;
		break;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		code = DDBLOCK_E_STORE_FULL;
		advice = "; make room on that disk";
		break;
	case EROFS:
		code = DDBLOCK_E_STORE_BROKEN;
		advice = "; mount it writable, or name another file";
		break;
	case EIO:
		code = DDBLOCK_E_STORE_BROKEN;
		advice = "; the disk may be failing";
		break;
	}
	(void)snprintf(text, text_size, "%s: cannot %s: %s%s", path, what,
	    strerror(error), advice);
	return code;
}

/* Its holder, for people; empty if unknown. */
static void
sqlite_lock_read(int fd, char *text, size_t text_size)
{
	char pid[24];
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	text[0] = '\0';
	if (n <= 0)
		return;
	pid[n] = '\0';
	pid[strspn(pid, "0123456789")] = '\0';
	if (pid[0] != '\0')
		(void)snprintf(text, text_size, " (process %s)", pid);
}

static void
sqlite_lock_write(int fd)
{
	char pid[24];
	int length = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());

	/* Only for the message above: a full disk is met elsewhere. */
	if (ftruncate(fd, 0) == 0 && length > 0 &&
	    pwrite(fd, pid, (size_t)length, 0) != length)
		ignored(ftruncate(fd, 0));
}

int
sqlite_lock_take(const char *path, int *ret, char *text, size_t text_size)
{
	char name[4096];
	char holder[48];
	int error;
	int fd;

	if ((size_t)snprintf(name, sizeof(name), "%s.lock", path) >=
	    sizeof(name))
		return sqlite_lock_explain(path, "use that name", ENAMETOOLONG,
		    text, text_size);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW |
	    O_NONBLOCK, 0600);
	if (fd < 0)
		return sqlite_lock_explain(name, "open it", errno, text,
		    text_size);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		error = errno;
		sqlite_lock_read(fd, holder, sizeof(holder));
		(void)close(fd);
		if (error != EWOULDBLOCK)
			return sqlite_lock_explain(name, "lock it", error,
			    text, text_size);
		(void)snprintf(text, text_size,
		    "%s is served by another ddblockd%s already; use that "
		    "one, stop it, or name another file", path, holder);
		return DDBLOCK_E_DENIED;
	}
	sqlite_lock_write(fd);
	*ret = fd;
	return 0;
}
