/*
 * A disk under SQLite that hangs, is full, or fails to flush: a VFS that passes
 * every call to the real one, and allocates the real file behind its own.
 */
#include "sqlite_shim.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

struct shim_file {
	sqlite3_file file;	/* first: this is one */
	sqlite3_file *real;
};

static pthread_mutex_t shim_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t shim_wake = PTHREAD_COND_INITIALIZER;
static bool shim_hang;
static unsigned shim_waiting;
static unsigned shim_syncs;
static int shim_write_rc;
static int shim_sync_rc;
static sqlite3_vfs *shim_real;
static sqlite3_vfs shim_vfs;

static sqlite3_file *
shim_of(sqlite3_file *file)
{
	return ((struct shim_file *)file)->real;
}

static int
shim_close(sqlite3_file *f)
{
	return shim_of(f)->pMethods->xClose(shim_of(f));
}

static int
shim_read(sqlite3_file *f, void *bytes, int n, sqlite3_int64 at)
{
	return shim_of(f)->pMethods->xRead(shim_of(f), bytes, n, at);
}

static int
shim_write(sqlite3_file *f, const void *bytes, int n, sqlite3_int64 at)
{
	int rc;

	(void)pthread_mutex_lock(&shim_lock);
	rc = shim_write_rc;
	(void)pthread_mutex_unlock(&shim_lock);
	if (rc != SQLITE_OK)
		return rc;
	return shim_of(f)->pMethods->xWrite(shim_of(f), bytes, n, at);
}

static int
shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return shim_of(f)->pMethods->xTruncate(shim_of(f), size);
}

static int
shim_sync(sqlite3_file *f, int flags)
{
	int rc;

	(void)pthread_mutex_lock(&shim_lock);
	shim_waiting++;
	while (shim_hang)
		(void)pthread_cond_wait(&shim_wake, &shim_lock);
	shim_waiting--;
	shim_syncs++;
	rc = shim_sync_rc;
	(void)pthread_mutex_unlock(&shim_lock);
	if (rc != SQLITE_OK)
		return rc;
	return shim_of(f)->pMethods->xSync(shim_of(f), flags);
}

static int
shim_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	return shim_of(f)->pMethods->xFileSize(shim_of(f), ret);
}

static int
shim_take(sqlite3_file *f, int level)
{
	return shim_of(f)->pMethods->xLock(shim_of(f), level);
}

static int
shim_give(sqlite3_file *f, int level)
{
	return shim_of(f)->pMethods->xUnlock(shim_of(f), level);
}

static int
shim_check(sqlite3_file *f, int *ret)
{
	return shim_of(f)->pMethods->xCheckReservedLock(shim_of(f), ret);
}

static int
shim_control(sqlite3_file *f, int what, void *arg)
{
	return shim_of(f)->pMethods->xFileControl(shim_of(f), what, arg);
}

static int
shim_sector(sqlite3_file *f)
{
	return shim_of(f)->pMethods->xSectorSize(shim_of(f));
}

static int
shim_traits(sqlite3_file *f)
{
	return shim_of(f)->pMethods->xDeviceCharacteristics(shim_of(f));
}

/* Version 1: without shared memory, which the store does not use. */
static const sqlite3_io_methods shim_methods = {
	.iVersion = 1,
	.xClose = shim_close,
	.xRead = shim_read,
	.xWrite = shim_write,
	.xTruncate = shim_truncate,
	.xSync = shim_sync,
	.xFileSize = shim_size,
	.xLock = shim_take,
	.xUnlock = shim_give,
	.xCheckReservedLock = shim_check,
	.xFileControl = shim_control,
	.xSectorSize = shim_sector,
	.xDeviceCharacteristics = shim_traits,
};

static int
shim_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags,
    int *ret_flags)
{
	struct shim_file *s = (struct shim_file *)f;
	int rc;

	(void)vfs;
	s->real = (sqlite3_file *)(s + 1);
	s->file.pMethods = NULL;
	rc = shim_real->xOpen(shim_real, name, s->real, flags, ret_flags);
	if (s->real->pMethods != NULL)
		s->file.pMethods = &shim_methods;
	return rc;
}

void
sqlite_shim_install(void)
{
	shim_real = sqlite3_vfs_find(NULL);
	shim_vfs = *shim_real;
	shim_vfs.pNext = NULL;
	shim_vfs.zName = "shim";
	shim_vfs.szOsFile = shim_real->szOsFile +
	    (int)sizeof(struct shim_file);
	shim_vfs.xOpen = shim_open;
	(void)sqlite3_vfs_register(&shim_vfs, 1);
}

void
sqlite_shim_hang(bool hang)
{
	(void)pthread_mutex_lock(&shim_lock);
	shim_hang = hang;
	(void)pthread_cond_broadcast(&shim_wake);
	(void)pthread_mutex_unlock(&shim_lock);
}

bool
sqlite_shim_hangs(void)
{
	bool waiting;

	(void)pthread_mutex_lock(&shim_lock);
	waiting = shim_hang && shim_waiting > 0;
	(void)pthread_mutex_unlock(&shim_lock);
	return waiting;
}

void
sqlite_shim_fail_write(int rc)
{
	(void)pthread_mutex_lock(&shim_lock);
	shim_write_rc = rc;
	(void)pthread_mutex_unlock(&shim_lock);
}

void
sqlite_shim_fail_sync(int rc)
{
	(void)pthread_mutex_lock(&shim_lock);
	shim_sync_rc = rc;
	(void)pthread_mutex_unlock(&shim_lock);
}

unsigned
sqlite_shim_syncs(void)
{
	unsigned syncs;

	(void)pthread_mutex_lock(&shim_lock);
	syncs = shim_syncs;
	(void)pthread_mutex_unlock(&shim_lock);
	return syncs;
}
