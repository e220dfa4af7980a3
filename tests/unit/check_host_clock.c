/*
 * Which namespaces depend on this host's clock, and what the log says of it.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "config_fixture.h"
#include "core/operation.h"
#include "daemon/host_clock.h"
#include "test.h"

/* A namespace with these lines. */
static void
configure(const char *lines)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), "[namespace default]\n"
	    "store = dynamodb\ntable = tab\nregion = r\n"
	    "access_key_id = a\nsecret_access_key = s\n%s", lines);
	expect_good(text);
}

static const struct {
	const char *lines;
	int says;
	const char *complaint;	/* NULL: it does not matter */
} clocks[] = {
	{ "format = dlock\n", 0, "format = dlock compares the clocks of "
	    "hosts, and the kernel does not say that this host's is "
	    "synchronised; start chronyd or systemd-timesyncd, or, if you "
	    "know that the clock is right, set trust_clock = yes" },
	{ "format = dlock\n", -EPERM, "format = dlock compares the clocks of "
	    "hosts, and ddblockd may not ask whether this host's is "
	    "synchronised (Operation not permitted); install clock.conf "
	    "(ddblockd(8)), or, if you know that the clock is right, set "
	    "trust_clock = yes" },
	{ "format = dlock\n", -ENOSYS, "format = dlock compares the clocks of "
	    "hosts, and the kernel does not say that this host's is "
	    "synchronised (Function not implemented); start chronyd or "
	    "systemd-timesyncd, or, if you know that the clock is right, set "
	    "trust_clock = yes" },
	{ "format = dlock\ntrust_clock = yes\n", 0, NULL },
	{ "format = js-fail-open\nkey_attribute = id\nlocal_time = yes\n", 0,
	    "with local_time = yes other hosts compare their clocks with this "
	    "one's, and the kernel does not say that this host's is "
	    "synchronised; start chronyd or systemd-timesyncd, or, if you "
	    "know that the clock is right, set trust_clock = yes" },
	{ "format = js-fail-open\nkey_attribute = id\nlocal_time = yes\n"
	    "trust_clock = yes\n", 0, NULL },
	{ "format = js-fail-open\nkey_attribute = id\n", 0, NULL },
	{ "format = awslabs\n", 0, NULL },
	{ "", 0, NULL },
};

TEST_FIXTURE(config_setup, config_teardown)

TEST_ROWS(test_reason, clocks)
{
	char text[HOST_CLOCK_TEXT_MAX] = "";

	configure(clocks[_i].lines);
	ck_assert(host_clock_counts(&config->namespaces[0], clocks[_i].says,
	    text, sizeof(text)) == (clocks[_i].complaint != NULL));
	ck_assert_str_eq(text,
	    clocks[_i].complaint == NULL ? "" : clocks[_i].complaint);
	/* As much as an outcome tells. */
	ck_assert_uint_lt(strlen(text), OUTCOME_TEXT_MAX);
}

static int probe_says;

static int
probe(void)
{
	return probe_says;
}

/* How often the log says @part; its file is read from the beginning. */
static unsigned
logged(const char *part)
{
	char text[8192];
	ssize_t n = pread(STDERR_FILENO, text, sizeof(text) - 1, 0);
	unsigned times = 0;

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		times++;
	return times;
}

/* Once when it begins, and once when it ends. */
TEST(test_log)
{
	static const char begins[] =
	    "namespace default: no lock is granted: format = dlock ";
	static const char ends[] = "namespace default: the host's clock is "
	    "synchronised: locks are granted";
	struct event_base *base = event_base_new();
	FILE *file = tmpfile();
	struct host_clock clock;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
	log_init(LOG_TARGET_STDERR, LOG_INFO);
	configure("format = dlock\n");
	probe_says = 0;
	ck_assert_int_eq(host_clock_start(&clock, base, config, probe), 0);
	host_clock_look(&clock);
	ck_assert_uint_eq(logged(begins), 1);
	ck_assert_uint_eq(logged(ends), 0);
	probe_says = 1;
	host_clock_look(&clock);
	host_clock_look(&clock);
	ck_assert_uint_eq(logged(begins), 1);
	ck_assert_uint_eq(logged(ends), 1);
	probe_says = -EPERM;
	host_clock_look(&clock);
	ck_assert_uint_eq(logged(begins), 2);
	host_clock_done(&clock);
	event_base_free(base);
	(void)fclose(file);
}

/* If no namespace depends on it, the clock is not checked. */
TEST(test_not_asked)
{
	struct host_clock clock;

	configure("");
	ck_assert_int_eq(host_clock_start(&clock, NULL, config, NULL), 0);
	host_clock_done(&clock);
}
