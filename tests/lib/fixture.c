/*
 * Shared by the tests of libddblock.
 */
#include "tests/lib/fixture.h"

#include <check.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"

struct fake_daemon fake;
struct ddblock *connection;
static char told[4096];		/* the calls of callbacks */

void
fixture_tell(const char *format, ...)
{
	size_t length = strlen(told);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(told + length, sizeof(told) - length, format,
	    arguments);
	va_end(arguments);
}

/* The calls since the last time. */
const char *
fixture_heard(void)
{
	static char copy[sizeof(told)];

	(void)memcpy(copy, told, sizeof(told));
	told[0] = '\0';
	return copy;
}

void
fixture_on_event(void *arg, struct ddblock *d,
    const struct ddblock_event *event)
{
	static const char *const names[] = {
		[DDBLOCK_EVENT_IN_DANGER] = "danger",
		[DDBLOCK_EVENT_SAFE] = "safe",
		[DDBLOCK_EVENT_LOST] = "lost",
		[DDBLOCK_EVENT_SHUTDOWN] = "shutdown",
		[DDBLOCK_EVENT_DISCONNECTED] = "disconnected",
		[DDBLOCK_EVENT_BROKEN] = "broken",
		[DDBLOCK_EVENT_RESUMED] = "resumed",
	};

	(void)arg;
	ck_assert_ptr_eq(d, connection);
	fixture_tell("%s", names[event->kind]);
	if (event->id != 0)
		fixture_tell(" %" PRIu64, event->id);
	if (event->kind == DDBLOCK_EVENT_LOST)
		fixture_tell(" loss=%d", (int)event->loss);
	if (event->code != 0)
		fixture_tell(" %s", ddblock_error_name(event->code));
	fixture_tell(";");
}

void
fixture_on_reply(void *arg, struct ddblock *d,
    const struct ddblock_reply *reply)
{
	ck_assert_ptr_eq(d, connection);
	fixture_tell("%s %s", (const char *)arg,
	    ddblock_error_name(reply->code));
	if (reply->id != 0)
		fixture_tell(" id=%" PRIu64, reply->id);
	if (reply->cause != 0)
		fixture_tell(" cause=%s", ddblock_error_name(reply->cause));
	if (reply->text[0] != '\0')
		fixture_tell(" (%s)", reply->text);
	fixture_tell(";");
}

void
fixture_setup(void)
{
	fake_init(&fake);
	connection = fake_open(&fake);
	ddblock_on_event(connection, fixture_on_event, NULL);
	told[0] = '\0';
}

void
fixture_teardown(void)
{
	ddblock_close(connection);
	fake_done(&fake);
}

/* The answer to request @tag: a grant for so many ms from now. */
uint64_t
fixture_grant(int tag, int id, uint64_t ms)
{
	uint64_t until_ms = clock_boot_ms() + ms;

	fake_send(&fake, "#%d OK id=%d token=41 mode=exclusive "
	    "remaining=%" PRIu64 "ms until_boot_ms=%" PRIu64 " margin=1s\n",
	    tag, id, ms, until_ms);
	return until_ms;
}

/* Wait until the library has something to do, and let it. */
int
fixture_dispatch(void)
{
	struct pollfd fd = { .fd = ddblock_fd(connection), .events = POLLIN };

	ck_assert_int_ge(fd.fd, 0);
	ck_assert_int_eq(poll(&fd, 1, 20000), 1);
	return ddblock_dispatch(connection);
}

uint64_t
fixture_acquire(int tag, int id, uint64_t ms)
{
	uint64_t got = 0;

	(void)fixture_grant(tag, id, ms);
	ck_assert_int_eq(ddblock_acquire(connection, "jobs/nightly", NULL,
	    &got), 0);
	ck_assert_uint_eq(got, (uint64_t)id);
	fake_expect(&fake, tag == 2 ? "#2 ACQUIRE jobs/nightly" :
	    "#3 ACQUIRE jobs/nightly");
	return got;
}
