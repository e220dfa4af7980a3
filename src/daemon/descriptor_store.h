/*
 * The service manager's descriptor store (sd_notify(3), FDSTORE): what is sent
 * there comes back to the process that it starts after this one.
 */
#ifndef DDBLOCKD_DAEMON_DESCRIPTOR_STORE_H
#define DDBLOCKD_DAEMON_DESCRIPTOR_STORE_H

#include <stdbool.h>
#include <stdint.h>

#define DESCRIPTOR_STORE_WAITING_MAX 64	/* of its descriptors, here */

struct descriptor_store;	/* opaque */
struct event_base;

/*
 * The names that descriptors come back by. A name has one letter: tens of
 * thousands of them are one variable of the environment, in which exec has room
 * for 128 KiB.
 */
#define DESCRIPTOR_STORE_CONNECTION "c"
#define DESCRIPTOR_STORE_SHARED "m"
#define DESCRIPTOR_STORE_PROBE "p"

/*
 * @ret is NULL if no service manager listens. @on_room: after an add that was
 * refused there is room again.
 *
 * DDBLOCK_E_NOMEM
 */
int descriptor_store_new(struct event_base *, void (*on_room)(void *),
    void *arg, struct descriptor_store **ret);

/* What was stored stays. Accepts NULL. */
void descriptor_store_free(struct descriptor_store *);

/*
 * Store a copy of @fd, without ever waiting. The manager drops a socket by
 * itself when either side shuts it down. The number of it, for
 * descriptor_store_has(); 0: it is not sent, for too many wait already.
 */
uint64_t descriptor_store_add(struct descriptor_store *, const char *name,
    int fd);

/* Has the manager confirmed that it keeps this one? */
bool descriptor_store_has(const struct descriptor_store *, uint64_t number);

#endif
