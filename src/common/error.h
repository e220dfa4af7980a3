/*
 * The error table: one row per code gives its wire word, its library constant,
 * the exit status of ddblock(1) and its text, so that the four cannot drift.
 */
#ifndef DDBLOCKD_COMMON_ERROR_H
#define DDBLOCKD_COMMON_ERROR_H

#include <stddef.h>

#include "ddblock.h"

/* Codes are 0, -1, ... and fewer than this. */
#define ERROR_CODES_MAX 40

/* The word on the wire, such as "LOCK_BUSY"; "OK" for 0. Never NULL. */
const char *error_word(int code);

/* One sentence without a full stop. Never NULL. */
const char *error_text(int code);

/* The exit status of ddblock(1) for @code; 0 for 0. */
int error_exit_status(int code);

/* The (negative) code of a wire word; 0 if there is none. */
int error_from_word(const char *word, size_t length);

#endif
