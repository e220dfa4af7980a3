/*
 * A source of credentials: wishes for errands, one at a time, until it has
 * them or gives up (pure). One file each, source_*.c; the table is in
 * source.c.
 */
#ifndef DDBLOCKD_IDENTITY_SOURCE_H
#define DDBLOCKD_IDENTITY_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "identity/chain.h"
#include "identity/endpoint_params.h"
#include "identity/errand.h"
#include "identity/source_sso_token.h"

#define SOURCE_TEXT_MAX 512
#define SOURCE_SESSION_MAX 64	/* characters of a role's session name */

enum source_verdict {
	SOURCE_WAIT = 1,	/* for the answer to source->errand */
	SOURCE_DONE,		/* source->credentials are there */
	SOURCE_FAILED,		/* source->text says why, and what to do */
	SOURCE_ABSENT,		/* there is no such thing here (no metadata
				 * service answered): try the next */
};

/*
 * What sources remember from one attempt to the next: it belongs to the caller,
 * through all attempts. source_memory_done() wipes.
 */
struct source_memory {
	struct buffer metadata_token;	/* of IMDSv2 */
	uint64_t metadata_until_ms;	/* wall time */
	struct buffer sso_token;	/* the newest, as its file has it */
	char sso_name[SOURCE_SSO_NAME_SIZE];	/* of that file */
	/* Of roles that name none. */
	char session_name[SOURCE_SESSION_MAX + 1];
};

void source_memory_init(struct source_memory *);
void source_memory_done(struct source_memory *);

struct source;

struct source_methods {
	const char *name;	/* "imds", as STATUS says it */
	/*
	 * Whether what it gave may be used beyond its expiry while it cannot
	 * be asked: AWS promises that of the metadata of instances only;
	 * signatures with others are refused anyway, so nothing is lost by
	 * trying.
	 */
	bool outlives;
	enum source_verdict (*start)(struct source *);
	enum source_verdict (*answer)(struct source *,
	    const struct errand_answer *);
};

/* Of one attempt to get credentials. */
struct source {
	const struct source_methods *methods;
	/* Borrowed; one of the first two. */
	const struct chain_source *from;
	const struct chain_role *role;	/* assumed with @signer */
	const struct credentials *signer;
	const struct credentials *given;	/* the time before; or NULL */
	const struct endpoint_params *params;
	const char *home;	/* of "~"; NULL: none */
	struct source_memory *memory;
	uint64_t wall_ms;	/* the best known; before each call */

	struct errand errand;
	struct credentials credentials;
	char text[SOURCE_TEXT_MAX];
	bool rejected;		/* FAILED because the one it asked said no, so
				 * that to ask again soon is of no use */

	/* The source's own. */
	unsigned step;
	unsigned attempts;
	bool renewed;		/* a token that was not accepted, once */
	struct buffer url;
	struct buffer body;	/* secret, as those below */
	struct buffer token;
	struct buffer spare;
};

const struct source_methods *source_of(enum chain_kind);
extern const struct source_methods source_assume_role;
/* Asks the instance for its region: source->spare has it when DONE. */
extern const struct source_methods source_imds_region;

void source_init(struct source *, const struct source_methods *);

/* Wipes. */
void source_done(struct source *);

#endif
