/*
 * Listings: page after page as the client reads, and where the reads of the
 * store are bounded, no faster than that, whoever lists.
 */
#include "driver.h"
#include "suite.h"

#include <stdio.h>

#include "ddblock.h"

/* @n_locks locks that host A holds: list/0, list/1, ... */
static struct driver *
listing_new(uint32_t capacity, unsigned n_locks)
{
	struct driver *d = driver_new(1, 2);
	unsigned client = driver_connect(d, A);
	char key[16];

	d->namespaces[0].list_capacity = capacity;
	d->net.store.scan_page = 3;
	driver_start(d);
	for (unsigned i = 0; i < n_locks; i++) {
		(void)snprintf(key, sizeof(key), "list/%u", i);
		driver_try(d, client, key);
	}
	driver_run_until(d, 2000);
	driver_skip(d);
	return d;
}

START_TEST(test_list_in_pages)
{
	struct driver *d = listing_new(0, 7);
	unsigned i;

	(void)driver_connect(d, B);
	d->clients[2].slow = true;
	driver_try(d, 1, "other");
	driver_release(d, 1, "list/5");
	driver_run_until(d, 3000);
	driver_skip(d);
	driver_list(d, 2, "list/");
	driver_run_until(d, 4000);
	driver_check(d, trace_count(&d->trace, d->mark, "*row*") == 3);
	driver_continue(d, 2);
	driver_run_until(d, 5000);
	driver_continue(d, 2);
	driver_run_until(d, 6000);
	for (i = 0; i < 2 && d->clients[2].replies == 0; i++) {
		driver_continue(d, 2);
		driver_run(d, 1000);
	}
	driver_expect(d, TRACE_REPLY,
	    "[  3010] B c2 row list/0 held +100 by A/c1*\n"
	    "[  3010] B c2 row list/1 held +100 by A/c1*\n"
	    "[  3010] B c2 row list/2 held +100 by A/c1*\n"
	    "[  4010] B c2 row list/3 held +100 by A/c1*\n"
	    "[  4010] B c2 row list/4 held +100 by A/c1*\n"
	    "[  4010] B c2 row list/5 free\n"
	    "[  5010] B c2 row list/6 held +100 by A/c1*\n"
	    "[*] B c2 list list/: OK\n");
	/* A client that goes in the middle leaves nothing. */
	driver_list(d, 2, "list/");
	driver_run(d, 5);
	driver_disconnect(d, 2);
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Four units a second, and two a page: a page every half second. */
START_TEST(test_capacity_is_not_exceeded)
{
	struct driver *d = listing_new(4, 7);

	d->net.store.scan_milliunits = 2000;
	(void)driver_connect(d, B);
	driver_list(d, 2, "list/");
	driver_run(d, 3000);
	driver_expect(d, TRACE_STORE | TRACE_REPLY,
	    "[  2000] B > scan list/\n"
	    "[  2010] B < scan list/ done\n"
	    "[  2010] B c2 row list/0 held +100 by A/c1*\n"
	    "[  2010] B c2 row list/1 held +100 by A/c1*\n"
	    "[  2010] B c2 row list/2 held +100 by A/c1*\n"
	    "[  2500] B > scan list/\n"
	    "[  2510] B < scan list/ done\n"
	    "[  2510] B c2 row list/3 held +100 by A/c1*\n"
	    "[  2510] B c2 row list/4 held +100 by A/c1*\n"
	    "[  2510] B c2 row list/5 held +100 by A/c1*\n"
	    "[  3000] B > scan list/\n"
	    "[  3010] B < scan list/ done\n"
	    "[  3010] B c2 row list/6 held +100 by A/c1*\n"
	    "[  3010] B c2 list list/: OK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* It holds for all listings together, and they take turns. A lock and a
 * question do not wait for them. */
START_TEST(test_listings_take_turns)
{
	struct driver *d = listing_new(4, 4);
	unsigned c;

	d->net.store.scan_milliunits = 4000;
	for (c = 2; c <= 4; c++)
		(void)driver_connect(d, B);
	driver_list(d, 2, "list/");
	driver_list(d, 3, "list/3");
	driver_try(d, 4, "other");
	driver_get(d, 4, "list/0");
	driver_run(d, 4000);
	driver_expect(d, TRACE_REPLY,
	    "[  2010] B c2 row list/0 held +100 by A/c1*\n"
	    "[  2010] B c2 row list/1 held +100 by A/c1*\n"
	    "[  2010] B c2 row list/2 held +100 by A/c1*\n"
	    "[  2010] B c4 grant other +1 remaining 16990\n"
	    "[  2010] B c4 get list/0: OK held +100 by A/c1*\n"
	    "[  3010] B c3 row list/3 held +100 by A/c1*\n"
	    "[  3010] B c3 list list/3: OK\n"
	    "[  4010] B c2 row list/3 held +100 by A/c1*\n"
	    "[  4010] B c2 list list/: OK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* Who leaves or cancels takes no turn, and a page that is under way then is
 * paid for all the same. */
START_TEST(test_who_leaves_takes_no_turn)
{
	struct driver *d = listing_new(1, 4);
	unsigned c;

	d->net.store.scan_milliunits = 1000;
	for (c = 2; c <= 5; c++)
		(void)driver_connect(d, B);
	driver_list(d, 2, "a");
	driver_list(d, 3, "b");
	driver_list(d, 4, "c");
	driver_list(d, 5, "d");
	driver_run(d, 5);
	driver_disconnect(d, 2);
	driver_disconnect(d, 3);
	driver_cancel(d, 4, "c");
	driver_run(d, 3000);
	driver_expect(d, TRACE_STORE | TRACE_REPLY,
	    "[  2000] B > scan a\n"
	    "[  2005] B c4 cancel c: OK\n"
	    "[  2005] B c4 list c: CANCELLED\n"
	    "[  2010] B < scan a done\n"
	    "[  3000] B > scan d\n"
	    "[  3010] B < scan d done\n"
	    "[  3010] B c5 list d: OK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A listing that is given up while its page is under way. */
START_TEST(test_cancel_under_way)
{
	struct driver *d = listing_new(0, 4);

	(void)driver_connect(d, B);
	driver_list(d, 2, "list/");
	driver_run(d, 5);
	driver_cancel(d, 2, "list/");
	driver_run(d, 1000);
	driver_expect(d, TRACE_REPLY,
	    "[  2005] B c2 cancel list/: OK\n"
	    "[  2005] B c2 list list/: CANCELLED\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* A page that fails consumed nothing, and the next one has its turn. */
START_TEST(test_turn_after_a_failure)
{
	const struct fault fault = { .host = B, .kind = OPERATION_SCAN,
		.count = 1, .fault = FAULT_REFUSE,
		.code = DDBLOCK_E_ACCESS_DENIED };
	struct driver *d = listing_new(1, 1);

	d->net.store.scan_milliunits = 1000;
	(void)driver_connect(d, B);
	(void)driver_connect(d, B);
	net_add_fault(&d->net, &fault);
	driver_list(d, 2, "list/");
	driver_list(d, 3, "list/");
	driver_run(d, 8000);
	driver_expect(d, TRACE_REPLY,
	    "[  2010] B c2 list list/: ACCESS_DENIED\n"
	    "[  2020] B c3 row list/0 held +100 by A/c1*\n"
	    "[  2020] B c3 list list/: OK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

/* The store leaves out what is free; a page may then be empty. */
START_TEST(test_held_only)
{
	struct driver *d = listing_new(0, 7);
	char key[16];

	for (unsigned i = 0; i < 6; i++) {
		(void)snprintf(key, sizeof(key), "list/%u", i);
		driver_release(d, 1, key);
	}
	driver_run(d, 1000);
	driver_skip(d);
	(void)driver_connect(d, B);
	driver_list_held(d, 2, "list/");
	driver_run(d, 1000);
	driver_expect(d, TRACE_STORE | TRACE_REPLY,
	    "[  3000] B > scan list/\n"
	    "[  3010] B < scan list/ done\n"
	    "[  3010] B > scan list/\n"
	    "[  3020] B < scan list/ done\n"
	    "[  3020] B > scan list/\n"
	    "[  3030] B < scan list/ done\n"
	    "[  3030] B c2 row list/6 held +100 by A/c1*\n"
	    "[  3030] B c2 list list/: OK\n");
	driver_expect_clean(d);
	driver_free(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_list_in_pages,
		test_capacity_is_not_exceeded,
		test_listings_take_turns,
		test_who_leaves_takes_no_turn,
		test_cancel_under_way,
		test_turn_after_a_failure,
		test_held_only,
		NULL,
	};

	return suite_run("listing", tests);
}
