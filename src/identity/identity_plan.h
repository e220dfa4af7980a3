/*
 * What files, environment and configuration come to: a chain, the parameters of
 * endpoints, and how to ask for the region if they name none (pure).
 */
#ifndef DDBLOCKD_IDENTITY_IDENTITY_PLAN_H
#define DDBLOCKD_IDENTITY_IDENTITY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "identity/chain.h"
#include "identity/endpoint_params.h"
#include "identity/identity.h"
#include "identity/identity_files.h"

struct identity_plan {
	/* From the configuration, ours. */
	char *profile;
	char *home;
	char *region;
	char *endpoint;
	char *ca_file;
	bool fips;
	bool dual_stack;
	struct credentials settings;
	chain_variable_fn variable;
	void *variable_arg;

	/* Resolved. */
	bool has_params;		/* @params are there, */
	bool resolved;		/* and the rest */
	struct chain chain;
	struct endpoint_params params;
	bool has_metadata;
	struct chain_source metadata;	/* the source of the region */
	char instance_region[REGION_NAME_MAX + 1];	/* told by then */
	char about[IDENTITY_TEXT_MAX];
};

/* DDBLOCK_E_NOMEM; identity_plan_done() is due in any case. */
int identity_plan_init(struct identity_plan *, const struct identity_config *);
void identity_plan_done(struct identity_plan *);

/*
 * From the texts of @files. On failure nothing changes, and @text says why.
 * @ret_moved: the parameters changed.
 */
int identity_plan_resolve(struct identity_plan *, struct identity_files *,
    bool *ret_moved, char *text, size_t text_size);

/* No region is configured, and the instance may be asked. */
bool identity_plan_wants_region(const struct identity_plan *);
void identity_plan_set_region(struct identity_plan *, const char *region);

#endif
