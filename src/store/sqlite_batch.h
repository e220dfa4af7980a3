/*
 * Many operations in one transaction of the embedded store, so that they share
 * one write to the disk.
 */
#ifndef DDBLOCKD_STORE_SQLITE_BATCH_H
#define DDBLOCKD_STORE_SQLITE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "store/sqlite_job.h"
#include "store/sqlite_records.h"

/* Rows, about. What comes meanwhile waits for the end of a transaction and then
 * of its own, whatever user has filled them. So many take a few milliseconds;
 * with fewer of them most of the time would go to flushes. Where several users
 * ask, none waits for so many of another's. */
#define SQLITE_BATCH_MAX 128
#define SQLITE_BATCH_SHARED_MAX 32

/* Carry out all of them and set their outcomes, which are final. @path is for
 * messages. */
void sqlite_batch_run(struct sqlite_records *, const char *path,
    struct sqlite_job *const *jobs, size_t n);

/* A look at the whole file, at most a second long; sets the outcome. */
void sqlite_batch_check(struct sqlite_records *, const char *path,
    struct sqlite_job *);

#endif
