/*
 * What a namespace counts besides its counters (common/counters.def), for
 * metrics: how long requests wait and holds last, why holds are lost, why
 * requests are refused. Keys whose beginning is configured are counted apart.
 */
#ifndef DDBLOCKD_CORE_FIGURES_H
#define DDBLOCKD_CORE_FIGURES_H

#include "core/state.h"

/* core_namespace.metrics_prefixes, which may be NULL. DDBLOCK_E_NOMEM */
int figures_init(struct namespace *, const char *prefixes);
void figures_done(struct namespace *);

/* A client has the lock; it is lost; it ends, or is lost, after @held_ms; its
 * client is warned. The lock's name as core/key.h has it. */
void figures_granted(struct namespace *, struct key name);
void figures_lost(struct namespace *, struct key name, enum core_loss);
void figures_held(struct namespace *, struct key name, uint64_t held_ms);
void figures_endangered(struct namespace *, struct key name);

/* An ACQUIRE was answered with @code, after so long. */
void figures_answered(struct namespace *, struct key name, int code,
    uint64_t waited_ms);

#endif
