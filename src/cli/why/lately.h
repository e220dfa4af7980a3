/*
 * What the daemon did about a lock lately, by its audit trail.
 */
#ifndef DDBLOCKD_CLI_WHY_LATELY_H
#define DDBLOCKD_CLI_WHY_LATELY_H

#include "cli/base/cli.h"
#include "common/buffer.h"

/* Lines for people, of any length, or a JSON object, if @cli wants that; also
 * to say why there are none. */
void why_lately(const struct cli *, const char *key, const char *ns,
    struct buffer *ret);

#endif
