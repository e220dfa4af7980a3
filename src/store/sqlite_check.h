/*
 * The embedded store looked at from outside: its file, and the disk that it is
 * on. The worker's facts, and their meaning.
 */
#ifndef DDBLOCKD_STORE_SQLITE_CHECK_H
#define DDBLOCKD_STORE_SQLITE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

/* What there is. */
struct sqlite_facts {
	int file_error;		/* errno; 0: the next three are known */
	uint64_t file_bytes;
	uint32_t file_mode;	/* the permissions only */
	uint32_t file_uid;
	int disk_error;		/* the same */
	uint64_t disk_bytes;
	uint64_t disk_free_bytes;	/* that we may use */
	uint64_t disk_free_files;
	bool disk_counts_files;	/* some have no such limit */
	bool disk_read_only;
};

/* May wait for the disk. */
void sqlite_check_look(const char *path, struct sqlite_facts *ret);

/*
 * Tell @found what it means. @code and @text are those of reading the file
 * through: 0, or what was wrong with it.
 */
void sqlite_check_tell(const char *path, const struct sqlite_facts *,
    uint32_t own_uid, int code, const char *text, store_finding_fn found,
    void *arg);

#endif
