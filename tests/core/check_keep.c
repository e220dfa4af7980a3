/*
 * What clients keep in a lock: whoever is granted it is told what was
 * acknowledged last, and nothing that was given up undoes it.
 */
#include "driver.h"
#include "suite.h"

#include <string.h>

#include "ddblock.h"

static struct change
keep_data(const char *data)
{
	return (struct change){
		.sets_data = true, .contents.data = { data, strlen(data) },
	};
}

static void
keep_acquire(struct driver *d, unsigned client, const char *data)
{
	struct change change = keep_data(data);

	d->change = &change;
	driver_acquire(d, client, "jobs/x", DRIVER_FOREVER);
}

static void
keep_renew(struct driver *d, unsigned client, const char *data)
{
	struct change change = keep_data(data);

	d->change = &change;
	driver_renew(d, client, "jobs/x");
}

static void
keep_release(struct driver *d, unsigned client, const char *data)
{
	struct change change = keep_data(data);

	d->change = &change;
	driver_release(d, client, "jobs/x");
}

static bool
keep_shows(struct driver *d, const char *data)
{
	return strcmp(driver_lock(d, "jobs/x")->contents.data, data) == 0;
}

/* A world with @n clients on A, then @m on B, whose sessions are open. */
static struct driver *
keep_new(unsigned n, unsigned m)
{
	struct driver *d = driver_new(1, 2);

	driver_start(d);
	while (n-- > 0)
		(void)driver_connect(d, A);
	while (m-- > 0)
		(void)driver_connect(d, B);
	driver_run_until(d, 1000);
	driver_skip(d);
	return d;
}

static void
keep_end(struct driver *d)
{
	driver_expect_clean(d);
	driver_free(d);
}

#define WHAT (TRACE_REPLY | TRACE_STORE)

/* Written before the grant is told; read again for each who follows here. */
START_TEST(test_told)
{
	struct driver *d = keep_new(3, 0);

	keep_acquire(d, 1, "one");
	driver_acquire(d, 2, "jobs/x", DRIVER_FOREVER);
	keep_acquire(d, 3, "three");
	driver_run(d, 500);
	driver_release(d, 1, "jobs/x");
	driver_run(d, 500);
	driver_release(d, 2, "jobs/x");
	driver_run(d, 500);
	driver_expect(d, WHAT,
	    "[  1000] A > acquire jobs/x\n"
	    "[  1010] A < acquire jobs/x done\n"
	    "[  1010] A > update jobs/x\n"
	    "[  1020] A < update jobs/x done\n"
	    "[  1020] A c1 grant jobs/x +1 remaining 17980\n"
	    "[  1500] A > read jobs/x\n"
	    "[  1500] A c1 release jobs/x: OK\n"
	    "[  1510] A < read jobs/x done\n"
	    "[  1510] A c2 grant jobs/x +2 remaining 17490; data one\n"
	    "[  2000] A > read jobs/x\n"
	    "[  2000] A c2 release jobs/x: OK\n"
	    "[  2010] A < read jobs/x done\n"
	    "[  2010] A > update jobs/x\n"
	    "[  2020] A < update jobs/x done\n"
	    "[  2020] A c3 grant jobs/x +3 remaining 16980\n");
	keep_end(d);
}
END_TEST

/* The next one here, who only reads, waits until the store has it. */
START_TEST(test_left_at_release)
{
	struct driver *d = keep_new(2, 1);

	driver_acquire(d, 1, "jobs/x", DRIVER_FOREVER);
	driver_acquire(d, 2, "jobs/x", DRIVER_FOREVER);
	driver_run(d, 500);
	keep_release(d, 1, "left");
	driver_run(d, 500);
	keep_release(d, 2, "left again");
	driver_run(d, 500);
	driver_get(d, 3, "jobs/x");
	driver_acquire(d, 3, "jobs/x", DRIVER_FOREVER);
	driver_run(d, 500);
	driver_expect(d, WHAT,
	    "[  1000] A > acquire jobs/x\n"
	    "[  1010] A < acquire jobs/x done\n"
	    "[  1010] A c1 grant jobs/x +1 remaining 17990\n"
	    "[  1500] A > update jobs/x\n"
	    "[  1510] A < update jobs/x done\n"
	    "[  1510] A c2 grant jobs/x +2 remaining 17490; data left\n"
	    "[  1510] A c1 release jobs/x: OK\n"
	    "[  2000] A > read jobs/x\n"
	    "[  2010] A < read jobs/x done\n"
	    "[  2010] A > update jobs/x\n"
	    "[  2020] A < update jobs/x done\n"
	    "[  2020] A > release jobs/x\n"
	    "[  2030] A < release jobs/x done\n"
	    "[  2030] A c2 release jobs/x: OK\n"
	    "[  2500] B > read jobs/x\n"
	    "[  2500] B > acquire jobs/x\n"
	    "[  2510] B < read jobs/x done\n"
	    "[  2510] B c3 get jobs/x: OK free\n"
	    "[  2510] B < acquire jobs/x done\n"
	    "[  2510] B c3 grant jobs/x +101 remaining 16490; "
	    "data left again\n");
	keep_end(d);
}
END_TEST

/*
 * A renewal's change lands long after it was given up. Nobody new is granted
 * the lock by that hold's grant before something above it is in the record.
 */
START_TEST(test_late)
{
	struct driver *d = keep_new(2, 0);

	keep_acquire(d, 1, "first");
	driver_acquire(d, 2, "jobs/x", DRIVER_FOREVER);
	driver_run(d, 500);
	driver_fault(d, A, OPERATION_UPDATE, FAULT_LATE, 20000);
	keep_renew(d, 1, "late");
	driver_run(d, 8000);
	driver_skip(d);
	driver_release(d, 1, "jobs/x");
	driver_run(d, 500);
	driver_expect(d, WHAT,
	    "[  9500] A > read jobs/x\n"
	    "[  9500] A c1 release jobs/x: OK\n"
	    "[  9510] A < read jobs/x done\n"
	    "[  9510] A > update jobs/x\n"
	    "[  9520] A < update jobs/x done\n"
	    "[  9520] A c2 grant jobs/x +2 remaining 14480; data first\n");
	driver_run(d, 30000);
	driver_check(d, keep_shows(d, "first"));
	keep_end(d);
}
END_TEST

static void
keep_lose_one(enum fault_kind fault)
{
	struct driver *d = keep_new(1, 0);

	driver_acquire(d, 1, "jobs/x", DRIVER_FOREVER);
	driver_run(d, 500);
	driver_fault(d, A, OPERATION_UPDATE, fault, 15000);
	keep_renew(d, 1, "early");
	driver_run(d, 8000);
	driver_check(d, d->clients[1].code == DDBLOCK_E_UNREACHABLE);
	keep_renew(d, 1, "later");
	driver_run(d, 1000);
	driver_check(d, d->clients[1].code == 0);
	driver_check(d, keep_shows(d, "later"));
	driver_run(d, 20000);
	driver_check(d, keep_shows(d, "later"));
	driver_check(d, driver_holds(d, 1, "jobs/x"));
	keep_end(d);
}

/* What nobody answered is said to be so; a later change counts, whenever the
 * earlier lands. */
START_TEST(test_lost)
{
	keep_lose_one(FAULT_LOSE_BEFORE);
	keep_lose_one(FAULT_LOSE_AFTER);
	keep_lose_one(FAULT_LATE);
}
END_TEST

/* The store does not allow it: who asked is told, and the lock goes on. */
START_TEST(test_refused)
{
	struct fault fault = { .host = A, .kind = OPERATION_UPDATE,
		.fault = FAULT_REFUSE, .code = DDBLOCK_E_ACCESS_DENIED,
		.count = 2 };
	struct driver *d = keep_new(2, 0);

	net_add_fault(&d->net, &fault);
	keep_acquire(d, 1, "no");
	driver_acquire(d, 2, "jobs/x", DRIVER_FOREVER);
	driver_run(d, 2000);
	driver_check(d, d->clients[1].code == DDBLOCK_E_ACCESS_DENIED);
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	keep_release(d, 2, "no");
	driver_run(d, 2000);
	driver_check(d, d->clients[2].code == DDBLOCK_E_ACCESS_DENIED);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 0);
	keep_end(d);
}
END_TEST

/* Somebody broke the lock: nothing is written, and the holder hears why. */
START_TEST(test_broken)
{
	struct driver *d = keep_new(1, 0);

	keep_acquire(d, 1, "first");
	driver_run(d, 500);
	model_break_lock(&d->net.store, 0, "jobs/x", "admin");
	keep_renew(d, 1, "second");
	driver_run(d, 500);
	driver_check(d, d->clients[1].code == DDBLOCK_E_LOCK_LOST);
	driver_check(d, !driver_holds(d, 1, "jobs/x"));
	driver_check(d, keep_shows(d, "first"));
	keep_end(d);
}
END_TEST

START_TEST(test_only_if_exists)
{
	struct change clear = { .clears = true };
	struct driver *d = keep_new(3, 1);

	d->only_if_exists = true;
	driver_try(d, 1, "jobs/x");
	driver_run(d, 500);
	/* Not even a record is made for it. */
	driver_check(d, d->clients[1].code == DDBLOCK_E_NO_SUCH_LOCK);
	driver_check(d, !driver_lock(d, "jobs/x")->exists);
	keep_acquire(d, 1, "here");
	d->only_if_exists = true;
	driver_acquire(d, 2, "jobs/x", DRIVER_FOREVER);
	d->only_if_exists = true;
	driver_acquire(d, 3, "jobs/x", DRIVER_FOREVER);
	driver_run(d, 500);
	d->only_if_exists = true;
	driver_acquire(d, 4, "jobs/x", DRIVER_FOREVER);
	driver_run(d, 500);
	driver_release(d, 1, "jobs/x");
	driver_run(d, 500);
	driver_check(d, driver_holds(d, 2, "jobs/x"));
	d->change = &clear;
	driver_release(d, 2, "jobs/x");
	driver_run(d, 8000);
	/* Gone, for who waits here and for who waits elsewhere. */
	driver_check(d, d->clients[3].code == DDBLOCK_E_NO_SUCH_LOCK);
	driver_check(d, d->clients[4].code == DDBLOCK_E_NO_SUCH_LOCK);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 0);
	keep_end(d);
}
END_TEST

/* Who shares it is told, and changes nothing. */
START_TEST(test_shared)
{
	struct driver *d = keep_new(3, 1);

	keep_acquire(d, 1, "read me");
	driver_run(d, 500);
	driver_release(d, 1, "jobs/x");
	driver_run(d, 500);
	driver_skip(d);
	driver_share(d, 2, "jobs/x", 0, DRIVER_FOREVER);
	driver_share(d, 3, "jobs/x", 0, DRIVER_FOREVER);
	driver_share(d, 4, "jobs/x", 0, DRIVER_FOREVER);
	driver_run(d, 2000);
	driver_expect(d, TRACE_REPLY,
	    "[  2010] A c2 grant jobs/x +101 remaining 16990; data read me\n"
	    "[  2010] B c4 grant jobs/x +102 remaining 16990; data read me\n"
	    "[  2020] A c3 grant jobs/x +101 remaining 16980; data read me\n");
	keep_renew(d, 2, "no");
	driver_run(d, 500);
	driver_check(d, d->clients[2].code == DDBLOCK_E_BAD_REQUEST);
	keep_release(d, 3, "no");
	driver_run(d, 500);
	driver_check(d, d->clients[3].code == DDBLOCK_E_BAD_REQUEST);
	driver_check(d, driver_lock(d, "jobs/x")->n_holders == 2);
	keep_end(d);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		test_told,
		test_left_at_release,
		test_late,
		test_lost,
		test_refused,
		test_broken,
		test_only_if_exists,
		test_shared,
		NULL,
	};

	return suite_run("keep", tests);
}
