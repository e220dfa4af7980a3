/*
 * What the service manager is told (sd_notify(3)).
 */
#ifndef DDBLOCKD_DAEMON_NOTIFY_H
#define DDBLOCKD_DAEMON_NOTIFY_H

#include <stddef.h>

struct event;
struct event_base;

/*
 * Send @text to $NOTIFY_SOCKET, if there is one, without ever waiting: what
 * does not fit into its queue is dropped.
 */
void notify_send(const char *text);

#define NOTIFY_WAITING_MAX 8

/* What the manager has to hear: it waits for room, and the loop goes on. */
struct notify {
	struct event_base *base;	/* its caller's; all else is zero */
	struct event *writable;
	int fd;				/* if there is that event */
	char *waiting[NOTIFY_WAITING_MAX];
	size_t n_waiting;
};

/* In order, after what waits. */
void notify_tell(struct notify *, const char *text);
/* What still waits is dropped. */
void notify_done(struct notify *);

/* A socket to it that does not block; -1: there is none. */
int notify_connect(void);

#endif
