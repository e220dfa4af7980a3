/*
 * Tenants: the users of this host whose clients there are, and what those have
 * of what all share (common/share.h).
 */
#ifndef DDBLOCKD_CORE_TENANT_H
#define DDBLOCKD_CORE_TENANT_H

#include "core/state.h"

struct tenant {
	UT_hash_handle hh;		/* in core->tenants, by @user */
	uint32_t user;
	bool privileged;	/* as its last request said */
	uint32_t rate_max;	/* the same: core_user_limits.rate; 0: none; */
	char *rate_by;		/* and whose that is, or NULL */
	uint32_t n_clients;
	struct shares shares;		/* of all its clients */

	/* client/linger.c */
	uint32_t n_lingering;	/* clients that linger or resume, or would */
	uint32_t n_asked;	/* of them, for linger */
};

struct tenant *tenant_find(const struct core *, uint32_t user);

/* One more client of this user's; NULL: no memory. */
struct tenant *tenant_join(struct core *, uint32_t user);

/* What a request says; NULL: it has no limits. */
void tenant_set_rate(struct core *, struct tenant *,
    const struct core_user_limits *);

/* And one less. It is freed with the last. */
void tenant_leave(struct core *, struct tenant *);

#endif
