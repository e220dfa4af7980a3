/*
 * Record formats in which the clocks of hosts are compared need synchronised
 * clocks: until the kernel calls this host's synchronised, no lock of such a
 * namespace is granted (store/kind.h), and the log says so.
 */
#ifndef DDBLOCKD_DAEMON_HOST_CLOCK_H
#define DDBLOCKD_DAEMON_HOST_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/config.h"

#define HOST_CLOCK_TEXT_MAX 512

struct event;
struct event_base;

struct host_clock {
	const struct config *config;
	int (*probe)(void);	/* clock_is_synchronised() */
	struct event *timer;	/* NULL: no namespace depends on it */
	bool refused;		/* is said to be refused */
};

/*
 * Does it depend on this host's clock whether locks are granted? Then @text
 * says why that does not do; @synchronised is what the probe said.
 */
bool host_clock_counts(const struct config_namespace *, int synchronised,
    char *text, size_t size);

/* Look now, and again and again. DDBLOCK_E_NOMEM */
int host_clock_start(struct host_clock *, struct event_base *,
    const struct config *, int (*probe)(void));
/* Also of one that was not started. */
void host_clock_done(struct host_clock *);

/* Say whatever is another than before. */
void host_clock_look(struct host_clock *);

#endif
