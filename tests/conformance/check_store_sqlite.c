/*
 * The embedded store against the conformance suite, in a directory of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "conformance.h"
#include "store/store_sqlite.h"

static char directory[] = "/tmp/check_store_sqlite.XXXXXX";
static char path[64];

static struct store *
target_open(struct event_base *base, store_outcome_fn outcome, void *arg)
{
	struct store_sqlite_config config = {
		.namespace_name = "default",
		.path = path,
		.host = "web-1",
	};
	struct store *store;
	char text[512];

	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/locks.db", directory);
	if (store_sqlite_new(base, &config, outcome, arg, &store, text,
	    sizeof(text)) < 0)
		ck_abort_msg("%s", text);
	return store;
}

static void
target_close(struct store *store)
{
	char lock[80];

	store_free(store);
	(void)snprintf(lock, sizeof(lock), "%s.lock", path);
	ck_assert_int_eq(unlink(lock), 0);
	ck_assert_int_eq(unlink(path), 0);
	/* Nothing else is left: the log was put into the database. */
	ck_assert_int_eq(rmdir(directory), 0);
}

int
main(void)
{
	static const struct conformance_target target = {
		.name = "store_sqlite",
		.host = "web-1",
		.binary_keys = true,
		.open = target_open,
		.close = target_close,
	};

	return conformance_run(conformance_suite(&target));
}
