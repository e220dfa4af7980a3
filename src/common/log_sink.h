/*
 * Where the log's lines go, without ever waiting: their reader may have
 * stopped, and the event loop must not stop with it.
 */
#ifndef DDBLOCKD_COMMON_LOG_SINK_H
#define DDBLOCKD_COMMON_LOG_SINK_H

#include <stdbool.h>
#include <stddef.h>

#define LOG_SINK_JOURNAL "/run/systemd/journal/socket"

/* One line, with its LF, of less than 4 KiB. False: there is no room now. */
bool log_sink_stderr(const char *line, size_t length);

/*
 * One entry in the journal's native form: "NAME=value\n" for each field.
 *
 * DDBLOCK_E_LIMIT
 *     There is no room now.
 * DDBLOCK_E_SYSTEM
 *     There is no journal.
 */
int log_sink_journal(const char *entry, size_t length);

/* Another journal than systemd's, for tests. Borrowed. */
void log_sink_set_journal(const char *path);

#endif
