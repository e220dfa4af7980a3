/*
 * ERRAND_READ and ERRAND_WRITE: a small file, on a thread, because a file may
 * be on a network, or a pipe, and then reading it takes as long as it likes.
 * The thread is never waited for: what it works on belongs to both sides, and
 * goes with the last of them.
 */
#ifndef DDBLOCKD_AWS_FILE_H
#define DDBLOCKD_AWS_FILE_H

#include "aws/errand.h"

struct event_base;
struct file;

/*
 * DDBLOCK_E_LIMIT
 *     Too many of those before still hang.
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int file_start(struct event_base *, const struct errand *, errand_done_fn,
    void *arg, struct file **ret);

/* No answer comes. Accepts NULL. */
void file_stop(struct file *);

#endif
