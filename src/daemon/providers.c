/*
 * Who the stores of this daemon are to AWS.
 */
#include "daemon/providers.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aws/endpoint.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "common/text.h"
#include "identity/endpoint_rules.h"
#include "identity/provider.h"

#define PROVIDERS_REASON_MAX 512

enum providers_state {
	PROVIDERS_NONE = 0,	/* at first */
	PROVIDERS_LACKING,	/* they could not be had */
	PROVIDERS_GOOD,
	PROVIDERS_FAILING,	/* good, but others could not be had */
	PROVIDERS_STALE,	/* the same, and their time is over */
};

struct providers_one {
	const struct config_namespace *of;	/* the first of its users */
	struct provider *provider;
	struct provider_listener *listener;
	enum providers_state state;	/* as the log has it */
	struct providers_one *next;
};

struct providers {
	struct event_base *base;
	struct providers_one *first;
};

int
providers_new(struct event_base *base, struct providers **ret)
{
	struct providers *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	s->base = base;
	*ret = s;
	return 0;
}

void
providers_free(struct providers *s)
{
	struct providers_one *p;

	if (s == NULL)
		return;
	while ((p = s->first) != NULL) {
		s->first = p->next;
		provider_unlisten(p->provider, p->listener);
		provider_free(p->provider);
		free(p);
	}
	free(s);
}

/* ---- the log ---- */

static void
providers_say(const struct providers_one *p, const struct identity_view *v)
{
	const struct log_field fields[] = {
		{ "DDBLOCK_NAMESPACE", p->of->name },
		{ "DDBLOCK_CODE", v->code == 0 ? NULL : error_word(v->code) },
	};
	uint64_t now_ms = clock_wall_ms();
	uint64_t left_min = v->credentials != NULL &&
	    v->credentials->expires_ms > now_ms ?
	    (v->credentials->expires_ms - now_ms) / 60000 : 0;

	switch (p->state) {
	case PROVIDERS_NONE:
		break;
	case PROVIDERS_LACKING:
		log_write_fields(LOG_ERR, "credentials", fields, 2,
		    "namespace %s: there are no AWS credentials yet: %s; "
		    "asking on", p->of->name, v->text);
		break;
	case PROVIDERS_GOOD:
		log_write_fields(LOG_INFO, "credentials", fields, 2,
		    "namespace %s: AWS credentials: %s; region %s",
		    p->of->name, v->about, v->params->region[0] == '\0' ?
		    "unknown" : v->params->region);
		break;
	case PROVIDERS_FAILING:
		log_write_fields(LOG_WARNING, "credentials", fields, 2,
		    "namespace %s: AWS credentials could not be renewed: %s; "
		    "those there are serve for another %" PRIu64 " min",
		    p->of->name, v->text, left_min);
		break;
	case PROVIDERS_STALE:
		log_write_fields(LOG_ERR, "credentials", fields, 2,
		    "namespace %s: AWS credentials have expired and could not "
		    "be renewed: %s; trying with the old ones", p->of->name,
		    v->text);
		break;
	}
}

static enum providers_state
providers_state(const struct identity_view *v)
{
	if (v->credentials == NULL || v->params == NULL)
		return v->code != 0 ? PROVIDERS_LACKING : PROVIDERS_NONE;
	if (v->stale)
		return PROVIDERS_STALE;
	return v->code != 0 ? PROVIDERS_FAILING : PROVIDERS_GOOD;
}

static void
providers_on_heard(void *arg, bool changed)
{
	struct providers_one *p = arg;
	enum providers_state before = p->state;
	struct identity_view v;

	(void)changed;	/* a renewal that succeeds is the rule */
	provider_view(p->provider, &v);
	p->state = providers_state(&v);
	if (p->state != before)
		providers_say(p, &v);
}

/* ---- one for each ---- */

static bool
providers_same(const struct config_namespace *a,
    const struct config_namespace *b)
{
	return text_equal(a->profile, b->profile) &&
	    text_equal(a->region, b->region) &&
	    text_equal(a->endpoint, b->endpoint) &&
	    text_equal(a->ca_file, b->ca_file) &&
	    a->fips == b->fips && a->dual_stack == b->dual_stack &&
	    text_equal(a->access_key_id, b->access_key_id) &&
	    text_equal(a->secret_access_key, b->secret_access_key) &&
	    text_equal(a->session_token, b->session_token);
}

static const char *
providers_variable(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

/* The region and the endpoint as far as the configuration names them: what it
 * leaves open is for the provider. */
static int
providers_check_endpoint(const struct config_namespace *n, char *text,
    size_t size)
{
	char url[ENDPOINT_PARAMS_URL_MAX];
	struct endpoint endpoint;
	struct endpoint_params params = {
		.fips = n->fips != 0, .dual_stack = n->dual_stack != 0,
	};

	if (n->region != NULL && !region_is_name(n->region)) {
		(void)snprintf(text, size, "\"%.40s\" is not the name of a "
		    "region", n->region);
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (n->endpoint != NULL)
		return endpoint_parse(n->endpoint, n->allow_plain_http != 0,
		    &endpoint, text, size);
	if (n->region == NULL)
		return 0;
	(void)snprintf(params.region, sizeof(params.region), "%s", n->region);
	return endpoint_rules_url(&params, "dynamodb", NULL, url, sizeof(url),
	    text, size);
}

/* What is wrong in the configuration itself is said before the start. */
static int
providers_check(const struct config_namespace *n, struct credentials *keys,
    char *text, size_t size)
{
	char reason[PROVIDERS_REASON_MAX];
	int r = 0;

	if (n->access_key_id != NULL)
		r = credentials_set(keys, n->access_key_id,
		    n->secret_access_key, n->session_token, reason,
		    sizeof(reason));
	if (r == 0)
		r = providers_check_endpoint(n, reason, sizeof(reason));
	if (r < 0)
		(void)snprintf(text, size, "namespace %s: %s", n->name,
		    reason);
	return r;
}

static const char *
providers_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user;

	if (home != NULL && home[0] != '\0')
		return home;
	user = getpwuid(getuid());
	return user != NULL ? user->pw_dir : NULL;
}

static int
providers_add(struct providers *s, const struct config_namespace *n,
    const struct credentials *keys, struct provider **ret)
{
	const struct identity_config config = {
		.endpoints = {
			.region = n->region, .endpoint = n->endpoint,
			.ca_file = n->ca_file, .fips = n->fips != 0,
			.dual_stack = n->dual_stack != 0,
		},
		.profile = n->profile,
		.settings = credentials_exist(keys) ? keys : NULL,
		.variable = providers_variable,
		.home = providers_home(),
	};
	struct providers_one *p = calloc(1, sizeof(*p));
	int r;

	if (p == NULL)
		return DDBLOCK_E_NOMEM;
	p->of = n;
	r = provider_new(s->base, &config, &p->provider);
	if (r == 0)
		r = provider_listen(p->provider, providers_on_heard, p,
		    &p->listener);
	if (r < 0) {
		provider_free(p->provider);
		free(p);
		return r;
	}
	p->next = s->first;
	s->first = p;
	*ret = p->provider;
	return 0;
}

int
providers_get(struct providers *s, const struct config_namespace *n,
    struct provider **ret, char *text, size_t size)
{
	struct credentials keys = { .expires_ms = 0 };
	struct providers_one *p = s->first;
	int r = providers_check(n, &keys, text, size);

	while (p != NULL && !providers_same(p->of, n))
		p = p->next;
	if (r == 0 && p != NULL)
		*ret = p->provider;
	else if (r == 0)
		r = providers_add(s, n, &keys, ret);
	credentials_done(&keys);
	return r;
}
