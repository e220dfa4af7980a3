/*
 * Keeps for the next daemon what the core of this one holds: a journal in a
 * file (journal_file.h), and with it what each namespace is, so that the next
 * one can tell whether it still is that.
 *
 * Whatever is wrong with the file is no reason not to serve: there is none
 * then, one line in the log says why, and every minute it is tried again.
 */
#ifndef DDBLOCKD_DAEMON_KEEPER_H
#define DDBLOCKD_DAEMON_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/journal.h"
#include "core/succession.h"
#include "daemon/config.h"
#include "daemon/history.h"

struct journal_file;

struct keeper {
	char *path;			/* NULL: none is wanted */
	struct journal_file *file;	/* NULL: there is none */
	bool has_legacy;
	bool inherited;			/* it, so CORE_CAME_BACK is due, */
	bool inherited_all;		/* and nothing of it is missing */
	bool failed;			/* the log has it */
	uint64_t retry_ms;
	uint64_t forgive_ms;		/* 0: it was */
	uint32_t n_namespaces;
	char *identities[CORE_NAMESPACES_MAX];	/* NULL: nothing of it is
						 * kept */
	journal_place places[CORE_NAMESPACES_MAX];	/* of these */
	struct history_place told;	/* saved last, ... */
	journal_place told_place;	/* ... here; 0: not yet */
	struct history_place told_before;	/* by the daemon before */
};

/* Reads what the daemon before left, and logs what is wrong with it. @journal:
 * its file, locked, which is taken; or -1. DDBLOCK_E_NOMEM */
int keeper_init(struct keeper *, const struct config_daemon *,
    int journal);

/*
 * Would all of it be inherited, of a daemon that is about to hand over this
 * file? @ret_text (at least 512 bytes) says what not.
 *
 * DDBLOCK_E_UNSUPPORTED, DDBLOCK_E_SYSTEM, DDBLOCK_E_NOMEM
 */
int keeper_suits(const struct config *, int journal, char *ret_text,
    size_t text_size);

/* The file, locked, for the next daemon; -1: there is none. */
int keeper_descriptor(const struct keeper *);

/* @keep: something may be held, for the next daemon. */
void keeper_done(struct keeper *, bool keep);

/* The first @n of the namespaces are there. DDBLOCK_E_NOMEM */
int keeper_add_namespaces(struct keeper *, const struct config *, uint32_t n);

/* And not those above. */
void keeper_remove_namespaces(struct keeper *, uint32_t n);

/*
 * core_new(), after keeper_add_namespaces(), and core_inherit() where there is
 * something to inherit; the log says what came of it. @ret_inherited is all
 * zero if it was nothing.
 *
 * DDBLOCK_E_*: as core_new(), and _SYSTEM
 */
int keeper_new_core(struct keeper *, const struct core_config *,
    struct core **ret, struct core_inherited *ret_inherited);

/* What the daemon before left, if it was inherited: until the first
 * keeper_save(). */
const void *keeper_legacy(const struct keeper *, size_t *ret_size);

/* Where others may put entries, too, of kinds that are neither the core's nor
 * ours; NULL: there is none. */
struct journal *keeper_journal(const struct keeper *);

/* Is what is held in each namespace kept? A client that goes on with the next
 * daemon is told of no loss that neither of them knows. */
bool keeper_keeps_all(const struct keeper *);

/* It has no room for them: make some. False: there is none. */
bool keeper_grow(struct keeper *);

/* After each step, before anybody hears of it; and after core_sending(). */
void keeper_save(struct keeper *, const struct history *, struct core *,
    uint64_t now_ms);

#endif
