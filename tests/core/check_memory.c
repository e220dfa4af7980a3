/*
 * No memory: any one allocation of the core fails, or many in a row, in the
 * middle of a busy story. Requests may be refused for it. Nothing crashes,
 * nothing that was promised is broken, nobody waits for ever, and nothing is
 * left behind.
 *
 * The linker puts our functions before the allocator's (--wrap); they fail only
 * what is asked for inside a step of a core.
 */
#include "driver.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

#include "ddblock.h"

#define MEMORY_HOSTS 3

static struct {
	bool stepping;
	uint64_t asked;		/* inside steps, so far */
	uint64_t from, until;	/* these fail */
} memory;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *text);
int __real_core_step(struct core *core, const struct core_event *event,
    struct core_update *ret_update);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_core_step(struct core *core, const struct core_event *event,
    struct core_update *ret_update);

static bool
memory_fails(void)
{
	if (!memory.stepping)
		return false;
	memory.asked++;
	return memory.asked >= memory.from && memory.asked < memory.until;
}

void *
__wrap_malloc(size_t size)
{
	return memory_fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return memory_fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
	return memory_fails() ? NULL : __real_realloc(p, size);
}

char *
__wrap_strdup(const char *text)
{
	return memory_fails() ? NULL : __real_strdup(text);
}

int
__wrap_core_step(struct core *core, const struct core_event *event,
    struct core_update *ret_update)
{
	int r;

	memory.stepping = true;
	r = __real_core_step(core, event, ret_update);
	memory.stepping = false;
	return r;
}

static void
memory_acquire(struct driver *d, unsigned host, const char *key,
    uint64_t wait_ms)
{
	driver_acquire(d, driver_connect(d, host), key, wait_ms);
}

/* All that is held is released, and again, for @ms. */
static void
memory_turns(struct driver *d, uint64_t ms)
{
	static const char *const keys[] = { "x", "y", "z" };
	uint64_t end = d->now + ms;
	unsigned c;
	size_t k;

	while (d->now < end) {
		driver_run(d, 50);
		for (c = 1; c <= d->n_clients; c++)
			for (k = 0; k < 3; k++)
				if (d->clients[c].connected &&
				    driver_holds(d, c, keys[k]))
					driver_release(d, c, keys[k]);
	}
}

/* Contention, hand-over, wishes, questions, and clients that change their
 * minds. */
static void
memory_first_act(struct driver *d)
{
	memory_acquire(d, A, "x", DRIVER_FOREVER);
	memory_acquire(d, B, "x", DRIVER_FOREVER);
	memory_acquire(d, A, "x", DRIVER_FOREVER);
	memory_acquire(d, A, "x", 3000);
	memory_acquire(d, C, "x", DRIVER_FOREVER);
	driver_try(d, driver_connect(d, C), "x");
	memory_acquire(d, A, "y", DRIVER_FOREVER);
	driver_run(d, 500);
	driver_get(d, driver_connect(d, B), "x");
	driver_list(d, driver_connect(d, B), "");
	memory_acquire(d, B, "y", DRIVER_FOREVER);
	memory_acquire(d, C, "y", DRIVER_FOREVER);
	driver_run(d, 1500);
	driver_disconnect(d, d->n_clients);
	driver_drain(d, 4);
	memory_turns(d, 4000);
}

/* Answers that are lost, and what lands late. */
static void
memory_second_act(struct driver *d)
{
	driver_fault(d, A, OPERATION_ACQUIRE, FAULT_LOSE_AFTER, 0);
	driver_fault(d, B, OPERATION_ACQUIRE, FAULT_LATE, 7000);
	driver_fault(d, A, OPERATION_WANT, FAULT_LATE, 3000);
	driver_fault(d, B, OPERATION_RELEASE, FAULT_LOSE_BEFORE, 0);
	driver_fault(d, A, OPERATION_EXTEND, FAULT_LOSE_AFTER, 0);
	memory_acquire(d, A, "z", 2000);
	memory_acquire(d, B, "y", DRIVER_FOREVER);
	memory_acquire(d, B, "x", DRIVER_FOREVER);
	memory_acquire(d, A, "x", DRIVER_FOREVER);
	memory_acquire(d, A, "x", DRIVER_FOREVER);
	driver_run(d, 300);
	memory_acquire(d, B, "x", 1000);
	driver_cancel(d, d->n_clients, "x");
	memory_turns(d, 15000);
}

/* One host dies, one loses its session. */
static void
memory_third_act(struct driver *d)
{
	memory_acquire(d, C, "x", DRIVER_FOREVER);
	memory_acquire(d, B, "y", DRIVER_FOREVER);
	memory_acquire(d, A, "z", DRIVER_FOREVER);
	driver_run(d, 1000);
	memory_acquire(d, A, "x", DRIVER_FOREVER);
	memory_acquire(d, A, "y", DRIVER_FOREVER);
	memory_acquire(d, A, "z", DRIVER_FOREVER);
	driver_run(d, 100);
	driver_kill(d, C);
	driver_cut(d, B, 25000);
	driver_run(d, 26000);
	memory_turns(d, 15000);
	driver_cut(d, A, 21000);
	driver_run(d, 22000);
	memory_turns(d, 4000);
}

/* Memory is there again: everybody goes, others come, and all are served. */
static void
memory_last_act(struct driver *d)
{
	static const char *const keys[] = { "x", "y", "z" };
	unsigned host, c;
	size_t k;

	driver_boot(d, C);
	driver_run(d, 1000);
	for (c = 1; c <= d->n_clients; c++)
		if (d->clients[c].connected)
			driver_disconnect(d, c);
	for (host = A; host <= C; host++)
		for (k = 0; k < 3; k++)
			memory_acquire(d, host, keys[k], DRIVER_FOREVER);
	memory_turns(d, 60000);
	if (d->judge.requests != NULL)
		driver_fail(d, "c%u is not served", d->judge.requests->client);
	driver_expect_clean(d);
}

/* The whole story while @n allocations fail, the @from-th and the following;
 * how many were there? */
static uint64_t
memory_story(uint64_t from, uint64_t n)
{
	struct driver *d = driver_new(1, MEMORY_HOSTS);
	char text[64];
	uint64_t asked;

	d->namespaces[0].handover_max = 2;
	d->net.hosts[B].spread_ms = 20;
	memory.asked = 0;
	memory.from = from;
	memory.until = from + n;
	driver_start(d);
	(void)snprintf(text, sizeof(text), "allocations %u to %u fail",
	    (unsigned)from, (unsigned)(from + n - 1));
	driver_say(d, A, text);
	memory_first_act(d);
	memory_second_act(d);
	memory_third_act(d);
	asked = memory.asked;
	memory.from = memory.until = 0;
	memory_last_act(d);
	driver_free(d);
	return asked;
}

START_TEST(test_one_fails)
{
	uint64_t n = memory_story(0, 0), i;

	ck_assert_uint_gt(n, 100);
	for (i = 1; i <= n; i++)
		(void)memory_story(i, 1);
}
END_TEST

START_TEST(test_some_fail)
{
	uint64_t n = memory_story(0, 0), i;

	for (i = 1; i <= n; i += 3)
		(void)memory_story(i, 7);
}
END_TEST

START_TEST(test_many_fail)
{
	uint64_t n = memory_story(0, 0), i;

	for (i = 1; i <= n; i += 17)
		(void)memory_story(i, 60);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_one_fails,
		test_some_fail,
		test_many_fail,
		NULL,
	};

	return suite_run("memory", tests);
}
