/*
 * What the service manager is told (sd_notify(3)).
 */
#ifndef DDBLOCKD_DAEMON_NOTIFY_H
#define DDBLOCKD_DAEMON_NOTIFY_H

/*
 * Send @text to $NOTIFY_SOCKET, if there is one, without ever waiting: what
 * does not fit into its queue is dropped.
 */
void notify_send(const char *text);

/* A socket to it that does not block; -1: there is none. */
int notify_connect(void);

#endif
