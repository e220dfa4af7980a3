/*
 * The credentials and the endpoint of a store.
 */
#include "store/dynamodb_identity.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/error.h"
#include "identity/endpoint_rules.h"
#include "store/store_dynamodb.h"

static int
dynamodb_identity_use(struct dynamodb_identity *i,
    const struct identity_view *v)
{
	char url[ENDPOINT_PARAMS_URL_MAX];
	const struct endpoint_params *p = v->params;
	const struct aws_client_origin origin = {
		.url = url,
		.region = endpoint_rules_signing_region(p, "dynamodb"),
		.credentials = v->credentials,
		.ca_file = p->ca_file[0] != '\0' ? p->ca_file : NULL,
	};
	int r = endpoint_rules_url(p, "dynamodb", v->credentials->account_id,
	    url, sizeof(url), i->text, sizeof(i->text));

	if (r == 0)
		r = aws_client_use(i->client, &origin, i->text,
		    sizeof(i->text));
	i->code = r;
	if (r < 0)
		return r;
	i->text[0] = '\0';
	(void)snprintf(i->region, sizeof(i->region), "%s", p->region);
	(void)snprintf(i->ca_file, sizeof(i->ca_file), "%s", p->ca_file);
	return 0;
}

/* The endpoint without credentials, for a check of what is missing. */
static void
dynamodb_identity_locate(struct dynamodb_identity *i,
    const struct endpoint_params *p)
{
	char url[ENDPOINT_URL_MAX], text[DYNAMODB_IDENTITY_TEXT_MAX];

	if (p == NULL || aws_client_ready(i->client))
		return;
	(void)snprintf(i->region, sizeof(i->region), "%s", p->region);
	if (endpoint_rules_url(p, "dynamodb", NULL, url, sizeof(url), text,
	    sizeof(text)) == 0)
		(void)snprintf(i->endpoint, sizeof(i->endpoint), "%s", url);
}

static void
dynamodb_identity_tell(struct dynamodb_identity *i, int code,
    const char *text)
{
	if (aws_client_ready(i->client))
		(void)snprintf(i->endpoint, sizeof(i->endpoint), "%s",
		    aws_client_endpoint(i->client));
	i->changed(i->arg, code, text);
}

/* Valid credentials are used until there are better ones. */
static void
dynamodb_identity_on_heard(void *arg, bool changed)
{
	struct dynamodb_identity *i = arg;
	struct identity_view v;
	const char *text;
	int r;

	provider_view(i->provider, &v);
	if (v.credentials != NULL && v.params != NULL) {
		if (!changed && aws_client_ready(i->client) && i->code == 0)
			return;
		r = dynamodb_identity_use(i, &v);
		text = i->text;
	} else {
		dynamodb_identity_locate(i, v.params);
		r = v.code;
		text = v.text;
	}
	if (r < 0 && !aws_client_ready(i->client))
		aws_client_lack(i->client, r, text);
	dynamodb_identity_tell(i, r, text);
}

static int
dynamodb_identity_fix(struct dynamodb_identity *i,
    const struct store_dynamodb_config *c, char *text, size_t text_size)
{
	struct credentials credentials = { .expires_ms = 0 };
	const struct aws_client_origin origin = {
		.url = c->endpoint, .region = c->region,
		.credentials = &credentials,
	};
	int r = credentials_set(&credentials, c->access_key_id,
	    c->secret_access_key, c->session_token, text, text_size);

	if (r == 0)
		r = aws_client_use(i->client, &origin, text, text_size);
	credentials_done(&credentials);
	if (r < 0)
		return r;
	(void)snprintf(i->region, sizeof(i->region), "%s",
	    c->region != NULL ? c->region : "");
	dynamodb_identity_tell(i, 0, "");
	return 0;
}

int
dynamodb_identity_init(struct dynamodb_identity *i, struct aws_client *client,
    const struct store_dynamodb_config *config, dynamodb_identity_fn changed,
    void *arg, char *text, size_t text_size)
{
	*i = (struct dynamodb_identity){
		.client = client, .changed = changed, .arg = arg,
	};
	return config->provider != NULL ?
	    dynamodb_identity_listen(i, config->provider) :
	    dynamodb_identity_fix(i, config, text, text_size);
}

int
dynamodb_identity_listen(struct dynamodb_identity *i,
    struct provider *provider)
{
	struct provider_listener *listener;
	int r;

	if (provider == i->provider)
		return 0;
	r = provider_listen(provider, dynamodb_identity_on_heard, i,
	    &listener);
	if (r < 0)
		return r;
	if (i->provider != NULL)
		provider_unlisten(i->provider, i->listener);
	i->provider = provider;
	i->listener = listener;
	/* It may know all already, from another store. */
	dynamodb_identity_on_heard(i, true);
	return 0;
}

void
dynamodb_identity_done(struct dynamodb_identity *i)
{
	if (i->listener != NULL)
		provider_unlisten(i->provider, i->listener);
	i->listener = NULL;
}

void
dynamodb_identity_rejected(struct dynamodb_identity *i,
    const struct aws_answer *answer)
{
	const struct credentials *c = aws_client_signer(i->client,
	    answer->signer);

	if (i->provider != NULL && c != NULL)
		provider_rejected(i->provider, c);
}

void
dynamodb_identity_set_clock(struct dynamodb_identity *i)
{
	uint64_t wall_ms = aws_client_wall_ms(i->client);

	if (i->provider != NULL && wall_ms != 0)
		provider_set_clock(i->provider,
		    (int64_t)wall_ms - (int64_t)clock_wall_ms());
}

bool
dynamodb_identity_concluded(const struct dynamodb_identity *i)
{
	struct identity_view v;

	dynamodb_identity_look(i, &v);
	return aws_client_ready(i->client) || v.code != 0 || i->code != 0;
}

void
dynamodb_identity_look(const struct dynamodb_identity *i,
    struct identity_view *ret)
{
	if (i->provider != NULL) {
		provider_view(i->provider, ret);
		return;
	}
	*ret = (struct identity_view){
		.credentials = aws_client_credentials(i->client),
		.source = "fixed", .about = "fixed credentials", .text = "",
	};
}
