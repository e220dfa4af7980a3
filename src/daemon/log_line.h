/*
 * A line of the log with many fields, while it is made.
 */
#ifndef DDBLOCKD_DAEMON_LOG_LINE_H
#define DDBLOCKD_DAEMON_LOG_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "common/log.h"
#include "common/trail_kind.h"
#include "core/key.h"
#include "ipc/server.h"

#define LOG_LINE_PART_MAX 200		/* bytes of a key in a text */
#define LOG_LINE_NAME_MAX (2 * LOG_LINE_PART_MAX + 8)

/* What a lock is called in the log. */
struct log_line_lock {
	char key[KEY_BYTES_MAX + 1];
	const char *sort;	/* NULL: none */
	/* "KEY", or "KEY" "SORT", cut, to leave room for what is said of it. */
	char name[LOG_LINE_NAME_MAX];
};

/* A zeroed one is empty. What its fields say is borrowed. */
struct log_line {
	struct log_field fields[LOG_FIELDS_MAX];
	char numbers[LOG_FIELDS_MAX][24];
	size_t n_fields;
};

/* NULL: the line has no such field. */
void log_line_text(struct log_line *, const char *name, const char *value);
void log_line_number(struct log_line *, const char *name, uint64_t value);

/* It belongs to the audit trail, and the journal's catalog explains it. */
void log_line_trail(struct log_line *, enum trail_kind);

/* @lock is filled in, and borrowed. */
void log_line_lock(struct log_line *, struct key, struct log_line_lock *lock);

/*
 * Who a client is. All that the log says of a client's process is said here: a
 * further fact of struct server_client is to be added here, and in no other
 * place. NULL: it has left, and only its number is known.
 */
void log_line_client(struct log_line *, uint64_t client,
    const struct server_client *);

/* "NAME (pid 7, uid 1000)", or "client 7, which has left". */
#define LOG_LINE_WHO_MAX 256
const char *log_line_who(uint64_t client, const struct server_client *,
    char ret[LOG_LINE_WHO_MAX]);

/* For the limits of the log: the uid, or LOG_NO_USER. */
int64_t log_line_user(const struct server_client *);

#endif
