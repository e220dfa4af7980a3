/*
 * The file of a journal (common/journal.h): what a daemon leaves to the one
 * that is started after it on the same boot.
 *
 *  1. One daemon has it at a time: it is locked before it is read.
 *  2. What is there is only read, and a new file is written beside it,
 *     which takes its name when all is in it. A death at any moment leaves one
 *     of the two, whole.
 *  3. It has its room on the disk before it is written: a full one is an
 *     error, and no signal.
 *  4. What cannot be believed is as if it were not there, and what is not used
 *     is gone: a later daemon never finds an older state than the last one.
 *
 * It also counts the deaths that a journal may be the reason of
 * (journal_death.h).
 */
#ifndef DDBLOCKD_DAEMON_JOURNAL_FILE_H
#define DDBLOCKD_DAEMON_JOURNAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/journal.h"

struct journal_file;

/* What the daemon before this one left. */
enum journal_left {
	JOURNAL_LEFT_NOTHING = 1,
	JOURNAL_LEFT_GOOD,
	JOURNAL_LEFT_OLD,	/* of another boot, which is no surprise */
	JOURNAL_LEFT_BAD,
};

/*
 * Is what is left there, with a daemon that is about to hand it over, good for
 * this one? @fd is its file. journal_file_legacy() shows it, and nothing else
 * may be asked of it; @text as below.
 *
 * DDBLOCK_E_SYSTEM, DDBLOCK_E_NOMEM
 */
int journal_file_look(const char *path, int fd, struct journal_file **ret,
    char *text, size_t size);

/*
 * Lock and read what is at @path, and begin an empty one beside it. Borrows
 * @path. @fd is the one at @path, locked, which is taken; or -1.
 * @text (at least 512 bytes) says what is wrong: of what was left, or
 * why there is none, and what to do.
 *
 * DDBLOCK_E_SYSTEM, DDBLOCK_E_NOMEM
 */
int journal_file_new(const char *path, int fd, struct journal_file **ret,
    enum journal_left *ret_left, char *text, size_t size);

/* Of JOURNAL_LEFT_GOOD: valid until journal_file_settle(). */
const void *journal_file_legacy(const struct journal_file *, size_t *ret_size);

struct journal *journal_file_journal(struct journal_file *);

/* Of the file at its name, locked; -1: it has none yet. */
int journal_file_descriptor(const struct journal_file *);

/* Twice the room. As journal_file_new(). */
int journal_file_grow(struct journal_file *, char *text, size_t size);

/* All is in it: it takes the place of what was left. Once more is nothing. As
 * journal_file_new(). */
int journal_file_settle(struct journal_file *, char *text, size_t size);

/* Call it now and then: how far this boot's time has come, at the least. */
void journal_file_touch(struct journal_file *, uint64_t now_ms);

/* The daemon has shown that it can live with what it inherited. */
void journal_file_forgive(struct journal_file *);

/* @keep: for the next daemon. Accepts NULL. */
void journal_file_free(struct journal_file *, bool keep);

#endif
