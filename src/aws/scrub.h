/*
 * Memory of libraries that requests with tokens and answers with keys went
 * through: it is overwritten when they give it back, which they do not do by
 * themselves.
 */
#ifndef DDBLOCKD_AWS_SCRUB_H
#define DDBLOCKD_AWS_SCRUB_H

/* What libcrypto and libssl free, from now on. Before either is used. */
void scrub_libcrypto(void);

/*
 * As curl_global_init() and curl_global_cleanup(), which count; what libcurl
 * frees is overwritten if this was the first of all.
 *
 * DDBLOCK_E_SYSTEM
 */
int scrub_libcurl(void);
void scrub_libcurl_done(void);

#endif
