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

struct activation;
struct engine;
struct event_base;

struct engine_calls {
	/* After engine_stop(): nothing is left to do. From the loop. */
	void (*stopped)(void *arg);
	/* engine_describe() would say something else now. */
	void (*changed)(void *arg);
	/* Another process is the daemon now: engine_free() comes next. */
	void (*replaced)(void *arg);
};

/*
 * Open the stores and make the core. @config and @activation are borrowed; the
 * latter until engine_start(). @ret_text (at least 512 bytes) says what went
 * wrong.
 *
 * DDBLOCK_E_*: of the store that cannot be opened, or _NOMEM, _SYSTEM.
 */
int engine_new(struct event_base *, const struct config *config,
    const char *host, struct activation *, const struct engine_calls *,
    void *arg, struct engine **ret, char *ret_text, size_t text_size);

/* Closes everything. Accepts NULL. */
void engine_free(struct engine *);

/*
 * Listen, go on with the connections of the process before this one, and open
 * the sessions. It takes what it uses of the activation. @ret_text as above. As
 * server_new().
 */
int engine_start(struct engine *, char *ret_text, size_t text_size);

/*
 * Other settings from now on: @config is what reload_read() made of the one
 * before, and borrowed. All of it or nothing. @ret_text as above.
 *
 * DDBLOCK_E_*: as engine_new(), and _SHUTTING_DOWN.
 */
int engine_configure(struct engine *, const struct config *config,
    char *ret_text, size_t text_size);

/* No new grants and no new connections; clients are told that they have
 * @wait_ms. engine_calls.stopped comes when nothing is held any more. */
void engine_stop(struct engine *, uint64_t wait_ms);

/* Leave everything to the process after this one: engine_abandon() comes next.
 * False: it would not find anything. */
bool engine_leave(struct engine *);

/* What the process after this one has to wait for; all else is as it would be
 * if this one were killed now, for it is about to end. */
void engine_abandon(struct engine *);

/* After engine_stop(): release the locks that are still held. */
void engine_stop_release(struct engine *);

/* One line about the state, for the service manager. */
void engine_describe(const struct engine *, struct buffer *);

/* Does it go on with what the process before this one left? */
bool engine_inherited(const struct engine *);

/* Holds of all namespaces. */
uint32_t engine_held(const struct engine *);

#endif
