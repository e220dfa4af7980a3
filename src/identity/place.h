/*
 * Which region, and which endpoint of it (pure). The settings of our own
 * configuration come first, then the environment, then the profile, as the
 * SDKs have it; the region may then come from the instance's metadata. The
 * endpoint follows from region, variant and account by the rules that botocore
 * has as data.
 */
#ifndef DDBLOCKD_IDENTITY_PLACE_H
#define DDBLOCKD_IDENTITY_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "aws/region.h"
#include "identity/chain.h"

#define PLACE_URL_MAX 320
#define PLACE_FILE_MAX 1024
#define PLACE_FAILURE_MAX 256
#define PLACE_SERVICES 4	/* that we ask: the four of place_url() */

enum place_account_mode {
	PLACE_ACCOUNT_PREFERRED = 0,
	PLACE_ACCOUNT_REQUIRED,
	PLACE_ACCOUNT_DISABLED,
};

/* What our configuration says; NULL and false: nothing. Borrowed. */
struct place_settings {
	const char *region;
	const char *endpoint;
	const char *ca_file;
	bool fips;
	bool dual_stack;
};

/* What was wished for, from all the places together. */
struct place {
	char region[REGION_NAME_MAX + 1];	/* empty: not known (yet) */
	char endpoint[PLACE_URL_MAX];	/* dynamodb's; empty: by the rules */
	char sts_endpoint[PLACE_URL_MAX];	/* the same, and so on */
	char sso_endpoint[PLACE_URL_MAX];
	char sso_oidc_endpoint[PLACE_URL_MAX];
	bool failed[PLACE_SERVICES];	/* in that order: what was wished for
					 * is not there; never dynamodb's, */
	char failure[PLACE_FAILURE_MAX];	/* and why */
	char ca_file[PLACE_FILE_MAX];	/* empty: the system's */
	bool fips;
	bool dual_stack;
	enum place_account_mode account_mode;
	bool metadata;		/* the instance's may be asked for a region */
};

/*
 * @text (at least 256 bytes) says what is wrong, and where it stands.
 *
 * DDBLOCK_E_BAD_REQUEST
 */
int place_resolve(const struct place_settings *, const struct chain_place *,
    struct place *ret, char *text, size_t text_size);

/*
 * The URL of @service ("dynamodb", "sts", "sso", "oidc") at @place, whose
 * region must be known; an endpoint that was wished for wins, also over FIPS
 * and dual stack. @account_id may be NULL.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     There is no such endpoint (say, no FIPS one, or a required account that
 *     is not known), what was wished for is not there, or the region is no
 *     region.
 */
int place_url(const struct place *, const char *service,
    const char *account_id, char *url, size_t url_size, char *text,
    size_t text_size);

/* What requests to that URL are signed for: the region, but for "local", where
 * they go to DynamoDB Local. Borrowed from the place, or static. */
const char *place_signing_region(const struct place *, const char *service);

#endif
