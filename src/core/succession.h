/*
 * What outlives the process.
 *
 * The caller keeps a journal (common/journal.h), in which a dead core leaves to
 * the next one what it held. After each step, and before any of its actions is
 * performed, core_save() writes there what the step has changed.
 */
#ifndef DDBLOCKD_CORE_SUCCESSION_H
#define DDBLOCKD_CORE_SUCCESSION_H

#include "common/journal.h"
#include "core/core.h"

/* The entries' kinds below this are the core's; others are the caller's. */
#define CORE_ENTRY_KINDS 64

/*
 * Write what changed and commit it, with what else was put there since the last
 * commit. NULL: nothing is kept any more; until a journal is given again, into
 * which all of it is written.
 *
 * DDBLOCK_E_LIMIT
 *     There is no more room. After journal_move() to a larger block the call is
 *     made again.
 * DDBLOCK_E_NOMEM
 *     Not all of it could be noted: the journal is to be given up.
 */
int core_save(struct core *, struct journal *);

/* An attempt of this operation, which is under way, is about to be sent, with
 * this beat: then core_save(), before it is sent. Also while actions are
 * performed. */
void core_sending(struct core *, const struct operation *, uint64_t beat);

/* It was refused, and what was noted of it is forgotten with the next
 * core_save(). */
void core_refused(struct core *, const struct operation *, uint64_t beat);

/* What a core left whose process has ended, on the same boot. */
struct core_legacy {
	const void *memory;	/* a journal that is good */
	size_t size;
	/* What each namespace of that one is here: 1 + its index, or 0 if there
	 * is none with its name, store and times. */
	uint32_t namespaces[CORE_NAMESPACES_MAX];
	/* What follows from a secret that the version before wrote in clear.
	 * NULL: nobody knows. */
	int (*learn_secret)(void *arg, struct ident clear,
	    struct core_secret *ret);
	void *arg;
};

struct core_inherited {
	uint32_t n_sessions;
	uint32_t n_holds;	/* that are not lost */
	uint32_t n_left_out;	/* for want of room, or of sense */
	uint64_t client_last;	/* no new client has this number or a lower
				 * one */
};

/*
 * Go on from there: between core_new() and the first step. Everything is held
 * as before for the clients that had it, and nothing new is granted under those
 * sessions before a beat has shown that no other process had them. With
 * CORE_CAME_BACK, in the first step, clients whose connection is not there are
 * cut off.
 *
 * DDBLOCK_E_NOMEM, DDBLOCK_E_BAD_RECORD: the journal contradicts itself
 *     Nothing can be done with this core: the caller makes another one.
 */
int core_inherit(struct core *, const struct core_legacy *,
    struct core_inherited *ret);

#endif
