/*
 * Operations that our own leases depend on wait for no others at the fleet's
 * store: a beat is done, however many looks at locks hang. (For looks at other
 * hosts' sessions: check_dynamodb_faults.c.) And an operation goes at once if
 * it can.
 */
#include "common/clock.h"
#include "conformance.h"
#include "ddblock.h"
#include "dynamodb_proxy.h"
#include "test.h"

#define LOOK_MS 60000
#define LOCK_CONNECTIONS 64	/* of their lane; see aws/client.h */

static void
look(struct operation *o, struct key key)
{
	*o = case_operation(OPERATION_READ, key);
	o->submitted_ms = clock_boot_ms();
	o->deadline_ms = o->submitted_ms + LOOK_MS;
	(void)case_submit(o);
}

/* As many looks hang as there are connections for them, and one more waits. Is
 * a beat the first to come after them? */
static bool
beat_comes_first(void)
{
	struct operation looks[LOCK_CONNECTIONS + 1], o;
	struct key key = case_key("look");
	struct ident session = case_ident();
	unsigned hung, n;
	struct seen *s;

	case_done(case_session(OPERATION_SESSION_OPEN, session, 0));
	hung = proxy_requests() + LOCK_CONNECTIONS;
	proxy_next(PROXY_HOLD, LOCK_CONNECTIONS, 0);
	for (size_t i = 0; i <= LOCK_CONNECTIONS; i++)
		look(&looks[i], key);
	while (proxy_requests() < hung)
		case_turn();
	o = case_operation(OPERATION_SESSION_BEAT, (struct key){ 0 });
	o.session = session;
	o.lease_ms = 20000;
	s = case_submit(&o);
	while (s->kind == 0)
		case_turn();
	n = proxy_requests();
	proxy_let_go();
	case_wait();
	return s->kind == OUTCOME_DONE && n == hung + 1;
}

/* On a machine that is busy elsewhere the looks may be given up before; that is
 * seen and tried again. */
TEST(test_looks_at_locks)
{
	bool first = false;

	for (int i = 0; i < 3 && !first; i++)
		first = beat_comes_first();
	ck_assert(first);
}

static uint32_t
in_flight(void)
{
	struct store_status status;

	store_view_status(case_store(), &status);
	return status.in_flight;
}

/* Once the table is known, a request goes while it is submitted. */
TEST(test_at_once)
{
	struct key key = case_key("at-once");
	struct operation o = case_operation(OPERATION_READ, key);
	struct seen *s;

	case_done(case_read(key));
	ck_assert_uint_eq(in_flight(), 0);
	s = case_submit(&o);
	ck_assert_uint_eq(in_flight(), 1);
	ck_assert_int_eq(s->kind, 0);
	case_wait();
	case_done(s);
}

/* What cannot go any more ends from the loop, and not while it is submitted. */
TEST(test_too_late)
{
	struct key key = case_key("too-late");
	struct operation o = case_operation(OPERATION_READ, key);
	struct seen *s;

	case_done(case_read(key));
	o.submitted_ms = clock_boot_ms();
	o.deadline_ms = o.submitted_ms;
	s = case_submit(&o);
	ck_assert_int_eq(s->kind, 0);
	ck_assert_uint_eq(in_flight(), 0);
	case_wait();
	ck_assert_int_eq(s->kind, OUTCOME_REFUSED);
	ck_assert_int_eq(s->code, DDBLOCK_E_UNREACHABLE);
}

int
main(void)
{
	return proxy_run("dynamodb_lanes", __FILE__);
}
