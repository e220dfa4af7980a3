/*
 * The table of settings: those of the daemon, a row each, those of a namespace
 * (store/settings.def), and those of a rule of access (config_access.c).
 * ddblockd.conf(5) describes the same.
 */
#include "daemon/config.h"

#define MINUTE UINT64_C(60000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define YEAR (366 * DAY)
#define MEGABYTE (UINT64_C(1) << 20)

/* Does a reload change it, or only the next start? */
#define LIVE true
#define START false

#define D(field) offsetof(struct config_daemon, field)
#define N(field) offsetof(struct config_namespace, field)

/* "|sqlite|..." and "; sqlite: locks of this host; ..." */
static const char config_store_names[] =
#define STORE_KIND(name, about) "|" #name
#include "store/kinds.def"
    ;
static const char config_store_help[] =
#define STORE_KIND(name, about) "; " #name ": " about
#include "store/kinds.def"
    ;
/* "|native|..." */
static const char config_format_names[] =
#define FORMAT(name, own, word, ...) "|" word
#include "dialect/formats.def"
    ;

static const struct config_setting config_daemon_table[] = {
	{ "socket", START, CONFIG_TEXT, D(socket),
	    "/run/ddblockd/ddblockd.sock", 0, 0,
	    NULL, "PATH", "where clients connect" },
	{ "socket_mode", START, CONFIG_MODE, D(socket_mode), "0660", 0, 0777,
	    NULL,
	    "MODE", "who may connect, in octal" },
	{ "socket_group", START, CONFIG_TEXT, D(socket_group), NULL, 0, 0, NULL,
	    "GROUP", "the group of the socket" },
	{ "journal", START, CONFIG_TEXT, D(journal), NULL, 0, 0, NULL,
	    "PATH|no",
	    "what the next daemon goes on from (the socket's PATH.journal)" },
	{ "admin_group", LIVE, CONFIG_TEXT, D(admin_group), NULL, 0, 0, NULL,
	    "GROUP",
	    "who may break locks and check stores, besides root" },
	{ "admin", LIVE, CONFIG_CHOICE, D(admin), "host", 0, 0, "host|any",
	    NULL,
	    "which root may: of the daemon's pid namespace, or of any" },
	{ "host", START, CONFIG_TEXT, D(host), NULL, 0, 0, NULL, "NAME",
	    "what this host is called in listings and records (its name)" },
	{ "hints", START, CONFIG_TEXT, D(hints), NULL, 0, 0, NULL,
	    "ADDRESS:PORT",
	    "where hosts tell this one that a lock is free (no hints)" },
	{ "hints_address", START, CONFIG_TEXT, D(hints_address), NULL, 0, 0,
	    NULL, "ADDRESS:PORT",
	    "what they are told it is, if it is another (hints)" },
	{ "log", LIVE, CONFIG_CHOICE, D(log), "auto", 0, 0,
	    "auto|journal|stderr|json", NULL, "where messages go" },
	{ "log_level", LIVE, CONFIG_CHOICE, D(log_level), "info", 0, 0,
	    "error|warning|info|debug", NULL,
	    "the least important messages to log" },
	{ "audit_trail", LIVE, CONFIG_CHOICE, D(audit_trail), "all", 0, 0,
	    "all|refusals|no", NULL,
	    "log grants, releases and refusals, of those only, or none" },
	{ "history", START, CONFIG_BOOLEAN, D(history), "no", 0, 1, NULL,
	    "yes|no",
	    "log all that clients ask and are told" },
	{ "metrics_listen", START, CONFIG_TEXT, D(metrics_listen), NULL, 0, 0,
	    NULL, "PATH|ADDRESS:PORT",
	    "where metrics are served by HTTP, on this host (nowhere)" },
	{ "stop_wait", LIVE, CONFIG_DURATION, D(stop_wait_ms), "30s", 0, DAY,
	    NULL,
	    "TIME", "how long SIGTERM waits for holders" },
	{ "release_on_stop", LIVE, CONFIG_BOOLEAN, D(release_on_stop), "no", 0,
	    1,
	    NULL, "yes|no",
	    "release what is still held then (unsafe for its holders)" },
	{ "connections_max", LIVE, CONFIG_COUNT, D(connections_max), "20000", 1,
	    1000000, NULL, "N", "connections in all" },
	{ "connections_per_uid_max", LIVE, CONFIG_COUNT,
	    D(connections_per_uid_max),
	    "20000", 1, 1000000, NULL, "N", "connections of one user" },
	{ "requests_per_connection_max", LIVE, CONFIG_COUNT,
	    D(requests_per_connection_max), "1024", 1, 1000000, NULL, "N",
	    "unanswered requests of one connection" },
	{ "holds_per_connection_max", LIVE, CONFIG_COUNT,
	    D(holds_per_connection_max),
	    "100000", 1, 10000000, NULL, "N", "locks held by one connection" },
	{ "watches_per_connection_max", LIVE, CONFIG_COUNT,
	    D(watches_per_connection_max), "1000", 1, 1000000, NULL, "N",
	    "locks watched by one connection" },
	{ "watches_max", LIVE, CONFIG_COUNT, D(watches_max), "100000", 1,
	    10000000,
	    NULL, "N", "watches in all" },
	{ "locks_max", LIVE, CONFIG_COUNT, D(locks_max), "1000000", 1,
	    100000000,
	    NULL, "N", "locks that are held, waited for or watched" },
	{ "memory_max", LIVE, CONFIG_SIZE, D(memory_max), "1G", MEGABYTE,
	    1048576 * MEGABYTE, NULL, "BYTES",
	    "memory for locks, requests and watches in all" },
	{ "requests_max", LIVE, CONFIG_COUNT, D(requests_max), "200000", 1,
	    100000000, NULL, "N", "unanswered requests in all" },
	{ "queued_bytes_max", LIVE, CONFIG_SIZE, D(queued_bytes_max), "4M",
	    2 * MEGABYTE, 1024 * MEGABYTE, NULL, "BYTES",
	    "unread output of one connection, which is cut off beyond" },
	{ "queued_bytes_per_uid_max", LIVE, CONFIG_SIZE,
	    D(queued_bytes_per_uid_max),
	    "64M", 2 * MEGABYTE, 65536 * MEGABYTE, NULL, "BYTES",
	    "unread input and output of one user" },
};

static const struct config_setting config_namespace_table[] = {
#define NAMESPACE(name, kind, field, when, ...)                                \
	{ #name, when, CONFIG_##kind, N(field), __VA_ARGS__ },
#define STORE(name, kind, field, when, ...)                                    \
	{ #name, when, CONFIG_##kind, N(store.field), __VA_ARGS__ },
#include "store/settings.def"
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

_Static_assert(COUNT(config_daemon_table) <= CONFIG_SETTINGS_MAX &&
    COUNT(config_namespace_table) <= CONFIG_SETTINGS_MAX,
    "CONFIG_SETTINGS_MAX is too small");

const struct config_setting *
config_settings(enum config_section section, size_t *ret_count)
{
	if (section == CONFIG_ACCESS)
		return config_access_settings(ret_count);
	if (section == CONFIG_DAEMON) {
		*ret_count = COUNT(config_daemon_table);
		return config_daemon_table;
	}
	*ret_count = COUNT(config_namespace_table);
	return config_namespace_table;
}
