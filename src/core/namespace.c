/*
 * What a namespace's record format decides, and what is known of its store.
 */
#include "core/namespace.h"

#include "common/text.h"
#include "ddblock.h"

void
namespace_trouble(struct namespace *ns, const struct outcome *o)
{
	bool good = o->kind == OUTCOME_DONE || o->kind == OUTCOME_CONFLICT;
	int code = good ? 0 : outcome_code(o);

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

static int
namespace_own_refusal(const struct namespace *ns)
{
	return ns->drained ? DDBLOCK_E_DRAINING :
	    ns->settings.removed ? DDBLOCK_E_UNKNOWN_NAMESPACE : 0;
}

/* What it grants is held beyond its bridge as well. */
int
namespace_refusal(const struct namespace *ns)
{
	int code = ns->core->stopping ? DDBLOCK_E_SHUTTING_DOWN :
	    namespace_own_refusal(ns);

	return code == 0 && ns->bridge != NULL ?
	    namespace_own_refusal(ns->bridge) : code;
}

void
namespace_set_format(struct namespace *ns)
{
	enum lock_life life = ns->settings.life;

	ns->has_sessions = life == LOCK_LIFE_SESSION;
	ns->renews_records =
	    life == LOCK_LIFE_RECORD || life == LOCK_LIFE_DEADLINE;
	ns->has_versions = life == LOCK_LIFE_RECORD;
	ns->has_deadlines = life == LOCK_LIFE_DEADLINE;
	ns->never_ends = life == LOCK_LIFE_NEVER;
	ns->has_tokens = (ns->settings.lacks & CORE_LACKS_TOKENS) == 0;
}

void
namespace_set_bridge(struct namespace *ns, struct namespace *bridge)
{
	ns->bridge = bridge;
	ns->levels_tokens = bridge->has_tokens;
	/* What is held in two records can only be what both can express; and
	 * what is kept in one of them would not be in the other. */
	ns->settings.lacks |=
	    (bridge->settings.lacks & ~(unsigned)CORE_LACKS_TOKENS) |
	    CORE_LACKS_DATA | CORE_LACKS_ATTRIBUTES;
}

struct namespace *
namespace_inherited(struct core *core, const struct core_legacy *legacy,
    uint32_t index)
{
	uint32_t here = index < CORE_NAMESPACES_MAX ?
	    legacy->namespaces[index] : 0;

	return here == 0 || here > core->n_namespaces ? NULL :
	    &core->namespaces[here - 1];
}
