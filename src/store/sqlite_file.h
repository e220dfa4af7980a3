/*
 * The embedded store's file: opened by one daemon at a time, in the schema
 * that this version knows, and what SQLite's errors mean for people.
 */
#ifndef DDBLOCKD_STORE_SQLITE_FILE_H
#define DDBLOCKD_STORE_SQLITE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;

/* "ddlk": tells our files from those of other programs. */
#define SQLITE_FILE_APPLICATION_ID 0x64646c6b
#define SQLITE_FILE_VERSION 1

struct sqlite_file {
	char *path;
	struct sqlite3 *db;
	int lock_fd;
	uint64_t token_floor;	/* see sqlite_records.c */
};

/*
 * Open, create unless @must_exist, and write once, so that a disk which
 * cannot be written to shows now. The errors are those of store_sqlite_new().
 */
int sqlite_file_open(const char *path, bool must_exist, uint64_t wall_s,
    struct sqlite_file *ret, char *text, size_t text_size);

/* Accepts one that is half open or all zero. */
void sqlite_file_close(struct sqlite_file *);

/* Run SQL that returns nothing of interest. An SQLite result code. */
int sqlite_file_run(struct sqlite3 *, const char *sql);

/* The first column of the first row. An SQLite result code. */
int sqlite_file_number(struct sqlite3 *, const char *sql, int64_t *ret);

/*
 * What result code @rc, with which the last call on @db failed, means: a
 * DDBLOCK_E_*, and @text for people.
 */
int sqlite_file_explain(struct sqlite3 *db, int rc, const char *path,
    char *text, size_t text_size);

#endif
