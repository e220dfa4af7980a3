/*
 * The URL of an endpoint (pure): it follows from region, variant and account by
 * the rules that botocore has as data.
 */
#ifndef DDBLOCKD_IDENTITY_ENDPOINT_RULES_H
#define DDBLOCKD_IDENTITY_ENDPOINT_RULES_H

#include <stddef.h>

#include "identity/endpoint_params.h"

/*
 * The URL of @service ("dynamodb", "sts", "sso", "oidc"). The region must be
 * known, unless an endpoint is configured, which wins, also over FIPS and dual
 * stack. @account_id may be NULL.
 *
 * DDBLOCK_E_BAD_REQUEST
 *     There is no such endpoint (say, no FIPS one, or a required account that
 *     is not known), a configured section of services is missing, or the
 *     region is no region.
 */
int endpoint_rules_url(const struct endpoint_params *, const char *service,
    const char *account_id, char *url, size_t url_size, char *text,
    size_t text_size);

/* What requests to that URL are signed for: the region, but for "local", where
 * they go to DynamoDB Local. Borrowed from the parameters, or static. */
const char *endpoint_rules_signing_region(const struct endpoint_params *,
    const char *service);

#endif
