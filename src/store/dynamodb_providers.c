/*
 * The credentials of all stores of one process.
 */
#include "store/dynamodb_providers.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "aws/endpoint.h"
#include "common/clock.h"
#include "common/error.h"
#include "identity/endpoint_rules.h"
#include "identity/provider.h"
#include "ddblock.h"

#define PROVIDERS_REASON_MAX 512
#define PROVIDERS_NEWS_MAX 1024
#define PROVIDERS_TOPIC "credentials"
#define PROVIDERS_DIGEST_SIZE 32	/* SHA-256 */

enum providers_state {
	PROVIDERS_NONE = 0,	/* at first */
	PROVIDERS_LACKING,	/* there are none */
	PROVIDERS_GOOD,
	PROVIDERS_FAILING,	/* valid, but not renewed */
	PROVIDERS_STALE,	/* the same, and their time is over */
};

struct providers_one {
	struct dynamodb_providers *all;
	char *namespace_name;	/* the first of its users */
	unsigned char digest[PROVIDERS_DIGEST_SIZE];	/* of the settings */
	struct provider *provider;
	struct provider_listener *listener;
	enum providers_state state;	/* as the log has it */
	bool is_exposed;		/* the same: their file */
	struct providers_one *next;
};

struct dynamodb_providers {
	struct event_base *base;
	store_say_fn say;
	void *say_arg;
	struct providers_one *first;
};

int
dynamodb_providers_new(struct event_base *base, store_say_fn say,
    void *say_arg, struct dynamodb_providers **ret)
{
	struct dynamodb_providers *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	s->base = base;
	s->say = say;
	s->say_arg = say_arg;
	*ret = s;
	return 0;
}

static void
providers_one_free(struct providers_one *p)
{
	if (p->provider != NULL)
		provider_unlisten(p->provider, p->listener);
	provider_free(p->provider);
	free(p->namespace_name);
	free(p);
}

/* @all: or only those to which the log alone listens. */
static void
providers_remove(struct dynamodb_providers *s, bool all)
{
	struct providers_one **link = &s->first, *p;

	while ((p = *link) != NULL) {
		if (all || provider_listeners(p->provider) == 1) {
			*link = p->next;
			providers_one_free(p);
		} else {
			link = &p->next;
		}
	}
}

void
dynamodb_providers_trim(struct dynamodb_providers *s)
{
	providers_remove(s, false);
}

void
dynamodb_providers_free(struct dynamodb_providers *s)
{
	if (s == NULL)
		return;
	providers_remove(s, true);
	free(s);
}

/* ---- the log ---- */

__attribute__((format(printf, 4, 5)))
static void
providers_tell(const struct providers_one *p, int priority, int code,
    const char *format, ...)
{
	char text[PROVIDERS_NEWS_MAX];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	p->all->say(p->all->say_arg, priority, PROVIDERS_TOPIC,
	    p->namespace_name, code, text);
}

static void
providers_say(const struct providers_one *p, const struct identity_view *v)
{
	uint64_t now_ms = clock_wall_ms();
	uint64_t left_min = v->credentials != NULL &&
	    v->credentials->expires_ms > now_ms ?
	    (v->credentials->expires_ms - now_ms) / 60000 : 0;

	switch (p->state) {
	case PROVIDERS_NONE:
		break;
	case PROVIDERS_LACKING:
		providers_tell(p, LOG_ERR, v->code, "there are no AWS "
		    "credentials yet: %s; asking on", v->text);
		break;
	case PROVIDERS_GOOD:
		providers_tell(p, LOG_INFO, v->code, "AWS credentials: %s; "
		    "region %s", v->about, v->params->region[0] == '\0' ?
		    "unknown" : v->params->region);
		break;
	case PROVIDERS_FAILING:
		providers_tell(p, LOG_WARNING, v->code, "AWS credentials "
		    "could not be renewed: %s; those there are serve for "
		    "another %" PRIu64 " min", v->text, left_min);
		break;
	case PROVIDERS_STALE:
		providers_tell(p, LOG_ERR, v->code, "AWS credentials have "
		    "expired and could not be renewed: %s; trying with the "
		    "old ones", v->text);
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
	if (v.exposed != NULL && !p->is_exposed)
		providers_tell(p, LOG_WARNING, 0, "everybody can read %.300s, "
		    "which is for secrets; run chmod o-rwx on it", v.exposed);
	p->is_exposed = v.exposed != NULL;
}

/* ---- one for each ---- */

/* Of all settings that a provider goes by: they may be gone before it is. */
static int
providers_digest(const struct store_settings *s,
    unsigned char digest[PROVIDERS_DIGEST_SIZE])
{
	const char *const texts[] = {
		s->profile, s->region, s->endpoint, s->ca_file,
		s->access_key_id, s->secret_access_key, s->session_token,
		s->fips ? "" : NULL, s->dual_stack ? "" : NULL,
	};
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool good = context != NULL &&
	    EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;

	for (size_t i = 0; good && i < sizeof(texts) / sizeof(texts[0]); i++) {
		bool there = texts[i] != NULL;

		good = EVP_DigestUpdate(context, &there, sizeof(there)) == 1 &&
		    (!there || EVP_DigestUpdate(context, texts[i],
		    strlen(texts[i]) + 1) == 1);
	}
	good = good && EVP_DigestFinal_ex(context, digest, NULL) == 1;
	EVP_MD_CTX_free(context);
	return good ? 0 : DDBLOCK_E_NOMEM;
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
providers_check_endpoint(const struct store_settings *s, char *text,
    size_t size)
{
	char url[ENDPOINT_PARAMS_URL_MAX];
	struct endpoint endpoint;
	struct endpoint_params params = {
		.fips = s->fips != 0, .dual_stack = s->dual_stack != 0,
	};

	if (s->region != NULL && !region_is_name(s->region)) {
		(void)snprintf(text, size, "\"%.40s\" is not the name of a "
		    "region", s->region);
		return DDBLOCK_E_BAD_REQUEST;
	}
	if (s->endpoint != NULL)
		return endpoint_parse(s->endpoint, s->allow_plain_http != 0,
		    &endpoint, text, size);
	if (s->region == NULL)
		return 0;
	(void)snprintf(params.region, sizeof(params.region), "%s", s->region);
	return endpoint_rules_url(&params, "dynamodb", NULL, url, sizeof(url),
	    text, size);
}

/* Errors in the configuration itself are reported before the start. */
static int
providers_check(const struct store_opening *o, struct credentials *keys,
    char *text, size_t size)
{
	const struct store_settings *s = o->settings;
	char reason[PROVIDERS_REASON_MAX];
	int r = 0;

	if (s->access_key_id != NULL)
		r = credentials_set(keys, s->access_key_id,
		    s->secret_access_key, s->session_token, reason,
		    sizeof(reason));
	if (r == 0)
		r = providers_check_endpoint(s, reason, sizeof(reason));
	if (r < 0)
		(void)snprintf(text, size, "namespace %s: %s",
		    o->namespace_name, reason);
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
providers_add(struct dynamodb_providers *all, const struct store_opening *o,
    const struct credentials *keys, const unsigned char *digest,
    struct provider **ret)
{
	const struct store_settings *s = o->settings;
	const struct identity_config config = {
		.endpoints = {
			.region = s->region, .endpoint = s->endpoint,
			.ca_file = s->ca_file, .fips = s->fips != 0,
			.dual_stack = s->dual_stack != 0,
		},
		.profile = s->profile,
		.settings = credentials_exist(keys) ? keys : NULL,
		.variable = providers_variable,
		.home = providers_home(),
	};
	struct providers_one *p = calloc(1, sizeof(*p));
	int r = DDBLOCK_E_NOMEM;

	if (p == NULL)
		return r;
	p->all = all;
	memcpy(p->digest, digest, sizeof(p->digest));
	p->namespace_name = strdup(o->namespace_name);
	if (p->namespace_name != NULL)
		r = provider_new(all->base, &config, &p->provider);
	if (r == 0)
		r = provider_listen(p->provider, providers_on_heard, p,
		    &p->listener);
	if (r < 0) {
		providers_one_free(p);
		return r;
	}
	p->next = all->first;
	all->first = p;
	*ret = p->provider;
	return 0;
}

int
dynamodb_providers_get(struct dynamodb_providers *all,
    const struct store_opening *o, struct provider **ret, char *text,
    size_t size)
{
	struct credentials keys = { .expires_ms = 0 };
	unsigned char digest[PROVIDERS_DIGEST_SIZE];
	struct providers_one *p = all->first;
	int r = providers_check(o, &keys, text, size);

	if (r == 0) {
		r = providers_digest(o->settings, digest);
		if (r < 0)
			(void)snprintf(text, size, "%s", error_text(r));
	}
	while (r == 0 && p != NULL &&
	    memcmp(p->digest, digest, sizeof(digest)) != 0)
		p = p->next;
	if (r == 0 && p != NULL)
		*ret = p->provider;
	else if (r == 0)
		r = providers_add(all, o, &keys, digest, ret);
	credentials_done(&keys);
	return r;
}
