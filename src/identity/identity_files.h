/*
 * The files of profiles, and their content (pure: it wishes for errands).
 *
 * A file that AWS_CONFIG_FILE or AWS_SHARED_CREDENTIALS_FILE names is that one.
 * Otherwise it is `aws_config` or `aws_credentials` among the credentials that
 * systemd hands over, or the one in the home directory. A file that is not
 * there is an empty one, as for the SDKs.
 */
#ifndef DDBLOCKD_IDENTITY_IDENTITY_FILES_H
#define DDBLOCKD_IDENTITY_IDENTITY_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buffer.h"
#include "identity/chain.h"
#include "identity/errand.h"
#include "identity/profile.h"

#define IDENTITY_FILES_PLACES 2
#define IDENTITY_FILES_DIGEST_SIZE 32

struct identity_file {
	char *paths[IDENTITY_FILES_PLACES];	/* the first that is there */
	bool named;		/* by the environment */
	const char *found;	/* of paths; NULL: none is there */
	bool is_exposed;	/* everybody can read it */
	struct buffer text;	/* secret */
};

struct identity_files {
	struct identity_file files[PROFILE_FILES];
	size_t file;		/* being read */
	size_t place;
	struct errand errand;
	unsigned char digest[IDENTITY_FILES_DIGEST_SIZE];
	bool digested;
	bool changed;		/* since they were read before, or there was
				 * no before */
	char error[512];
};

enum identity_files_verdict {
	IDENTITY_FILES_WAIT = 1,	/* for the answer to ->errand */
	IDENTITY_FILES_READ,		/* texts and changed are there */
	IDENTITY_FILES_FAILED,		/* see ->error */
};

/* DDBLOCK_E_NOMEM; identity_files_done() is due in any case. */
int identity_files_init(struct identity_files *, chain_variable_fn,
    void *variable_arg, const char *home);
void identity_files_done(struct identity_files *);

enum identity_files_verdict identity_files_start(struct identity_files *);
enum identity_files_verdict identity_files_answer(struct identity_files *,
    const struct errand_answer *);

/* The file of secrets, if everybody can read it, as of the last time; or NULL.
 * It is used all the same, as the AWS clients do. */
const char *identity_files_exposed(const struct identity_files *);

/* Forget the texts, which have secrets in them. */
void identity_files_forget(struct identity_files *);

/* Count as changed next time: what was in them could not be used. */
void identity_files_suspect(struct identity_files *);

/*
 * What the texts say.
 *
 * DDBLOCK_E_BAD_REQUEST: see ->error
 * DDBLOCK_E_NOMEM
 */
int identity_files_parse(struct identity_files *, struct profiles *);

#endif
