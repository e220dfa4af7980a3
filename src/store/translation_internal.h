/*
 * What translation.c and translation_parts.c have in common.
 */
#ifndef DDBLOCKD_STORE_TRANSLATION_INTERNAL_H
#define DDBLOCKD_STORE_TRANSLATION_INTERNAL_H

#include "store/translation.h"

/* ---- translation.c ---- */

/* Remember what went wrong last. */
void translation_trouble(struct translation *, int code, const char *text);

/* The first write without an answer, or NULL. */
const struct translation_attempt *translation_unanswered(
    const struct translation *);

/* How it ends: the outcome is in @ret. */
enum translation_verdict translation_final(struct translation *,
    enum outcome_kind, int code, const char *text, uint64_t sent_ms,
    struct outcome *ret);
enum translation_verdict translation_refuse(struct translation *, int code,
    const char *text, struct outcome *ret);

/* Read the record next. */
enum translation_verdict translation_look(struct translation *);

/* ---- translation_parts.c ---- */

/* Of MULTI: a success; a failed condition whose view shows records; and an
 * endpoint that has no transactions. */
enum translation_verdict translation_ok_parts(struct translation *,
    uint32_t attempt, struct outcome *ret);
enum translation_verdict translation_judge_parts(struct translation *,
    uint32_t attempt, struct outcome *ret);
enum translation_verdict translation_spare_parts(struct translation *,
    uint32_t attempt, struct outcome *ret);

#endif
