/*
 * Which credentials, region and endpoint are in use: reads the files of
 * profiles, resolves the chain (chain.h) and the parameters of endpoints
 * (endpoint_params.h), gets the credentials from their source through any
 * roles, and refreshes them in time. Pure: a step at a time, with the time and
 * the dice as arguments, so that a day of refreshes is a test.
 *
 * The present credentials are used while newer ones are requested. Before the
 * first success, and after a failure, it asks again with back-off, for ever: a
 * network that is not there yet, a role or a file that does not exist yet are
 * temporary failures.
 */
#ifndef DDBLOCKD_IDENTITY_IDENTITY_H
#define DDBLOCKD_IDENTITY_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "identity/chain.h"
#include "identity/endpoint_params.h"
#include "identity/errand.h"

#define IDENTITY_TEXT_MAX 512

struct identity;

/* Copied. */
struct identity_config {
	struct endpoint_settings endpoints;
	const char *profile;		/* NULL: the environment's */
	const struct credentials *settings;	/* keys; NULL: none */
	/* Called whenever the files were read; it says the same each time. */
	chain_variable_fn variable;
	void *variable_arg;
	const char *home;	/* of "~"; NULL: none */
};

/* The times of a call. @boot_ms goes on, @wall_ms may be set; @random: 32
 * random bits. */
struct identity_now {
	uint64_t boot_ms;
	uint64_t wall_ms;
	uint32_t random;
};

struct identity_step {
	const struct errand *errand;	/* to do now, then identity_answer() */
	uint64_t wake_ms;	/* else identity_wake() at this boot time;
				 * UINT64_MAX: never */
	bool changed;		/* credentials or parameters changed */
};

/* DDBLOCK_E_NOMEM */
int identity_new(const struct identity_config *, struct identity **ret);
void identity_free(struct identity *);	/* wipes; accepts NULL */

/* The first step; the others follow from it. */
void identity_start(struct identity *, const struct identity_now *,
    struct identity_step *ret);
void identity_answer(struct identity *, const struct identity_now *,
    const struct errand_answer *, struct identity_step *ret);
void identity_wake(struct identity *, const struct identity_now *,
    struct identity_step *ret);

/*
 * AWS did not accept @used (expired, unknown, wrong signature): get others,
 * unless we have others by now or asked a moment ago. May be said at any time;
 * while an errand is under way @ret has none.
 */
void identity_rejected(struct identity *, const struct identity_now *,
    const struct credentials *used, struct identity_step *ret);

/* All borrowed, until the next step. */
struct identity_view {
	const struct credentials *credentials;	/* NULL: none yet */
	/* NULL: not known yet, or wrong. */
	const struct endpoint_params *params;
	const char *source;	/* "imds"; "" before the first */
	const char *about;	/* chain_describe() */
	bool stale;		/* in use beyond their expiry */
	uint64_t refreshed_ms;	/* boot time of the last success; 0: never */
	uint64_t next_ms;	/* boot time of the next attempt */
	uint32_t failures;	/* since the last success */
	int code;		/* of the last; 0: it succeeded */
	const char *text;	/* what went wrong, and what to do */
	const char *exposed;	/* identity_files_exposed() */
};

void identity_view(const struct identity *, uint64_t wall_ms,
    struct identity_view *ret);

#endif
