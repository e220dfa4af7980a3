/*
 * Users have turns: of two, one with many connections and one with a single
 * one, each round serves both; and the user that took more than a turn is
 * passed over until that is paid.
 */
#include <event2/event.h>
#include <string.h>

#include "ipc/connection/connection.h"
#include "test.h"

#define MANY 1000

static struct server server;
static struct user many, one;
static struct connection greedy[MANY], other;

static void
on_work(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void
setup(void)
{
	memset(&server, 0, sizeof(server));
	memset(greedy, 0, sizeof(greedy));
	many = (struct user){ .uid = 1, .n_connections = MANY };
	one = (struct user){ .uid = 2, .n_connections = 1 };
	server.base = event_base_new();
	ck_assert_ptr_nonnull(server.base);
	server.work_event = evtimer_new(server.base, on_work, NULL);
	ck_assert_ptr_nonnull(server.work_event);
	for (int i = 0; i < MANY; i++)
		greedy[i] = (struct connection){ .server = &server,
			.user = &many };
	other = (struct connection){ .server = &server, .user = &one };
}

static void
teardown(void)
{
	event_free(server.work_event);
	event_base_free(server.base);
}

TEST_FIXTURE(setup, teardown)

/* The next user's turn; it does not end because this process was not run. */
static struct user *
begin_turn(void)
{
	struct user *turn = turn_next(&server);

	if (server.turn_ends_ns > 0)
		server.turn_ends_ns = UINT64_MAX;
	return turn;
}

/* One round. Each connection of the many costs @cost_ns, and nothing else any
 * time. Returns how many of @u were served. */
static unsigned
play(const struct user *u, int64_t cost_ns, bool again)
{
	struct user *turn;
	unsigned n = 0;

	turn_begin_round(&server);
	while ((turn = begin_turn()) != NULL) {
		int64_t credit_ns = turn->credit_ns;
		struct connection *c;

		while ((c = turn_next_connection(&server, turn)) != NULL) {
			ck_assert_ptr_eq(c->user, turn);
			n += turn == u;
			if (again)
				server_schedule(&server, c);
			if (turn == &many && cost_ns > 0) {
				credit_ns -= cost_ns;
				server.turn_ends_ns = 0;
			}
			if (turn == &one && again)
				server.turn_ends_ns = 0;
		}
		turn_end(&server, turn);
		turn->credit_ns = credit_ns;
	}
	turn_end_round(&server);
	return n;
}

TEST(test_both_are_served)
{
	for (int i = 0; i < MANY; i++)
		server_schedule(&server, &greedy[i]);
	server_schedule(&server, &other);
	server_schedule(&server, &other);
	for (int i = 0; i < 20; i++) {
		/* It has work in every round, and so has the other. */
		ck_assert_uint_gt(play(&one, TURN_NS, true), 0);
		ck_assert(one.in_line && many.in_line);
	}
	/* All that is left is done in the end, and nobody is in line. */
	for (int i = 0; i < 2 * MANY; i++)
		(void)play(&one, TURN_NS, false);
	ck_assert(!one.in_line && !many.in_line);
	for (int i = 0; i < MANY; i++)
		ck_assert(!greedy[i].has_work);
	ck_assert_uint_eq(play(&one, 0, false), 0);
}

TEST(test_what_took_long_is_owed)
{
	for (int i = 0; i < MANY; i++)
		server_schedule(&server, &greedy[i]);
	/* Five turns at once: in four rounds at least it has none. */
	ck_assert_uint_eq(play(&many, 5 * TURN_NS, false), 1);
	for (int i = 0; i < 4; i++) {
		server_schedule(&server, &other);
		ck_assert_uint_eq(play(&many, 0, false), 0);
		ck_assert(!other.has_work);
	}
	(void)play(&many, TURN_NS, false);
	ck_assert_uint_gt(play(&many, TURN_NS, false), 0);
}

/* What comes in a round is served in it, unless its user has had its turn. */
TEST(test_in_the_same_round)
{
	struct user *u;

	server_schedule(&server, &greedy[0]);
	turn_begin_round(&server);
	u = begin_turn();
	ck_assert_ptr_eq(u, &many);
	ck_assert_ptr_eq(turn_next_connection(&server, u), &greedy[0]);
	server_schedule(&server, &other);
	turn_end(&server, u);
	server_schedule(&server, &greedy[1]);
	u = begin_turn();
	ck_assert_ptr_eq(u, &one);
	ck_assert_ptr_eq(turn_next_connection(&server, u), &other);
	turn_end(&server, u);
	ck_assert_ptr_null(turn_next(&server));
	turn_end_round(&server);
	ck_assert(greedy[1].has_work);
	ck_assert(event_pending(server.work_event, EV_TIMEOUT, NULL));
}

TEST(test_gone_from_the_line)
{
	server_schedule(&server, &other);
	server_schedule(&server, &greedy[0]);
	server_schedule(&server, &greedy[1]);
	server_unschedule(&server, &other);
	server_unschedule(&server, &other);
	ck_assert(!one.in_line && many.in_line);
	server_unschedule(&server, &greedy[0]);
	ck_assert_uint_eq(play(&many, 0, false), 1);
}
