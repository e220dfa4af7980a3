/*
 * The cost of holding: memory of many locks and of many connections, and the
 * processor's time while idle.
 */
#include "bench.h"

#include <stdio.h>

#define IDLE_S 20	/* the audit reads 100 locks in each second */

/* The processor's time of the daemon over a while, in percent of a core. */
static double
memory_idle_percent(const struct daemon *d)
{
	double cpu_us = process_cpu_us(d->pid);
	double start_us = now_us();

	wait_ms(IDLE_S * 1000);
	return 100 * (process_cpu_us(d->pid) - cpu_us) /
	    (now_us() - start_us);
}

static void
memory_of_locks(void)
{
	char text[32];
	struct daemon daemon;
	struct crowd crowd;
	double value;

	daemon_start(&daemon, "memory-locks", "audit = 5s\n");
	crowd_open(&crowd, daemon.socket, 100);
	crowd_lock(&crowd, 1000);
	value = process_resident_mb(daemon.pid);
	snprintf(text, sizeof(text), "%.1f MB", value);
	report_row("100,000 held locks, resident", text, "", value, AT_MOST,
	    64);
	value = memory_idle_percent(&daemon);
	snprintf(text, sizeof(text), "%.2f %%", value);
	report_row("100,000 held locks, idle, of a core", text, "", value,
	    AT_MOST, 1);
	crowd_close(&crowd);
	daemon_stop(&daemon);
}

static void
memory_of_connections(void)
{
	char text[32];
	struct daemon daemon;
	struct crowd crowd;
	double value;

	daemon_start(&daemon, "memory-connections", "");
	crowd_open(&crowd, daemon.socket, 10000);
	/* Really served, not only queued by the kernel. */
	crowd_ask(&crowd, "PING\n");
	value = process_resident_mb(daemon.pid);
	snprintf(text, sizeof(text), "%.1f MB", value);
	report_row("10,000 idle connections, resident", text, "", value,
	    AT_MOST, 40);
	crowd_close(&crowd);
	daemon_stop(&daemon);
}

void
bench_memory(void)
{
	memory_of_locks();
	memory_of_connections();
}
