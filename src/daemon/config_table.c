/*
 * The table of settings: one row each. ddblockd.conf(5) describes the same.
 */
#include "daemon/config.h"

#define MINUTE UINT64_C(60000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define YEAR (366 * DAY)
#define MEGABYTE (UINT64_C(1) << 20)

#define D(field) offsetof(struct config_daemon, field)
#define N(field) offsetof(struct config_namespace, field)

static const struct config_setting config_daemon_table[] = {
	{ "socket", CONFIG_TEXT, D(socket), "/run/ddblockd/ddblockd.sock",
	    0, 0, NULL, CONFIG_STORE_ANY, "PATH", "where clients connect" },
	{ "socket_mode", CONFIG_MODE, D(socket_mode), "0660", 0, 0777, NULL,
	    CONFIG_STORE_ANY, "MODE", "who may connect, in octal" },
	{ "socket_group", CONFIG_TEXT, D(socket_group), NULL, 0, 0, NULL,
	    CONFIG_STORE_ANY, "GROUP", "the group of the socket" },
	{ "admin_group", CONFIG_TEXT, D(admin_group), NULL, 0, 0, NULL,
	    CONFIG_STORE_ANY, "GROUP", "who may break locks, beside root" },
	{ "log", CONFIG_CHOICE, D(log), "auto", 0, 0,
	    "auto|journal|stderr|json", CONFIG_STORE_ANY, NULL,
	    "where messages go" },
	{ "log_level", CONFIG_CHOICE, D(log_level), "info", 0, 0,
	    "error|warning|info|debug", CONFIG_STORE_ANY, NULL,
	    "the least important messages to log" },
	{ "history", CONFIG_BOOLEAN, D(history), "no", 0, 1, NULL,
	    CONFIG_STORE_ANY, "yes|no",
	    "log all that clients ask and are told" },
	{ "stop_wait", CONFIG_DURATION, D(stop_wait_ms), "30s", 0, DAY, NULL,
	    CONFIG_STORE_ANY, "TIME", "how long SIGTERM waits for holders" },
	{ "release_on_stop", CONFIG_BOOLEAN, D(release_on_stop), "no", 0, 1,
	    NULL, CONFIG_STORE_ANY, "yes|no",
	    "release what is still held then (unsafe for its holders)" },
	{ "connections_max", CONFIG_COUNT, D(connections_max), "20000", 1,
	    1000000, NULL, CONFIG_STORE_ANY, "N", "connections in all" },
	{ "connections_per_uid_max", CONFIG_COUNT, D(connections_per_uid_max),
	    "20000", 1, 1000000, NULL, CONFIG_STORE_ANY, "N",
	    "connections of one user" },
	{ "requests_per_connection_max", CONFIG_COUNT,
	    D(requests_per_connection_max), "1024", 1, 1000000, NULL,
	    CONFIG_STORE_ANY, "N", "unanswered requests of one connection" },
	{ "holds_per_connection_max", CONFIG_COUNT,
	    D(holds_per_connection_max), "100000", 1, 10000000, NULL,
	    CONFIG_STORE_ANY, "N", "locks held by one connection" },
	{ "watches_per_connection_max", CONFIG_COUNT,
	    D(watches_per_connection_max), "1000", 1, 1000000, NULL,
	    CONFIG_STORE_ANY, "N", "locks watched by one connection" },
	{ "watches_max", CONFIG_COUNT, D(watches_max), "100000", 1, 10000000,
	    NULL, CONFIG_STORE_ANY, "N", "watches in all" },
	{ "locks_max", CONFIG_COUNT, D(locks_max), "1000000", 1, 100000000,
	    NULL, CONFIG_STORE_ANY, "N",
	    "locks that are held, waited for or watched" },
	{ "requests_max", CONFIG_COUNT, D(requests_max), "1000000", 1,
	    100000000, NULL, CONFIG_STORE_ANY, "N",
	    "unanswered requests in all" },
	{ "queued_bytes_max", CONFIG_SIZE, D(queued_bytes_max), "4M",
	    2 * MEGABYTE, 1024 * MEGABYTE, NULL, CONFIG_STORE_ANY, "BYTES",
	    "unread output of one connection, which is cut off beyond" },
	{ "queued_bytes_per_uid_max", CONFIG_SIZE,
	    D(queued_bytes_per_uid_max), "64M", 2 * MEGABYTE,
	    65536 * MEGABYTE, NULL, CONFIG_STORE_ANY, "BYTES",
	    "unread input and output of one user" },
};

static const struct config_setting config_namespace_table[] = {
	{ "store", CONFIG_CHOICE, N(store), "sqlite", 0, 0,
	    "sqlite|dynamodb", CONFIG_STORE_ANY, NULL,
	    "sqlite: locks of this host; dynamodb: of a fleet" },
	{ "lease", CONFIG_DURATION, N(lease_ms), "20s", 100, DAY, NULL,
	    CONFIG_STORE_ANY, "TIME",
	    "how long a lock outlives a host that vanished" },
	{ "heartbeat", CONFIG_DURATION, N(heartbeat_ms), NULL, 10, DAY, NULL,
	    CONFIG_STORE_ANY, "TIME", "between renewals (lease / 4)" },
	{ "danger", CONFIG_DURATION, N(danger_ms), NULL, 10, DAY, NULL,
	    CONFIG_STORE_ANY, "TIME",
	    "without a renewal, when holders are warned (lease / 2)" },
	{ "margin", CONFIG_DURATION, N(margin_ms), NULL, 1, DAY, NULL,
	    CONFIG_STORE_ANY, "TIME",
	    "holders hear of the loss so long before the lease ends (5 % of "
	    "it, from 10 s on at least 1 s, never under drift x lease)" },
	{ "drift", CONFIG_PERCENT, N(drift_ppm), "1%", 0, 250000, NULL,
	    CONFIG_STORE_ANY, "PERCENT",
	    "how far the clock rates of two hosts may differ" },
	{ "poll", CONFIG_DURATION, N(poll_ms), "1s", 10, HOUR, NULL,
	    CONFIG_STORE_ANY, "TIME",
	    "how often to look at a lock that another host holds" },
	{ "wait", CONFIG_WAIT, N(wait_ms), "forever", 0, CONFIG_FOREVER, NULL,
	    CONFIG_STORE_ANY, "TIME|forever",
	    "how long clients wait for a lock that do not say it" },
	{ "owner", CONFIG_TEXT, N(owner), NULL, 0, 0, NULL, CONFIG_STORE_ANY,
	    "TEXT", "what holders are called that do not say it "
	    "(HOST/NAME:PID)" },
	{ "request_timeout", CONFIG_DURATION, N(request_ms), NULL, 10,
	    5 * MINUTE, NULL, CONFIG_STORE_ANY, "TIME",
	    "for one request to the store (5 s, at most the heartbeat)" },
	{ "audit", CONFIG_DURATION, N(audit_ms), "60s", 10, DAY, NULL,
	    CONFIG_STORE_ANY, "TIME", "how often held locks are read again" },
	{ "handover_max", CONFIG_COUNT, N(handover_max), "100", 1, TOKENS_MAX,
	    NULL, CONFIG_STORE_ANY, "N",
	    "grants in a row on this host while others may wait" },
	{ "retention", CONFIG_DURATION, N(retention_ms), "7d", HOUR,
	    10 * YEAR, NULL, CONFIG_STORE_ANY, "TIME",
	    "how long the record of a free lock stays" },
	{ "file", CONFIG_TEXT, N(file), NULL, 0, 0, NULL, CONFIG_STORE_SQLITE,
	    "PATH", "the database (/var/lib/ddblockd/NAMESPACE.db)" },
	{ "idle", CONFIG_DURATION, N(idle_ms), "1s", 0, HOUR, NULL,
	    CONFIG_STORE_SQLITE, "TIME",
	    "keep a released lock so long for the next local client" },
	{ "table", CONFIG_TEXT, N(table), NULL, 0, 0, NULL,
	    CONFIG_STORE_DYNAMODB, "NAME", "the DynamoDB table" },
	{ "region", CONFIG_TEXT, N(region), NULL, 0, 0, NULL,
	    CONFIG_STORE_DYNAMODB, "NAME", "the AWS region ($AWS_REGION)" },
	{ "endpoint", CONFIG_TEXT, N(endpoint), NULL, 0, 0, NULL,
	    CONFIG_STORE_DYNAMODB, "URL",
	    "another endpoint than the region's ($AWS_ENDPOINT_URL_DYNAMODB)" },
	{ "key_attribute", CONFIG_TEXT, N(key_attribute), "key", 0, 0, NULL,
	    CONFIG_STORE_DYNAMODB, "NAME", "the table's partition key" },
	{ "sort_attribute", CONFIG_TEXT, N(sort_attribute), NULL, 0, 0, NULL,
	    CONFIG_STORE_DYNAMODB, "NAME",
	    "the table's sort key, if it has one, for sort=" },
	{ "ttl_attribute", CONFIG_TEXT, N(ttl_attribute), "ttl", 0, 0, NULL,
	    CONFIG_STORE_DYNAMODB, "NAME",
	    "the attribute of the table's time to live" },
	{ "read_capacity", CONFIG_COUNT, N(read_capacity), "0", 0, 1000000,
	    NULL, CONFIG_STORE_DYNAMODB, "UNITS",
	    "what --init-table provisions; 0: paid by request" },
	{ "write_capacity", CONFIG_COUNT, N(write_capacity), "0", 0, 1000000,
	    NULL, CONFIG_STORE_DYNAMODB, "UNITS",
	    "what --init-table provisions; 0: paid by request" },
	{ "list_capacity", CONFIG_COUNT, N(list_capacity), "100", 0, 1000000,
	    NULL, CONFIG_STORE_DYNAMODB, "UNITS",
	    "read units a second for all listings together; 0: no bound" },
	{ "access_key_id", CONFIG_TEXT, N(access_key_id), NULL, 0, 0, NULL,
	    CONFIG_STORE_DYNAMODB, "ID", "credentials ($AWS_ACCESS_KEY_ID)" },
	{ "secret_access_key", CONFIG_SECRET, N(secret_access_key), NULL, 0,
	    0, NULL, CONFIG_STORE_DYNAMODB, "SECRET",
	    "credentials ($AWS_SECRET_ACCESS_KEY)" },
	{ "session_token", CONFIG_SECRET, N(session_token), NULL, 0, 0, NULL,
	    CONFIG_STORE_DYNAMODB, "SECRET",
	    "credentials ($AWS_SESSION_TOKEN)" },
	{ "allow_plain_http", CONFIG_BOOLEAN, N(allow_plain_http), "no", 0, 1,
	    NULL, CONFIG_STORE_DYNAMODB, "yes|no",
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
