/*
 * Deaths by a signal of one's own: a failed invariant at any time, any fault
 * before the first heartbeat. They are counted in the journal, so that one
 * which kills its readers is not read for ever. SIGKILL cannot be seen from
 * within, and is not counted.
 */
#ifndef DDBLOCKD_DAEMON_JOURNAL_DEATH_H
#define DDBLOCKD_DAEMON_JOURNAL_DEATH_H

#include <stdint.h>

#define JOURNAL_DEATHS_MAX 2	/* in a row: then it is left alone */

/* Count in these from now on; NULL: not there. */
void journal_death_watch(volatile uint32_t *first, volatile uint32_t *second);

/* The first heartbeat: from now on, faults are not the journal's. */
void journal_death_beaten(void);

#endif
