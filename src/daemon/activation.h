/*
 * What the service manager hands over (sd_listen_fds(3)): the listening socket,
 * which it made before this process began and keeps when it ends, so that
 * clients who come meanwhile wait; and what the process before this one left in
 * the manager's descriptor store (descriptor_store.h).
 */
#ifndef DDBLOCKD_DAEMON_ACTIVATION_H
#define DDBLOCKD_DAEMON_ACTIVATION_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/config.h"

struct activation {
	int listening;		/* -1: none was handed over */
	int memory;		/* DESCRIPTOR_STORE_SHARED; -1: none */
	int journal;		/* replace.h: its file, locked; -1: none */
	bool is_handed_over;	/* by a daemon, not by the service manager */
	int *connections;	/* DESCRIPTOR_STORE_CONNECTION, in no order */
	size_t n_connections;
};

/*
 * Take all of it, once; what is left in @ret belongs to the caller. The path of
 * the listening socket replaces the configured one, and the log says which of
 * the socket's settings have no effect. @ret_text (at least 256 bytes) says
 * what is wrong.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     Something else is to be listened to than one Unix stream socket.
 * DDBLOCK_E_SYSTEM, DDBLOCK_E_NOMEM
 */
int activation_take(struct config *, struct activation *ret, char *ret_text,
    size_t text_size);

/* End the connections that nobody took (which are not -1 then). */
void activation_refuse(struct activation *);

/* The service manager keeps what it has stored. */
void activation_done(struct activation *);

#endif
