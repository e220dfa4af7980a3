/*
 * The embedded store as a kind: its row, and the rules of its settings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "ddblock.h"
#include "store/kind.h"
#include "store/store_sqlite.h"

#define SQLITE_KIND_FILE "/var/lib/ddblockd/%s.db"
#define SQLITE_KIND_FILE_MAX 256
#define SQLITE_KIND_FILES 8

static int
sqlite_kind_complete(struct store_settings *s,
    const struct store_judge *judge, struct store_times *times)
{
	char path[SQLITE_KIND_FILE_MAX];

	(void)times;
	if (s->file != NULL)
		return 0;
	(void)snprintf(path, sizeof(path), SQLITE_KIND_FILE,
	    judge->namespace_name);
	s->file = strdup(path);
	return s->file == NULL ? DDBLOCK_E_NOMEM : 0;
}

static const char *
sqlite_kind_overlap(const struct store_settings *a,
    const struct store_settings *b, const char **ret_name)
{
	if (!text_equal(a->file, b->file))
		return NULL;
	*ret_name = a->file;
	return "file";
}

static int
sqlite_kind_open(const struct store_opening *o, struct store **ret,
    char *text, size_t size)
{
	const struct store_sqlite_config config = {
		.namespace_name = o->namespace_name,
		.path = o->settings->file,
		.host = o->host,
		.retention_s = o->settings->retention_ms / 1000,
		.must_exist = o->look_only,
	};

	return store_sqlite_new(o->base, &config, o->outcome, o->outcome_arg,
	    ret, text, size);
}

static const char *const sqlite_kind_settings[] = {
	"retention", "file", "idle", NULL,
};

const struct store_kind store_sqlite_kind = {
	.name = "sqlite",
	.scope = "host",
	.sole_writer = true,
	.no_foreign_waiters = true,
	.keeps_idle = true,
	.files_max = SQLITE_KIND_FILES,
	.settings = sqlite_kind_settings,
	.complete = sqlite_kind_complete,
	.overlap = sqlite_kind_overlap,
	.open = sqlite_kind_open,
};
