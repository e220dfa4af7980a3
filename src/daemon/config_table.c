/*
 * The table of settings: one row each. ddblockd.conf(5) describes the same.
 * Which of them a store has is in the store's row (store/kind.h).
 */
#include "daemon/config.h"

#define MINUTE UINT64_C(60000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define YEAR (366 * DAY)
#define MEGABYTE (UINT64_C(1) << 20)

/* The formats that know a setting. */
#define NATIVE CONFIG_FORMAT(STORE_FORMAT_NATIVE)
#define AWSLABS CONFIG_FORMAT(STORE_FORMAT_AWSLABS)
#define PYTHON CONFIG_FORMAT(STORE_FORMAT_PYTHON)
#define JS_OPEN CONFIG_FORMAT(STORE_FORMAT_JS_FAIL_OPEN)
#define JS_CLOSED CONFIG_FORMAT(STORE_FORMAT_JS_FAIL_CLOSED)
#define DLOCK CONFIG_FORMAT(STORE_FORMAT_DLOCK)
#define JS (JS_OPEN | JS_CLOSED)
#define RENEWED (AWSLABS | PYTHON | JS_OPEN | DLOCK)	/* each record */
#define FOREIGN (RENEWED | JS_CLOSED)
#define ANY CONFIG_FORMATS_ALL
#define LEASED (NATIVE | RENEWED)

#define D(field) offsetof(struct config_daemon, field)
#define N(field) offsetof(struct config_namespace, field)
#define S(field) N(store.field)

/* "|sqlite|..." and "; sqlite: locks of this host; ..." */
static const char config_store_names[] =
#define STORE_KIND(name, about) "|" #name
#include "store/kinds.def"
    ;
static const char config_store_help[] =
#define STORE_KIND(name, about) "; " #name ": " about
#include "store/kinds.def"
    ;

static const struct config_setting config_daemon_table[] = {
	{ "socket", CONFIG_TEXT, D(socket), "/run/ddblockd/ddblockd.sock",
	    0, 0, NULL, ANY, "PATH", "where clients connect" },
	{ "socket_mode", CONFIG_MODE, D(socket_mode), "0660", 0, 0777, NULL,
	    ANY, "MODE", "who may connect, in octal" },
	{ "socket_group", CONFIG_TEXT, D(socket_group), NULL, 0, 0, NULL,
	    ANY, "GROUP", "the group of the socket" },
	{ "admin_group", CONFIG_TEXT, D(admin_group), NULL, 0, 0, NULL,
	    ANY, "GROUP",
	    "who may break locks and check stores, beside root" },
	{ "log", CONFIG_CHOICE, D(log), "auto", 0, 0,
	    "auto|journal|stderr|json", ANY, NULL,
	    "where messages go" },
	{ "log_level", CONFIG_CHOICE, D(log_level), "info", 0, 0,
	    "error|warning|info|debug", ANY, NULL,
	    "the least important messages to log" },
	{ "history", CONFIG_BOOLEAN, D(history), "no", 0, 1, NULL,
	    ANY, "yes|no",
	    "log all that clients ask and are told" },
	{ "stop_wait", CONFIG_DURATION, D(stop_wait_ms), "30s", 0, DAY, NULL,
	    ANY, "TIME", "how long SIGTERM waits for holders" },
	{ "release_on_stop", CONFIG_BOOLEAN, D(release_on_stop), "no", 0, 1,
	    NULL, ANY, "yes|no",
	    "release what is still held then (unsafe for its holders)" },
	{ "connections_max", CONFIG_COUNT, D(connections_max), "20000", 1,
	    1000000, NULL, ANY, "N", "connections in all" },
	{ "connections_per_uid_max", CONFIG_COUNT, D(connections_per_uid_max),
	    "20000", 1, 1000000, NULL, ANY, "N",
	    "connections of one user" },
	{ "requests_per_connection_max", CONFIG_COUNT,
	    D(requests_per_connection_max), "1024", 1, 1000000, NULL,
	    ANY, "N", "unanswered requests of one connection" },
	{ "holds_per_connection_max", CONFIG_COUNT,
	    D(holds_per_connection_max), "100000", 1, 10000000, NULL,
	    ANY, "N", "locks held by one connection" },
	{ "watches_per_connection_max", CONFIG_COUNT,
	    D(watches_per_connection_max), "1000", 1, 1000000, NULL,
	    ANY, "N", "locks watched by one connection" },
	{ "watches_max", CONFIG_COUNT, D(watches_max), "100000", 1, 10000000,
	    NULL, ANY, "N", "watches in all" },
	{ "locks_max", CONFIG_COUNT, D(locks_max), "1000000", 1, 100000000,
	    NULL, ANY, "N",
	    "locks that are held, waited for or watched" },
	{ "requests_max", CONFIG_COUNT, D(requests_max), "1000000", 1,
	    100000000, NULL, ANY, "N",
	    "unanswered requests in all" },
	{ "queued_bytes_max", CONFIG_SIZE, D(queued_bytes_max), "4M",
	    2 * MEGABYTE, 1024 * MEGABYTE, NULL, ANY, "BYTES",
	    "unread output of one connection, which is cut off beyond" },
	{ "queued_bytes_per_uid_max", CONFIG_SIZE,
	    D(queued_bytes_per_uid_max), "64M", 2 * MEGABYTE,
	    65536 * MEGABYTE, NULL, ANY, "BYTES",
	    "unread input and output of one user" },
};

static const struct config_setting config_namespace_table[] = {
	{ "store", CONFIG_CHOICE, N(kind), STORE_KINDS_DEFAULT, 0, 0,
	    &config_store_names[1], ANY, NULL, &config_store_help[2] },
	{ "lease", CONFIG_DURATION, N(lease_ms), "20s", 100, DAY, NULL,
	    LEASED, "TIME",
	    "how long a lock outlives a host that vanished; dlock: 60s" },
	{ "heartbeat", CONFIG_DURATION, N(heartbeat_ms), NULL, 10, DAY, NULL,
	    LEASED, "TIME", "between renewals (lease / 4)" },
	{ "danger", CONFIG_DURATION, N(danger_ms), NULL, 10, DAY, NULL,
	    LEASED, "TIME",
	    "without a renewal, when holders are warned (lease / 2)" },
	{ "margin", CONFIG_DURATION, N(margin_ms), NULL, 1, DAY, NULL,
	    LEASED, "TIME",
	    "holders hear of the loss so long before the lease ends (5 % of "
	    "it, from 10 s on at least 1 s, never under drift x lease)" },
	{ "drift", CONFIG_PERCENT, N(drift_ppm), "1%", 0, 250000, NULL,
	    LEASED, "PERCENT",
	    "how far the clock rates of two hosts may differ" },
	{ "poll", CONFIG_DURATION, N(poll_ms), "1s", 10, HOUR, NULL,
	    ANY, "TIME",
	    "how often to look at a lock that another host holds" },
	{ "wait", CONFIG_WAIT, N(wait_ms), "forever", 0, CONFIG_FOREVER, NULL,
	    ANY, "TIME|forever",
	    "how long clients wait for a lock that do not say it" },
	{ "owner", CONFIG_TEXT, N(owner), NULL, 0, 0, NULL, ANY,
	    "TEXT", "what holders are called that do not say it "
	    "(HOST/NAME:PID)" },
	{ "request_timeout", CONFIG_DURATION, N(request_ms), NULL, 10,
	    5 * MINUTE, NULL, ANY, "TIME",
	    "for one request to the store (5 s, at most the heartbeat)" },
	{ "try_timeout", CONFIG_DURATION, N(try_ms), NULL, 10, 5 * MINUTE,
	    NULL, ANY, "TIME",
	    "for the answer to who does not wait (1 s, at most "
	    "request_timeout)" },
	{ "audit", CONFIG_DURATION, N(audit_ms), "60s", 10, DAY, NULL,
	    ANY, "TIME", "how often held locks are read again" },
	{ "handover_max", CONFIG_COUNT, N(handover_max), "100", 1, TOKENS_MAX,
	    NULL, ANY, "N",
	    "grants in a row on this host while others may wait" },
	{ "retention", CONFIG_DURATION, S(retention_ms), "7d", HOUR,
	    10 * YEAR, NULL, NATIVE, "TIME",
	    "how long the record of a free lock stays" },
	{ "file", CONFIG_TEXT, S(file), NULL, 0, 0, NULL, ANY,
	    "PATH", "the database (/var/lib/ddblockd/NAMESPACE.db)" },
	{ "idle", CONFIG_DURATION, N(idle_ms), "1s", 0, HOUR, NULL,
	    ANY, "TIME",
	    "keep a released lock so long for the next local client" },
	{ "format", CONFIG_CHOICE, S(format), "native", 0, 0,
	    STORE_FORMAT_NAMES, ANY, NULL,
	    "of the records: our own, or that of an older client" },
	{ "bridge", CONFIG_TEXT, N(bridge), NULL, 0, 0, NULL, NATIVE,
	    "NAMESPACE",
	    "whose older client's records are held as well, first" },
	{ "table", CONFIG_TEXT, S(table), NULL, 0, 0, NULL,
	    ANY, "NAME", "the DynamoDB table" },
	{ "region", CONFIG_TEXT, S(region), NULL, 0, 0, NULL,
	    ANY, "NAME",
	    "the AWS region (as the AWS clients find it)" },
	{ "endpoint", CONFIG_TEXT, S(endpoint), NULL, 0, 0, NULL,
	    ANY, "URL",
	    "another endpoint than the region's (as the AWS clients find it)"
	    },
	{ "fips", CONFIG_BOOLEAN, S(fips), "no", 0, 1, NULL, ANY,
	    "yes|no", "the region's endpoint with FIPS 140" },
	{ "dual_stack", CONFIG_BOOLEAN, S(dual_stack), "no", 0, 1, NULL,
	    ANY, "yes|no", "the region's endpoint that has IPv6, too" },
	{ "ca_file", CONFIG_TEXT, S(ca_file), NULL, 0, 0, NULL, ANY,
	    "PATH", "whose certificates count ($AWS_CA_BUNDLE; the system's)"
	    },
	{ "key_attribute", CONFIG_TEXT, S(key_attribute), "key", 0, 0, NULL,
	    ANY, "NAME", "the table's partition key; python: lock_key; "
	    "js-fail-open, js-fail-closed: must be named" },
	{ "key_type", CONFIG_CHOICE, S(key_type), "S", 0, 0, "S|N|B", JS, NULL,
	    "the type of the partition key, as DynamoDB calls it" },
	{ "sort_attribute", CONFIG_TEXT, S(sort_attribute), NULL, 0, 0, NULL,
	    ANY & ~DLOCK, "NAME",
	    "the table's sort key, if it has one, for sort=; python: sort_key"
	    },
	{ "sort_type", CONFIG_CHOICE, S(sort_type), "S", 0, 0, "S|N|B", JS,
	    NULL, "the type of the sort key" },
	{ "ttl_attribute", CONFIG_TEXT, S(ttl_attribute), "ttl", 0, 0, NULL,
	    ANY, "NAME",
	    "the attribute of the table's time to live; python: expiry_time; "
	    "other formats of older clients have none" },
	{ "rename", CONFIG_TEXT, S(rename), NULL, 0, 0, NULL, FOREIGN,
	    "OLD:NEW,...", "what attributes of the format are called here" },
	{ "prefix", CONFIG_TEXT, S(prefix), NULL, 0, 0, NULL, FOREIGN,
	    "TEXT",
	    "what each key begins with in the table" },
	{ "lease_text", CONFIG_CHOICE, S(lease_text), "milliseconds", 0, 0,
	    "milliseconds|go", AWSLABS, NULL,
	    "how records have their lease: 20000, or dynamolock's 20s" },
	{ "released", CONFIG_CHOICE, S(released), "delete", 0, 0,
	    "delete|keep", AWSLABS, NULL,
	    "what becomes of the record of a lock that is released" },
	{ "keep_attributes", CONFIG_BOOLEAN, S(keep_attributes), "yes", 0, 1,
	    NULL, RENEWED, "yes|no",
	    "acquiring leaves the attributes that others added" },
	{ "local_time", CONFIG_BOOLEAN, S(local_time), "no", 0, 1, NULL,
	    JS_OPEN, "yes|no",
	    "write when a lock was acquired, for clients that trust it" },
	{ "expiry", CONFIG_DURATION, S(expiry_ms), "1h", 2000, YEAR, NULL,
	    PYTHON, "TIME", "how long a record stays without a renewal" },
	{ "fencing", CONFIG_BOOLEAN, S(fencing), "no", 0, 1, NULL, DLOCK,
	    "yes|no", "locks have fencing tokens, and their records stay" },
	{ "skew", CONFIG_DURATION, S(skew_ms), "10s", 1, HOUR, NULL, DLOCK,
	    "TIME", "how far the clocks of two hosts may be apart" },
	{ "trust_clock", CONFIG_BOOLEAN, S(trust_clock), "no", 0, 1, NULL,
	    DLOCK | JS_OPEN, "yes|no",
	    "grant locks though the kernel does not call the clock "
	    "synchronised" },
	{ "heartbeat_rate", CONFIG_COUNT, S(heartbeat_rate), "0", 0, 1000000,
	    NULL, RENEWED, "N",
	    "renewals of locks a second, at most; 0: no bound" },
	{ "read_capacity", CONFIG_COUNT, S(read_capacity), "0", 0, 1000000,
	    NULL, ANY, "UNITS",
	    "what --init-table provisions; 0: paid by request" },
	{ "write_capacity", CONFIG_COUNT, S(write_capacity), "0", 0, 1000000,
	    NULL, ANY, "UNITS",
	    "what --init-table provisions; 0: paid by request" },
	{ "list_capacity", CONFIG_COUNT, N(list_capacity), "100", 0, 1000000,
	    NULL, ANY, "UNITS",
	    "read units a second for all listings together; 0: no bound" },
	{ "profile", CONFIG_TEXT, S(profile), NULL, 0, 0, NULL, ANY,
	    "NAME", "of the AWS clients' files, for credentials and region "
	    "($AWS_PROFILE)" },
	{ "access_key_id", CONFIG_TEXT, S(access_key_id), NULL, 0, 0, NULL,
	    ANY, "ID",
	    "credentials (without: as the AWS clients find them)" },
	{ "secret_access_key", CONFIG_SECRET, S(secret_access_key), NULL, 0,
	    0, NULL, ANY, "SECRET", "credentials" },
	{ "session_token", CONFIG_SECRET, S(session_token), NULL, 0, 0, NULL,
	    ANY, "SECRET", "credentials, of temporary ones" },
	{ "allow_plain_http", CONFIG_BOOLEAN, S(allow_plain_http), "no", 0, 1,
	    NULL, ANY, "yes|no",
	    "allow http:// to other hosts than this one" },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

_Static_assert(COUNT(config_daemon_table) <= CONFIG_SETTINGS_MAX &&
    COUNT(config_namespace_table) <= CONFIG_SETTINGS_MAX,
    "CONFIG_SETTINGS_MAX is too small");

const struct config_setting *
config_settings(enum config_section section, size_t *ret_count)
{
	if (section == CONFIG_DAEMON) {
		*ret_count = COUNT(config_daemon_table);
		return config_daemon_table;
	}
	*ret_count = COUNT(config_namespace_table);
	return config_namespace_table;
}
