/*
 * Who may change a file. See file_trust.h.
 *
 * It counts where the file really is, and where the name is that it was found
 * by, which may be a symbolic link. In a directory with the sticky bit, such as
 * /tmp or what a kubelet mounts, nobody replaces what is root's or ours.
 */
#include "common/file_trust.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* May everybody put something else in the place of @path, whose owner that is?
 * A directory that cannot be looked at is no answer: it is ours to use only. */
static bool
file_trust_is_replaceable(const char *path, uid_t owner)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];
	size_t length = slash == NULL ? 0 : (size_t)(slash - path);
	struct stat st;

	if (length >= sizeof(directory))
		return false;
	memcpy(directory, path, length);
	directory[length] = '\0';
	if (stat(slash == NULL ? "." : length == 0 ? "/" : directory,
	    &st) < 0 || (st.st_mode & S_IWOTH) == 0)
		return false;
	return (st.st_mode & S_ISVTX) == 0 || (owner != 0 &&
	    owner != geteuid());
}

/* Where it really is. */
static bool
file_trust_is_replaceable_there(int fd, uid_t owner)
{
	char link[64];
	char path[PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	return file_trust_is_replaceable(path, owner);
}

enum file_trust
file_trust(int fd, const char *path)
{
	struct statvfs fs;
	struct stat st, name;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return FILE_TRUST_PRIVATE;
	if (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0)
		return (st.st_mode & S_IROTH) != 0 ? FILE_TRUST_SHOWN :
		    FILE_TRUST_PRIVATE;
	if ((st.st_mode & S_IWOTH) != 0)
		return FILE_TRUST_WRITABLE;
	if (file_trust_is_replaceable_there(fd, st.st_uid) ||
	    (lstat(path, &name) == 0 &&
	    file_trust_is_replaceable(path, name.st_uid)))
		return FILE_TRUST_REPLACEABLE;
	return (st.st_mode & S_IROTH) != 0 ? FILE_TRUST_READABLE :
	    FILE_TRUST_PRIVATE;
}

const char *
file_trust_advice(enum file_trust trust)
{
	switch (trust) {
	case FILE_TRUST_WRITABLE:
		return "everybody can write it; run chmod o-w";
	case FILE_TRUST_REPLACEABLE:
		return "everybody can replace it; run chmod o-w (or +t, if it "
		       "is root's) on its directory";
	default:
		return NULL;
	}
}
