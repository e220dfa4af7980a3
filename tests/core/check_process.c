/*
 * Holds for a process: they outlive their client, end with the process, and
 * what is lost meanwhile is told to it by whoever is there.
 */
#include "driver.h"
#include "suite.h"

#include <string.h>

#include "ddblock.h"

#define PROCESS_OF(client) (1000 + (client))

static int
process_ask(struct driver *d, unsigned client, const char *key,
    struct core_terms terms)
{
	struct core_request q = { .verb = CORE_ACQUIRE,
		.wait_ms = CORE_FOREVER, .key = { key, strlen(key) },
		.terms = terms, .owner = "c" };

	q.terms.mode = LOCK_MODE_EXCLUSIVE;
	q.terms.process = PROCESS_OF(client);
	return driver_ask(d, client, &q, key);
}

/* For a process of its own. */
static unsigned
process_acquire(struct driver *d, unsigned host, const char *key,
    uint64_t max_hold_ms)
{
	unsigned client = driver_connect(d, host);

	driver_check(d, process_ask(d, client, key,
	    (struct core_terms){ .max_hold_ms = max_hold_ms }) == 0);
	return client;
}

static void
process_end(struct driver *d, unsigned client)
{
	struct core_event ev = { .type = CORE_ENDED,
		.ended = { .client = client,
		    .process = PROCESS_OF(client) } };
	unsigned host = d->clients[client].host;

	for (const struct judge_hold *h = d->judge.holds; h != NULL;
	    h = h->next) {
		if (h->client == client)
			judge_released(&d->judge, d->now, host, h->id);
	}
	(void)driver_step(d, host, &ev);
}

/* It is renewed as ever, and free as soon as the process has ended. */
START_TEST(test_it_outlives_its_client)
{
	struct driver *d = driver_new_started(2);
	unsigned c = process_acquire(d, A, "jobs/x", 0);

	driver_run_until(d, 2000);
	driver_leave(d, c);
	driver_run_until(d, 60000);
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 100000);
	driver_skip(d);
	process_end(d, c);
	driver_run_until(d, 102000);
	driver_expect(d, TRACE_STORE | TRACE_TOLD,
	    "[100000] A > release jobs/x\n"
	    "[100010] A < release jobs/x done\n"
	    "[100434] B > read jobs/x\n"
	    "[100444] B < read jobs/x done\n"
	    "[100444] B > acquire jobs/x\n"
	    "[100454] B < acquire jobs/x done\n"
	    "[100454] B c2 grant jobs/x +101 remaining 18546\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Nobody else has it before a margin after the process was told. */
START_TEST(test_it_is_told_of_the_end_of_its_lease)
{
	struct driver *d = driver_new_started(2);
	unsigned c = process_acquire(d, A, "jobs/x", 0);

	driver_run_until(d, 2000);
	driver_leave(d, c);
	driver_acquire(d, driver_connect(d, B), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 3000);
	driver_skip(d);
	driver_cut(d, A, 60000);
	driver_run_until(d, 50000);
	driver_expect(d, TRACE_TOLD | TRACE_SCRIPT,
	    "[  3000] A cut off\n"
	    "[ 10000] A c1 danger jobs/x remaining 9000 UNREACHABLE\n"
	    "[ 19000] A c1 lost jobs/x expired\n"
	    "[ 22240] B c2 grant jobs/x +101 remaining 16760\n");
	process_end(d, c);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Its client says nothing, so it is told half a margin after the client was. */
START_TEST(test_its_client_gives_no_sign)
{
	struct driver *d = driver_new_started(1);
	unsigned c = process_acquire(d, A, "jobs/x", 5000);

	driver_acquire(d, driver_connect(d, A), "jobs/x", DRIVER_FOREVER);
	driver_run_until(d, 10000);
	driver_expect(d, TRACE_TOLD | TRACE_SCRIPT,
	    "[  1010] A c1 grant jobs/x +1 remaining 5000\n"
	    "[  6010] A c1 lost jobs/x max_hold\n"
	    "[  6510] A untold\n"
	    "[  7010] A c2 grant jobs/x +2 remaining 16990\n");
	process_end(d, c);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* It releases what was lost, having told the process. */
START_TEST(test_its_client_gives_a_sign)
{
	struct driver *d = driver_new_started(1);
	unsigned c = process_acquire(d, A, "jobs/x", 5000);

	driver_run_until(d, 6100);
	driver_release(d, c, "jobs/x");
	driver_run_until(d, 10000);
	driver_expect(d, TRACE_TOLD | TRACE_SCRIPT,
	    "[  1010] A c1 grant jobs/x +1 remaining 5000\n"
	    "[  6010] A c1 lost jobs/x max_hold\n"
	    "[  6100] A c1 release jobs/x: LOCK_LOST\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* It dies in the middle: the process is told at once. */
START_TEST(test_its_client_dies_with_the_loss)
{
	struct driver *d = driver_new_started(1);
	unsigned c = process_acquire(d, A, "jobs/x", 5000);

	driver_run_until(d, 6100);
	driver_leave(d, c);
	driver_run_until(d, 10000);
	driver_expect(d, TRACE_TOLD | TRACE_SCRIPT,
	    "[  1010] A c1 grant jobs/x +1 remaining 5000\n"
	    "[  6010] A c1 lost jobs/x max_hold\n"
	    "[  6100] A untold\n");
	process_end(d, c);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Who waits for a process waits no more when that has ended. */
START_TEST(test_it_ends_while_it_waits)
{
	struct driver *d = driver_new_started(1);
	unsigned first = process_acquire(d, A, "jobs/x", 0), second;

	driver_run_until(d, 2000);
	second = process_acquire(d, A, "jobs/x", 0);
	driver_run_until(d, 3000);
	process_end(d, second);
	driver_run_until(d, 4000);
	process_end(d, first);
	driver_expect(d, TRACE_TOLD | TRACE_SCRIPT,
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  3000] A c2 acquire jobs/x: CANCELLED\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* What says otherwise what becomes of it does not go with it. */
START_TEST(test_contradictions)
{
	static const struct core_terms terms[] = {
		{ .linger_ms = 1000 },
		{ .manual = true },
		{ .stays = true },
		{ .reentrant = true },
		{ .keepalive_ms = 1000 },
	};
	struct driver *d = driver_new_started(1);
	unsigned c = driver_connect(d, A);

	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		driver_check(d, process_ask(d, c, "jobs/x", terms[i]) == 0);
		driver_check(d, d->clients[c].code == DDBLOCK_E_BAD_REQUEST);
	}
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_it_outlives_its_client,
		test_it_is_told_of_the_end_of_its_lease,
		test_its_client_gives_no_sign,
		test_its_client_gives_a_sign,
		test_its_client_dies_with_the_loss,
		test_it_ends_while_it_waits,
		test_contradictions,
		NULL,
	};

	return suite_run("process", tests);
}
