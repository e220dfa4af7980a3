/*
 * Histories of real daemons, from their log with "history = yes"
 * (ddblockd.conf(5)): lines of JSON, as journalctl -o json exports them and as
 * "log = json" writes them. They become facts for the judge.
 *
 * A file is one daemon's, with its lives in order. All daemons are of one
 * machine, since their lines are put in order by its CLOCK_BOOTTIME. A test
 * that stops, continues or drains daemons says so in a file of its own, with
 * lines of DDBLOCK_EVENT "paused", "resumed", "drained" or "undrained",
 * DDBLOCK_BOOT_US and DDBLOCK_PID.
 *
 * Lines are numbered, and a history that lacks a line is refused.
 */
#ifndef DDBLOCKD_TESTS_HISTORY_H
#define DDBLOCKD_TESTS_HISTORY_H

#include <stdio.h>

#include "judge.h"

struct history;

struct history *history_new(void);
void history_free(struct history *);

/* Read one file. 0, or -1 with the reason in @ret_text. */
int history_read(struct history *, FILE *, const char *name, char *ret_text,
    size_t text_size);

/* All files are read: put their facts in order. As history_read(). */
int history_finish(struct history *, char *ret_text, size_t text_size);

/* Then: the daemons' settings, ... */
const struct judge_rules *history_rules(const struct history *);
uint32_t history_namespaces(const struct history *);
/* ... how many lives they had, ... */
size_t history_lives(const struct history *);
/* ... and the facts. NULL: no more. */
const struct fact *history_fact(const struct history *, size_t i);

#endif
