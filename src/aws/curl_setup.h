/*
 * What all our curl handles have in common: nothing of the environment counts
 * (neither a proxy nor .netrc), TLS is 1.2 at the least, and the trusted
 * issuers are set in one place.
 */
#ifndef DDBLOCKD_AWS_CURL_SETUP_H
#define DDBLOCKD_AWS_CURL_SETUP_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

/* NULL: out of memory. */
CURL *curl_setup_new(uint64_t connect_timeout_ms);

/*
 * The URL, and the trusted issuers for it. @ca_file NULL: those of the system.
 *
 * DDBLOCK_E_NOMEM
 */
int curl_setup_url(CURL *, const char *url, bool tls, const char *ca_file);

#endif
