/*
 * The table, and the permissions of the credentials for it.
 */
#include "store/dynamodb_findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "ddblock.h"
#include "dialect/json.h"
#include "store/dynamodb_schema.h"

#define FINDINGS_LATENCY_FAR_US 100000
#define FINDINGS_WRITES_FEW 5
#define FINDINGS_SHOWN 200		/* bytes of a name in a text */

/* ---- the table ---------------------------------------------------------- */

void
findings_table(const struct findings_target *p, struct json_object *table,
    struct finding *f)
{
	const char *status = schema_text(table, "TableStatus");
	char have[SCHEMA_TEXT_MAX], need[SCHEMA_TEXT_MAX];

	schema_found(table, have);
	schema_needed(p->table, need);
	if (strcmp(have, need) != 0) {
		finding_set(f, "table", FINDING_ERROR, "%.*s has %.280s, but "
		    "needed is %.280s and no other", 100, p->table->table,
		    have, need);
		finding_advise(f, "%s", SCHEMA_ADVICE);
		return;
	}
	finding_set(f, "table", FINDING_OK, "%.*s is %.60s; %s", 100,
	    p->table->table, status, have);
	if (strcmp(status, "ACTIVE") == 0 || strcmp(status, "UPDATING") == 0)
		return;
	f->state = FINDING_ERROR;
	if (strcmp(status, "INACCESSIBLE_ENCRYPTION_CREDENTIALS") == 0)
		finding_advise(f, "let DynamoDB use the table's KMS key "
		    "again");
	else if (strncmp(status, "ARCHIV", 6) == 0)
		finding_advise(f, "the table was put away: make another");
	else
		finding_advise(f, "wait until it is ACTIVE");
}

void
findings_no_table(const struct findings_target *p, const struct aws_error *e,
    struct finding *f)
{
	if (e->code == DDBLOCK_E_NO_TABLE) {
		finding_set(f, "table", FINDING_ERROR, "there is no table "
		    "%.*s in this account and region", FINDINGS_SHOWN,
		    p->table->table);
		finding_advise(f, "make it with ddblockd --init-table and the "
		    "options of the daemon, or with the templates of "
		    "contrib/aws");
	} else if (e->code == DDBLOCK_E_ACCESS_DENIED) {
		finding_set(f, "table", FINDING_WARNING, "how it is cannot be "
		    "seen: %s", e->text);
		finding_advise(f, "locks need it not; to see more, allow "
		    "dynamodb:DescribeTable");
	} else {
		finding_set(f, "table", FINDING_ERROR, "how it is cannot be "
		    "seen: %s", e->text);
	}
}

void
findings_billing(struct json_object *table, struct finding *f)
{
	struct json_object *units = json_find(table, "ProvisionedThroughput");
	int64_t reads = json_object_get_int64(json_find(units,
	    "ReadCapacityUnits"));
	int64_t writes = json_object_get_int64(json_find(units,
	    "WriteCapacityUnits"));

	if (strcmp(schema_text(json_find(table, "BillingModeSummary"),
	    "BillingMode"), "PAY_PER_REQUEST") == 0 || writes == 0) {
		finding_set(f, "billing", FINDING_OK, "on demand");
		return;
	}
	finding_set(f, "billing", writes < FINDINGS_WRITES_FEW ?
	    FINDING_WARNING : FINDING_OK, "provisioned: %" PRId64 " read and "
	    "%" PRId64 " write units per second", reads, writes);
	if (f->state != FINDING_OK)
		finding_advise(f, "a burst of locks is throttled, and beats "
		    "with it: provision more, or switch to on demand");
}

void
findings_protection(const struct findings_target *p, struct json_object *table,
    struct finding *f)
{
	struct json_object *protected =
	    json_find(table, "DeletionProtectionEnabled");

	if (protected == NULL) {
		finding_set(f, "protection", FINDING_OK, "this endpoint does "
		    "not say whether the table can be deleted");
	} else if (json_object_get_boolean(protected)) {
		finding_set(f, "protection", FINDING_OK, "the table is "
		    "protected from deletion");
	} else {
		finding_set(f, "protection", FINDING_WARNING, "one call can "
		    "delete the table, and all tokens start again");
		finding_advise(f, "aws dynamodb update-table --table-name "
		    "%.*s --deletion-protection-enabled", FINDINGS_SHOWN,
		    p->table->table);
	}
}

void
findings_regions(struct json_object *table, struct finding *f)
{
	struct json_object *replicas = json_find(table, "Replicas");
	size_t n = json_object_is_type(replicas, json_type_array) ?
	    json_object_array_length(replicas) : 0;
	char names[FINDINGS_SHOWN] = "";

	for (size_t i = 0; i < n; i++) {
		size_t used = strlen(names);

		(void)snprintf(names + used, sizeof(names) - used, "%s%s",
		    used > 0 ? ", " : "", schema_text(
		    json_object_array_get_idx(replicas, i), "RegionName"));
	}
	if (n == 0) {
		finding_set(f, "regions", FINDING_OK, "the table is in this "
		    "region only");
	} else if (strcmp(schema_text(table, "MultiRegionConsistency"),
	    "STRONG") == 0) {
		finding_set(f, "regions", FINDING_OK, "a global table with "
		    "strong consistency over %s", names);
	} else {
		finding_set(f, "regions", FINDING_WARNING, "a global table "
		    "with eventual consistency over %s: two regions can both "
		    "grant a lock", names);
		finding_advise(f, "let all daemons use the endpoint of one "
		    "region, or make the table with multi-Region strong "
		    "consistency");
	}
}

/* Does the endpoint not know the request at all? */
static bool
findings_unknown(const struct aws_error *e)
{
	return strcmp(e->name, "UnknownOperationException") == 0;
}

bool
findings_ttl_is_off(struct json_object *answer)
{
	return strcmp(schema_text(json_find(answer, "TimeToLiveDescription"),
	    "TimeToLiveStatus"), "DISABLED") == 0;
}

void
findings_ttl(const struct findings_target *p, struct json_object *answer,
    const struct aws_error *e, struct finding *f)
{
	struct json_object *d = json_find(answer, "TimeToLiveDescription");
	const char *status = schema_text(d, "TimeToLiveStatus");
	const char *attribute = schema_text(d, "AttributeName");
	const char *needed = p->table->ttl_attribute;

	if (findings_unknown(e)) {
		finding_set(f, "ttl", FINDING_OK, "no time to live at this "
		    "endpoint: records of free locks are never removed");
	} else if (e->class != AWS_CLASS_OK) {
		finding_set(f, "ttl", FINDING_WARNING, "how it is cannot be "
		    "seen: %s", e->text);
		finding_advise(f, "locks need it not; to see more, allow "
		    "dynamodb:DescribeTimeToLive");
	} else if (strcmp(status, "ENABLED") != 0 &&
	    strcmp(status, "ENABLING") != 0) {
		finding_set(f, "ttl", FINDING_WARNING, "the time to live is "
		    "off: records of free locks are never removed");
		finding_advise(f, "switch it on for attribute \"%.*s\", as "
		    "ddblock init-table does", FINDINGS_SHOWN, needed);
	} else if (strcmp(attribute, needed) != 0) {
		finding_set(f, "ttl", FINDING_WARNING, "the time to live is "
		    "on \"%.*s\", but the namespace writes \"%.*s\"",
		    FINDINGS_SHOWN, attribute, FINDINGS_SHOWN, needed);
		finding_advise(f, "switch it off and then on for the other "
		    "one, or set ttl_attribute");
	} else {
		finding_set(f, "ttl", FINDING_OK, "time to live on \"%.*s\"",
		    FINDINGS_SHOWN, attribute);
	}
}

/* ---- what may be done with it ------------------------------------------- */

/* What cannot be done without it; NULL: locks need it. */
static const char *
findings_without(enum dynamodb_request request)
{
	switch (request) {
	case REQUEST_SCAN:
		return "LIST (ddblock list) does not work without it";
	case REQUEST_TRANSACT:
		return "several keys at once (-k) need it";
	default:
		return NULL;
	}
}

static void
findings_denied(const struct findings_target *p, enum dynamodb_request request,
    const struct aws_error *e, struct finding *f)
{
	const char *without = findings_without(request);

	finding_set(f, "permission", request == REQUEST_SCAN ?
	    FINDING_WARNING : FINDING_ERROR, "%s is denied: %s%s%s",
	    requests_name(request), e->text, without == NULL ? "" : "; ",
	    without == NULL ? "" : without);
	/* There is no permission of that name: a transaction has those of its
	 * parts. */
	finding_advise(f, "allow dynamodb:%s on table %.*s; contrib/aws has "
	    "policies", request == REQUEST_TRANSACT ? "UpdateItem" :
	    requests_name(request), FINDINGS_SHOWN, p->table->table);
}

void
findings_permission(const struct findings_target *p,
    enum dynamodb_request request, const struct aws_error *e,
    struct finding *f)
{
	const char *without = findings_without(request);

	if (e->class == AWS_CLASS_OK || e->class == AWS_CLASS_CONDITION) {
		finding_set(f, "permission", FINDING_OK, "%s is allowed",
		    requests_name(request));
	} else if (e->code == DDBLOCK_E_ACCESS_DENIED) {
		findings_denied(p, request, e, f);
	} else if (request == REQUEST_TRANSACT && findings_unknown(e)) {
		finding_set(f, "permission", FINDING_OK, "no transactions at "
		    "this endpoint: several keys at once (-k) are taken one "
		    "after the other");
	} else if (e->class == AWS_CLASS_THROTTLED) {
		finding_set(f, "permission", FINDING_WARNING,
		    "%s was throttled: %s", requests_name(request), e->text);
		finding_advise(f, "if that goes on, see the table's capacity");
	} else {
		finding_set(f, "permission", without != NULL ?
		    FINDING_WARNING : FINDING_ERROR, "%s was refused: %s%s%s",
		    requests_name(request), e->text,
		    without == NULL ? "" : "; ",
		    without == NULL ? "" : without);
	}
}

/* ---- how fast it is ----------------------------------------------------- */

static int
findings_compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

void
findings_latency(uint64_t latencies_us[FINDINGS_LATENCIES], struct finding *f)
{
	uint64_t median_us, max_us;

	qsort(latencies_us, FINDINGS_LATENCIES, sizeof(*latencies_us),
	    findings_compare);
	median_us = latencies_us[FINDINGS_LATENCIES / 2];
	max_us = latencies_us[FINDINGS_LATENCIES - 1];
	finding_set(f, "latency", median_us < FINDINGS_LATENCY_FAR_US ?
	    FINDING_OK : FINDING_WARNING, "a read takes %" PRIu64 ".%" PRIu64
	    " ms (of %d the middle one; the slowest: %" PRIu64 ".%" PRIu64
	    " ms)", median_us / 1000, median_us / 100 % 10,
	    FINDINGS_LATENCIES, max_us / 1000, max_us / 100 % 10);
	if (f->state != FINDING_OK)
		finding_advise(f, "is the table in another region than this "
		    "host?");
}
