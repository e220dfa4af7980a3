/*
 * The store in memory against the conformance suite.
 */
#include "common/clock.h"
#include "conformance.h"
#include "ddblock.h"
#include "store/kind.h"
#include "test.h"

extern const struct store_kind store_memory_kind;

static struct store *
memory_open(struct event_base *base, store_outcome_fn outcome, void *arg)
{
	static const struct store_settings settings = { .file = NULL };
	const struct store_opening opening = {
		.base = base,
		.namespace_name = "test",
		.settings = &settings,
		.host = "web-1",
		.outcome = outcome,
		.outcome_arg = arg,
	};
	struct store *store = NULL;
	char text[512] = "";

	ck_assert_msg(store_memory_kind.open(&opening, &store, text,
	    sizeof(text)) == 0, "%s", text);
	return store;
}

/* The loop stood still: an operation that timed out does not happen. */
TEST(test_too_late)
{
	const struct holder me = case_holder();
	struct key key = case_key("late");
	struct operation o = case_operation(OPERATION_ACQUIRE, key);
	struct seen *s;

	o.me = me;
	o.tokens = 1;
	o.owner = "late";
	o.deadline_ms = clock_boot_ms();
	s = case_submit(&o);
	case_wait();
	ck_assert_int_eq(s->kind, OUTCOME_REFUSED);
	ck_assert_int_eq(s->code, DDBLOCK_E_UNREACHABLE);
	ck_assert(!case_read(key)->lock.record.exists);
}

int
main(void)
{
	static const struct conformance_target target = {
		.name = "store_memory",
		.host = "web-1",
		.binary_keys = true,
		.sorts = true,
		.has_line = true,
		.open = memory_open,
		.close = store_free,
	};

	return conformance_main(&target, true, __FILE__);
}
