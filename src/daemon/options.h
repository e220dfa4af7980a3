/*
 * The command line: the settings as flags, and what else ddblockd can be
 * asked to do.
 */
#ifndef DDBLOCKD_DAEMON_OPTIONS_H
#define DDBLOCKD_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/config.h"

enum options_task {
	OPTIONS_SERVE = 0,
	OPTIONS_HELP,
	OPTIONS_VERSION,
	OPTIONS_CHECK_CONFIG,
	OPTIONS_INIT_TABLE,
	OPTIONS_CHECK_TABLE,
	OPTIONS_CHECK,
	OPTIONS_REPLACE,	/* serve, in the place of another process */
};

struct options {
	enum options_task task;
	const char *config;		/* NULL: the default, if it is there */
	const char *namespace_name;	/* of the tasks; NULL: not named */
	struct options_flag *flags;	/* in their order */
	size_t n_flags;
};

/*
 * Take the command line apart. Strings are those of @argv. On failure the error
 * has been printed on stderr.
 *
 * DDBLOCK_E_BAD_REQUEST, DDBLOCK_E_NOMEM
 */
int options_parse(struct options *ret, int argc, char **argv);
void options_done(struct options *);

/* Give the flags' values to the configuration. As config_set(). */
int options_apply(const struct options *, struct config *);

void options_help(void);

#endif
