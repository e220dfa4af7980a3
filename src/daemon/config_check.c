/*
 * Completing the configuration and judging its settings together. A daemon
 * that starts with settings which contradict each other would show it only in
 * an outage, so nothing is corrected silently.
 */
#include "daemon/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "common/text.h"
#include "core/operation.h"
#include "core/timing.h"
#include "daemon/group.h"
#include "daemon/metrics_address.h"
#include "ddblock.h"
#include "hints/hint_address.h"
#include "ipc/codec.h"

#define CONFIG_REQUEST_MS UINT64_C(5000)

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
static void
config_default_times(struct config_namespace *n)
{
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

/* ---- the store's own ---- */

struct config_judged {
	struct config *config;
	const struct config_namespace *of;
};

static bool
config_judge_is_set(void *arg, const char *setting)
{
	return config_is_set(((struct config_judged *)arg)->of, setting);
}

static struct config_origin
config_judge_origin(const struct config_namespace *n, const char *setting)
{
	struct config_origin origin = { 0 };

	if (setting != NULL)
		origin = config_origin_of(n->origins, CONFIG_NAMESPACE,
		    setting);
	return origin.file != NULL ? origin : n->origin;
}

static void
config_judge_complain(void *arg, const char *setting, const char *text)
{
	const struct config_judged *j = arg;

	config_complain(j->config, config_judge_origin(j->of, setting),
	    "namespace %s: %s", j->of->name, text);
}

static void
config_judge_warn(void *arg, const char *setting, const char *text)
{
	const struct config_judged *j = arg;

	config_warn(j->config, config_judge_origin(j->of, setting),
	    "namespace %s: %s", j->of->name, text);
}

static struct store_judge
config_judge(struct config_judged *j)
{
	return (struct store_judge){
		.namespace_name = j->of->name,
		.lease_ms = j->of->lease_ms,
		.heartbeat_ms = j->of->heartbeat_ms,
		.arg = j,
		.is_set = config_judge_is_set,
		.complain = config_judge_complain,
		.warn = config_judge_warn,
	};
}

static int
config_complete_store(struct config *c, struct config_namespace *n)
{
	const struct store_kind *kind = config_kind(n);
	struct config_judged judged = { c, n };
	const struct store_judge judge = config_judge(&judged);
	struct store_times times = { n->lease_ms, n->idle_ms,
		c->daemon.hints != NULL };
	int r = kind->complete == NULL ? 0 :
	    kind->complete(&n->store, &judge, &times);

	n->lease_ms = times.lease_ms;
	n->idle_ms = times.idle_ms;
	return r;
}

static void
config_check_store(struct config *c, const struct config_namespace *n)
{
	const struct store_kind *kind = config_kind(n);
	struct config_judged judged = { c, n };
	const struct store_judge judge = config_judge(&judged);

	if (kind->judge != NULL)
		kind->judge(&n->store, &judge);
}

/* Two sessions of one daemon would compete for the same locks. */
static void
config_check_shared(struct config *c, size_t i)
{
	const struct config_namespace *n = &c->namespaces[i];
	const struct store_kind *kind = config_kind(n);

	for (size_t j = 0; j < i && kind->overlap != NULL; j++) {
		const struct config_namespace *o = &c->namespaces[j];
		const char *what = NULL, *name;

		if (config_kind(o) == kind)
			what = kind->overlap(&o->store, &n->store, &name);
		if (what != NULL)
			config_complain(c, n->origin, "namespaces %s and %s "
			    "have the same %s %s; give each its own", o->name,
			    n->name, what, name);
	}
}

/* ---- what is for all ---- */

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

static void
config_check_group(struct config *c, const char *setting, const char *group)
{
	gid_t gid;

	if (group != NULL && !group_find(group, &gid))
		config_complain(c, config_origin_of(c->daemon.origins,
		    CONFIG_DAEMON, setting), "%s = %s: there is no such "
		    "group; create it with groupadd --system", setting, group);
}

/* An address for hints; as others are to reach it, if it is @public. */
static void
config_check_hint_address(struct config *c, const char *setting,
    const char *text, bool public)
{
	const struct config_origin origin = config_origin_of(
	    c->daemon.origins, CONFIG_DAEMON, setting);
	struct hint_address own, address;
	enum hint_address_verdict verdict;

	if (!hint_address_parse(text, strlen(text), &address)) {
		config_complain(c, origin, "%s = %s: that is no address and "
		    "port; write numbers, as 192.0.2.1:7400 or "
		    "[2001:db8::1]:7400", setting, text);
		return;
	}
	if (!public)
		return;
	/* As a host with a neighbouring port would judge it. */
	own = address;
	own.port = address.port == 1 ? 2 : 1;
	verdict = hint_address_judge(&address, &own);
	if (verdict != HINT_ADDRESS_ALLOWED &&
	    verdict != HINT_ADDRESS_NO_PORT)
		config_complain(c, origin, "%s = %s: other hosts cannot send "
		    "to %s; set hints_address to one of this host's", setting,
		    text, hint_address_reason(verdict));
}

static void
config_check_hints(struct config *c)
{
	const struct config_daemon *d = &c->daemon;

	if (d->hints != NULL)
		config_check_hint_address(c, "hints", d->hints,
		    d->hints_address == NULL);
	else if (d->hints_address != NULL)
		config_complain(c, config_origin_of(d->origins, CONFIG_DAEMON,
		    "hints_address"), "hints_address needs hints");
	if (d->hints_address != NULL)
		config_check_hint_address(c, "hints_address",
		    d->hints_address, true);
}

/* It goes into records, and is a part of lines that people read. */
static void
config_check_host(struct config *c)
{
	static const char signs[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	const char *host = c->daemon.host;

	if (host != NULL && (host[strspn(host, signs)] != '\0' ||
	    strlen(host) > CONFIG_HOST_LENGTH_MAX))
		config_complain(c, config_origin_of(c->daemon.origins,
		    CONFIG_DAEMON, "host"), "host = %s: must be at most %d "
		    "letters, digits, dots and signs - and _", host,
		    CONFIG_HOST_LENGTH_MAX);
}

static void
config_check_metrics(struct config *c)
{
	const struct config_daemon *d = &c->daemon;
	struct metrics_address address;
	const char *rule;

	if (d->metrics_listen != NULL && !metrics_address_read(
	    d->metrics_listen, &address, &rule))
		config_complain(c, config_origin_of(d->origins, CONFIG_DAEMON,
		    "metrics_listen"), "metrics_listen = %s: %s",
		    d->metrics_listen, rule);
}

/* Each is a series of its own, in each of several metrics. */
static void
config_check_prefixes(struct config *c, const struct config_namespace *n)
{
	const char *at = n->metrics_prefixes;
	size_t count = 0;

	while (at != NULL && *(at += strspn(at, " ")) != '\0') {
		at += strcspn(at, " ");
		count++;
	}
	if (count > CORE_PREFIXES_MAX)
		config_complain(c, config_origin_of(n->origins,
		    CONFIG_NAMESPACE, "metrics_prefixes"), "namespace %s: "
		    "metrics_prefixes has %zu beginnings of keys; there may "
		    "be %d", n->name, count, CORE_PREFIXES_MAX);
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
	config_check_host(c);
	config_check_hints(c);
	config_check_metrics(c);
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
		r = config_complete_store(c, n);
	if (r < 0)
		return r;
	config_default_times(n);
	config_check_timing(c, n);
	config_check_known(c, n);
	config_check_owner(c, n);
	config_check_prefixes(c, n);
	config_check_store(c, n);
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
	r = config_check_access(c);
	if (r < 0)
		return r;
	return c->errors.length > 0 ? DDBLOCK_E_BAD_REQUEST :
	    buffer_failed(&c->errors);
}
