/*
 * What hosts tell each other of a lock. It is a reason to ask the store now
 * rather than later, and never more: one that is lost, late, repeated or forged
 * costs time or a request.
 */
#ifndef DDBLOCKD_CORE_HINT_H
#define DDBLOCKD_CORE_HINT_H

#include <stdint.h>

#include "core/ident.h"
#include "core/key.h"

enum core_hint_kind {
	CORE_HINT_FREED = 1,	/* it was released: the other one is next */
	CORE_HINT_WANTED,	/* a host waits for what the other one keeps */
	CORE_HINT_BROKEN,	/* a hold of the other one was broken */
	CORE_HINT_CHANGED,	/* it has another holder, or none */
	CORE_HINT_WATCHING,	/* a host watches what the other one writes */
	CORE_HINT_USED,	/* a client has what the other one wants */
};

/* What another host says, by a hint that its session has sealed. */
struct core_hinted {
	uint32_t namespace_index;
	enum core_hint_kind kind;
	struct ident session;		/* of the other host */
	uint64_t digest;		/* of the lock's key */
};

/* What a lock is called there: another name for each key, as good as always. */
uint64_t core_hint_digest(struct key);

#endif
