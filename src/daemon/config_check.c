/*
 * Completing the configuration and judging its settings together. A daemon
 * that starts with settings which contradict each other would show it only in
 * an outage, so nothing is corrected silently.
 */
#include "daemon/config_format.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "common/text.h"
#include "core/operation.h"
#include "core/timing.h"
#include "ddblock.h"
#include "ipc/codec.h"

#define CONFIG_FILE_FORMAT "/var/lib/ddblockd/%s.db"
#define CONFIG_REQUEST_MS UINT64_C(5000)
#define CONFIG_TABLE_MIN 3
#define CONFIG_TABLE_MAX 255

/* The defaults that the table has as text. */
static int
config_default_section(enum config_section section, void *values,
    const struct config_origin *origins)
{
	size_t n;
	const struct config_setting *s = config_settings(section, &n);
	char rule[256];
	int r;

	for (size_t i = 0; i < n; i++) {
		if (origins[i].file != NULL || s[i].standard == NULL)
			continue;
		r = config_value_parse(&s[i], s[i].standard,
		    (char *)values + s[i].offset, rule, sizeof(rule));
		if (r < 0)
			return r;
	}
	return 0;
}

/* The defaults that depend on other settings. */
static int
config_default_namespace(struct config_namespace *n)
{
	char path[sizeof(CONFIG_FILE_FORMAT) + CONFIG_NAMESPACE_LENGTH_MAX];

	if (!config_is_set(n, "heartbeat"))
		n->heartbeat_ms = timing_heartbeat_ms(n->lease_ms);
	if (!config_is_set(n, "danger"))
		n->danger_ms = timing_danger_ms(n->lease_ms);
	if (!config_is_set(n, "margin"))
		n->margin_ms = timing_margin_ms(n->lease_ms,
		    (uint32_t)n->drift_ppm);
	if (!config_is_set(n, "request_timeout"))
		n->request_ms = n->heartbeat_ms < CONFIG_REQUEST_MS ?
		    n->heartbeat_ms : CONFIG_REQUEST_MS;
	if (!config_is_set(n, "try_timeout"))
		n->try_ms = timing_try_ms(n->request_ms);
	if (n->store == CONFIG_STORE_SQLITE && n->file == NULL) {
		(void)snprintf(path, sizeof(path), CONFIG_FILE_FORMAT,
		    n->name);
		n->file = strdup(path);
		if (n->file == NULL)
			return DDBLOCK_E_NOMEM;
	}
	return 0;
}

static void
config_check_timing(struct config *c, struct config_namespace *n)
{
	struct core_namespace core = config_core_namespace(n);
	struct config_origin origin;
	const char *setting;
	char rule[256];

	if (timing_check(&core, &setting, rule, sizeof(rule)) == 0)
		return;
	origin = config_origin_of(n->origins, CONFIG_NAMESPACE, setting);
	/* A computed default broke it: then the lease is the one to change. */
	if (origin.file == NULL)
		origin = config_origin_of(n->origins, CONFIG_NAMESPACE,
		    "lease");
	if (origin.file == NULL)
		origin = n->origin;
	config_complain(c, origin, "namespace %s: %s", n->name, rule);
}

/* As DynamoDB says; what names a whole resource is its own to judge. */
static bool
config_table_ok(const char *name)
{
	size_t length = strlen(name);

	return strncmp(name, "arn:", 4) == 0 ||
	    (length >= CONFIG_TABLE_MIN && length <= CONFIG_TABLE_MAX &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == length);
}

/* Where there are no keys, the chain of the AWS clients says who we are. */
static void
config_check_keys(struct config *c, const struct config_namespace *n)
{
	if (n->access_key_id == NULL && n->secret_access_key == NULL) {
		if (n->session_token != NULL)
			config_complain(c, n->origin, "namespace %s: "
			    "session_token needs access_key_id and "
			    "secret_access_key beside it", n->name);
		return;
	}
	if (n->access_key_id == NULL)
		config_complain(c, n->origin, "namespace %s: "
		    "secret_access_key needs access_key_id beside it",
		    n->name);
	if (n->secret_access_key == NULL)
		config_complain(c, n->origin, "namespace %s: access_key_id "
		    "needs secret_access_key beside it", n->name);
	if (n->profile != NULL)
		config_complain(c, config_origin_of(n->origins,
		    CONFIG_NAMESPACE, "profile"), "namespace %s: profile and "
		    "access_key_id are two answers to one question; take one "
		    "of them out", n->name);
}

static void
config_check_dynamodb(struct config *c, const struct config_namespace *n)
{
	if (n->table == NULL)
		config_complain(c, n->origin, "namespace %s: store = dynamodb "
		    "needs a table; set table = NAME", n->name);
	else if (!config_table_ok(n->table))
		config_complain(c, config_origin_of(n->origins,
		    CONFIG_NAMESPACE, "table"), "namespace %s: table = %s: the "
		    "name of a table has %d to %d letters, digits, _, - and .",
		    n->name, n->table, CONFIG_TABLE_MIN, CONFIG_TABLE_MAX);
	config_check_keys(c, n);
	if ((n->read_capacity == 0) != (n->write_capacity == 0))
		config_complain(c, n->origin, "namespace %s: read_capacity "
		    "and write_capacity go together: both are 0, or neither",
		    n->name);
}

/* It goes into records, and is shown to people. */
static void
config_check_owner(struct config *c, const struct config_namespace *n)
{
	if (n->owner != NULL && (strlen(n->owner) > OWNER_LENGTH_MAX ||
	    !codec_is_line(n->owner, strlen(n->owner))))
		config_complain(c, config_origin_of(n->origins,
		    CONFIG_NAMESPACE, "owner"), "owner must be one line of at "
		    "most %d bytes", OWNER_LENGTH_MAX);
}

/* Can no key of one be a key of the other in the same table? */
static bool
config_apart(const struct config_namespace *a,
    const struct config_namespace *b)
{
	size_t length;

	if (b->format != a->format || a->prefix == NULL || b->prefix == NULL)
		return false;
	length = strlen(a->prefix) < strlen(b->prefix) ? strlen(a->prefix) :
	    strlen(b->prefix);
	return memcmp(a->prefix, b->prefix, length) != 0;
}

/* Two sessions of one daemon would compete for the same locks. */
static void
config_check_shared(struct config *c, size_t i)
{
	const struct config_namespace *n = &c->namespaces[i];

	for (size_t j = 0; j < i; j++) {
		const struct config_namespace *o = &c->namespaces[j];

		if (o->store != n->store)
			continue;
		if (n->store == CONFIG_STORE_SQLITE &&
		    text_equal(o->file, n->file))
			config_complain(c, n->origin, "namespaces %s and %s "
			    "have the same file %s; give each its own",
			    o->name, n->name, n->file);
		if (n->store == CONFIG_STORE_DYNAMODB && n->table != NULL &&
		    text_equal(o->table, n->table) &&
		    text_equal(o->region, n->region) &&
		    text_equal(o->endpoint, n->endpoint) &&
		    !config_apart(o, n))
			config_complain(c, n->origin, "namespaces %s and %s "
			    "have the same table %s; give each its own",
			    o->name, n->name, n->table);
	}
}

static void
config_check_group(struct config *c, const char *setting, const char *group)
{
	if (group != NULL && getgrnam(group) == NULL)
		config_complain(c, config_origin_of(c->daemon.origins,
		    CONFIG_DAEMON, setting), "%s = %s: there is no such "
		    "group; create it with groupadd --system", setting, group);
}

static void
config_check_daemon(struct config *c)
{
	const struct config_daemon *d = &c->daemon;
	struct config_origin origin = config_origin_of(c->daemon.origins,
	    CONFIG_DAEMON, "socket");

	if (strlen(d->socket) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		config_complain(c, origin, "socket = %s: the kernel allows "
		    "%zu bytes; use a shorter path", d->socket,
		    sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
	config_check_group(c, "socket_group", d->socket_group);
	config_check_group(c, "admin_group", d->admin_group);
	if (d->queued_bytes_per_uid_max < d->queued_bytes_max) {
		origin = config_origin_of(c->daemon.origins, CONFIG_DAEMON,
		    "queued_bytes_per_uid_max");
		if (origin.file == NULL)
			origin = config_origin_of(c->daemon.origins,
			    CONFIG_DAEMON, "queued_bytes_max");
		config_complain(c, origin, "queued_bytes_per_uid_max must be "
		    "at least queued_bytes_max; raise it");
	}
}

/* Namespace 0 serves clients that name none. */
static void
config_order(struct config *c)
{
	struct config_namespace n;
	size_t i = 0;

	while (i < c->n_namespaces &&
	    strcmp(c->namespaces[i].name, "default") != 0)
		i++;
	if (i == c->n_namespaces) {
		config_complain(c, c->namespaces[0].origin, "there is no "
		    "[namespace default], which serves clients that name "
		    "none; add it");
		return;
	}
	n = c->namespaces[i];
	memmove(&c->namespaces[1], &c->namespaces[0], i * sizeof(n));
	c->namespaces[0] = n;
	explicit_bzero(&n, sizeof(n));
}

static int
config_finish_namespace(struct config *c, size_t i)
{
	struct config_namespace *n = &c->namespaces[i];
	int r = config_default_section(CONFIG_NAMESPACE, n, n->origins);

	if (r == 0)
		r = config_format_default(n);
	if (r == 0)
		r = config_default_namespace(n);
	if (r < 0)
		return r;
	config_check_timing(c, n);
	config_format_check(c, n);
	config_check_owner(c, n);
	if (n->store == CONFIG_STORE_DYNAMODB)
		config_check_dynamodb(c, n);
	config_check_shared(c, i);
	return 0;
}

int
config_finish(struct config *c)
{
	struct config_origin nowhere = { 0 };
	struct config_namespace *n;
	int r = 0;

	if (c->n_namespaces == 0)
		r = config_add_namespace(c, "default", nowhere, &n);
	if (r == 0)
		r = config_default_section(CONFIG_DAEMON, &c->daemon,
		    c->daemon.origins);
	if (r < 0)
		return r;
	config_check_daemon(c);
	config_order(c);
	for (size_t i = 0; i < c->n_namespaces; i++) {
		r = config_finish_namespace(c, i);
		if (r < 0)
			return r;
	}
	config_check_bridges(c);
	return c->errors.length > 0 ? DDBLOCK_E_BAD_REQUEST :
	    buffer_failed(&c->errors);
}
