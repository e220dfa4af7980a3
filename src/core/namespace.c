/*
 * What is known of a namespace's store, whichever operation told it, and of its
 * bridge.
 */
#include "core/namespace.h"

#include "common/text.h"
#include "ddblock.h"

void
namespace_trouble(struct namespace *ns, const struct outcome *o)
{
	bool good = o->kind == OUTCOME_DONE || o->kind == OUTCOME_CONFLICT;
	int code = good ? 0 : o->code != 0 ? o->code : DDBLOCK_E_UNREACHABLE;

	/* A record that is not ours to read is trouble of its key only. */
	if (code == DDBLOCK_E_BAD_RECORD ||
	    (o->from_memory && o->text[0] == '\0'))
		return;
	if (!o->from_memory)
		ns->cause = code;
	ns->text_code = code;
	text_copy(ns->text, sizeof(ns->text), good ? "" : o->text);
}

bool
namespace_code_is_definite(int code)
{
	return code != 0 && code != DDBLOCK_E_UNREACHABLE &&
	    code != DDBLOCK_E_THROTTLED && code != DDBLOCK_E_LIMIT;
}

struct namespace *
namespace_bridge(const struct namespace *ns)
{
	return ns->settings.bridge == 0 ? NULL :
	    &ns->core->namespaces[ns->settings.bridge - 1];
}

bool
namespace_levels_tokens(const struct namespace *ns)
{
	const struct namespace *old = namespace_bridge(ns);

	return old != NULL && namespace_has_tokens(old);
}
