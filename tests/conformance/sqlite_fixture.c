/*
 * Where the tests of the embedded store keep their file.
 */
#include "sqlite_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/store_sqlite.h"

#define FIXTURE_MAX 256

static char fixture_directory[FIXTURE_MAX];
static char fixture_path[FIXTURE_MAX + 16];

const char *
sqlite_fixture_make(void)
{
	const char *top = getenv("TMPDIR");

	(void)snprintf(fixture_directory, sizeof(fixture_directory),
	    "%s/ddblockd-sqlite.XXXXXX", top != NULL ? top : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(fixture_directory));
	(void)snprintf(fixture_path, sizeof(fixture_path), "%s/locks.db",
	    fixture_directory);
	return fixture_path;
}

const char *
sqlite_fixture_path(void)
{
	return fixture_path;
}

void
sqlite_fixture_remove(void)
{
	static const char *const endings[] = { "", ".lock", "-wal" };
	char name[FIXTURE_MAX + 32];

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", fixture_path,
		    endings[i]);
		ck_assert(unlink(name) == 0 || errno == ENOENT);
	}
	ck_assert_int_eq(rmdir(fixture_directory), 0);
}

int
sqlite_fixture_try(struct event_base *base, store_outcome_fn outcome, void *arg,
    struct store **ret, char *text)
{
	struct store_sqlite_config config = {
		.namespace_name = "default",
		.path = fixture_path,
		.host = "web-1",
	};

	return store_sqlite_new(base, &config, outcome, arg, ret, text, 512);
}

struct store *
sqlite_fixture_open(struct event_base *base, store_outcome_fn outcome,
    void *arg)
{
	struct store *store;
	char text[512];

	(void)sqlite_fixture_make();
	if (sqlite_fixture_try(base, outcome, arg, &store, text) < 0)
		ck_abort_msg("%s", text);
	return store;
}

void
sqlite_fixture_close(struct store *store)
{
	store_free(store);
	sqlite_fixture_remove();
}
