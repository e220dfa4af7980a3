/*
 * The file of a journal. See journal_file.h.
 *
 *     head | journal
 */
#include <config.h>	/* the build's */

#include "daemon/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ignored.h"
#include "daemon/journal_death.h"
#include "ddblock.h"

#define FILE_MAGIC UINT64_C(0x656c69666b626464)	/* ddbkfile */
#define FILE_VERSION 1
#define FILE_SIZE_MIN (256 * 1024)
/* It grows by itself, but by no more than this: all clients wait meanwhile. */
#define FILE_GROWTH_MAX (1024 * 1024)
#define FILE_SUFFIX ".new"
#define FILE_TRIES 10
#define FILE_BOOT_ID "/proc/sys/kernel/random/boot_id"
#define FILE_BOOT_ID_LENGTH 36

struct journal_file_head {
	uint64_t magic;
	uint32_t version;
	uint32_t deaths;	/* in a row (journal_death.h) */
	uint64_t boot_ms;	/* it was written until then, at the least */
	char boot_id[FILE_BOOT_ID_LENGTH];
	uint32_t spare;
};

_Static_assert(sizeof(struct journal_file_head) == 64, "entries are aligned");

struct journal_file {
	const char *path;
	char *new_path;
	int fd;		/* locked */
	struct journal_file_head *head;	/* of the mapping */
	size_t size;
	struct journal journal;
	bool settled;
	int old_fd;	/* of what was left, locked; -1: nothing was */
	struct journal_file_head *old_head;	/* mapped; or NULL */
	void *old;	/* all of it, mapped to be read; or NULL */
	size_t old_size;
};

static int
file_fail(char *text, size_t size, const char *path, const char *what,
    int error)
{
	(void)snprintf(text, size, "%s: %s: %s", path, what, strerror(error));
	return error == ENOMEM ? DDBLOCK_E_NOMEM : DDBLOCK_E_SYSTEM;
}

static int
file_refuse(char *text, size_t size, const char *path, const char *what)
{
	(void)snprintf(text, size, "%s: %s", path, what);
	return DDBLOCK_E_SYSTEM;
}

/* ---- opening ----------------------------------------------------------- */

/* Is it a file that only we write? */
static int
file_judge_owner(const char *path, int fd, struct stat *ret, char *text,
    size_t size)
{
	if (fstat(fd, ret) < 0)
		return file_fail(text, size, path, "cannot look at it", errno);
	if (!S_ISREG(ret->st_mode))
		return file_refuse(text, size, path, "it is no regular file; "
		    "remove it, or set journal to another path");
	if (ret->st_uid != geteuid() || ret->st_nlink != 1 ||
	    (ret->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return file_refuse(text, size, path, "it is another user's, or "
		    "others may write it, or it has another name, too; remove "
		    "it, or set journal to a path that only this user can "
		    "write");
	return 0;
}

/* Open, judge and lock it; -1 in @ret_fd and 0: it is not there. */
static int
file_lock(const char *path, int flags, int *ret_fd, char *text, size_t size)
{
	struct stat opened, named;
	int fd, r;

	*ret_fd = -1;
	for (int i = 0; i < FILE_TRIES; i++) {
		fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
		    O_NOCTTY | flags, S_IRUSR | S_IWUSR);
		if (fd < 0 && errno == ENOENT && (flags & O_CREAT) == 0)
			return 0;
		if (fd < 0 && errno == ELOOP)
			return file_refuse(text, size, path,
			    "it is a symbolic link; remove it");
		if (fd < 0)
			return file_fail(text, size, path, "cannot open it",
			    errno);
		r = file_judge_owner(path, fd, &opened, text, size);
		if (r == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
			r = file_refuse(text, size, path, errno == EWOULDBLOCK ?
			    "another daemon has it; set journal to a path of "
			    "this one's own" : "cannot lock it");
		if (r < 0) {
			(void)close(fd);
			return r;
		}
		/* Is it still there, or did its locker replace it? */
		if (lstat(path, &named) == 0 &&
		    named.st_ino == opened.st_ino &&
		    named.st_dev == opened.st_dev) {
			*ret_fd = fd;
			return 0;
		}
		(void)close(fd);
	}
	return file_refuse(text, size, path, "it changes all the time");
}

/* Is this descriptor of the file with that name? */
static int
file_judge_name(const char *path, int fd, char *text, size_t size)
{
	struct stat opened, named;

	if (fstat(fd, &opened) < 0 || lstat(path, &named) < 0)
		return file_fail(text, size, path, "cannot look at it", errno);
	return named.st_ino == opened.st_ino &&
	    named.st_dev == opened.st_dev ?
	    file_judge_owner(path, fd, &opened, text, size) :
	    file_refuse(text, size, path, "the other daemon has another "
	    "file; set journal to that");
}

static int
file_boot_id(char ret[FILE_BOOT_ID_LENGTH], char *text, size_t size)
{
	int fd = open(FILE_BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, FILE_BOOT_ID_LENGTH);

	if (fd >= 0)
		(void)close(fd);
	if (n != FILE_BOOT_ID_LENGTH)
		return file_refuse(text, size, FILE_BOOT_ID, "cannot read the "
		    "boot's id, without which no journal counts");
	return 0;
}

/* Room for @size bytes that is really there, and mapped. */
static int
file_map(struct journal_file *f, size_t want, char *text, size_t size)
{
	const char *path = f->settled ? f->path : f->new_path;
	void *memory;
	int error;

	do
		error = posix_fallocate(f->fd, (off_t)f->size,
		    (off_t)(want - f->size));
	while (error == EINTR);
	if (error != 0)
		return file_fail(text, size, path, "there is no room for it",
		    error);
	memory = f->head == NULL ? mmap(NULL, want, PROT_READ | PROT_WRITE,
	    MAP_SHARED, f->fd, 0) : mremap(f->head, f->size, want,
	    MREMAP_MAYMOVE);
	if (memory == MAP_FAILED)
		return file_fail(text, size, path, "cannot map it", errno);
	/* On a disk the first write to a page would read megabytes ahead. */
	(void)madvise(memory, want, MADV_RANDOM);
	f->head = memory;
	f->size = want;
	journal_death_watch(&f->head->deaths,
	    f->old_head == NULL ? NULL : &f->old_head->deaths);
	return 0;
}

/* ---- what was left ----------------------------------------------------- */

/* Its writer is dead, and who else may write it is this user: it is not copied,
 * which a restart would wait for. */
static int
file_map_old(struct journal_file *f, char *text, size_t size)
{
	void *memory = mmap(NULL, f->old_size, PROT_READ,
	    MAP_PRIVATE | MAP_POPULATE, f->old_fd, 0);

	if (memory == MAP_FAILED)
		return file_fail(text, size, f->path, "cannot read it", errno);
	f->old = memory;
	return 0;
}

static enum journal_left
file_say(char *text, size_t size, const char *path, const char *what)
{
	(void)snprintf(text, size, "%s: %s", path, what);
	return JOURNAL_LEFT_BAD;
}

static enum journal_left
file_judge_head(const struct journal_file *f,
    const struct journal_file_head *head, const char *boot_id, char *text,
    size_t size)
{
	if (head->magic != FILE_MAGIC)
		return file_say(text, size, f->path, "it is no journal, or "
		    "damaged");
	if (head->version != FILE_VERSION) {
		(void)snprintf(text, size, "%s: it is of another version of "
		    "ddblockd (%" PRIu32 ")", f->path, head->version);
		return JOURNAL_LEFT_BAD;
	}
	if (memcmp(head->boot_id, boot_id, FILE_BOOT_ID_LENGTH) != 0) {
		(void)file_say(text, size, f->path, "it is of another boot");
		return JOURNAL_LEFT_OLD;
	}
	if (head->boot_ms > clock_boot_ms())
		return file_say(text, size, f->path, "it is of a later time "
		    "than this: a copy, or the machine was restored");
	if (head->deaths >= JOURNAL_DEATHS_MAX)
		return file_say(text, size, f->path, "two daemons in a row "
		    "died by a defect of theirs after they had read it");
	return JOURNAL_LEFT_GOOD;
}

static enum journal_left
file_judge(const struct journal_file *f, const char *boot_id, char *text,
    size_t size)
{
	const struct journal_file_head *head = f->old;
	enum journal_left left =
	    file_judge_head(f, head, boot_id, text, size);

	if (left != JOURNAL_LEFT_GOOD)
		return left;
	switch (journal_state(head + 1, f->old_size - sizeof(*head))) {
	case JOURNAL_GOOD:
		return JOURNAL_LEFT_GOOD;
	case JOURNAL_EMPTY:
		return JOURNAL_LEFT_NOTHING;
	case JOURNAL_OTHER_VERSION:
		(void)snprintf(text, size, "%s: its entries are of another "
		    "version of ddblockd (%" PRIu32 ")", f->path,
		    journal_version(head + 1, f->old_size - sizeof(*head)));
		return JOURNAL_LEFT_BAD;
	case JOURNAL_DAMAGED:
	default:
		return file_say(text, size, f->path, "it is damaged");
	}
}

/* It was written under its name, or is not the whole file. */
static enum journal_left
file_read(struct journal_file *f, const char *boot_id, char *text, size_t size)
{
	enum journal_left left;
	struct stat st;
	void *memory;

	if (fstat(f->old_fd, &st) < 0 || st.st_size <
	    (off_t)(sizeof(struct journal_file_head) + JOURNAL_SIZE_MIN))
		return file_say(text, size, f->path, "it is truncated");
	if (st.st_size > (off_t)JOURNAL_SIZE_MAX)
		return file_say(text, size, f->path, "it is damaged");
	f->old_size = (size_t)st.st_size;
	if (file_map_old(f, text, size) < 0)
		return JOURNAL_LEFT_BAD;
	left = file_judge(f, boot_id, text, size);
	if (left != JOURNAL_LEFT_GOOD)
		return left;
	memory = mmap(NULL, sizeof(struct journal_file_head),
	    PROT_READ | PROT_WRITE, MAP_SHARED, f->old_fd, 0);
	if (memory != MAP_FAILED)
		f->old_head = memory;
	return left;
}

/* Nobody is to find it again. */
static void
file_discard(const char *path, int fd)
{
	(void)unlink(path);
	ignored(ftruncate(fd, 0));
}

static void
file_forget_old(struct journal_file *f)
{
	if (f->old_head != NULL)
		(void)munmap(f->old_head, sizeof(*f->old_head));
	if (f->old_fd >= 0)
		(void)close(f->old_fd);
	if (f->old != NULL)
		(void)munmap(f->old, f->old_size);
	f->old_head = NULL;
	f->old_fd = -1;
	f->old = NULL;
}

/* ---- its life ---------------------------------------------------------- */

static int
file_begin(struct journal_file *f, const char *boot_id, char *text,
    size_t size)
{
	uint32_t deaths = f->old_head == NULL ? 0 : f->old_head->deaths;
	int r;

	/* One that a dead daemon left half done. */
	if (ftruncate(f->fd, 0) < 0)
		return file_fail(text, size, f->new_path, "cannot empty it",
		    errno);
	r = file_map(f, FILE_SIZE_MIN, text, size);
	if (r < 0)
		return r;
	*f->head = (struct journal_file_head){
		.magic = FILE_MAGIC, .version = FILE_VERSION,
		.deaths = deaths, .boot_ms = clock_boot_ms(),
	};
	memcpy(f->head->boot_id, boot_id, FILE_BOOT_ID_LENGTH);
	journal_format(&f->journal, f->head + 1, f->size - sizeof(*f->head));
	return 0;
}

static int
file_open(struct journal_file *f, enum journal_left *ret_left, char *text,
    size_t size)
{
	char boot_id[FILE_BOOT_ID_LENGTH];
	int r = file_boot_id(boot_id, text, size);

	/* In this order: who has the new one is the only one who may give it
	 * the name. */
	if (r == 0)
		r = file_lock(f->new_path, O_CREAT, &f->fd, text, size);
	if (r == 0)
		r = f->old_fd >= 0 ?
		    file_judge_name(f->path, f->old_fd, text, size) :
		    file_lock(f->path, 0, &f->old_fd, text, size);
	if (r < 0)
		return r;
	*ret_left = f->old_fd < 0 ? JOURNAL_LEFT_NOTHING :
	    file_read(f, boot_id, text, size);
	r = file_begin(f, boot_id, text, size);
	/* What nobody goes on from is not for the next one either. */
	if (f->old_fd >= 0 && (r < 0 || *ret_left != JOURNAL_LEFT_GOOD))
		file_discard(f->path, f->old_fd);
	return r;
}

int
journal_file_new(const char *path, int fd, struct journal_file **ret,
    enum journal_left *ret_left, char *text, size_t size)
{
	struct journal_file *f = calloc(1, sizeof(*f));
	int r;

	*ret_left = JOURNAL_LEFT_NOTHING;
	if (f == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return file_fail(text, size, path, "cannot begin it", ENOMEM);
	}
	f->path = path;
	f->fd = -1;
	f->old_fd = fd;
	if (asprintf(&f->new_path, "%s" FILE_SUFFIX, path) < 0) {
		f->new_path = NULL;
		r = file_fail(text, size, path, "cannot begin it", ENOMEM);
	} else {
		r = file_open(f, ret_left, text, size);
	}
	if (r < 0) {
		journal_file_free(f, false);
		return r;
	}
	*ret = f;
	return 0;
}

int
journal_file_look(const char *path, int fd, struct journal_file **ret,
    char *text, size_t size)
{
	struct journal_file *f = calloc(1, sizeof(*f));
	char boot_id[FILE_BOOT_ID_LENGTH];
	int r;

	if (f == NULL)
		return file_fail(text, size, path, "cannot read it", ENOMEM);
	f->path = path;
	f->fd = -1;
	f->old_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	r = f->old_fd < 0 ? file_fail(text, size, path, "cannot read it",
	    errno) : file_judge_name(path, fd, text, size);
	if (r == 0)
		r = file_boot_id(boot_id, text, size);
	if (r == 0 && file_read(f, boot_id, text, size) != JOURNAL_LEFT_GOOD)
		r = DDBLOCK_E_SYSTEM;
	if (r < 0)
		journal_file_free(f, true);
	else
		*ret = f;
	return r;
}

const void *
journal_file_legacy(const struct journal_file *f, size_t *ret_size)
{
	*ret_size = f->old_size - sizeof(struct journal_file_head);
	return (const struct journal_file_head *)f->old + 1;
}

struct journal *
journal_file_journal(struct journal_file *f)
{
	return &f->journal;
}

int
journal_file_descriptor(const struct journal_file *f)
{
	return f->settled ? f->fd : -1;
}

int
journal_file_grow(struct journal_file *f, char *text, size_t size)
{
	size_t more = f->size < FILE_GROWTH_MAX ? f->size : FILE_GROWTH_MAX;
	int r;

	if (f->size + more > JOURNAL_SIZE_MAX)
		return file_refuse(text, size, f->path, "it is full");
	r = file_map(f, f->size + more, text, size);
	if (r < 0)
		return r;
	journal_move(&f->journal, f->head + 1, f->size - sizeof(*f->head));
	return 0;
}

int
journal_file_settle(struct journal_file *f, char *text, size_t size)
{
	if (f->settled)
		return 0;
	if (rename(f->new_path, f->path) < 0)
		return file_fail(text, size, f->path, "cannot replace it",
		    errno);
	f->settled = true;
	journal_death_watch(&f->head->deaths, NULL);
	file_forget_old(f);
	return 0;
}

void
journal_file_touch(struct journal_file *f, uint64_t now_ms)
{
	f->head->boot_ms = now_ms;
}

void
journal_file_forgive(struct journal_file *f)
{
	f->head->deaths = 0;
}

void
journal_file_free(struct journal_file *f, bool keep)
{
	if (f == NULL)
		return;
	journal_death_watch(NULL, NULL);
	if (f->head != NULL)
		(void)munmap(f->head, f->size);
	/* The name is ours as long as the lock is. */
	if (f->fd >= 0 && !(keep && f->settled))
		file_discard(f->settled ? f->path : f->new_path, f->fd);
	if (f->fd >= 0)
		(void)close(f->fd);
	if (f->old_fd >= 0 && !keep)
		file_discard(f->path, f->old_fd);
	file_forget_old(f);
	free(f->new_path);
	free(f);
}
