/*
 * Which store serves a namespace. The only place that knows both of them.
 */
#include <config.h>	/* the build's */

#include "daemon/stores.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "daemon/config_format.h"
#include "daemon/host_clock.h"
#include "ddblock.h"
#include "store/store_dynamodb.h"
#include "store/store_sqlite.h"

const char *
stores_advice(int code)
{
	switch (code) {
	case DDBLOCK_E_UNREACHABLE:
		return "ddblock check says how far requests come";
	case DDBLOCK_E_ACCESS_DENIED:
		return "ddblock check says which permission is missing";
	case DDBLOCK_E_NO_CREDENTIALS:
		return "see ddblock check and ddblockd-aws(7) for where they "
		    "are looked for";
	case DDBLOCK_E_THROTTLED:
		return "see what the table's capacity is, or let it be paid "
		    "by request";
	case DDBLOCK_E_NO_TABLE:
		return "create it with ddblockd --init-table";
	case DDBLOCK_E_WRONG_TABLE:
		return "name another table, or the key_attribute, "
		    "sort_attribute and format that it has";
	default:
		return NULL;
	}
}

static int
stores_open_sqlite(struct event_base *base, const struct config_namespace *n,
    const char *host, bool check, store_outcome_fn outcome, void *arg,
    struct store **ret, char *text, size_t size)
{
	const struct store_sqlite_config config = {
		.namespace_name = n->name,
		.path = n->file,
		.host = host,
		.retention_s = n->retention_ms / 1000,
		.must_exist = check,
	};

	return store_sqlite_new(base, &config, outcome, arg, ret, text, size);
}

/* Which life of which boot a session belongs to, for people. */
static void
stores_read_boot_id(char *text, size_t size)
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
stores_table(const struct config_namespace *n,
    const struct config_renames *renames)
{
	return (struct dialect_table){
		.table = n->table,
		.key_attribute = n->key_attribute,
		.sort_attribute = n->sort_attribute,
		.key_type = (enum dialect_key_type)n->key_type,
		.sort_type = (enum dialect_key_type)n->sort_type,
		.ttl_attribute = n->ttl_attribute,
		.renamed = renames->names,
		.n_renamed = renames->n_names,
		.prefix = n->prefix,
		.go_lease = n->lease_text == CONFIG_LEASE_GO,
		.keep_released = n->released == CONFIG_RELEASED_KEEP,
		.keep_attributes = n->keep_attributes != 0,
		.local_time = n->local_time != 0,
		.fencing = n->fencing != 0,
		.expiry_s = n->expiry_ms / 1000,
		.skew_ms = n->skew_ms,
		.read_capacity = n->read_capacity,
		.write_capacity = n->write_capacity,
		.retention_s = n->retention_ms / 1000,
	};
}

static int
stores_open_dynamodb(struct event_base *base, struct providers *providers,
    const struct config_namespace *n, const char *host,
    store_outcome_fn outcome, void *arg, struct store **ret, char *text,
    size_t size)
{
	char pid[24], boot_id[64], unsynchronised[HOST_CLOCK_TEXT_MAX];
	struct config_renames renames;
	struct store_dynamodb_config config = {
		.namespace_name = n->name,
		.format = config_format_name(n->format),
		.allow_plain_http = n->allow_plain_http != 0,
	};
	int r;

	r = config_format_renames(n, &renames, text, size);
	if (r == 0)
		r = providers_get(providers, n, &config.provider, text, size);
	if (r < 0)
		return r;
	(void)snprintf(pid, sizeof(pid), "%jd", (intmax_t)getpid());
	stores_read_boot_id(boot_id, sizeof(boot_id));
	config.table = stores_table(n, &renames);
	config.table.host = host;
	config.table.pid = pid;
	config.table.boot_id = boot_id;
	config.table.version = PACKAGE_VERSION;
	if (host_clock_counts(n, 0, unsynchronised, sizeof(unsynchronised))) {
		config.synchronised = clock_is_synchronised;
		config.unsynchronised_text = unsynchronised;
	}
	return store_dynamodb_new(base, &config, outcome, arg, ret, text,
	    size);
}

int
stores_open(struct event_base *base, struct providers *providers,
    const struct config_namespace *n, const char *host, bool check,
    store_outcome_fn outcome, void *arg, struct store **ret, char *text,
    size_t size)
{
	if (n->store == CONFIG_STORE_DYNAMODB)
		return stores_open_dynamodb(base, providers, n, host, outcome,
		    arg, ret, text, size);
	return stores_open_sqlite(base, n, host, check, outcome, arg, ret,
	    text, size);
}

void
stores_no_outcome(void *arg, struct operation *operation,
    const struct outcome *outcome)
{
	(void)arg;
	(void)operation;
	(void)outcome;
}
