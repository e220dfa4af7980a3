/*
 * ddblock top --once: what is known, as a text or as JSON, for a file.
 */
#ifndef DDBLOCKD_CLI_TOP_ONCE_H
#define DDBLOCKD_CLI_TOP_ONCE_H

#include <stdbool.h>

#include "cli/top/model.h"
#include "cli/top/view.h"

/* On standard output. False: out of memory. */
bool once_text(const struct view *, const struct model *);
bool once_json(const struct model *);

#endif
