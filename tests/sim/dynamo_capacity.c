/*
 * What requests use of a table's capacity, and what is said when there is none
 * left. AWS documents: a consistent read takes a unit for each 4 KB of the
 * item, or of none; any other read half of that; a write takes a unit for each
 * KB of the larger of the item before and after, also if its condition failed;
 * in a transaction, twice as many. What a read leaves out of the item counts.
 */
#include "dynamo_state.h"

#define CAPACITY_READ_BYTES 4096
#define CAPACITY_WRITE_BYTES 1024

/* In thousandths; at least one unit. */
static uint64_t
dynamo_capacity_units(size_t bytes, size_t each)
{
	return bytes <= each ? 1000 : (bytes + each - 1) / each * 1000;
}

/*
 * AWS documents: a table with provisioned capacity is throttled with the first
 * of these, one on demand with the other; and of a hot partition both say that
 * its range of keys is.
 */
static bool
dynamo_capacity_throttle(struct dynamo_call *call,
    const struct dynamo_table *t, bool write)
{
	(void)dynamo_error_set(&call->error, t->on_demand ?
	    "ThrottlingException" : "ProvisionedThroughputExceededException",
	    "%s", t->on_demand ? "Throughput exceeds the current capacity of "
	    "your table or index." : "The level of configured provisioned "
	    "throughput for the table was exceeded.");
	call->error.throttled = write ? "TableWriteKeyRangeThroughputExceeded" :
	    "TableReadKeyRangeThroughputExceeded";
	return false;
}

bool
dynamo_capacity_has(struct dynamo_call *call, const struct dynamo_place *p,
    bool write)
{
	const struct dynamo_meter *m = call->dynamo->meter;

	return m == NULL || m->has(m->arg, p->hash, write) ||
	    dynamo_capacity_throttle(call, p->table, write);
}

void
dynamo_capacity_read(struct dynamo_call *call, const struct dynamo_place *p,
    bool consistent)
{
	const struct dynamo_meter *m = call->dynamo->meter;
	uint64_t units;

	if (m == NULL)
		return;
	units = dynamo_capacity_units(dynamo_place_bytes(p),
	    CAPACITY_READ_BYTES);
	m->use(m->arg, p->hash, false, consistent ? units : units / 2);
}

void
dynamo_capacity_write(struct dynamo_call *call, const struct dynamo_write *w,
    unsigned times)
{
	const struct dynamo_meter *m = call->dynamo->meter;
	size_t old, new;

	if (m == NULL)
		return;
	old = dynamo_place_bytes(&w->place);
	new = w->after == NULL ? 0 : w->bytes > 0 ? w->bytes :
	    dynamo_item_bytes(w->after);
	m->use(m->arg, w->place.hash, true, times * dynamo_capacity_units(
	    old > new ? old : new, CAPACITY_WRITE_BYTES));
}
