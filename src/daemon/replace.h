/*
 * ddblockd --replace: a new process takes the place of the daemon that serves
 * the socket, with its connections.
 *
 *  1. The new one has its configuration checked, connects and says REPLACE.
 *  2. The old one stands still, and passes its descriptors. Whatever fails now,
 *     or takes too long, it goes on as if nothing had been asked.
 *  3. The new one looks whether all that is held would be taken over, and says
 *     that it has everything.
 *  4. The old one says that it goes: it does nothing after that but end. This
 *     one line decides who is the daemon: a new one that has waited long enough
 *     can no longer be sent it.
 *  5. When the old one has ended, the new one goes on, as after a death: with
 *     the journal, and what was read and sent last.
 */
#ifndef DDBLOCKD_DAEMON_REPLACE_H
#define DDBLOCKD_DAEMON_REPLACE_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/activation.h"

#define REPLACE_TEXT_MAX 512
#define REPLACE_GIVE_MAX_MS 2000	/* the old one stands still so long */

/* What is passed. */
struct replace_parts {
	int listening, memory, journal;
	const int *connections;
	size_t n_connections;
	uint64_t patience_ms;	/* at most REPLACE_GIVE_MAX_MS */
};

/*
 * The old process's side, up to its line: @fd is to the new one. It waits for
 * that, in a turn of the loop; not for long. @ret_text (REPLACE_TEXT_MAX) says
 * what is wrong.
 *
 * DDBLOCK_E_SYSTEM
 *     It remains the daemon.
 */
int replace_give(int fd, const struct replace_parts *, char *ret_text,
    size_t text_size);

/*
 * The new process's side, until the old one has ended. @ret_text as above.
 *
 * DDBLOCK_E_*: another process remains the daemon; or there is none.
 */
int replace_take(const struct config *, struct activation *ret, char *ret_text,
    size_t text_size);

#endif
