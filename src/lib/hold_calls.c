/*
 * What a caller asks of its holds without asking the daemon.
 */
#include "lib/hold.h"

#include "common/clock.h"

uint64_t
ddblock_token(const struct ddblock *d, uint64_t id)
{
	const struct hold *hold = hold_find(d, id);

	return hold == NULL ? 0 : hold->parts->part[0].token;
}

static const struct part *
hold_part(const struct ddblock *d, uint64_t id, const char *key)
{
	const struct hold *hold = hold_find(d, id);

	return hold == NULL ? NULL : parts_find(hold->parts, key);
}

uint64_t
ddblock_token_of(const struct ddblock *d, uint64_t id, const char *key)
{
	const struct part *part = hold_part(d, id, key);

	return part == NULL ? 0 : part->token;
}

const char *
ddblock_token_text(const struct ddblock *d, uint64_t id, const char *key)
{
	const struct part *part = hold_part(d, id, key);

	return part == NULL ? NULL : part->token_text;
}

uint64_t
ddblock_until_boot_ms(const struct ddblock *d, uint64_t id)
{
	const struct hold *hold = hold_find(d, id);

	return hold == NULL ? 0 : hold_good_ms(d, hold);
}

uint64_t
ddblock_remaining_ms(const struct ddblock *d, uint64_t id)
{
	const struct hold *hold = hold_find(d, id);
	uint64_t now_ms = clock_boot_ms();

	uint64_t good_ms = hold == NULL ? 0 : hold_good_ms(d, hold);

	if (hold == NULL || hold->lost || good_ms <= now_ms)
		return 0;
	return good_ms == DDBLOCK_NEVER_MS ? DDBLOCK_NEVER_MS :
	    good_ms - now_ms;
}

uint64_t
ddblock_margin_ms(const struct ddblock *d, uint64_t id)
{
	const struct hold *hold = hold_find(d, id);

	return hold == NULL ? 0 : hold->margin_ms;
}

uint64_t
ddblock_next_deadline_ms(const struct ddblock *d)
{
	return d->again.due_ms < d->deadline_ms ? d->again.due_ms :
	    d->deadline_ms;
}

const struct ddblock_row *
ddblock_found(const struct ddblock *d, uint64_t id)
{
	const struct hold *hold = hold_find(d, id);

	return hold == NULL ? NULL : hold->contents;
}
