/*
 * A new connection to an endpoint, which is closed again, to see how far it
 * comes: name, connection, TLS. Nothing is sent over it.
 */
#ifndef DDBLOCKD_AWS_PROBE_H
#define DDBLOCKD_AWS_PROBE_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct probe;

#define PROBE_TEXT_MAX 320

enum probe_stage {
	PROBE_LOOKUP = 1,
	PROBE_CONNECT,
	PROBE_TLS,
	PROBE_DONE,
};

struct probe_report {
	enum probe_stage stage;	/* that it did not get beyond; or DONE */
	char text[PROBE_TEXT_MAX];	/* why not */
	char host[PROBE_TEXT_MAX];
	char port[6];
	bool literal;		/* the host is an address, */
	bool loopback;		/* of this host */
	bool tls;
	char addresses[PROBE_TEXT_MAX];	/* with commas; of the lookup */
	char address[64];	/* that answered */
	uint64_t lookup_ms;
	uint64_t connect_ms;
	uint64_t tls_ms;
	char version[64];	/* "TLSv1.3 / TLS_AES_256_GCM_SHA384" */
	char issuer[PROBE_TEXT_MAX];	/* of the certificate */
	int64_t expires_s;	/* since 1970; 0: not known */
};

typedef void (*probe_fn)(void *arg, const struct probe_report *);

struct probe_config {
	const char *url;	/* "https://HOST[:PORT]/" */
	const char *ca_file;	/* NULL: the system's */
	uint64_t timeout_ms;	/* of the lookup, and of the rest */
	/* NULL: getaddrinfo(). It is called on a thread. */
	int (*lookup)(const char *host, const char *port,
	    const struct addrinfo *hints, struct addrinfo **ret);
};

/*
 * @done is called once, from the loop; the probe is freed then. @config is
 * borrowed.
 *
 * DDBLOCK_E_BAD_REQUEST (the URL), DDBLOCK_E_NOMEM, DDBLOCK_E_SYSTEM
 */
int probe_start(struct event_base *, const struct probe_config *config,
    probe_fn done, void *arg, struct probe **ret);

/* End it without an answer. Accepts NULL. */
void probe_cancel(struct probe *);

#endif
