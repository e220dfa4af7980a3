/*
 * The functions that the files of src/ipc/verbs/ share.
 */
#ifndef DDBLOCKD_IPC_VERBS_ROOM_H
#define DDBLOCKD_IPC_VERBS_ROOM_H

#include "ipc/verbs/verbs.h"

/* verbs_*.c: a handler for each verb. Each returns 0, or a code with its reason
 * in server->reason. */
#define VERB(name, handler, ...)                                               \
	int verbs_##handler(struct connection *,                               \
	    const struct protocol_request *);
#include "ipc/protocol.def"

/* ---- request.c: what handlers share; they return the same -------------- */

int request_namespace(struct connection *, const struct protocol_request *,
    uint32_t *ret);
/*
 * The same for several namespaces, a bit each. Without ns=, @ret does not
 * change.
 */
int request_namespaces(struct connection *, const struct protocol_request *,
    uint64_t *ret);
/* May it administer these? The rules say it, if there are any. */
int request_administers(struct connection *, uint64_t namespaces);
/* The name of the lock that the key @n and the sort= of this request mean; the
 * key's bytes, or @bytes. */
int request_name(struct connection *, const struct protocol_request *, size_t n,
    uint32_t namespace_index, char bytes[KEY_BYTES_MAX], struct key *ret);
/* Its namespace and the name of its one lock. */
int request_lock(struct connection *, const struct protocol_request *,
    struct core_request *ask, char bytes[KEY_BYTES_MAX]);
/* Is there room for one more request? */
int request_room(struct connection *);
/* A request to be answered later; refused if there is no memory. */
int request_pending(struct connection *, enum pending_kind,
    const struct protocol_request *, struct pending **ret);
/*
 * The same for a request whose answer has rows; it needs room for a listing,
 * too (listing_new()).
 */
int request_pending_rows(struct connection *, enum pending_kind,
    const struct protocol_request *, const struct codec_text *key,
    struct pending **ret);
/* Ask the core. Its answer may come before this returns, and then @p is gone;
 * it is also gone if the core refused. */
int request_step(struct connection *, struct pending *, struct core_event *);
/*
 * Ask the core with @event, whose request is filled in; the answer comes later.
 */
int request_ask(struct connection *, const struct protocol_request *,
    struct core_event *);
/* The request is refused, but its release happens, though no client waits for
 * the answer. */
void request_release_unanswered(struct connection *, struct core_event *);

/* ---- update.c ---------------------------------------------------------- */

/* The changes of a lock's contents in a line. It points into the line. */
struct update {
	struct change change;
	struct attribute attributes[CODEC_ARGUMENTS_MAX];
};

/* @ret_change is NULL if the line changes none. */
int update_read(struct connection *, const struct protocol_request *,
    struct update *ret, const struct change **ret_change);

/* ---- verbs_release.c --------------------------------------------------- */

/* The release of all. */
int release_all(struct connection *, const struct protocol_request *);

#endif
