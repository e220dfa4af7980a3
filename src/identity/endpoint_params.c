/*
 * Which region, and which endpoint: where settings are looked for. What
 * follows from them is in endpoint_rules.c.
 */
#include "identity/endpoint_params.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "aws/loopback.h"
#include "common/error.h"
#include "identity/chain_internal.h"

static int params_fail(char *text, size_t text_size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int
params_fail(char *text, size_t text_size, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(text, text_size, format, list);
	va_end(list);
	return DDBLOCK_E_BAD_REQUEST;
}

static bool
params_given(const char *value)
{
	return value != NULL && value[0] != '\0';
}

/* @where it stood is for messages. */
static int
params_keep(char *to, size_t to_size, const char *value, const char *where,
    char *text, size_t text_size)
{
	if (strlen(value) >= to_size)
		return params_fail(text, text_size, "%s is longer than %zu "
		    "bytes", where, to_size - 1);
	(void)snprintf(to, to_size, "%s", value);
	return 0;
}

/* ---- region ---- */

/* AWS_REGION is what the other SDKs read, and what Lambda and ECS set; botocore
 * alone knows only the other. */
static const char *
params_find_region(const struct endpoint_settings *settings,
    const struct chain_inputs *p, const char **ret_where)
{
	static const char *const variables[] = {
		"AWS_REGION", "AWS_DEFAULT_REGION",
	};
	const char *value = settings->region;

	*ret_where = "region";
	for (size_t i = 0; i < 2 && !params_given(value); i++) {
		*ret_where = variables[i];
		value = chain_variable(p, variables[i]);
	}
	if (!params_given(value)) {
		*ret_where = "region of the profile";
		value = profiles_get(p->profiles, PROFILE_SECTION_PROFILE,
		    chain_profile(p), "region");
	}
	return params_given(value) ? value : NULL;
}

/* Cut @part out of @region, wherever it is; whether it was there. */
static bool
params_cut(char *region, const char *part)
{
	bool found = false;
	char *at;

	while ((at = strstr(region, part)) != NULL) {
		memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
		found = true;
	}
	return found;
}

static int
params_region(const struct endpoint_settings *settings,
    const struct chain_inputs *p, struct endpoint_params *ret, char *text,
    size_t text_size)
{
	const char *where, *value = params_find_region(settings, p, &where);
	char region[REGION_NAME_MAX + 8];
	bool fips;

	if (value == NULL)
		return 0;
	/* Once there were regions of that name. */
	(void)snprintf(region, sizeof(region), "%s", value);
	fips = params_cut(region, "fips-");
	fips = params_cut(region, "-fips") || fips;
	if (strlen(value) >= sizeof(region) || !region_is_name(region))
		return params_fail(text, text_size, "%s is \"%.40s\", which is "
		    "not the name of a region", where, value);
	(void)snprintf(ret->region, sizeof(ret->region), "%.*s",
	    REGION_NAME_MAX, region);
	ret->fips = ret->fips || fips;
	return 0;
}

/* ---- endpoints ---- */

/* The names of a service in the environment and in a section of services. */
struct params_service {
	const char *variable;
	const char *group;
};

/* False: the profile names a section of services that says nothing. */
static bool
params_services_endpoint(const struct chain_inputs *p, const char *group,
    const char **ret, char failure[ENDPOINT_PARAMS_FAILURE_MAX])
{
	const char *profile = chain_profile(p);
	const char *services = profiles_get(p->profiles,
	    PROFILE_SECTION_PROFILE, profile, "services");

	*ret = NULL;
	if (services == NULL)
		return true;
	if (profiles_is_empty(p->profiles, PROFILE_SECTION_SERVICES,
	    services)) {
		(void)params_fail(failure, ENDPOINT_PARAMS_FAILURE_MAX,
		    "profile "
		    "\"%.64s\": the config file has no section [services "
		    "%.64s], or nothing in it", profile, services);
		return false;
	}
	*ret = profiles_get_nested(p->profiles, PROFILE_SECTION_SERVICES,
	    services, group, "endpoint_url");
	return true;
}

static int
params_endpoint(const struct chain_inputs *p, const struct params_service *s,
    char to[ENDPOINT_PARAMS_URL_MAX], bool *ret_failed, char
    failure[ENDPOINT_PARAMS_FAILURE_MAX], char *text, size_t text_size)
{
	const char *where = s->variable, *value = chain_variable(p, where);

	if (!params_given(value)) {
		where = "AWS_ENDPOINT_URL";
		value = chain_variable(p, where);
	}
	if (!params_given(value)) {
		where = "endpoint_url of the section of services";
		*ret_failed = !params_services_endpoint(p, s->group, &value,
		    failure);
		if (*ret_failed)
			return 0;
	}
	if (!params_given(value)) {
		where = "endpoint_url of the profile";
		value = profiles_get(p->profiles, PROFILE_SECTION_PROFILE,
		    chain_profile(p), "endpoint_url");
	}
	return params_given(value) ? params_keep(to, ENDPOINT_PARAMS_URL_MAX,
	    value, where, text, text_size) : 0;
}

static int
params_endpoints(const struct endpoint_settings *settings,
    const struct chain_inputs *p, struct endpoint_params *ret, char *text,
    size_t text_size)
{
	static const struct params_service services[ENDPOINT_PARAMS_SERVICES] =
	    {
		{ "AWS_ENDPOINT_URL_DYNAMODB", "dynamodb" },
		{ "AWS_ENDPOINT_URL_STS", "sts" },
		{ "AWS_ENDPOINT_URL_SSO", "sso" },
		{ "AWS_ENDPOINT_URL_SSO_OIDC", "sso_oidc" },
	};
	char *const to[ENDPOINT_PARAMS_SERVICES] = {
		ret->endpoint, ret->sts_endpoint, ret->sso_endpoint,
		ret->sso_oidc_endpoint,
	};
	int r = 0;

	if (params_given(settings->endpoint))
		r = params_keep(ret->endpoint, ENDPOINT_PARAMS_URL_MAX,
		    settings->endpoint, "endpoint", text, text_size);
	if (r < 0 || chain_is_true(chain_setting(p,
	    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
	    "ignore_configured_endpoint_urls", NULL)))
		return r;
	for (size_t i = 0; i < ENDPOINT_PARAMS_SERVICES && r == 0; i++)
		if (to[i][0] == '\0')
			r = params_endpoint(p, &services[i], to[i],
			    &ret->failed[i], ret->failure, text, text_size);
	/* The others may not be needed; without this there is nothing. */
	if (r == 0 && ret->failed[0])
		r = params_fail(text, text_size, "%s", ret->failure);
	return r;
}

/* ---- the rest ---- */

static int
params_account_mode(const struct chain_inputs *p, struct endpoint_params *ret,
    char *text, size_t text_size)
{
	static const char *const modes[] = {
		[ENDPOINT_ACCOUNT_PREFERRED] = "preferred",
		[ENDPOINT_ACCOUNT_REQUIRED] = "required",
		[ENDPOINT_ACCOUNT_DISABLED] = "disabled",
	};
	const char *name, *value = chain_setting(p,
	    "AWS_ACCOUNT_ID_ENDPOINT_MODE", "account_id_endpoint_mode", &name);

	for (size_t i = 0; i < 3; i++)
		if (strcasecmp(value != NULL ? value : modes[0],
		    modes[i]) == 0) {
			ret->account_mode = (enum endpoint_account_mode)i;
			return 0;
		}
	return params_fail(text, text_size, "%s is \"%.40s\"; there are "
	    "preferred, required and disabled", name, value);
}

static int
params_ca_file(const struct endpoint_settings *settings,
    const struct chain_inputs *p, struct endpoint_params *ret, char *text,
    size_t text_size)
{
	const char *where = "ca_file", *value = settings->ca_file;

	if (!params_given(value))
		value = chain_setting(p, "AWS_CA_BUNDLE", "ca_bundle", &where);
	return params_given(value) ? params_keep(ret->ca_file,
	    sizeof(ret->ca_file), value, where, text, text_size) : 0;
}

/* Emulators do not care which region signs, but one must. */
static bool
params_is_loopback(const char *url)
{
	const char *host = strstr(url, "://");

	if (host == NULL)
		return false;
	host += strlen("://");
	if (host[0] == '[')
		return loopback_is_host(host + 1, strcspn(host + 1, "]"));
	return loopback_is_host(host, strcspn(host, ":/?#"));
}

int
endpoint_params_resolve(const struct endpoint_settings *settings,
    const struct chain_inputs *p, struct endpoint_params *ret, char *text,
    size_t text_size)
{
	struct endpoint_params made = {
		.fips = settings->fips || chain_is_true(chain_setting(p,
		    "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint", NULL)),
		.dual_stack = settings->dual_stack ||
		    chain_is_true(chain_setting(p, "AWS_USE_DUALSTACK_ENDPOINT",
		    "use_dualstack_endpoint", NULL)),
		.metadata = !chain_is_true(chain_variable(p,
		    "AWS_EC2_METADATA_DISABLED")),
	};
	int r;

	if (!chain_profile_exists(p))
		return params_fail(text, text_size, "there is no profile "
		    "\"%.100s\" in the shared config and credentials files",
		    chain_profile(p));
	r = params_region(settings, p, &made, text, text_size);
	if (r == 0)
		r = params_endpoints(settings, p, &made, text, text_size);
	if (r == 0)
		r = params_account_mode(p, &made, text, text_size);
	if (r == 0)
		r = params_ca_file(settings, p, &made, text, text_size);
	if (r < 0)
		return r;
	if (made.region[0] == '\0' && params_is_loopback(made.endpoint))
		(void)snprintf(made.region, sizeof(made.region), "%s",
		    REGION_LOOPBACK);
	*ret = made;
	return 0;
}
