/*
 * Sessions of TLS that all connections of a client resume, and what was wrong
 * when there could be none, in words that say what to do. The trusted issuers
 * are set in curl_setup.h.
 */
#ifndef DDBLOCKD_AWS_TLS_H
#define DDBLOCKD_AWS_TLS_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

/* Of one client; zeroed: none. */
struct tls {
	CURLSH *sessions;	/* of all its connections */
};

/* DDBLOCK_E_NOMEM */
int tls_init(struct tls *);

/* All handles that were set up with it must be gone. */
void tls_done(struct tls *);

/* Its sessions are those of all others.
 *
 * DDBLOCK_E_NOMEM
 */
int tls_share(const struct tls *, CURL *);

/*
 * A transfer ended in @result. If that was for a certificate, or for TLS, the
 * reason is written to @text, after @detail (libcurl's text); else false.
 */
bool tls_reason(CURL *, CURLcode result, const char *detail,
    const char *ca_file, char *text, size_t text_size);

#endif
