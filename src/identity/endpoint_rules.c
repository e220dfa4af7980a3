/*
 * The URLs of endpoints: what botocore has as a set of rules for each service,
 * in words. test_endpoints.py compares the two in every region.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "identity/endpoint_rules.h"
#include "identity/partitions.h"

#define RULES_LOCAL_REGION "local"	/* DynamoDB Local, where it is put */
#define RULES_LOCAL_URL "http://localhost:8000"
#define RULES_LOCAL_SIGNED "us-east-1"
#define RULES_ACCOUNT_DIGITS 12

struct rules {
	const struct endpoint_params *params;
	const struct partition *partition;
	bool dynamodb;
	const char *prefix;	/* of the host */
	const char *override;	/* an endpoint that was wished for; or "" */
	bool failed;		/* and is not there */
	char *text;
	size_t text_size;
};

static int rules_fail(struct rules *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int
rules_fail(struct rules *u, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(u->text, u->text_size, format, list);
	va_end(list);
	return DDBLOCK_E_BAD_REQUEST;
}

static int
rules_put(struct rules *u, char *url, size_t url_size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int
rules_put(struct rules *u, char *url, size_t url_size, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(url, url_size, format, list);
	va_end(list);
	if (n < 0 || (size_t)n >= url_size)
		return rules_fail(u, "the endpoint's URL is too long");
	return 0;
}

/* ---- partitions ---- */

/* A word and a number: what comes after "us-" in "us-east-1". */
static bool
rules_is_region_rest(const char *rest)
{
	size_t word = strspn(rest, "abcdefghijklmnopqrstuvwxyz0123456789");

	return word > 0 && rest[word] == '-' && rest[word + 1] != '\0' &&
	    rest[word + 1 + strspn(rest + word + 1, "0123456789")] == '\0';
}

static bool
rules_in(const char *const *list, const char *text)
{
	for (; *list != NULL; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}

static const struct partition *
rules_partition(const char *region)
{
	for (const struct partition *p = partitions;
	    p->name != NULL; p++) {
		if (rules_in(p->others, region))
			return p;
		for (const char *const *s = p->prefixes; *s != NULL; s++)
			if (strncmp(region, *s, strlen(*s)) == 0 &&
			    rules_is_region_rest(region + strlen(*s)))
				return p;
	}
	return &partitions[0];
}

/* ---- rules ---- */

/* Under its own endpoint of both stacks, DynamoDB signs in another way. */
static bool
rules_is_dual_stack_host(const struct rules *u)
{
	const char *host = strstr(u->override, "://");
	char expected[ENDPOINT_PARAMS_URL_MAX];
	size_t length;

	if (host == NULL)
		return false;
	host += 3;
	length = strcspn(host, "/?#");
	(void)snprintf(expected, sizeof(expected), "%s.%s.%s", u->prefix,
	    u->params->region, u->partition->dual_stack_suffix);
	return strlen(expected) == length &&
	    memcmp(host, expected, length) == 0;
}

/* It wins over wishes for FIPS and dual stack, as in a client of botocore: an
 * endpoint in a private network is used as it is. */
static int
rules_override(struct rules *u, char *url, size_t url_size)
{
	if (u->dynamodb && u->params->region[0] != '\0' &&
	    rules_is_dual_stack_host(u))
		return rules_fail(u, "the endpoint that is configured is a "
		    "dual-stack one: wish for dual stack, not for the URL");
	return rules_put(u, url, url_size, "%s", u->override);
}

/* DynamoDB has endpoints for each account, but not everywhere. */
static bool
rules_has_accounts(const struct rules *u)
{
	return u->dynamodb && !u->params->fips &&
	    (strcmp(u->partition->name, "aws") == 0 ||
	    rules_in(partition_account_regions, u->params->region));
}

static bool
rules_is_account(const char *account_id)
{
	return strlen(account_id) == RULES_ACCOUNT_DIGITS &&
	    strspn(account_id, "0123456789") == RULES_ACCOUNT_DIGITS;
}

/* Whether the endpoint is that of the account; or an error. */
static int
rules_of_account(struct rules *u, const char *account_id)
{
	bool required = u->dynamodb &&
	    u->params->account_mode == ENDPOINT_ACCOUNT_REQUIRED;

	if (!rules_has_accounts(u))
		return required ? rules_fail(u, "account_id_endpoint_mode is "
		    "required, but %s there are no endpoints for accounts",
		    u->params->fips ? "with FIPS" : "in this region") : 0;
	if (u->params->account_mode == ENDPOINT_ACCOUNT_DISABLED)
		return 0;
	if (account_id == NULL || account_id[0] == '\0')
		return required ? rules_fail(u, "account_id_endpoint_mode is "
		    "required, but the credentials do not say which account "
		    "is theirs") : 0;
	if (!rules_is_account(account_id))
		return rules_fail(u, "the account of the credentials is not "
		    "one of twelve digits");
	return 1;
}

static int
rules_public(struct rules *u, const char *account_id, char *url,
    size_t url_size)
{
	const struct endpoint_params *p = u->params;
	bool us_gov = strcmp(u->partition->name, "aws-us-gov") == 0;
	const char *suffix = p->dual_stack ? u->partition->dual_stack_suffix :
	    u->partition->suffix;
	int of_account;

	if ((p->fips && !u->partition->has_fips) ||
	    (p->dual_stack && !u->partition->has_dual_stack))
		return rules_fail(u, "the partition %s has no %s endpoints",
		    u->partition->name, p->fips && !u->partition->has_fips ?
		    "FIPS" : "dual-stack");
	of_account = rules_of_account(u, account_id);
	if (of_account < 0)
		return of_account;
	if (of_account > 0)
		return rules_put(u, url, url_size, "https://%s.ddb.%s.%s",
		    account_id, p->region, suffix);
	/* There, every endpoint is one of FIPS. */
	return rules_put(u, url, url_size, "https://%s%s.%s.%s", u->prefix,
	    p->fips && (!us_gov || p->dual_stack) ? "-fips" : "", p->region,
	    suffix);
}

/* ---- services ---- */

static bool
rules_is_local(const struct rules *u)
{
	return u->dynamodb && u->override[0] == '\0' &&
	    strcmp(u->params->region, RULES_LOCAL_REGION) == 0;
}

static int
rules_service(struct rules *u, const char *service)
{
	const struct {
		const char *name;
		const char *prefix;
		const char *override;
	} services[ENDPOINT_PARAMS_SERVICES] = {
		{ "dynamodb", "dynamodb", u->params->endpoint },
		{ "sts", "sts", u->params->sts_endpoint },
		{ "sso", "portal.sso", u->params->sso_endpoint },
		{ "oidc", "oidc", u->params->sso_oidc_endpoint },
	};

	for (size_t i = 0; i < ENDPOINT_PARAMS_SERVICES; i++)
		if (strcmp(service, services[i].name) == 0) {
			u->dynamodb = i == 0;
			u->prefix = services[i].prefix;
			u->override = services[i].override;
			u->failed = u->params->failed[i];
			return 0;
		}
	return rules_fail(u, "there is no service \"%.40s\" here", service);
}

int
endpoint_rules_url(const struct endpoint_params *params, const char *service,
    const char *account_id, char *url, size_t url_size, char *text,
    size_t text_size)
{
	struct rules u = {
		.params = params, .text = text, .text_size = text_size,
		.partition = rules_partition(params->region),
	};
	int r = rules_service(&u, service);

	if (r < 0)
		return r;
	if (u.failed)
		return rules_fail(&u, "%s", params->failure);
	if (u.override[0] != '\0')
		return rules_override(&u, url, url_size);
	if (params->region[0] == '\0')
		return rules_fail(&u, "no region is known: set one in the "
		    "configuration, in AWS_REGION or in the profile");
	if (rules_is_local(&u) && (params->fips || params->dual_stack))
		return rules_fail(&u, "the region \"local\" has neither FIPS "
		    "nor dual stack");
	if (rules_is_local(&u))
		return rules_put(&u, url, url_size, "%s", RULES_LOCAL_URL);
	return rules_public(&u, account_id, url, url_size);
}

const char *
endpoint_rules_signing_region(const struct endpoint_params *params,
    const char *service)
{
	struct rules u = { .params = params, .text = NULL };

	return rules_service(&u, service) == 0 && rules_is_local(&u) ?
	    RULES_LOCAL_SIGNED : params->region;
}
