/*
 * The holds of this connection, and their deadlines.
 */
#ifndef DDBLOCKD_LIB_HOLD_H
#define DDBLOCKD_LIB_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ddblock.h"
#include "ipc/codec.h"
#include "lib/connection.h"
#include "lib/parts.h"
#include "lib/request.h"

struct hold {
	TAILQ_ENTRY(hold) entry;
	uint64_t id;
	struct parts *parts;
	struct ddblock_row *contents;	/* of the lock; or NULL */
	uint64_t until_ms;		/* boot time */
	uint64_t end_ms;		/* and it is not renewed beyond */
	uint32_t count;			/* times that it is held */
	bool manual;			/* !RENEWED is not about it */
	uint64_t margin_ms;
	bool lost;
	bool kept;			/* while the connection is broken */
	bool found;			/* when it was resumed last */
	bool due;			/* to be lost, see hold.c */
	char name_space[CONNECTION_NAME_MAX + 1];
};

/*
 * The hold takes the parts of a grant. DDBLOCK_E_PROTOCOL: the line is no
 * grant. DDBLOCK_E_LOCK_LOST: the grant is too old; it was released.
 */
int hold_granted(struct ddblock *, struct request *,
    const struct codec_line *, uint64_t *ret_id);
/* The id of a line, as the caller knows it; and the daemon's. */
bool hold_id(struct ddblock *, const struct codec_line *, uint64_t *ret);
uint64_t hold_wire_id(const struct ddblock *, uint64_t id);
/* Another daemon is there, with ids of its own: what it is told of those until
 * now names no hold of it. */
void hold_forget_ids(struct ddblock *);
struct hold *hold_find(const struct ddblock *, uint64_t id);
/* A row of RESUME: a hold, or one more lock of it. DDBLOCK_E_PROTOCOL,
 * DDBLOCK_E_NOMEM */
int hold_resumed(struct ddblock *, const struct codec_line *);
void hold_free(struct ddblock *, struct hold *);
void hold_free_all(struct ddblock *);
const char *hold_namespace(const struct ddblock *, const struct hold *);

/* Take a later deadline from the line. */
void hold_extend(struct ddblock *, struct hold *, const struct codec_line *);

/* The same for every hold of the line's namespace. */
void hold_renewed(struct ddblock *, const struct codec_line *);

void hold_lose(struct ddblock *, struct hold *, enum ddblock_loss);
void hold_lose_all(struct ddblock *, enum ddblock_loss);

/*
 * The connection is broken: lose what is not kept, and find the deadlines of
 * the others. It is back: first none is found, a row of RESUME finds each (or
 * gives back one that is not ours), and those that were not found are lost.
 * DDBLOCK_E_PROTOCOL
 */
void hold_lose_unkept(struct ddblock *);
void hold_find_none(struct ddblock *);
int hold_found_again(struct ddblock *, const struct codec_line *);
void hold_lose_unfound(struct ddblock *);
/* Is one held that is kept? */
bool hold_any_kept(const struct ddblock *);

bool hold_is_known(const struct ddblock *, const struct hold *);

/* Until then it is good: its deadline, or half a margin before that while the
 * connection is broken. */
uint64_t hold_good_ms(const struct ddblock *, const struct hold *);

/* Find the earliest deadline again. */
void hold_count(struct ddblock *);

/* The reason in the line of a loss. */
enum ddblock_loss hold_loss(const struct codec_line *);

/* Report the holds whose deadline has passed. */
void hold_check(struct ddblock *);

/* Tell the daemon to release a hold, held or lost. */
void hold_give_back(struct ddblock *, uint64_t id);

#endif
