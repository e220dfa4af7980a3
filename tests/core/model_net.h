/*
 * The way between hosts and the model store: latency, lost, late and repeated
 * requests, cuts and pauses, in virtual time. Global ("real") milliseconds
 * rule here; each host reads them through a boot clock of its own, with an
 * offset and a rate.
 */
#ifndef DDBLOCKD_TESTS_MODEL_NET_H
#define DDBLOCKD_TESTS_MODEL_NET_H

#include "model_store.h"

#define NET_HOSTS_MAX 4
#define NET_FAULTS_MAX 64
#define NET_ATTEMPTS_MAX 32
#define NET_NEVER UINT64_MAX

enum fault_kind {
	FAULT_NONE = 0,
	FAULT_LOSE_BEFORE,	/* the request never arrives */
	FAULT_LOSE_AFTER,	/* it does its work; the answer is lost */
	FAULT_LATE,		/* it arrives @ms late; no answer */
	FAULT_DELAY,		/* it arrives @ms after it was sent */
	FAULT_DELAY_ANSWER,	/* its answer comes @ms after it was sent */
	FAULT_REFUSE,		/* @code; nothing happened */
	FAULT_CONFLICT,		/* "something is in the way"; no effect */
	FAULT_UNPROCESSED,	/* READ_MANY leaves out the first @ms keys */
};

/*
 * What befalls operations of @host of this @kind (0: any): the @nth from now
 * (1 is the next) and @count - 1 more (0 means 1). It befalls the first
 * attempt; a second one, which works, follows only after @retry_ms.
 */
struct fault {
	unsigned host;
	enum operation_kind kind;
	unsigned nth;
	unsigned count;
	enum fault_kind fault;
	uint64_t ms;
	int code;
	uint64_t retry_ms;	/* 0: there is no second attempt */
};

struct net_attempt {
	uint64_t sent_real;
	uint64_t sent_ms;	/* boot time */
	uint64_t arrives;	/* NET_NEVER: lost, or there already */
	uint64_t answers;	/* NET_NEVER: never */
	struct model_answer *answer;	/* NULL: it did not arrive */
	enum outcome_kind told;	/* 0: what the answer says */
	int code;
};

struct net_operation {
	struct net_operation *next;
	unsigned host;
	struct operation copy;		/* our own, with all it points to */
	struct operation *original;	/* NULL once it had its outcome */
	struct fault fault;
	struct net_attempt attempts[NET_ATTEMPTS_MAX];
	uint64_t beats[NET_ATTEMPTS_MAX];
	size_t n_attempts;
	uint64_t retry_at;		/* NET_NEVER: no more */
	uint64_t deadline;		/* real */
};

struct net_host {
	uint64_t offset_ms;		/* of its boot clock */
	int32_t rate_ppm;
	uint64_t latency_ms;		/* one way */
	uint64_t spread_ms;		/* and up to this much more */
	uint64_t cut_from, cut_until;	/* packets are lost */
	uint64_t down_from, down_until;	/* requests are refused at once */
	uint64_t paused_until;		/* it takes no step before */
	unsigned sessions;
	unsigned submitted[OPERATION_SESSION_CLOSE + 1];
};

typedef void net_outcome_fn(void *arg, unsigned host,
    struct operation *original, const struct outcome *outcome);
typedef void net_late_fn(void *arg, unsigned host,
    const struct operation *operation, enum outcome_kind kind);

struct net {
	struct model_store store;
	struct net_host hosts[NET_HOSTS_MAX];
	unsigned n_hosts;
	struct fault faults[NET_FAULTS_MAX];
	size_t n_faults;
	struct net_operation *operations;	/* in order of submission */
	uint64_t random;
	uint64_t attempt_ms;	/* unanswered so long: another attempt */
	net_outcome_fn *outcome;
	net_late_fn *late;
	void *arg;
};

void net_init(struct net *, unsigned n_hosts, uint64_t seed);
void net_done(struct net *);

/* A number below @limit (which is not 0), from the seed. */
uint64_t net_random(struct net *, uint64_t limit);

uint64_t net_boot_ms(const struct net *, unsigned host, uint64_t real_ms);
/* The first real millisecond at which the host reads @boot_ms or more. */
uint64_t net_real_ms(const struct net *, unsigned host, uint64_t boot_ms);

void net_add_fault(struct net *, const struct fault *);
void net_submit(struct net *, unsigned host, struct operation *,
    uint64_t now_real);

/* The host is dead: what it sent goes on, but nobody is told. */
void net_forget_host(struct net *, unsigned host);

/* When the next thing happens; NET_NEVER. And let it happen. */
uint64_t net_next(const struct net *);
void net_fire(struct net *, uint64_t now_real);

/* Is nothing under way or still to land? */
bool net_is_quiet(const struct net *);

#endif
