/*
 * What waits for the turn of its user: nothing is read, run or sent before; and
 * what clients say is heard in the order of its coming, also after such a wait.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/connection/connection.h"
#include "server_fixture.h"
#include "test.h"

TEST_FIXTURE(setup, teardown)

#define ROUNDS (OWED_MAX_NS / TURN_NS - 1)	/* less than are owed */

/* All connections are of one user, which does not pay in the next rounds of the
 * loop. */
static void
owe(void)
{
	ck_assert_ptr_null(t.server->users->next);
	t.server->users->credit_ns = -OWED_MAX_NS;
}

static void
pass_over(void)
{
	for (int i = 0; i < ROUNDS; i++)
		ck_assert_int_ge(event_base_loop(t.base, EVLOOP_ONCE |
		    EVLOOP_NONBLOCK), 0);
	ck_assert_int_lt(t.server->users->credit_ns, 0);
}

/* The next line of @one, then one of another connection. */
static int one, other;

static void
both_speak(void)
{
	t.on_step = NULL;
	ck_assert_int_eq(send(one, "TRY second\n", 11, MSG_NOSIGNAL), 11);
	ck_assert_int_eq(send(other, "TRY third\n", 10, MSG_NOSIGNAL), 10);
}

/* One that waited so long that the loop told of it again and again is heard
 * before another that spoke later, though its first line was not run yet. */
TEST(test_in_the_order_of_their_coming)
{
	one = client();
	other = client();
	ask(one, "PING\n", "OK\n");
	ask(other, "PING\n", "OK\n");
	owe();
	ck_assert_int_eq(send(one, "TRY first\n", 10, MSG_NOSIGNAL), 10);
	pass_over();
	ck_assert_uint_eq(t.n_seen, 0);
	t.on_step = both_speak;
	turn();
	ck_assert_uint_eq(t.n_seen, 3);
	ck_assert_str_eq(t.seen[0].key, "first");
	ck_assert_str_eq(t.seen[1].key, "second");
	ck_assert_str_eq(t.seen[2].key, "third");
	(void)close(one);
	(void)close(other);
}

/* Does what was said fill the socket? */
static bool
is_stuck(int fd)
{
	static const char help[] = "HELP\nHELP\nHELP\nHELP\nHELP\nHELP\n";
	ssize_t n = send(fd, help, sizeof(help) - 1, MSG_NOSIGNAL);

	ck_assert(n > 0 || errno == EAGAIN);
	turn();
	return n < 0;
}

/* The rest of an answer is sent in a turn of its user, too, when the client
 * reads again. */
TEST(test_the_rest_is_sent_in_a_turn)
{
	int fd = client();
	char got[65536];

	for (int stuck = 0; stuck < 50; )
		stuck = is_stuck(fd) ? stuck + 1 : 0;
	owe();
	while (recv(fd, got, sizeof(got), 0) > 0)
		;
	pass_over();
	expect_nothing(fd);
	turn();
	ck_assert_uint_gt(drain_lines(fd), 0);
	(void)close(fd);
}

/* Who connects stands in one line with all others: it is taken out of that
 * though its user owes, and what that costs most is done in a turn. */
TEST(test_connections_begin_in_a_turn)
{
	int fd = client(), later;
	struct connection *c;

	ask(fd, "PING\n", "OK\n");
	owe();
	later = client();
	pass_over();
	ck_assert_uint_eq(server_connections(t.server), 2);
	c = t.server->users->work;
	ck_assert_ptr_nonnull(c);
	ck_assert_ptr_null(c->work_next);
	ck_assert_str_eq(c->peer.name, "?");
	ask(later, "PING\n", "OK\n");
	ck_assert_str_ne(c->peer.name, "?");
	(void)close(fd);
	(void)close(later);
}
