/*
 * What STATUS shows of the fleet's store: the credentials and the state of the
 * endpoint. Without secrets.
 */
#include <assert.h>

#include "common/clock.h"
#include "ddblock.h"
#include "store/dynamodb_job.h"
#include "store/dynamodb_status.h"

static void
status_add(struct store_status *ret, const struct store_field *field)
{
	assert(ret->n_fields < STORE_FIELDS_MAX);
	ret->fields[ret->n_fields++] = *field;
}

static void
status_number(struct store_status *ret, const char *name, uint64_t number)
{
	status_add(ret, &(struct store_field){ .name = name,
		.kind = STORE_FIELD_NUMBER, .number = number });
}

static void
status_duration(struct store_status *ret, const char *name, uint64_t ms)
{
	status_add(ret, &(struct store_field){ .name = name,
		.kind = STORE_FIELD_DURATION, .number = ms });
}

static void
status_text(struct store_status *ret, const char *name, const char *text)
{
	status_add(ret, &(struct store_field){ .name = name,
		.kind = STORE_FIELD_TEXT, .text = text });
}

/* `stale`: in use beyond their end; `refused`: by the last answer; `failing`:
 * valid, but their renewal failed. */
static const char *
status_credentials(const struct identity_view *v, int last_error)
{
	if (v->credentials == NULL)
		return "none";
	if (v->stale)
		return "stale";
	if (last_error == DDBLOCK_E_NO_CREDENTIALS)
		return "refused";
	return v->code != 0 ? "failing" : "ok";
}

void
dynamodb_status_identity(const struct dynamodb_identity *i,
    struct store_status *ret)
{
	uint64_t now_ms = clock_wall_ms();
	struct identity_view v;
	uint64_t expires_ms;

	dynamodb_identity_look(i, &v);
	expires_ms = v.credentials != NULL ? v.credentials->expires_ms : 0;
	status_text(ret, "credentials", status_credentials(&v,
	    ret->last_error));
	if (v.source[0] != '\0')
		status_text(ret, "credentials_source", v.source);
	if (v.about[0] != '\0')
		status_text(ret, "credentials_of", v.about);
	if (expires_ms != 0)
		status_duration(ret, "credentials_remaining",
		    expires_ms > now_ms ? expires_ms - now_ms : 0);
	if (v.code != 0)
		status_text(ret, "credentials_failure", v.text);
	if (i->region[0] != '\0')
		status_text(ret, "region", i->region);
}

/* What was answered, and how fast; what was not, or with an error. */
void
dynamodb_status_health(const struct attempts_shared *s,
    struct store_status *ret)
{
	const struct health *h = &s->health;
	uint64_t now_ms = clock_boot_ms();
	uint64_t half_ms = health_latency_ms(h, 50, now_ms);

	ret->has_traffic = true;
	ret->traffic = (struct store_traffic){
		.succeeded = h->succeeded,
		.failed = h->failed,
		.throttled = s->throttled,
		.unanswered = s->unanswered,
		.hedges = s->hedges,
		.hedges_won = s->hedges_won,
		.read_milliunits = s->read_milliunits,
		.write_milliunits = s->write_milliunits,
	};
	status_number(ret, "succeeded", h->succeeded);
	status_number(ret, "failed", h->failed);
	if (half_ms > 0) {
		status_duration(ret, "latency_p50", half_ms);
		status_duration(ret, "latency_p99",
		    health_latency_ms(h, 99, now_ms));
	}
	status_number(ret, "hedges", s->hedges);
	status_number(ret, "hedges_won", s->hedges_won);
	if (h->failed > 0) {
		status_duration(ret, "failed_ago", now_ms - h->failed_ms);
		status_text(ret, "failure", h->text);
	}
}
