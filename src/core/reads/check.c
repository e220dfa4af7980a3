/*
 * What must be true of the reads, after each step.
 */
#include "core/reads/room.h"

#include <assert.h>

void
reads_check(const struct core *core)
{
	assert(core->shares.has[SHARE_WATCHES] <= core->bounds.watches);
	assert(core->touched == NULL);
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		const struct reads *r = core->namespaces[i].reads;

		assert(r->audit.batch.busy == (r->audit.batch.n_locks > 0));
		assert(r->poll.batch.busy == (r->poll.batch.n_locks > 0));
	}
}
