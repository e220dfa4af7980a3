/*
 * Which sockets of a user have something for us.
 *
 * The event loop takes what is there in rounds of up to 4,096 events, and one
 * user can have as many for it. So the sockets of a user are in an epoll set of
 * their own, and the loop sees that set as one descriptor: in a round it hears
 * of a few of each user's sockets, however many have something. The rest stays
 * in the kernel's line until the next round.
 */
#ifndef DDBLOCKD_IPC_CONNECTION_EAR_H
#define DDBLOCKD_IPC_CONNECTION_EAR_H

#include <stdint.h>

#define EAR_HEARS 32	/* in a round: about what there is time for in a turn */

struct ear;
struct event_base;

/* There are these EPOLL* events at @socket, which may not be freed now. */
typedef void (*ear_heard_fn)(void *socket, uint32_t events);

/* NULL: there is no memory, or no descriptor. */
struct ear *ear_new(struct event_base *, ear_heard_fn);
void ear_free(struct ear *);

/*
 * Hear of @events at @fd, where it was of @before, as @socket; 0: not at all,
 * not even of failures. Negative: there is no memory.
 */
int ear_set(struct ear *, int fd, uint32_t before, uint32_t events,
    void *socket);

#endif
