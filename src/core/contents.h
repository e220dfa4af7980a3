/*
 * What clients keep in a lock's record: bytes, and named attributes. They
 * belong to the lock and not to a hold, so they remain when it is released,
 * until a holder changes them.
 */
#ifndef DDBLOCKD_CORE_CONTENTS_H
#define DDBLOCKD_CORE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/key.h"

#define CONTENTS_MAX (300 * 1024)	/* bytes of names and values in all */
#define ATTRIBUTES_MAX 32
#define ATTRIBUTE_NAME_MAX 255

/* A text in UTF-8, or any value in DynamoDB's JSON (typed.h). */
struct attribute {
	struct key name;
	struct key value;
	bool typed;
};

struct contents {
	struct key data;	/* none is the same as empty */
	const struct attribute *attributes;	/* each name once */
	size_t n_attributes;
};

/*
 * Which of several writes of contents came last. @sequence is one more than
 * that of the record which the writer saw; @random tells its write from any
 * other. None: 0 and 0.
 */
struct revision {
	uint64_t sequence;
	uint64_t random;
};

/* Of a number of 38 digits, @random has 20. */
#define REVISION_SEQUENCE_MAX UINT64_C(999999999999999999)

bool revision_equal(struct revision, struct revision);
bool revision_is_less(struct revision, struct revision);

/* What is to become of contents. Values that are not named do not change. */
struct change {
	struct contents contents;	/* new; an attribute that is typed and
					 * empty is taken out */
	bool sets_data;
	bool spares_data;	/* sets_data: only where there is none */
	bool clears;		/* values that are not named are removed */
};

/* Bytes of names and values. */
size_t contents_size(const struct contents *);

bool contents_are_empty(const struct contents *);
bool contents_are_equal(const struct contents *, const struct contents *);

/* Why they cannot be written, for people; or NULL. */
const char *contents_refuse(const struct contents *);

/* Copy @c and all that it points to into @memory, which has contents_room()
 * bytes and is aligned like what malloc() gives. */
size_t contents_room(const struct contents *);
void contents_put(const struct contents *c, void *memory,
    struct contents *ret);

/* Copies in one piece of memory, to be freed with free(); NULL: none left. */
struct contents *contents_copy(const struct contents *);
struct change *change_copy(const struct change *);

/*
 * What @base becomes: borrowed bytes of both, in one piece of memory that is
 * freed with free().
 *
 * DDBLOCK_E_LIMIT
 *     Together they are too much.
 * DDBLOCK_E_NOMEM
 */
int change_apply(const struct change *, const struct contents *base,
    struct contents **ret);

/* Leave out of @c, which is its caller's copy, what the change brought. */
void change_leave_out(const struct change *, struct contents *c);

#endif
