/*
 * The kinds of lines in the audit trail, by the table in trail.def: for the
 * daemon, which writes them, and for programs that read them.
 */
#ifndef DDBLOCKD_COMMON_TRAIL_KIND_H
#define DDBLOCKD_COMMON_TRAIL_KIND_H

#include <stddef.h>

enum trail_kind {
	TRAIL_NONE = 0,
#define TRAIL(id, ...) TRAIL_##id,
#include "common/trail.def"
	TRAIL_KINDS
};

/* "grant" */
const char *trail_kind_word(enum trail_kind);

/* 32 hexadecimal digits. */
const char *trail_kind_message_id(enum trail_kind);

/* TRAIL_NONE: it is none. */
enum trail_kind trail_kind_find(const char *word, size_t length);

#endif
