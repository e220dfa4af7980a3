/*
 * The service manager's watchdog (WatchdogSec= in systemd.service(5)): it ends
 * a daemon whose loop stands still.
 */
#ifndef DDBLOCKD_DAEMON_WATCHDOG_H
#define DDBLOCKD_DAEMON_WATCHDOG_H

struct event;
struct event_base;

struct watchdog {
	struct event *timer;	/* NULL: there is none */
};

/* If the service manager asks for it, tell it from time to time, by the loop,
 * that the loop runs. DDBLOCK_E_NOMEM */
int watchdog_start(struct watchdog *, struct event_base *);
/* Also of one that was not started. */
void watchdog_done(struct watchdog *);

#endif
