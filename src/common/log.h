/*
 * The log: the journal, with fields to search by, or one line on stderr, plain
 * or with all fields as JSON. Only the daemon and its parts that are not
 * libraries may log. Nothing here waits: messages without room are counted, and
 * the number is logged later.
 */
#ifndef DDBLOCKD_COMMON_LOG_H
#define DDBLOCKD_COMMON_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <syslog.h>

enum log_target {
	LOG_TARGET_AUTO = 0,	/* the journal if stderr leads there */
	LOG_TARGET_JOURNAL,
	LOG_TARGET_STDERR,
	LOG_TARGET_JSON,	/* on stderr, as journalctl(1) exports them */
};

/* A field of the journal: @name is upper case, such as "DDBLOCK_KEY". Fields
 * without a value (NULL) are left out. Plain lines do not show them. */
struct log_field {
	const char *name;
	const char *value;
};

#define LOG_FIELDS_MAX 20

/* Messages above @level (LOG_ERR to LOG_DEBUG of syslog(3)) are dropped. */
void log_init(enum log_target target, int level);

/*
 * Write one message; errno survives. Control characters and bytes that are
 * not UTF-8 are shown as "?", so that a client cannot forge a line or drive the
 * terminal that shows it.
 *
 * Messages of one @kind (a literal such as "lost"; NULL: no limit) are limited
 * to a number per while; how many were dropped is said when it has passed and
 * anything is logged.
 */
void log_write(int level, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * The same about what a user's programs did: each user has a limit of its own,
 * so that none silences what is said of another. There is no end of user ids:
 * beyond a number at a time, users share the limit of the @kind. @user:
 * LOG_NO_USER, or a uid.
 */
#define LOG_NO_USER (-1)
void log_write_user(int level, const char *kind, int64_t user,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

void log_write_fields(int level, const char *kind,
    const struct log_field *fields, size_t n_fields, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/*
 * For lines that take some work to make: may one of this @kind, about this
 * @user, be written now? If so it counts as written, and log_write_admitted()
 * is to follow. @burst: so many in a while.
 */
#define LOG_BURST 30		/* the other calls' */
#define LOG_BURST_TRAIL 1000	/* of what users are meant to do */
bool log_admits(int level, const char *kind, int64_t user, unsigned burst);
void log_write_admitted(int level, const char *kind,
    const struct log_field *fields, size_t n_fields, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Write an entry that was asked for by a switch of its own: no level or limit
 * keeps it back. */
void log_write_always(const struct log_field *fields, size_t n_fields,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Say what was dropped in the whiles that have passed. For now and then: each
 * message does the same. */
void log_tick(void);

/* Log the number of dropped messages now: the process is about to end. */
void log_flush(void);

#endif
