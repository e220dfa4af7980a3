/*
 * The socket of hints: datagrams in and out in the daemon's loop, and nothing
 * decided (hints.h does that). It answers a PING by itself.
 */
#ifndef DDBLOCKD_HINTS_HINT_SOCKET_H
#define DDBLOCKD_HINTS_HINT_SOCKET_H

#include <stddef.h>

#include "hints/hints.h"

#define HINT_SOCKET_TURN 64	/* datagrams read before others have a turn */

struct event_base;
struct hint_socket;

/* No call ends the socket. Each may be NULL. */
struct hint_socket_calls {
	/* A hint was accepted. */
	void (*hint)(void *arg, const struct hint *);
	/* One came from a session that is not a peer, or has another key: it
	 * may be looked up, and this read again (hint_socket_again()). */
	void (*stranger)(void *arg, const struct hint_head *,
	    const uint8_t bytes[HINT_BYTES]);
	/* Something does not work: a line for the log, once for each errno. */
	void (*trouble)(void *arg, const char *text);
};

/*
 * @hints is borrowed, and lives longer; the calls are copied. With port 0 the
 * kernel chooses one. What fails is described in @text.
 *
 * DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int hint_socket_new(struct event_base *, const struct hint_address *,
    struct hints *, const struct hint_socket_calls *, void *arg,
    struct hint_socket **ret, char *text, size_t text_size);
void hint_socket_free(struct hint_socket *);

/* Where it is bound. */
struct hint_address hint_socket_address(const struct hint_socket *);

/* As if it came now. */
void hint_socket_again(struct hint_socket *, const uint8_t bytes[HINT_BYTES]);

/*
 * Send a hint now, or never: 0 says that the kernel took it.
 *
 * DDBLOCK_E_SYSTEM
 *     It did not. Errors of hints_encode(), too.
 */
int hint_socket_send(struct hint_socket *, const struct hint_id *session,
    const struct hint_id *peer, const struct hint_body *);

#endif
