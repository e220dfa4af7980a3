/*
 * A configuration in memory, for the tests of its settings.
 */
#ifndef DDBLOCKD_TESTS_CONFIG_FIXTURE_H
#define DDBLOCKD_TESTS_CONFIG_FIXTURE_H

#include "daemon/config.h"

extern struct config *config;	/* from setup to teardown */

/* A new configuration, with the environment that it reads cleared. */
void config_setup(void);
void config_teardown(void);

/* Read a file of this text, "test.conf", and finish. */
int read_text(const char *text);

/* @errors is the whole of the complaints. */
void expect_error(const char *text, const char *errors);
void expect_good(const char *text);

#endif
