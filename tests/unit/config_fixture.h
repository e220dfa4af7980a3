/*
 * A configuration in memory, for the tests of what it says.
 */
#ifndef DDBLOCKD_TESTS_CONFIG_FIXTURE_H
#define DDBLOCKD_TESTS_CONFIG_FIXTURE_H

#include "daemon/config.h"

extern struct config *config;	/* from setup to teardown */

/* A new one, and none of the environment that it would look at. */
void config_setup(void);
void config_teardown(void);

/* Read a file of this text, "test.conf", and finish. */
int read_text(const char *text);

/* @errors is the whole of the complaints. */
void expect_error(const char *text, const char *errors);
void expect_good(const char *text);

#endif
