/*
 * The contents of a lock: options of the commands that acquire it.
 */
#ifndef DDBLOCKD_CLI_ACQUIRE_CONTENTS_H
#define DDBLOCKD_CLI_ACQUIRE_CONTENTS_H

#include "cli/base/options.h"

#define CONTENTS_ATTRIBUTES_MAX 32

struct contents {
	struct ddblock_change change;
	struct ddblock_attribute attributes[CONTENTS_ATTRIBUTES_MAX];
	bool only_if_exists;
	bool clear;		/* --keep=no */
	bool spare_data;	/* --replace-data=no */
	bool replace_given;
};

/* Note such an option. False: it is another, or its value makes no sense. */
bool contents_option(struct contents *, enum cli_option);

/* Can the options be combined? NULL, or the complaint. */
const char *contents_complaint(const struct contents *);

/* As options of an acquire; @contents must live until it is sent. */
void contents_ask(struct contents *, struct ddblock_acquire_options *);

/* Put the lock's contents into the environment, as DDBLOCK_DATA. */
int contents_set_environment(const struct ddblock_row *found);

#endif
