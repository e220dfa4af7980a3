/*
 * AWS and the table, as findings with advice (pure). Each function is one
 * subject; the caller (dynamodb_check.h) asks in an order in which the first
 * error is the cause of what follows.
 */
#ifndef DDBLOCKD_STORE_DYNAMODB_FINDINGS_H
#define DDBLOCKD_STORE_DYNAMODB_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aws/errors.h"
#include "aws/probe.h"
#include "common/finding.h"
#include "dialect/dialect.h"
#include "identity/identity.h"
#include "store/dynamodb_requests.h"

#define FINDINGS_LATENCIES 5

struct json_object;

/* Of the configuration. Borrowed. */
struct findings_target {
	const char *endpoint;	/* its URL; NULL: not known, or not before
				 * the credentials */
	const char *region;	/* the same */
	const struct dialect *dialect;
	const struct dialect_table *table;
	bool clock_counts;	/* no lock unless it is synchronised */
};

/* Of the host, as the endpoint and the kernel see it. */
struct findings_clock {
	bool known;		/* there was an answer with a Date */
	int64_t difference_ms;	/* host's - endpoint's */
	int synchronised;	/* clock_is_synchronised() */
};

/* @trouble: why the endpoint cannot be known, and what to do; empty: nothing
 * keeps it from that. */
void findings_configuration(const struct findings_target *,
    const char *trouble, struct finding *);
void findings_credentials(const struct identity_view *, uint64_t boot_ms,
    uint64_t wall_ms, struct finding *);

/* Of one new connection; what it did not get to is FINDING_ERROR. */
void findings_dns(const struct probe_report *, struct finding *);
void findings_connection(const struct probe_report *, struct finding *);
void findings_tls(const struct probe_report *, uint64_t wall_ms,
    struct finding *);

void findings_clock(const struct findings_clock *,
    const struct findings_target *, struct finding *);

/* Was the first request's signature accepted? @e: of its answer. */
void findings_signature(const struct aws_error *e, struct finding *);

/* The Table of DescribeTable. */
void findings_table(const struct findings_target *, struct json_object *,
    struct finding *);
void findings_billing(struct json_object *, struct finding *);
void findings_protection(const struct findings_target *, struct json_object *,
    struct finding *);
void findings_regions(struct json_object *, struct finding *);
/* There is none, or it is not shown. */
void findings_no_table(const struct findings_target *, const struct aws_error *,
    struct finding *);

/* The answer to DescribeTimeToLive, or why there is none. Of one that says
 * that it is off, an endpoint that has none tells when it is asked to switch
 * it on: then @answer is NULL, and its error that of this. */
bool findings_ttl_is_off(struct json_object *);
void findings_ttl(const struct findings_target *, struct json_object *,
    const struct aws_error *, struct finding *);

/* What became of the harmless request. */
void findings_permission(const struct findings_target *, enum dynamodb_request,
    const struct aws_error *, struct finding *);

/* Of so many reads, one after the other, sorted here. */
void findings_latency(uint64_t latencies_us[FINDINGS_LATENCIES],
    struct finding *);

/* "5 h 12 min", "40 s", "12 ms" */
void findings_duration(uint64_t ms, char *text, size_t size);

#endif
