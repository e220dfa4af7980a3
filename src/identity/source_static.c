/*
 * Keys that stand somewhere: in our configuration, the environment, or a
 * profile. There is nothing to ask.
 */
#include "identity/source_internal.h"

#include <stddef.h>

static enum source_verdict
source_static_start(struct source *s)
{
	return source_keep(s, s->methods->name, &s->from->keys);
}

const struct source_methods source_settings = {
	.name = "settings",
	.start = source_static_start,
};

const struct source_methods source_environment = {
	.name = "environment",
	.start = source_static_start,
};

const struct source_methods source_profile = {
	.name = "profile",
	.start = source_static_start,
};
