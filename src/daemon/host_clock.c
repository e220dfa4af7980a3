/*
 * Record formats that compare the clocks of hosts need synchronised clocks. A
 * host whose clock is ahead takes a lock that another still holds, and nothing
 * in the table shows it; so an unsynchronised clock is refused, unless
 * trust_clock is set. After a boot it takes a while until it is known: that is
 * no reason to end.
 */
#include "daemon/host_clock.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "ddblock.h"

#define HOST_CLOCK_LOOK_MS 1000

/* Why the namespace needs a clock that is right; NULL: it does not. */
static const char *
host_clock_reason(const struct config_namespace *n)
{
	const struct store_kind *kind = config_kind(n);

	return kind->clock_reason == NULL ? NULL :
	    kind->clock_reason(&n->store);
}

bool
host_clock_counts(const struct config_namespace *n, int synchronised,
    char *text, size_t size)
{
	const char *reason = host_clock_reason(n);

	if (reason == NULL)
		return false;
	if (synchronised == -EPERM) {
		(void)snprintf(text, size, "%s, and ddblockd may not ask "
		    "whether this host's is synchronised (%s); install "
		    "clock.conf (ddblockd(8)), or, if you know that the clock "
		    "is right, set trust_clock = yes", reason,
		    strerror(EPERM));
		return true;
	}
	(void)snprintf(text, size, "%s, and the kernel does not say that this "
	    "host's is synchronised%s%s%s; start chronyd or "
	    "systemd-timesyncd, or, if you know that the clock is right, set "
	    "trust_clock = yes", reason,
	    synchronised < 0 ? " (" : "",
	    synchronised < 0 ? strerror(-synchronised) : "",
	    synchronised < 0 ? ")" : "");
	return true;
}

void
host_clock_look(struct host_clock *h)
{
	int synchronised = h->probe();
	bool refused = synchronised <= 0;
	char text[HOST_CLOCK_TEXT_MAX];

	if (refused == h->refused)
		return;
	h->refused = refused;
	for (size_t i = 0; i < h->config->n_namespaces; i++) {
		const struct config_namespace *n = &h->config->namespaces[i];

		if (!host_clock_counts(n, synchronised, text, sizeof(text)))
			continue;
		if (refused)
			log_write(LOG_WARNING, NULL, "namespace %s: no lock "
			    "is granted: %s", n->name, text);
		else
			log_write(LOG_INFO, NULL, "namespace %s: the host's "
			    "clock is synchronised: locks are granted",
			    n->name);
	}
}

static void
host_clock_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	host_clock_look(arg);
}

int
host_clock_start(struct host_clock *h, struct event_base *base,
    const struct config *config, int (*probe)(void))
{
	const struct config_namespace *n = config->namespaces;
	const struct config_namespace *end = n + config->n_namespaces;
	const struct timeval t = clock_interval(HOST_CLOCK_LOOK_MS);

	*h = (struct host_clock){ .config = config, .probe = probe };
	while (n < end && host_clock_reason(n) == NULL)
		n++;
	if (n == end)
		return 0;
	h->timer = event_new(base, -1, EV_PERSIST, host_clock_on_timer, h);
	if (h->timer == NULL || event_add(h->timer, &t) < 0)
		return DDBLOCK_E_NOMEM;
	host_clock_look(h);
	return 0;
}

void
host_clock_done(struct host_clock *h)
{
	if (h->timer != NULL)
		event_free(h->timer);
	h->timer = NULL;
}
