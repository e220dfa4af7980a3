/*
 * A look at all that a namespace with a table needs.
 *
 * It goes the way that a request goes: configuration, credentials, name,
 * connection, TLS, then a first answer, which shows the clock and whether the
 * signature is accepted, and only then the table and what may be done with it.
 * So the first error is the cause, and what depends on it is left out: without
 * credentials, all that is to be signed. A request that fails is not repeated,
 * except for the clock: the first answer ever brings the time for the second
 * signature.
 */
#include "store/dynamodb_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <json-c/json.h>

#include "common/clock.h"
#include "common/error.h"
#include "dialect/json.h"
#include "identity/endpoint_rules.h"

#define CHECK_CALL_MS 5000
#define CHECK_PROBE_MS 5000
#define CHECK_BODY_MAX 16384

enum dynamodb_check_step {
	CHECK_DESCRIBE = 1,
	CHECK_TTL,
	CHECK_ASK_TTL,		/* whether it can be set, without setting it */
	CHECK_PERMISSION,	/* of each request that the format sends */
	CHECK_LATENCY,
};

struct dynamodb_check {
	struct dynamodb_jobs *jobs;
	struct dynamodb_check_config config;
	store_finding_fn found;
	void *arg;
	struct dynamodb_check **owner;

	enum dynamodb_check_step step;
	enum dynamodb_request request;	/* PERMISSION: which */
	bool signs;			/* there are credentials to do so */
	bool repeated;			/* because of the clock */
	struct event *timer;		/* to begin, from the loop */
	struct probe *probe;		/* under way; or NULL */
	struct aws_call *call;		/* the same */
	uint64_t sent_us;
	size_t n_latencies;
	uint64_t latencies_us[FINDINGS_LATENCIES];
	struct finding finding;
};

static void dynamodb_check_send(struct dynamodb_check *k);

void
dynamodb_check_cancel(struct dynamodb_check *k)
{
	if (k == NULL)
		return;
	if (k->call != NULL)
		aws_call_cancel(k->call);
	probe_cancel(k->probe);
	if (k->timer != NULL)
		event_free(k->timer);
	free(k);
}

static void
dynamodb_check_end(struct dynamodb_check *k)
{
	store_finding_fn found = k->found;
	void *arg = k->arg;

	/* What follows may begin another one. */
	*k->owner = NULL;
	dynamodb_check_cancel(k);
	found(arg, NULL);
}

/* Tell what is in k->finding. False: it is an error, and what follows depends
 * on it. */
static bool
dynamodb_check_tell(struct dynamodb_check *k)
{
	k->found(k->arg, &k->finding);
	return k->finding.state != FINDING_ERROR;
}

/* ---- before the first request ---- */

static void
dynamodb_check_on_probe(void *arg, const struct probe_report *r)
{
	struct dynamodb_check *k = arg;
	struct finding *f = &k->finding;
	bool there;

	k->probe = NULL;
	findings_dns(r, f);
	there = dynamodb_check_tell(k);
	if (there) {
		findings_connection(r, f);
		there = dynamodb_check_tell(k);
	}
	if (there) {
		findings_tls(r, clock_wall_ms(), f);
		there = dynamodb_check_tell(k);
	}
	if (!there || !k->signs) {
		dynamodb_check_end(k);
		return;
	}
	k->step = CHECK_DESCRIBE;
	dynamodb_check_send(k);
}

/* Why there is no endpoint; empty: only because there are no credentials. */
static void
dynamodb_check_nowhere(const struct dynamodb_identity *i,
    const struct identity_view *v, char *text, size_t size)
{
	char url[ENDPOINT_PARAMS_URL_MAX];

	text[0] = '\0';
	if (i->code != 0) {
		(void)snprintf(text, size, "%s", i->text);
	} else if (v->params == NULL || v->params->region[0] == '\0') {
		if (v->code == DDBLOCK_E_BAD_REQUEST)
			(void)snprintf(text, size, "%s", v->text);
	} else if (endpoint_rules_url(v->params, "dynamodb", v->credentials ==
	    NULL ? NULL : v->credentials->account_id, url, sizeof(url), text,
	    size) == 0) {
		text[0] = '\0';
	}
}

static void
dynamodb_check_begin(evutil_socket_t fd, short what, void *arg)
{
	struct dynamodb_check *k = arg;
	const struct dynamodb_identity *identity = &k->jobs->identity;
	const struct probe_config probe = {
		.url = k->config.target.endpoint,
		.ca_file = k->config.ca_file,
		.timeout_ms = CHECK_PROBE_MS,
	};
	struct identity_view v;
	uint64_t wall_ms = aws_client_wall_ms(k->jobs->client);
	char trouble[IDENTITY_TEXT_MAX] = "";
	struct findings_target target = k->config.target;
	int r;

	(void)fd;
	(void)what;
	dynamodb_identity_look(identity, &v);
	if (k->config.target.endpoint == NULL || identity->code != 0)
		dynamodb_check_nowhere(identity, &v, trouble,
		    sizeof(trouble));
	if (target.region == NULL && v.params != NULL &&
	    v.params->region[0] != '\0')
		target.region = v.params->region;
	findings_configuration(&target, trouble, &k->finding);
	if (!dynamodb_check_tell(k)) {
		dynamodb_check_end(k);
		return;
	}
	findings_credentials(&v, clock_boot_ms(),
	    wall_ms != 0 ? wall_ms : clock_wall_ms(), &k->finding);
	(void)dynamodb_check_tell(k);
	k->signs = v.credentials != NULL;
	if (k->config.target.endpoint == NULL) {
		dynamodb_check_end(k);
		return;
	}
	r = probe_start(k->jobs->base, &probe, dynamodb_check_on_probe, k,
	    &k->probe);
	if (r == 0)
		return;
	finding_set(&k->finding, "dns", FINDING_ERROR, "%.*s: %s",
	    ENDPOINT_PARAMS_URL_MAX, probe.url, r == DDBLOCK_E_BAD_REQUEST ?
	    "that is no URL such as https://HOST[:PORT]" : error_text(r));
	(void)dynamodb_check_tell(k);
	dynamodb_check_end(k);
}

/* ---- answers ---- */

static bool
dynamodb_check_first(struct dynamodb_check *k, const struct aws_error *e)
{
	uint64_t wall_ms = aws_client_wall_ms(k->jobs->client);
	const struct findings_clock clock = {
		.known = wall_ms != 0,
		.difference_ms = (int64_t)clock_wall_ms() - (int64_t)wall_ms,
		.synchronised = clock_is_synchronised(),
	};

	findings_clock(&clock, &k->config.target, &k->finding);
	(void)dynamodb_check_tell(k);
	findings_signature(e, &k->finding);
	return dynamodb_check_tell(k);
}

/* False: there is no such table. */
static bool
dynamodb_check_table(struct dynamodb_check *k, const struct aws_error *e,
    struct json_object *answer)
{
	struct json_object *table = json_find(answer, "Table");
	const struct findings_target *p = &k->config.target;
	struct finding *f = &k->finding;

	if (e->class != AWS_CLASS_OK) {
		findings_no_table(p, e, f);
		return dynamodb_check_tell(k);
	}
	findings_table(p, table, f);
	if (!dynamodb_check_tell(k))
		return false;
	findings_billing(table, f);
	(void)dynamodb_check_tell(k);
	findings_protection(p, table, f);
	(void)dynamodb_check_tell(k);
	findings_regions(table, f);
	(void)dynamodb_check_tell(k);
	return true;
}

/* The next request that the format sends, or what comes after them. */
static void
dynamodb_check_next_request(struct dynamodb_check *k)
{
	const struct findings_target *p = &k->config.target;

	while (k->request < REQUESTS &&
	    !requests_has(p->dialect, p->table, k->request))
		k->request++;
	k->step = k->request < REQUESTS ? CHECK_PERMISSION : CHECK_LATENCY;
	dynamodb_check_send(k);
}

static void
dynamodb_check_measured(struct dynamodb_check *k, const struct aws_error *e,
    uint64_t took_us)
{
	/* What is refused was told already, and takes another time. */
	if (e->class != AWS_CLASS_OK) {
		dynamodb_check_end(k);
		return;
	}
	k->latencies_us[k->n_latencies++] = took_us;
	if (k->n_latencies < FINDINGS_LATENCIES) {
		dynamodb_check_send(k);
		return;
	}
	findings_latency(k->latencies_us, &k->finding);
	(void)dynamodb_check_tell(k);
	dynamodb_check_end(k);
}

/* What the answer means, and what comes next. */
static void
dynamodb_check_take(struct dynamodb_check *k, const struct aws_error *e,
    struct json_object *answer, uint64_t took_us)
{
	const struct findings_target *p = &k->config.target;

	switch (k->step) {
	case CHECK_DESCRIBE:
		if (!dynamodb_check_first(k, e) ||
		    !dynamodb_check_table(k, e, answer)) {
			dynamodb_check_end(k);
			return;
		}
		if (p->table->ttl_attribute != NULL) {
			k->step = CHECK_TTL;
			dynamodb_check_send(k);
			return;
		}
		dynamodb_check_next_request(k);
		return;
	case CHECK_TTL:
		findings_ttl(p, answer, e, &k->finding);
		if (findings_ttl_is_off(answer)) {
			k->step = CHECK_ASK_TTL;
			dynamodb_check_send(k);
			return;
		}
		(void)dynamodb_check_tell(k);
		dynamodb_check_next_request(k);
		return;
	case CHECK_ASK_TTL:	/* any other answer leaves the finding */
		if (strcmp(e->name, "UnknownOperationException") == 0)
			findings_ttl(p, NULL, e, &k->finding);
		(void)dynamodb_check_tell(k);
		dynamodb_check_next_request(k);
		return;
	case CHECK_PERMISSION:
		findings_permission(p, k->request, e, &k->finding);
		(void)dynamodb_check_tell(k);
		k->request++;
		dynamodb_check_next_request(k);
		return;
	case CHECK_LATENCY:
		dynamodb_check_measured(k, e, took_us);
		return;
	}
}

static void
dynamodb_check_on_answer(void *arg, const struct aws_answer *answer)
{
	struct dynamodb_check *k = arg;
	uint64_t took_us = clock_boot_us() - k->sent_us;
	struct json_object *o;
	struct aws_error e;

	k->call = NULL;
	aws_errors_classify_answer(answer, &e);
	dynamodb_jobs_learn(k->jobs, answer, &e);
	if (e.class == AWS_CLASS_CLOCK && !k->repeated) {
		k->repeated = true;
		dynamodb_check_send(k);
		return;
	}
	o = json_read_object(NULL, answer->body, answer->body_length);
	dynamodb_check_take(k, &e, o, took_us);
	json_object_put(o);
}

/* ---- requests ---- */

static const char *
dynamodb_check_write(const struct dynamodb_check *k, struct buffer *b)
{
	const struct dialect_table *t = k->config.target.table;
	enum dynamodb_request request = k->step == CHECK_LATENCY ?
	    REQUEST_GET : k->request;

	if (k->step == CHECK_PERMISSION || k->step == CHECK_LATENCY) {
		requests_write(request, t, b);
		return requests_name(request);
	}
	(void)buffer_append_text(b, "{\"TableName\":");
	json_append_text(b, t->table);
	(void)buffer_append_text(b, "}");
	/* The last one is incomplete: nobody can do this. */
	return k->step == CHECK_DESCRIBE ? "DescribeTable" :
	    k->step == CHECK_TTL ? "DescribeTimeToLive" : "UpdateTimeToLive";
}

static void
dynamodb_check_send(struct dynamodb_check *k)
{
	const char *operation;
	struct buffer body;
	int r;

	buffer_init(&body, CHECK_BODY_MAX);
	operation = dynamodb_check_write(k, &body);
	r = buffer_failed(&body);
	k->sent_us = clock_boot_us();
	if (r == 0)
		r = aws_client_call(k->jobs->client, AWS_LANE_BULK, USER_NONE,
		    operation, body.data, body.length, CHECK_CALL_MS,
		    dynamodb_check_on_answer, k, &k->call);
	buffer_done(&body);
	if (r == 0) {
		k->jobs->requests++;
		return;
	}
	finding_set(&k->finding, "table", FINDING_ERROR, "%s: %s", operation,
	    error_text(r));
	(void)dynamodb_check_tell(k);
	dynamodb_check_end(k);
}

int
dynamodb_check_run(struct dynamodb_jobs *jobs,
    const struct dynamodb_check_config *config, store_finding_fn found,
    void *arg, struct dynamodb_check **ret)
{
	struct dynamodb_check *k = calloc(1, sizeof(*k));

	if (k == NULL)
		return DDBLOCK_E_NOMEM;
	k->jobs = jobs;
	k->config = *config;
	k->found = found;
	k->arg = arg;
	k->owner = ret;
	k->timer = evtimer_new(jobs->base, dynamodb_check_begin, k);
	if (k->timer == NULL) {
		dynamodb_check_cancel(k);
		return DDBLOCK_E_NOMEM;
	}
	*ret = k;
	event_active(k->timer, EV_TIMEOUT, 0);
	return 0;
}
