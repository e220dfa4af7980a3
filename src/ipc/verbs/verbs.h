/*
 * The requests of clients.
 */
#ifndef DDBLOCKD_IPC_VERBS_VERBS_H
#define DDBLOCKD_IPC_VERBS_VERBS_H

#include "ipc/connection/connection.h"

/* Run one request line. */
void verbs_run(struct connection *, struct codec_line *);

#endif
