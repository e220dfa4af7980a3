/*
 * What files, environment and configuration come to.
 */
#include "identity/identity_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

static int
identity_plan_copy(char **to, const char *from)
{
	if (from == NULL)
		return 0;
	*to = strdup(from);
	return *to != NULL ? 0 : DDBLOCK_E_NOMEM;
}

int
identity_plan_init(struct identity_plan *p, const struct identity_config *c)
{
	*p = (struct identity_plan){
		.fips = c->endpoints.fips,
		.dual_stack = c->endpoints.dual_stack,
		.variable = c->variable,
		.variable_arg = c->variable_arg,
	};
	if (identity_plan_copy(&p->profile, c->profile) < 0 ||
	    identity_plan_copy(&p->home, c->home) < 0 ||
	    identity_plan_copy(&p->region, c->endpoints.region) < 0 ||
	    identity_plan_copy(&p->endpoint, c->endpoints.endpoint) < 0 ||
	    identity_plan_copy(&p->ca_file, c->endpoints.ca_file) < 0)
		return DDBLOCK_E_NOMEM;
	return c->settings != NULL ?
	    credentials_copy(&p->settings, c->settings) : 0;
}

static void
identity_plan_forget(struct identity_plan *p)
{
	if (!p->resolved)
		return;
	chain_done(&p->chain);
	if (p->has_metadata)
		chain_source_done(&p->metadata);
	p->has_metadata = false;
	p->resolved = false;
}

void
identity_plan_done(struct identity_plan *p)
{
	identity_plan_forget(p);
	credentials_done(&p->settings);
	free(p->profile);
	free(p->home);
	free(p->region);
	free(p->endpoint);
	free(p->ca_file);
}

static bool
identity_plan_same(const struct endpoint_params *a,
    const struct endpoint_params *b)
{
	return strcmp(a->region, b->region) == 0 &&
	    strcmp(a->endpoint, b->endpoint) == 0 &&
	    strcmp(a->ca_file, b->ca_file) == 0 && a->fips == b->fips &&
	    a->dual_stack == b->dual_stack &&
	    a->account_mode == b->account_mode;
}

/* Without a region there is no endpoint: then it is the instance's, if that
 * told it before. */
static void
identity_plan_adopt(struct identity_plan *p,
    const struct endpoint_params *params, bool *ret_moved)
{
	struct endpoint_params next = *params;

	if (next.region[0] == '\0' && next.metadata)
		(void)snprintf(next.region, sizeof(next.region), "%s",
		    p->instance_region);
	*ret_moved = !identity_plan_same(&p->params, &next);
	p->params = next;
}

static int
identity_plan_make(struct identity_plan *p, const struct chain_inputs *at,
    bool *ret_moved, char *text, size_t text_size)
{
	struct endpoint_settings settings = {
		.region = p->region,
		.endpoint = p->endpoint,
		.ca_file = p->ca_file,
		.fips = p->fips,
		.dual_stack = p->dual_stack,
	};
	struct chain_source metadata;
	bool has_metadata = false;
	struct endpoint_params params;
	struct chain chain;
	int r = endpoint_params_resolve(&settings, at, &params, text,
	    text_size);

	if (r < 0)
		return r;
	/* The region may be known before the credentials are. */
	if (!p->resolved) {
		identity_plan_adopt(p, &params, ret_moved);
		p->has_params = true;
	}
	r = chain_resolve(at, &chain, text, text_size);
	if (r < 0)
		return r;
	if (params.region[0] == '\0' && params.metadata) {
		r = chain_metadata(at, &metadata, text, text_size);
		if (r < 0) {
			chain_done(&chain);
			return r;
		}
		has_metadata = true;
	} else if (params.region[0] == '\0') {
		(void)snprintf(text, text_size, "no region is set: `region` "
		    "in the configuration, AWS_REGION, or `region` of the "
		    "profile");
		chain_done(&chain);
		return DDBLOCK_E_BAD_REQUEST;
	}
	identity_plan_forget(p);
	p->chain = chain;
	p->has_metadata = has_metadata;
	if (has_metadata)
		p->metadata = metadata;
	p->resolved = true;
	identity_plan_adopt(p, &params, ret_moved);
	chain_describe(&p->chain, p->about, sizeof(p->about));
	return 0;
}

int
identity_plan_resolve(struct identity_plan *p, struct identity_files *files,
    bool *ret_moved, char *text, size_t text_size)
{
	struct chain_inputs at = {
		.variable = p->variable,
		.variable_arg = p->variable_arg,
		.profile = p->profile,
		.settings = &p->settings,
	};
	struct profiles *profiles;
	int r = profiles_new(&profiles);

	(void)snprintf(text, text_size, "%s", error_text(DDBLOCK_E_NOMEM));
	if (r < 0)
		return r;
	r = identity_files_parse(files, profiles);
	if (r < 0)
		(void)snprintf(text, text_size, "%s", r == DDBLOCK_E_NOMEM ?
		    error_text(r) : files->error);
	at.profiles = profiles;
	if (r == 0)
		r = identity_plan_make(p, &at, ret_moved, text, text_size);
	profiles_free(profiles);
	return r;
}

bool
identity_plan_wants_region(const struct identity_plan *p)
{
	return p->params.region[0] == '\0' && p->has_metadata;
}

void
identity_plan_set_region(struct identity_plan *p, const char *region)
{
	(void)snprintf(p->instance_region, sizeof(p->instance_region), "%s",
	    region);
	(void)snprintf(p->params.region, sizeof(p->params.region), "%s",
	    region);
}
