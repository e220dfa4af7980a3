/*
 * The embedded store looked at from outside.
 *
 * A write of ours needs room for the pages that it changes, twice, and for the
 * log to grow until it is copied: below that, locks can still be released but
 * not granted.
 */
#include "store/sqlite_check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "common/finding.h"

#define CHECK_FREE_LOW_BYTES (UINT64_C(256) * 1024 * 1024)
#define CHECK_FREE_NONE_BYTES (UINT64_C(1) * 1024 * 1024)
#define CHECK_FREE_LOW_FILES 100

void
sqlite_check_look(const char *path, struct sqlite_facts *ret)
{
	struct statvfs disk;
	struct stat file;

	*ret = (struct sqlite_facts){ .file_error = 0 };
	if (stat(path, &file) < 0) {
		ret->file_error = errno;
	} else {
		ret->file_bytes = (uint64_t)file.st_size;
		ret->file_mode = (uint32_t)(file.st_mode & 07777);
		ret->file_uid = (uint32_t)file.st_uid;
	}
	if (statvfs(path, &disk) < 0) {
		ret->disk_error = errno;
		return;
	}
	ret->disk_bytes = (uint64_t)disk.f_blocks * disk.f_frsize;
	ret->disk_free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	ret->disk_counts_files = disk.f_files > 0;
	ret->disk_free_files = (uint64_t)disk.f_favail;
	ret->disk_read_only = (disk.f_flag & ST_RDONLY) != 0;
}

static void
check_tell_file(const char *path, const struct sqlite_facts *a,
    uint32_t own_uid, struct finding *f)
{
	if (a->file_error != 0) {
		finding_set(f, "file", FINDING_ERROR, "%.400s: %s", path,
		    strerror(a->file_error));
		finding_advise(f, "find out why it is gone; the daemon makes a "
		    "new one when it starts");
		return;
	}
	finding_set(f, "file", FINDING_OK, "%.400s: %" PRIu64 " bytes, mode "
	    "%04" PRIo32 ", of uid %" PRIu32, path, a->file_bytes,
	    a->file_mode, a->file_uid);
	if ((a->file_mode & 022) == 0 && a->file_uid == own_uid)
		return;
	f->state = FINDING_WARNING;
	finding_advise(f, "a user who may write it may take any lock: give it "
	    "to uid %" PRIu32 ", with mode 0600", own_uid);
}

static void
check_tell_disk(const struct sqlite_facts *a, struct finding *f)
{
	if (a->disk_error != 0) {
		finding_set(f, "disk", FINDING_WARNING,
		    "how full the disk is cannot be seen: %s",
		    strerror(a->disk_error));
		return;
	}
	finding_set(f, "disk", FINDING_OK, "%" PRIu64 " MB free of %" PRIu64,
	    a->disk_free_bytes >> 20, a->disk_bytes >> 20);
	if (a->disk_read_only) {
		finding_set(f, "disk", FINDING_ERROR,
		    "its file system is mounted read-only");
		finding_advise(f, "mount it writable, or name another file; "
		    "the kernel does this after errors of the disk, too");
		return;
	}
	if (a->disk_free_bytes < CHECK_FREE_NONE_BYTES ||
	    (a->disk_counts_files && a->disk_free_files == 0))
		f->state = FINDING_ERROR;
	else if (a->disk_free_bytes < CHECK_FREE_LOW_BYTES ||
	    (a->disk_counts_files &&
	    a->disk_free_files < CHECK_FREE_LOW_FILES))
		f->state = FINDING_WARNING;
	if (f->state != FINDING_OK)
		finding_advise(f, "make room on that disk; without it no lock "
		    "is granted any more");
}

void
sqlite_check_tell(const char *path, const struct sqlite_facts *a,
    uint32_t own_uid, int code, const char *text, store_finding_fn found,
    void *arg)
{
	struct finding f;

	finding_set(&f, "configuration", FINDING_OK,
	    "SQLite, whose locks exclude the programs of this host only");
	found(arg, &f);
	check_tell_file(path, a, own_uid, &f);
	found(arg, &f);
	if (a->file_error == 0) {
		check_tell_disk(a, &f);
		found(arg, &f);
	}
	finding_set(&f, "integrity", code == 0 ? FINDING_OK : FINDING_ERROR,
	    "%.700s", text);
	found(arg, &f);
}
