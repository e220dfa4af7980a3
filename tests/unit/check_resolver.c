/*
 * The resolver by itself: thread after thread, each of which shares its
 * result with the loop. The client's use of it is in check_aws_client.c.
 */
#include <event2/event.h>
#include <netdb.h>

#include "aws/resolver.h"
#include "test.h"

struct asking {
	struct resolver *resolver;
	uint64_t now_ms;
	unsigned left;
};

static int
test_fail(const char *host, const char *port, const struct addrinfo *hints,
    struct addrinfo **ret)
{
	(void)host;
	(void)port;
	(void)hints;
	(void)ret;
	return EAI_FAIL;
}

static void
test_ask(void *arg)
{
	struct asking *a = arg;
	uint32_t number;

	a->now_ms += RESOLVER_PAUSE_MS;
	if (a->left == 0)
		return;
	a->left--;
	ck_assert_ptr_null(resolver_addresses(a->resolver, a->now_ms,
	    &number));
}

/* The next thread starts while the last one is still on its way out. */
TEST(test_one_after_the_other)
{
	struct event_base *base = event_base_new();
	struct asking a = { .left = 5000 };

	ck_assert_ptr_nonnull(base);
	ck_assert_int_eq(resolver_new(base, "h", "1", test_fail, test_ask, &a,
	    &a.resolver), 0);
	test_ask(&a);
	while (a.left > 0 || resolver_busy(a.resolver))
		ck_assert_int_ge(event_base_loop(base, EVLOOP_ONCE), 0);
	ck_assert_str_eq(resolver_error(a.resolver), gai_strerror(EAI_FAIL));
	resolver_free(a.resolver);
	event_base_free(base);
}

static int
test_lie(const char *host, const char *port, const struct addrinfo *hints,
    struct addrinfo **ret)
{
	(void)host;
	(void)port;
	(void)hints;
	(void)ret;
	ck_abort_msg("localhost was looked up");
	return EAI_FAIL;
}

/* A resolver may be wrong, or lie: that name is this host, at once. */
TEST(test_localhost)
{
	static const char *const names[] = { "localhost", "LocalHost" };
	struct event_base *base = event_base_new();
	struct asking a = { .left = 0 };
	uint32_t number, again;

	ck_assert_ptr_nonnull(base);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ck_assert_int_eq(resolver_new(base, names[i], "8000", test_lie,
		    test_ask, &a, &a.resolver), 0);
		ck_assert_str_eq(resolver_addresses(a.resolver, 0, &number),
		    "127.0.0.1,[::1]");
		resolver_distrust(a.resolver);
		ck_assert_str_eq(resolver_addresses(a.resolver,
		    10 * RESOLVER_FRESH_MS, &again), "127.0.0.1,[::1]");
		ck_assert_uint_eq(again, number);
		ck_assert_uint_gt(number, 0);
		ck_assert(!resolver_busy(a.resolver));
		resolver_free(a.resolver);
	}
	event_base_free(base);
}
