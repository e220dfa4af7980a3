/*
 * Bridges: a namespace of our own format whose locks are held in the records of
 * an older client's format as well, while a fleet moves from one to the other.
 */
#include <string.h>

#include "daemon/config.h"

static const char *
config_bridge_refuse(const struct config_namespace *n,
    const struct config_namespace *old)
{
	if (old == NULL)
		return "there is no such namespace";
	if (old == n)
		return "that is this namespace itself";
	if (!config_kind(old)->has_formats ||
	    old->store.format == STORE_FORMAT_NATIVE)
		return "that has no older client's format, so there is "
		       "nothing to move from";
	if (old->store.format == STORE_FORMAT_JS_FAIL_CLOSED)
		return "its holds are fail-closed, so one that is left there "
		       "would never end: move in one step, while nobody holds "
		       "a lock";
	return NULL;
}

static void
config_bridge_find(struct config *c, struct config_namespace *n)
{
	struct config_origin origin =
	    config_origin_of(n->origins, CONFIG_NAMESPACE, "bridge");
	const struct config_namespace *old = NULL;
	const char *why;

	for (size_t i = 0; i < c->n_namespaces; i++) {
		if (strcmp(c->namespaces[i].name, n->bridge) != 0)
			continue;
		old = &c->namespaces[i];
		n->bridge_index = i + 1;
	}
	why = config_bridge_refuse(n, old);
	if (why != NULL)
		config_complain(c, origin, "namespace %s: bridge = %s: %s",
		    n->name, n->bridge, why);
}

void
config_check_bridges(struct config *c)
{
	for (size_t i = 0; i < c->n_namespaces; i++) {
		if (c->namespaces[i].bridge != NULL)
			config_bridge_find(c, &c->namespaces[i]);
	}
}
