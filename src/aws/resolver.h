/*
 * The addresses of one host name, looked up without ever blocking the loop.
 * "localhost" is not looked up: it is this host (loopback.h).
 *
 * getaddrinfo() itself is asked, on a thread of its own, because it honours
 * nsswitch.conf, hosts files and local resolvers, which evdns does not; and
 * not by libcurl, which in some versions waits for such a thread when a
 * transfer is stopped in mid-lookup.
 */
#ifndef DDBLOCKD_AWS_RESOLVER_H
#define DDBLOCKD_AWS_RESOLVER_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"

#define RESOLVER_FRESH_MS 60000	/* then asked again, on use */
#define RESOLVER_PAUSE_MS 1000	/* between two lookups, at the least */
#define RESOLVER_ADDRESSES_MAX 16

struct event_base;
struct resolver;

/* getaddrinfo(), or what a test puts in its place. It runs on a thread. */
typedef int (*resolver_lookup_fn)(const char *host, const char *port,
    const struct addrinfo *hints, struct addrinfo **ret);

/* A lookup ended: there are addresses now, or resolver_error() says why not. */
typedef void (*resolver_changed_fn)(void *arg);

/* @lookup NULL: getaddrinfo(). DDBLOCK_E_NOMEM */
int resolver_new(struct event_base *, const char *host, const char *port,
    resolver_lookup_fn lookup, resolver_changed_fn changed, void *arg,
    struct resolver **ret);

/* A lookup under way is left to end by itself. Accepts NULL. */
void resolver_free(struct resolver *);

/*
 * The addresses as "ADDRESS,[ADDRESS]", borrowed until the next time in the
 * loop; NULL if there are none (yet). Starts a lookup when there are none or
 * they are old; an old answer serves as long as there is no newer one. Their
 * number goes up with each change.
 */
const char *resolver_addresses(struct resolver *, uint64_t now_ms,
    uint32_t *ret_number);

/* They did not work: look up again soon. */
void resolver_distrust(struct resolver *);

/* Is a lookup under way? */
bool resolver_busy(const struct resolver *);

/* Why the last lookup failed, for people; empty if it did not. */
const char *resolver_error(const struct resolver *);

#endif
