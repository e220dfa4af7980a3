/*
 * A client and its lanes, for these two files alone: client.c says where to
 * and who signs, lane.c does the calls.
 */
#ifndef DDBLOCKD_AWS_LANE_H
#define DDBLOCKD_AWS_LANE_H

#include <sys/queue.h>

#include "aws/client.h"
#include "aws/resolver.h"
#include "aws/skew.h"
#include "aws/spread.h"
#include "aws/tls.h"
#include "common/fair_queue.h"

#define CLIENT_LACK_MAX 512

TAILQ_HEAD(call_queue, aws_call);

struct lane {
	struct aws_client *client;
	struct pool *pool;
	struct fair_queue waiting;
	struct call_queue running;	/* with a transfer */
	struct call_queue failing;	/* to be answered soon */
	struct transfer *idle;
	struct spread timeouts;
	uint32_t n_transfers;
	uint32_t transfers_max;
	uint32_t addresses_number;	/* that the pool knows; 0: none */
	uint64_t suspect_ms;	/* when an answer did not come; 0: never */
};

struct aws_client {
	struct event_base *base;
	struct origin *origin;		/* NULL: calls wait */
	int lack_code;			/* why it is NULL */
	char lack_text[CLIENT_LACK_MAX];
	uint32_t origins;		/* so far */
	uint32_t routes;
	char *service;
	uint64_t connect_timeout_ms;
	bool allow_plain_http;
	resolver_lookup_fn lookup;
	struct resolver *resolver;	/* NULL: nothing to resolve */
	struct tls tls;
	struct skew skew;
	struct lane lanes[AWS_LANES];
	bool curl;			/* libcurl is set up for us */
};

/* Without connections yet. lane_done() is due after that, also of one that was
 * never opened. */
void lane_init(struct lane *, struct aws_client *, uint32_t transfers_max);

/* DDBLOCK_E_NOMEM */
int lane_open(struct lane *);

/* Start what waits, as far as connections and addresses allow. */
void lane_pump(struct lane *);

/* Its calls get no answer. */
void lane_done(struct lane *);

#endif
