/*
 * A look into a core.
 */
#include "peek.h"

#include "core/internal.h"

bool
peek_grant(const struct core *core, uint64_t hold,
    char ret[IDENT_TEXT_LENGTH + 1])
{
	const struct hold *h = core == NULL ? NULL : hold_find(core, hold);

	if (h == NULL || h->grant == NULL)
		return false;
	ident_format(h->grant->id, ret);
	return true;
}
