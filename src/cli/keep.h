/*
 * What is to be kept in a lock: options of the commands that acquire one.
 */
#ifndef DDBLOCKD_CLI_KEEP_H
#define DDBLOCKD_CLI_KEEP_H

#include "cli/cli.h"

#define KEEP_ATTRIBUTES_MAX 32

struct keep {
	struct ddblock_change change;
	struct ddblock_attribute attributes[KEEP_ATTRIBUTES_MAX];
	bool only_if_exists;
	bool clear;		/* --keep=no */
	bool spare_data;	/* --replace-data=no */
	bool spare_said;
};

#define KEEP_OPTION_DATA 1201
#define KEEP_OPTION_REPLACE_DATA 1202
#define KEEP_OPTION_ATTR 1203
#define KEEP_OPTION_KEEP 1204
#define KEEP_OPTION_ONLY_IF_EXISTS 1205
#define KEEP_OPTIONS \
	{ "data", required_argument, NULL, KEEP_OPTION_DATA }, \
	{ "replace-data", required_argument, NULL, KEEP_OPTION_REPLACE_DATA }, \
	{ "attr", required_argument, NULL, KEEP_OPTION_ATTR }, \
	{ "keep", required_argument, NULL, KEEP_OPTION_KEEP }, \
	{ "only-if-exists", no_argument, NULL, KEEP_OPTION_ONLY_IF_EXISTS }

/* Take note of one of them. False: it is none, or its value makes no sense. */
bool keep_option(struct keep *, int option);

/* Do they go together? NULL, or the complaint. */
const char *keep_complaint(const struct keep *);

/* As terms of an acquire; @keep must live until it is sent. */
void keep_ask(struct keep *, struct ddblock_acquire_options *);

/* Put what was found in the lock into the environment, as DDBLOCK_DATA. */
int keep_set_environment(const struct ddblock_row *found);

#endif
