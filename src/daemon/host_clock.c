/*
 * Record formats that compare the clocks of hosts need clocks that somebody
 * sets right. A host whose clock is ahead takes what another still holds, and
 * nothing in the table shows it; so what is not known to be right is refused,
 * unless somebody says that they know.
 */
#include "daemon/host_clock.h"

#include <stdio.h>
#include <string.h>

#include "ddblock.h"

/* Why the namespace needs a clock that is right; NULL: it does not. */
static const char *
host_clock_reason(const struct config_namespace *n)
{
	if (n->store != CONFIG_STORE_DYNAMODB || n->trust_clock)
		return NULL;
	if (n->format == CONFIG_FORMAT_DLOCK)
		return "format = dlock compares the clocks of hosts";
	if (n->format == CONFIG_FORMAT_JS_FAIL_OPEN && n->local_time)
		return "with local_time = yes other hosts compare their "
		    "clocks with this one's";
	return NULL;
}

int
host_clock_check(const struct config *c, int (*probe)(void), char *text,
    size_t size)
{
	const struct config_namespace *n = c->namespaces;
	const struct config_namespace *end = n + c->n_namespaces;
	int synchronised;

	while (n < end && host_clock_reason(n) == NULL)
		n++;
	if (n == end)
		return 0;
	synchronised = probe();
	if (synchronised > 0)
		return 0;
	(void)snprintf(text, size, "namespace %s: %s, and the kernel does "
	    "not say that this host's is synchronised%s%s%s; start chronyd or "
	    "systemd-timesyncd, or, if you know that the clock is right, set "
	    "trust_clock = yes", n->name, host_clock_reason(n),
	    synchronised < 0 ? " (" : "",
	    synchronised < 0 ? strerror(-synchronised) : "",
	    synchronised < 0 ? ")" : "");
	return DDBLOCK_E_SYSTEM;
}
