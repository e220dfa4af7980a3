/*
 * Deaths that a journal may be the reason of. See journal_death.h.
 */
#include "daemon/journal_death.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define DEATH_SIGNALS 5

/* The first at any time. Of what comes from outside, that is the service
 * manager's watchdog: a daemon that hangs. */
static const int death_signals[DEATH_SIGNALS] = {
	SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL,
};

/* Of the process, as the handlers are. */
static volatile uint32_t *_Atomic death_counts[2];
static struct sigaction death_before[DEATH_SIGNALS];
static bool death_watched;
static bool death_beaten;

/* What was there before this handler does the rest. */
static void
death_on_signal(int number)
{
	for (size_t i = 0; i < 2; i++) {
		volatile uint32_t *count =
		    atomic_exchange(&death_counts[i], NULL);

		if (count != NULL)
			++*count;
	}
	for (size_t i = 0; i < DEATH_SIGNALS; i++) {
		if (death_signals[i] == number)
			(void)sigaction(number, &death_before[i], NULL);
	}
	(void)raise(number);
}

void
journal_death_watch(volatile uint32_t *first, volatile uint32_t *second)
{
	struct sigaction action = { .sa_handler = death_on_signal };

	atomic_store(&death_counts[0], first);
	atomic_store(&death_counts[1], second);
	if (death_watched)
		return;
	death_watched = true;
	(void)sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < DEATH_SIGNALS; i++)
		(void)sigaction(death_signals[i], &action, &death_before[i]);
}

void
journal_death_beaten(void)
{
	if (!death_watched || death_beaten)
		return;
	death_beaten = true;
	for (size_t i = 1; i < DEATH_SIGNALS; i++)
		(void)sigaction(death_signals[i], &death_before[i], NULL);
}
