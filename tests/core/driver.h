/*
 * Hosts, each with the real core, over a model of the store, in virtual time.
 * A scenario says what clients and faults do and when, lets time pass, and
 * compares the trace. One seed decides everything that is left to chance.
 *
 * After every step the judge looks; what it finds, and any failed
 * expectation, ends the test with the whole trace.
 */
#ifndef DDBLOCKD_TESTS_DRIVER_H
#define DDBLOCKD_TESTS_DRIVER_H

#include "core/core.h"
#include "judge.h"
#include "model_net.h"
#include "trace.h"

#define DRIVER_CLIENTS_MAX 512
#define DRIVER_NAMESPACES_MAX 2
#define DRIVER_FOREVER CORE_FOREVER

enum { A, B, C, D };		/* hosts */

struct driver_client {
	unsigned host;
	bool connected;
	bool slow;		/* asks for the next page only when told to */
	bool has_page;		/* and now it has one */
	unsigned replies;
	int code;		/* of the last reply */
	int cause;
	uint64_t replied_at;
};

struct driver_host {
	struct core *core;	/* NULL: dead */
	uint64_t next_ms;	/* boot time */
	uint64_t stepped_at;
	unsigned steps;		/* at this very moment */
	bool stopping;
	bool stopped;		/* it says that nothing is left to do */
};

struct driver {
	uint64_t seed;
	uint64_t now;		/* real */
	struct net net;
	struct judge judge;
	struct trace trace;
	size_t mark;		/* lines before were compared */
	struct core_namespace namespaces[DRIVER_NAMESPACES_MAX];
	uint32_t n_namespaces;
	struct core_limits limits;
	struct driver_host hosts[NET_HOSTS_MAX];
	struct driver_client clients[DRIVER_CLIENTS_MAX];	/* from 1 */
	unsigned n_clients;
	uint64_t n_requests;
	unsigned n_pages;	/* clients who will ask for another */
	const struct change *change;	/* that the next request brings */
	bool only_if_exists;		/* what the next one wants */
	bool tells_leases;		/* of holders, when they end */
};

/*
 * A world with @n_hosts hosts whose daemons do not run yet: change settings
 * first, then driver_start() all of them (and let their sessions open), or
 * driver_boot() each.
 */
struct driver *driver_new(uint64_t seed, unsigned n_hosts);
void driver_start(struct driver *);
/* All of that, with nothing changed. */
struct driver *driver_new_started(unsigned n_hosts);
void driver_boot(struct driver *, unsigned host);

/* The end: nothing more is judged. */
void driver_free(struct driver *);

/* Let time pass: up to that moment, or for that long. */
void driver_run_until(struct driver *, uint64_t real_ms);
void driver_run(struct driver *, uint64_t ms);

/* What a client does. They are numbered from 1. */
unsigned driver_connect(struct driver *, unsigned host);
void driver_acquire(struct driver *, unsigned client, const char *key,
    uint64_t wait_ms);
void driver_try(struct driver *, unsigned client, const char *key);
/* Any request, which gets its client and its number here. This and the next: 0,
 * or the code with which it was not admitted. */
int driver_ask(struct driver *, unsigned client, struct core_request *,
    const char *key);
int driver_ask_acquire(struct driver *, unsigned client,
    uint32_t namespace_index, const char *key, uint64_t wait_ms,
    uint64_t poll_ms);
/* For shared use, within @limit holders (0: any number). */
void driver_share(struct driver *, unsigned client, const char *key,
    uint32_t limit, uint64_t wait_ms);
void driver_release(struct driver *, unsigned client, const char *key);
void driver_renew(struct driver *, unsigned client, const char *key);
void driver_cancel(struct driver *, unsigned client, const char *key);
void driver_get(struct driver *, unsigned client, const char *key);
void driver_list(struct driver *, unsigned client, const char *prefix);
void driver_list_held(struct driver *, unsigned client, const char *prefix);
void driver_continue(struct driver *, unsigned client);
void driver_drain(struct driver *, unsigned client);
void driver_disconnect(struct driver *, unsigned client);
/* The same, but whom it asked for works on. */
void driver_leave(struct driver *, unsigned client);
/* Its daemon ends the connection; it may work with what it had until it is told
 * so. */
void driver_cut_off(struct driver *, unsigned client);

/* What befalls hosts. */
void driver_kill(struct driver *, unsigned host);
void driver_pause(struct driver *, unsigned host, uint64_t ms);
void driver_cut(struct driver *, unsigned host, uint64_t ms);
void driver_down(struct driver *, unsigned host, uint64_t ms);
void driver_stop(struct driver *, unsigned host, bool release);
/* The next such operation of @host meets @fault. */
void driver_fault(struct driver *, unsigned host, enum operation_kind,
    enum fault_kind fault, uint64_t ms);
void driver_say(struct driver *, unsigned host, const char *what);

/* Submissions of this kind by @host since its start. */
unsigned driver_count(const struct driver *, unsigned host,
    enum operation_kind);

/* Does @client hold @key validly, as far as it knows? */
bool driver_holds(const struct driver *, unsigned client, const char *key);
/* The hold, valid or not; fails the test if there was none. */
const struct judge_hold *driver_hold(struct driver *, unsigned client,
    const char *key);
struct model_lock *driver_lock(struct driver *, const char *key);

/*
 * The lines of @kinds since the last expectation are these. driver_skip()
 * takes them as they are.
 */
void driver_expect(struct driver *, unsigned kinds, const char *lines);
void driver_skip(struct driver *);

/* All clients go; soon nothing of them is left, anywhere. */
void driver_expect_clean(struct driver *);

/* Print the trace and fail the test. */
_Noreturn void driver_fail(struct driver *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define driver_check(d, condition)					\
	do {								\
		if (!(condition))					\
			driver_fail(d, "%s:%d: %s", __FILE__, __LINE__,	\
			    #condition);				\
	} while (0)

/* ---- between the files of the driver ---- */
extern const char *const driver_host_names[NET_HOSTS_MAX];
/* Returns what core_step() returned; @client's line is in the trace. */
int driver_step(struct driver *, unsigned host, struct core_event *);
void driver_tell_reply(struct driver *, unsigned host,
    const struct core_reply *);
void driver_tell_rows(struct driver *, unsigned host,
    const struct core_rows *);
void driver_turn_pages(struct driver *);
void driver_describe(struct driver *, const struct operation *, char *text,
    size_t size);
void driver_describe_use(enum lock_mode, uint64_t limit, char *text,
    size_t size);

#endif
