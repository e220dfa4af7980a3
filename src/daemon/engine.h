/*
 * The engine: owns the core, the stores and the server, and turns each crank
 * the same way: an event goes into the core with the time of now, and what
 * comes out is performed.
 */
#ifndef DDBLOCKD_DAEMON_ENGINE_H
#define DDBLOCKD_DAEMON_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "daemon/config.h"

struct engine;
struct event_base;

struct engine_calls {
	/* After engine_stop(): nothing is left to do. From the loop. */
	void (*stopped)(void *arg);
	/* engine_describe() would say something else now. */
	void (*changed)(void *arg);
};

/*
 * Open the stores and make the core. @config is borrowed. @ret_text (at least
 * 512 bytes) says what went wrong.
 *
 * DDBLOCK_E_*: of the store that cannot be opened, or _NOMEM, _SYSTEM.
 */
int engine_new(struct event_base *, const struct config *config,
    const char *host, const struct engine_calls *, void *arg,
    struct engine **ret, char *ret_text, size_t text_size);

/* Closes everything. Accepts NULL. */
void engine_free(struct engine *);

/*
 * Listen, and open the sessions. @ret_text as above. As server_new().
 */
int engine_start(struct engine *, char *ret_text, size_t text_size);

/* No new grants and no new connections; clients are told that they have
 * @wait_ms. engine_calls.stopped comes when nothing is held any more. */
void engine_stop(struct engine *, uint64_t wait_ms);

/* After engine_stop(): release what is still held. */
void engine_stop_release(struct engine *);

/* One line about the state, for the service manager. */
void engine_describe(const struct engine *, struct buffer *);

/* Holds of all namespaces. */
uint32_t engine_held(const struct engine *);

#endif
