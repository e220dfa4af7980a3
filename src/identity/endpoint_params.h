/*
 * The region, and what else decides about an endpoint (pure). The settings of
 * our own configuration come first, then the environment, then the profile, as
 * the SDKs have it; the region may then come from the instance's metadata. The
 * URL that follows is in endpoint_rules.h.
 */
#ifndef DDBLOCKD_IDENTITY_ENDPOINT_PARAMS_H
#define DDBLOCKD_IDENTITY_ENDPOINT_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "aws/region.h"
#include "identity/chain.h"

#define ENDPOINT_PARAMS_URL_MAX 320
#define ENDPOINT_PARAMS_FILE_MAX 1024
#define ENDPOINT_PARAMS_FAILURE_MAX 256
#define ENDPOINT_PARAMS_SERVICES 4	/* those of endpoint_rules_url() */

enum endpoint_account_mode {
	ENDPOINT_ACCOUNT_PREFERRED = 0,
	ENDPOINT_ACCOUNT_REQUIRED,
	ENDPOINT_ACCOUNT_DISABLED,
};

/* What our configuration says; NULL and false: nothing. Borrowed. */
struct endpoint_settings {
	const char *region;
	const char *endpoint;
	const char *ca_file;
	bool fips;
	bool dual_stack;
};

/* What configuration, environment and profile say together. */
struct endpoint_params {
	char region[REGION_NAME_MAX + 1];	/* empty: not known (yet) */
	char endpoint[ENDPOINT_PARAMS_URL_MAX];	/* dynamodb's; empty: by the
						 * rules; and so on: */
	char sts_endpoint[ENDPOINT_PARAMS_URL_MAX];
	char sso_endpoint[ENDPOINT_PARAMS_URL_MAX];
	char sso_oidc_endpoint[ENDPOINT_PARAMS_URL_MAX];
	bool failed[ENDPOINT_PARAMS_SERVICES];	/* in that order: the profile
						 * names a section of services
						 * that is missing; never
						 * dynamodb's, */
	char failure[ENDPOINT_PARAMS_FAILURE_MAX];	/* and why */
	char ca_file[ENDPOINT_PARAMS_FILE_MAX];	/* empty: the system's */
	bool fips;
	bool dual_stack;
	enum endpoint_account_mode account_mode;
	bool metadata;		/* the instance's may be asked for a region */
};

/*
 * @text (at least 256 bytes) says what is wrong, and where.
 *
 * DDBLOCK_E_BAD_REQUEST
 */
int endpoint_params_resolve(const struct endpoint_settings *,
    const struct chain_inputs *, struct endpoint_params *ret, char *text,
    size_t text_size);

#endif
