/*
 * Records of the native format by chance, with what no history of ours would
 * leave, too; and such records as items of the table.
 */
#ifndef DDBLOCKD_TESTS_TRIAL_NATIVE_H
#define DDBLOCKD_TESTS_TRIAL_NATIVE_H

#include "trial.h"

#define NATIVE_SESSIONS 4
#define NATIVE_HOLDERS 6

/* What a record and an operation are put together from. */
struct native_pieces {
	struct holder holders[NATIVE_HOLDERS];
	struct ident exclusive[NATIVE_SESSIONS], shared[NATIVE_SESSIONS];
	struct ident line[NATIVE_SESSIONS];
	struct attribute attributes[2];
};

struct ident native_session(struct trial *);
struct holder native_any_holder(struct trial *);
const char *native_any_text(struct trial *);
uint64_t native_any_token(struct trial *);
struct revision native_any_revision(struct trial *);
/* They point into the pieces. */
struct contents native_any_contents(struct trial *, struct native_pieces *);
void native_make(struct trial *, struct native_pieces *,
    struct lock_record *ret);

/* The table has this item, of a lock or of a session, under that key. */
void native_put(struct trial *, const char *key, const struct lock_record *,
    const struct session_record *);

#endif
