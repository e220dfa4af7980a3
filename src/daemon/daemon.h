/*
 * The daemon's life: from start to the last signal.
 */
#ifndef DDBLOCKD_DAEMON_DAEMON_H
#define DDBLOCKD_DAEMON_DAEMON_H

#include "daemon/config.h"

/* Nothing of this process may show secrets when it fails, and what fails is
 * an error code, not a signal. Before anything else. */
void daemon_harden(void);

/* The exit status for @code. What is bad came from no client: it is in the
 * configuration, or in what is asked where that says nothing. */
int daemon_exit_status(int code);

struct reload_source;

/* As the log has levels: of syslog(3). */
int daemon_log_level(const struct config *);

/* Serve until told to stop; SIGHUP: read the configuration again, from
 * @source. @replace: in the place of the daemon that serves the socket now. The
 * exit status. Limits that the system does not allow are lowered. */
int daemon_run(struct config *, const struct reload_source *source,
    bool replace);

/* --init-table (@init) or --check-table. The exit status. */
int daemon_table(const struct config *, const char *namespace_name,
    bool init);

/* --check: of one namespace, or of all (NULL). The exit status. */
int daemon_check(const struct config *, const char *namespace_name);

#endif
