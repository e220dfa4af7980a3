/*
 * libddblock: what lingers of a connection, and coming back for it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/buffer.h"
#include "common/clock.h"
#include "ddblock.h"
#include "test.h"
#include "tests/lib/fixture.h"

/* The keys of the rows, one after the other. */
static void
on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct buffer *keys = arg;

	ck_assert(!final);
	ck_assert_int_eq(buffer_append_text(keys,
	    ddblock_row_find(row, "key", NULL)), 0);
}

TEST_FIXTURE(fixture_setup, fixture_teardown)

/* What lingers is resumed under the ids that it had, and what was lost is known
 * to
 * be. */
TEST(test_resume)
{
	uint64_t until_ms = clock_boot_ms() + 60000;
	struct buffer keys;
	buffer_init(&keys, 16);
	ck_assert_ptr_null(ddblock_secret(connection));
	fake_send(&fake, "#2 + id=7 ns=default key=k token=41 state=held "
	    "count=2 remaining=60s until_boot_ms=%" PRIu64 " margin=1s\n"
	    "#2 + id=8 ns=n key=a token=42 state=danger remaining=60s "
	    "until_boot_ms=%" PRIu64 " margin=1s\n"
	    "#2 + id=8 ns=n key=b token=0 token_text=9007199254740993 "
	    "state=danger remaining=60s "
	    "until_boot_ms=%" PRIu64 " margin=1s\n"
	    "#2 + id=9 ns=n key=c token=44 state=lost reason=broken\n"
	    "#2 OK rows=4\n", until_ms, until_ms, until_ms);
	ck_assert_int_eq(ddblock_resume(connection, "s3cret", on_row,
	    &keys), 0);
	fake_expect(&fake, "#2 RESUME secret=s3cret");
	ck_assert_str_eq(keys.data, "kabc");
	buffer_done(&keys);
	ck_assert_str_eq(ddblock_secret(connection), "s3cret");
	ck_assert_uint_eq(ddblock_until_boot_ms(connection, 7), until_ms);
	ck_assert_uint_eq(ddblock_margin_ms(connection, 7), 1000);
	ck_assert_uint_eq(ddblock_token_of(connection, 8, "a"), 42);
	ck_assert_uint_eq(ddblock_token_of(connection, 8, "b"), 0);
	ck_assert_str_eq(ddblock_token_text(connection, 8, "b"),
	    "9007199254740993");
	ck_assert_ptr_null(ddblock_token_text(connection, 8, "a"));
	ck_assert_uint_eq(ddblock_remaining_ms(connection, 9), 0);
	fake_send(&fake, "#3 OK\n");
	ck_assert_int_eq(ddblock_release(connection, 9),
	    DDBLOCK_E_LOCK_LOST);
	fake_expect(&fake, "#3 RELEASE id=9");
	fake_send(&fake, "#4 OK count=1\n");
	ck_assert_int_eq(ddblock_release(connection, 7), 0);
	ck_assert_uint_gt(ddblock_remaining_ms(connection, 7), 0);
	fake_send(&fake, "#5 OK\n");
	ck_assert_int_eq(ddblock_release(connection, 7), 0);
	ck_assert_uint_eq(ddblock_remaining_ms(connection, 7), 0);
	fake_expect(&fake, "#4 RELEASE id=7");
	fake_expect(&fake, "#5 RELEASE id=7");
}

/* A grant says the secret; rows that lack something are no such rows. */
TEST(test_secret)
{
	struct ddblock_acquire_options o = DDBLOCK_ACQUIRE_OPTIONS_INIT;
	uint64_t id;

	o.linger_ms = 90000;
	o.wait_ms = 0;
	fake_send(&fake, "#2 OK id=10 token=50 mode=exclusive remaining=60s "
	    "until_boot_ms=%" PRIu64 " margin=1s secret=other\n",
	    clock_boot_ms() + 60000);
	ck_assert_int_eq(ddblock_acquire(connection, "x", &o, &id), 0);
	fake_expect(&fake, "#2 TRY x linger=90000ms");
	ck_assert_str_eq(ddblock_secret(connection), "other");
	fake_send(&fake, "#3 + id=11 ns=n key=z token=1 state=held\n");
	ck_assert_int_eq(ddblock_resume(connection, "s", NULL, NULL),
	    DDBLOCK_E_PROTOCOL);
	ck_assert_uint_eq(ddblock_remaining_ms(connection, id), 0);
}
