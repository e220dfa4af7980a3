/*
 * Where the tests of the embedded store keep their file.
 */
#include "sqlite_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/store_sqlite.h"

#define PLACE_MAX 256

static char place_directory[PLACE_MAX];
static char place_path[PLACE_MAX + 16];

const char *
sqlite_place_make(void)
{
	const char *top = getenv("TMPDIR");

	(void)snprintf(place_directory, sizeof(place_directory),
	    "%s/ddblockd-sqlite.XXXXXX", top != NULL ? top : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(place_directory));
	(void)snprintf(place_path, sizeof(place_path), "%s/locks.db",
	    place_directory);
	return place_path;
}

const char *
sqlite_place_path(void)
{
	return place_path;
}

void
sqlite_place_remove(void)
{
	static const char *const endings[] = { "", ".lock", "-wal" };
	char name[PLACE_MAX + 32];

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", place_path,
		    endings[i]);
		ck_assert(unlink(name) == 0 || errno == ENOENT);
	}
	ck_assert_int_eq(rmdir(place_directory), 0);
}

int
sqlite_place_try(struct event_base *base, store_outcome_fn outcome, void *arg,
    struct store **ret, char *text)
{
	struct store_sqlite_config config = {
		.namespace_name = "default",
		.path = place_path,
		.host = "web-1",
	};

	return store_sqlite_new(base, &config, outcome, arg, ret, text, 512);
}

struct store *
sqlite_place_open(struct event_base *base, store_outcome_fn outcome,
    void *arg)
{
	struct store *store;
	char text[512];

	(void)sqlite_place_make();
	if (sqlite_place_try(base, outcome, arg, &store, text) < 0)
		ck_abort_msg("%s", text);
	return store;
}

void
sqlite_place_close(struct store *store)
{
	store_free(store);
	sqlite_place_remove();
}
