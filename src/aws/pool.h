/*
 * A curl multi handle inside the event loop, with its kept-alive connections.
 * It does not know the content of requests.
 */
#ifndef DDBLOCKD_AWS_POOL_H
#define DDBLOCKD_AWS_POOL_H

#include <curl/curl.h>
#include <stdint.h>

struct event_base;
struct pool;

/* @easy is finished and out of the pool. From the loop only. */
typedef void (*pool_finished_fn)(void *arg, CURL *easy, CURLcode result);

/* Whose is @easy? What has come for users is read in turns of theirs. */
typedef uint32_t (*pool_user_fn)(CURL *easy);

/* @user may be NULL: all are one user's. DDBLOCK_E_NOMEM */
int pool_new(struct event_base *, uint32_t connections_max,
    pool_finished_fn finished, pool_user_fn user, void *arg,
    struct pool **ret);

/* Transfers under way must be stopped first. Accepts NULL. */
void pool_free(struct pool *);

/* DDBLOCK_E_NOMEM */
int pool_start(struct pool *, CURL *easy);

/* Its connection is closed; no pool_finished_fn for it. */
void pool_stop(struct pool *, CURL *easy);

#endif
