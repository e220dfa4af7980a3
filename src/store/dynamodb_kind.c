/*
 * The fleet's store as a kind: its row, and the rules of its settings.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aws/credentials.h"
#include "common/error.h"
#include "common/text.h"
#include "ddblock.h"
#include "store/dynamodb_format.h"
#include "store/dynamodb_providers.h"
#include "store/kind.h"
#include "store/store_dynamodb.h"

#define DYNAMODB_KIND_FILES 80	/* 72 connections at most */
#define DYNAMODB_KIND_TEXT_MAX 128
#define DYNAMODB_KIND_TABLE_MIN 3
#define DYNAMODB_KIND_TABLE_MAX 255

/* ---- judging ---- */

/* As DynamoDB says; what names a whole resource is its own to judge. */
static bool
dynamodb_kind_table_ok(const char *name)
{
	size_t length = strlen(name);

	return strncmp(name, "arn:", 4) == 0 ||
	    (length >= DYNAMODB_KIND_TABLE_MIN &&
	    length <= DYNAMODB_KIND_TABLE_MAX &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == length);
}

/* Where there are no keys, the chain of the AWS clients finds them. */
static void
dynamodb_kind_judge_keys(const struct store_settings *s,
    const struct store_judge *judge)
{
	struct credentials keys = { .expires_ms = 0 };
	char text[DYNAMODB_KIND_TEXT_MAX];

	if (s->access_key_id == NULL && s->secret_access_key == NULL) {
		if (s->session_token != NULL)
			store_complain(judge, NULL, "session_token needs "
			    "access_key_id and secret_access_key");
		return;
	}
	if (s->access_key_id == NULL)
		store_complain(judge, NULL, "secret_access_key needs "
		    "access_key_id");
	if (s->secret_access_key == NULL)
		store_complain(judge, NULL, "access_key_id needs "
		    "secret_access_key");
	if (s->profile != NULL)
		store_complain(judge, "profile", "profile and access_key_id "
		    "are two answers to one question; take one of them out");
	if (s->access_key_id != NULL && s->secret_access_key != NULL &&
	    credentials_set(&keys, s->access_key_id, s->secret_access_key,
	    s->session_token, text, sizeof(text)) == DDBLOCK_E_NO_CREDENTIALS)
		store_complain(judge, "access_key_id", "%s", text);
	credentials_done(&keys);
}

static void
dynamodb_kind_judge(const struct store_settings *s,
    const struct store_judge *judge)
{
	dynamodb_format_judge(s, judge);
	if (s->table == NULL)
		store_complain(judge, NULL, "store = dynamodb needs a table; "
		    "set table = NAME");
	else if (!dynamodb_kind_table_ok(s->table))
		store_complain(judge, "table", "table = %s: the name of a "
		    "table has %d to %d letters, digits, _, - and .",
		    s->table, DYNAMODB_KIND_TABLE_MIN,
		    DYNAMODB_KIND_TABLE_MAX);
	dynamodb_kind_judge_keys(s, judge);
	if ((s->read_capacity == 0) != (s->write_capacity == 0))
		store_complain(judge, NULL, "read_capacity and write_capacity "
		    "go together: both are 0, or neither");
}

/* Can no key of one be a key of the other in the same table? */
static bool
dynamodb_kind_apart(const struct store_settings *a,
    const struct store_settings *b)
{
	size_t length;

	if (b->format != a->format || a->prefix == NULL || b->prefix == NULL)
		return false;
	length = strlen(a->prefix) < strlen(b->prefix) ? strlen(a->prefix) :
	    strlen(b->prefix);
	return memcmp(a->prefix, b->prefix, length) != 0;
}

static const char *
dynamodb_kind_overlap(const struct store_settings *a,
    const struct store_settings *b, const char **ret_name)
{
	if (b->table == NULL || !text_equal(a->table, b->table) ||
	    !text_equal(a->region, b->region) ||
	    !text_equal(a->endpoint, b->endpoint) || dynamodb_kind_apart(a, b))
		return NULL;
	*ret_name = b->table;
	return "table";
}

static const char *
dynamodb_kind_clock_reason(const struct store_settings *s)
{
	if (s->trust_clock)
		return NULL;
	if (s->format == STORE_FORMAT_DLOCK)
		return "format = dlock compares the clocks of hosts";
	if (s->format == STORE_FORMAT_JS_FAIL_OPEN && s->local_time)
		return "with local_time = yes other hosts compare their "
		    "clocks with this one's";
	return NULL;
}

/* ---- opening ---- */

static int
dynamodb_kind_share(struct event_base *base, store_say_fn say, void *say_arg,
    void **ret)
{
	struct dynamodb_providers *providers;
	int r = dynamodb_providers_new(base, say, say_arg, &providers);

	if (r == 0)
		*ret = providers;
	return r;
}

static void
dynamodb_kind_unshare(void *shared)
{
	dynamodb_providers_free(shared);
}

/* Which life of which boot a session belongs to, for people. */
static void
dynamodb_kind_read_boot_id(char *text, size_t size)
{
	int fd = open("/proc/sys/kernel/random/boot_id",
	    O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n < 0 ? 0 : n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (fd >= 0)
		(void)close(fd);
}

/* What the settings say about the table. */
static struct dialect_table
dynamodb_kind_table(const struct store_settings *s,
    const struct dynamodb_renames *renames)
{
	return (struct dialect_table){
		.table = s->table,
		.key_attribute = s->key_attribute,
		.sort_attribute = s->sort_attribute,
		.key_type = (enum dialect_key_type)s->key_type,
		.sort_type = (enum dialect_key_type)s->sort_type,
		.ttl_attribute = s->ttl_attribute,
		.renamed = renames->names,
		.n_renamed = renames->n_names,
		.prefix = s->prefix,
		.go_lease = s->lease_text == STORE_LEASE_GO,
		.keep_released = s->released == STORE_RELEASED_KEEP,
		.keep_attributes = s->keep_attributes != 0,
		.local_time = s->local_time != 0,
		.fencing = s->fencing != 0,
		.expiry_s = s->expiry_ms / 1000,
		.skew_ms = s->skew_ms,
		.read_capacity = s->read_capacity,
		.write_capacity = s->write_capacity,
		.retention_s = s->retention_ms / 1000,
	};
}

static int
dynamodb_kind_open(const struct store_opening *o, struct store **ret,
    char *text, size_t size)
{
	const struct store_settings *s = o->settings;
	char pid[24], boot_id[64];
	struct dynamodb_renames renames;
	struct store_dynamodb_config config = {
		.namespace_name = o->namespace_name,
		.format = store_format_name(s->format),
		.allow_plain_http = s->allow_plain_http != 0,
		.synchronised = o->synchronised,
		.unsynchronised_text = o->unsynchronised_text,
	};
	int r;

	r = dynamodb_format_renames(s, &renames, text, size);
	if (r == 0)
		r = dynamodb_providers_get(o->shared, o, &config.provider,
		    text, size);
	if (r < 0)
		return r;
	(void)snprintf(pid, sizeof(pid), "%jd", (intmax_t)getpid());
	dynamodb_kind_read_boot_id(boot_id, sizeof(boot_id));
	config.table = dynamodb_kind_table(s, &renames);
	config.table.host = o->host;
	config.table.pid = pid;
	config.table.boot_id = boot_id;
	config.table.version = o->version;
	return store_dynamodb_new(o->base, &config, o->outcome,
	    o->outcome_arg, ret, text, size);
}

/* A provider that nobody needs any more asks no longer. */
static int
dynamodb_kind_configure(struct store *store, const struct store_opening *o,
    char *text, size_t size)
{
	struct provider *provider;
	int r = dynamodb_providers_get(o->shared, o, &provider, text, size);

	if (r == 0) {
		r = store_dynamodb_use(store, provider);
		if (r < 0)
			(void)snprintf(text, size, "%s", error_text(r));
	}
	dynamodb_providers_trim(o->shared);
	return r;
}

/* ---- the row ---- */

static const char *const dynamodb_kind_settings[] = {
	"retention", "line", "idle", "format", "bridge", "table", "region",
	"endpoint",
	"fips", "dual_stack", "ca_file", "key_attribute", "key_type",
	"sort_attribute", "sort_type", "ttl_attribute", "rename", "prefix",
	"lease_text", "released", "keep_attributes", "local_time", "expiry",
	"fencing", "skew", "trust_clock", "heartbeat_rate", "read_capacity",
	"write_capacity", "list_capacity", "request_rate", "profile",
	"access_key_id", "secret_access_key", "session_token",
	"allow_plain_http", NULL,
};

const struct store_kind store_dynamodb_kind = {
	.name = "dynamodb",
	.scope = "fleet",
	.has_formats = true,
	.files_max = DYNAMODB_KIND_FILES,
	.settings = dynamodb_kind_settings,
	.complete = dynamodb_format_complete,
	.judge = dynamodb_kind_judge,
	.overlap = dynamodb_kind_overlap,
	.describe = dynamodb_format_describe,
	.clock_reason = dynamodb_kind_clock_reason,
	.share = dynamodb_kind_share,
	.unshare = dynamodb_kind_unshare,
	.open = dynamodb_kind_open,
	.configure = dynamodb_kind_configure,
};
