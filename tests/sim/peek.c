/*
 * A look into a core.
 */
#include "peek.h"

#include "core/client/room.h"

bool
peek_grant(const struct core *core, uint64_t hold,
    char ret[IDENT_TEXT_LENGTH + 1])
{
	const struct hold *h = core == NULL ? NULL : hold_find(core, hold);

	if (h == NULL || h->use.grant == NULL)
		return false;
	ident_format(h->use.grant->id, ret);
	return true;
}

bool
peek_part(const struct core *core, uint64_t hold, uint32_t i,
    struct core_part *ret)
{
	struct hold *h = core == NULL ? NULL : hold_find(core, hold);
	const struct multi *j = h == NULL ? NULL : hold_multi(h);

	if (j == NULL || i >= j->n)
		return false;
	h = j->parts[i].hold;
	*ret = (struct core_part){
		.namespace_index = h->use.lock->ns->index,
		.key = lock_key(h->use.lock), .token = h->use.token,
		.hold = h->notice.hold };
	return true;
}
