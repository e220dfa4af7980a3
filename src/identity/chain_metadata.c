/*
 * How the metadata of an EC2 instance are asked: where, how long, how often,
 * and whether in the old way without a token. botocore falls back to that way
 * unless told not to; we do it only if told to, because an attacker who can
 * make this host send a GET could read the role's keys by it.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/error.h"
#include "identity/chain_internal.h"

#define METADATA_IPV4 "http://169.254.169.254"
#define METADATA_IPV6 "http://[fd00:ec2::254]"
#define METADATA_TIMEOUT_MAX_S 60
#define METADATA_ATTEMPTS_MAX 100
#define METADATA_URL_MAX 512

/* A number of at least 1; botocore's default is 1, too. */
static int
metadata_number(struct chain_search *s, const char *variable, const char *key,
    unsigned long max, uint32_t *ret)
{
	const char *name, *text = chain_setting(s->inputs, variable, key,
	    &name);
	unsigned long value = 1;

	if (text != NULL)
		value = strlen(text) <= 4 && text[0] != '\0' &&
		    text[strspn(text, "0123456789")] == '\0' ?
		    strtoul(text, NULL, 10) : 0;
	if (value < 1 || value > max)
		return chain_fail(s, "%s is not a number from 1 to %lu", name,
		    max);
	*ret = (uint32_t)value;
	return 0;
}

static int
metadata_ipv6(struct chain_search *s, bool *ret)
{
	const char *name;
	const char *mode = chain_setting(s->inputs,
	    "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
	    "ec2_metadata_service_endpoint_mode", &name);

	if (mode == NULL)
		*ret = chain_is_true(chain_setting(s->inputs,
		    "AWS_IMDS_USE_IPV6", "imds_use_ipv6", NULL));
	else if (strcasecmp(mode, "ipv6") == 0 || strcasecmp(mode, "ipv4") == 0)
		*ret = strcasecmp(mode, "ipv6") == 0;
	else
		return chain_fail(s, "%s is neither IPv4 nor IPv6", name);
	return 0;
}

static bool
metadata_is_url(const char *url)
{
	const char *host = NULL;

	if (strncasecmp(url, "http://", 7) == 0)
		host = url + 7;
	else if (strncasecmp(url, "https://", 8) == 0)
		host = url + 8;
	if (host == NULL || strcspn(host, "/:?#@") == 0 ||
	    strlen(url) > METADATA_URL_MAX || strpbrk(url, "?#@") != NULL)
		return false;
	for (const char *c = url; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	return true;
}

static int
metadata_url(struct chain_search *s, char **ret)
{
	const char *name;
	const char *url = chain_setting(s->inputs,
	    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
	    "ec2_metadata_service_endpoint", &name);
	bool ipv6 = false;
	size_t length;
	int r = metadata_ipv6(s, &ipv6);

	if (r < 0)
		return r;
	if (url == NULL || url[0] == '\0')
		return chain_keep(s, ret, ipv6 ? METADATA_IPV6 :
		    METADATA_IPV4);
	if (!metadata_is_url(url))
		return chain_fail(s, "%s is not a URL such as http://HOST",
		    name);
	r = chain_keep(s, ret, url);
	if (r < 0)
		return r;
	for (length = strlen(*ret); (*ret)[length - 1] == '/'; length--)
		(*ret)[length - 1] = '\0';
	return 0;
}

int
chain_instance(struct chain_search *s, struct chain_source *ret)
{
	struct chain_source source = { .kind = CHAIN_IMDS };
	const char *v1_disabled = chain_setting(s->inputs,
	    "AWS_EC2_METADATA_V1_DISABLED", "ec2_metadata_v1_disabled", NULL);
	uint32_t timeout_s = 0;
	int r = metadata_url(s, &source.url);

	if (r == 0)
		r = metadata_number(s, "AWS_METADATA_SERVICE_TIMEOUT",
		    "metadata_service_timeout", METADATA_TIMEOUT_MAX_S,
		    &timeout_s);
	if (r == 0)
		r = metadata_number(s, "AWS_METADATA_SERVICE_NUM_ATTEMPTS",
		    "metadata_service_num_attempts", METADATA_ATTEMPTS_MAX,
		    &source.attempts_max);
	if (r < 0 || chain_is_true(chain_variable(s->inputs,
	    "AWS_EC2_METADATA_DISABLED"))) {
		chain_source_done(&source);
		return r < 0 ? r : CHAIN_ABSENT;
	}
	source.timeout_ms = timeout_s * 1000;
	source.v1_allowed = v1_disabled != NULL &&
	    strcasecmp(v1_disabled, "false") == 0;
	*ret = source;
	return CHAIN_FOUND;
}

int
chain_metadata(const struct chain_inputs *inputs, struct chain_source *ret,
    char *text, size_t text_size)
{
	struct chain_search s = {
		.inputs = inputs, .text = text, .text_size = text_size,
	};
	int r;

	if (!chain_profile_exists(inputs))
		return chain_fail(&s, "there is no profile \"%.100s\"",
		    chain_profile(inputs));
	r = chain_instance(&s, ret);
	if (r == CHAIN_ABSENT)
		return chain_fail(&s, "AWS_EC2_METADATA_DISABLED keeps the "
		    "instance's metadata from being asked");
	return r < 0 ? r : 0;
}
