/*
 * Reading the configuration again: what of it can change while the daemon runs
 * does, and the rest is named and stays. Which is which says the table of
 * settings (config_table.c).
 */
#ifndef DDBLOCKD_DAEMON_CONFIG_RELOAD_H
#define DDBLOCKD_DAEMON_CONFIG_RELOAD_H

#include "daemon/config.h"

/* Where a configuration is read from. */
struct reload_source {
	/* The files and flags, without config_finish(). As config_read(). */
	int (*read)(void *arg, struct config *);
	void *arg;
	const char *name;	/* of the file, for messages; NULL: none */
};

/*
 * What @old becomes: the settings that can change as they are read now, the
 * others as they were. Namespaces keep their places; new ones come after them,
 * and one that is gone stays and is @removed. @report gets a line for each
 * setting that changes only with the next start.
 *
 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_SYSTEM
 *     It is not valid, or not with what does not change: @report says why.
 * DDBLOCK_E_NOMEM
 */
int reload_read(const struct config *old, const struct reload_source *,
    struct buffer *report, struct config **ret);

#endif
