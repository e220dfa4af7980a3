/*
 * Keys and sessions that get one place in a table without a secret are spread
 * in the tables of the core like any others.
 *
 * No store: all requests wait for the session, which is never opened.
 */
#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "core/lease/room.h"
#include "core/lock/room.h"
#include "core_fixture.h"
#include "test.h"

#define MANY 2000
#define SAME_BITS UINT32_C(0xfff)	/* more than there are places */
#define CHAIN_MAX 40	/* one of 2000 would be all of them */

static struct core *
crowding_core(void)
{
	const struct core_limits limits = {
		.clients_max = 10, .requests_per_client_max = MANY,
		.holds_per_client_max = MANY, .watches_per_client_max = 10,
		.watches_max = 10, .locks_max = MANY, .requests_max = MANY,
		.observations_max = MANY, .in_doubt_max = 10,
		.per_step_max = MANY,
	};

	return core_fixture_new(&core_fixture, &limits, 1000);
}

static void
crowding_ask(struct core *core, uint64_t number, struct key key)
{
	const struct core_event event = { .type = CORE_REQUEST,
		.now_ms = 1000, .request = {
		    .client = 1, .request = number, .verb = CORE_ACQUIRE,
		    .key = key, .wait_ms = CORE_FOREVER,
		    .terms = { .mode = LOCK_MODE_EXCLUSIVE } } };
	struct core_update update;

	ck_assert_int_eq(core_step(core, &event, &update), 0);
}

/* The hash of uthash. */
static bool
crowding_collides(const void *bytes, size_t length)
{
	uint32_t hash;

	HASH_JEN(bytes, (unsigned)length, hash);
	return (hash & SAME_BITS) == 0;
}

TEST(test_keys)
{
	struct core *core = crowding_core();
	struct hash_table *t = &core->namespaces[0].locks;
	char text[16];

	for (uint64_t i = 0, n = 0; n < MANY; i++) {
		struct key key = { text, (size_t)snprintf(text, sizeof(text),
		    "k%lu", (unsigned long)i) };

		if (crowding_collides(key.bytes, key.length))
			crowding_ask(core, ++n, key);
	}
	ck_assert_uint_eq(t->n, MANY);
	for (uint32_t i = 0; i < t->n_chains; i++) {
		const struct hash_link *link = t->chains[i];
		int n = 0;

		for (; link != NULL; link = link->next)
			n++;
		ck_assert_int_lt(n, CHAIN_MAX);
	}
	core_free(core);
}

TEST(test_sessions)
{
	struct core *core = crowding_core();
	struct namespace *ns = &core->namespaces[0];
	const UT_hash_table *t;

	for (uint64_t i = 0, n = 0; n < MANY; i++) {
		const struct ident id = { .high = 1, .low = i };

		if (!crowding_collides(&id, sizeof(id)))
			continue;
		ck_assert_ptr_nonnull(observe(core, ns, id, 1000));
		n++;
	}
	t = ns->observations->hh.tbl;
	ck_assert_uint_eq(t->num_items, MANY);
	for (unsigned i = 0; i < t->num_buckets; i++)
		ck_assert_uint_lt(t->buckets[i].count, CHAIN_MAX);
	core_free(core);
}
