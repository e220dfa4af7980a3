/*
 * What is known of a namespace's store, whichever operation told it, and
 * whether anything of the namespace is left to do.
 */
#include "core/internal.h"

#include "common/text.h"
#include "ddblock.h"

/* Remember what the store's trouble is, or that it is over. */
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

/* Would waiting longer help against this code? */
bool
namespace_code_is_definite(int code)
{
	return code != 0 && code != DDBLOCK_E_UNREACHABLE &&
	    code != DDBLOCK_E_THROTTLED && code != DDBLOCK_E_LIMIT;
}

/*
 * Is there nothing left to do for this namespace before the daemon ends? A
 * session that is being opened never held anything: whether it comes to be or
 * not, nobody will ask for it.
 */
bool
namespace_is_settled(const struct namespace *ns)
{
	const struct session *s;

	DL_FOREACH(ns->sessions, s)
	{
		if (s->state != SESSION_OPENING)
			return false;
	}
	DL_FOREACH(ns->refreshed, s)
	{
		if (s->state != SESSION_OPENING)
			return false;
	}
	return closed_is_settled(ns);
}
