/*
 * The engine's server: what it asks of the daemon, its start, and the
 * connections that it takes over.
 */
#include <config.h>	/* the build's */

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "daemon/activation.h"
#include "daemon/descriptor_store.h"
#include "daemon/engine_state.h"
#include "daemon/group.h"
#include "ddblock.h"
#include "store/store.h"

static const struct core *
engine_core(void *arg)
{
	return ((struct engine *)arg)->core;
}

static uint32_t
engine_n_namespaces(void *arg)
{
	return ((struct engine *)arg)->n_namespaces;
}

static const char *
engine_namespace_name(void *arg, uint32_t index)
{
	return ((struct engine *)arg)->watches[index].name;
}

static struct server_defaults
engine_defaults(void *arg, uint32_t index)
{
	const struct engine *e = arg;
	const struct config_namespace *n = &e->config->namespaces[index];

	return (struct server_defaults){
		.wait_ms = n->wait_ms,
		.owner = n->owner,
	};
}

static void
engine_store_status(void *arg, uint32_t index, struct store_status *ret)
{
	store_view_status(((struct engine *)arg)->stores[index], ret);
}

static int
engine_check(void *arg, uint32_t index, uint64_t client, uint64_t request)
{
	struct engine *e = arg;
	const struct hint_check_config config = {
		.base = e->base,
		.hinter = hinter_serves(e->hinter,
		    &e->config->namespaces[index]) ? e->hinter : NULL,
		.namespace_index = index,
		.store = e->stores[index],
		.host = e->host,
	};

	return client_check_start(&e->checks[index], &config, e->server,
	    client, request);
}

static bool
engine_hints(void *arg, struct server_hints *ret)
{
	const struct engine *e = arg;
	const struct hints_counters *n;
	struct hinter_view v;

	if (e->hinter == NULL)
		return false;
	hinter_view(e->hinter, &v);
	n = v.counters;
	*ret = (struct server_hints){
		.address = v.address,
		.peers = v.n_peers,
		.sent = n->sent - n->failed,
		.unsent = n->unsent_rate + n->unsent_peer + n->failed,
		.accepted = n->accepted,
		.late = n->late + n->replayed,
		.refused = n->malformed + n->not_ours + n->unknown +
		    n->over_rate + n->forged,
	};
	return true;
}

bool
engine_metrics(void *arg, uint64_t namespaces, uint64_t *position,
    struct buffer *to)
{
	struct engine *e = arg;
	const struct metrics_view view = {
		.metrics = &e->metrics,
		.core = e->core,
		.server = e->server,
		.stores = e->stores,
		.n_namespaces = e->n_namespaces,
		.namespaces = namespaces,
		.hints = engine_hints,
		.arg = e,
	};

	return metrics_write(&view, position, to);
}

static void
engine_log(void *arg, int priority, int64_t user, const char *text)
{
	(void)arg;
	log_write_user(priority, "client", user, "%s", text);
}

static void
engine_refused(void *arg, const struct server_refusal *refusal)
{
	struct engine *e = arg;
	const struct trail trail = engine_trail(e);

	metrics_refused(&e->metrics, refusal->code);
	trail_refused(&trail, refusal);
}

static uint64_t
engine_keep(void *arg, int fd, bool is_memory)
{
	const struct engine *e = arg;
	uint64_t number;

	if (!keeper_keeps_all(&e->keeper))
		return 0;
	/* There may be a process that takes the place of this one. */
	if (e->descriptors == NULL)
		return SERVER_KEPT_NOWHERE;
	number = descriptor_store_add(e->descriptors, is_memory ?
	    DESCRIPTOR_STORE_SHARED : DESCRIPTOR_STORE_CONNECTION, fd);
	return number == 0 ? SERVER_KEEP_LATER : number;
}

static void
engine_on_room(void *arg)
{
	struct engine *e = arg;

	if (e->server != NULL)
		server_keep_more(e->server);
}

static bool
engine_is_kept(void *arg, uint64_t number)
{
	return descriptor_store_has(((struct engine *)arg)->descriptors,
	    number);
}

static bool
engine_grow(void *arg)
{
	return keeper_grow(&((struct engine *)arg)->keeper);
}

static int
engine_secret(void *arg, struct ident *ret)
{
	(void)arg;
	return getrandom(ret, sizeof(*ret), 0) == (ssize_t)sizeof(*ret) ? 0 :
	    DDBLOCK_E_SYSTEM;
}

/* The configuration's check has found it. */
gid_t
engine_group(const char *name)
{
	gid_t group;

	return name != NULL && group_find(name, &group) ? group : (gid_t)-1;
}

static size_t
engine_bytes(uint64_t n)
{
	return n < SIZE_MAX ? (size_t)n : SIZE_MAX;
}

struct server_limits
engine_limits(const struct config_daemon *d)
{
	return (struct server_limits){
		.connections_max = (uint32_t)d->connections_max,
		.connections_per_uid_max =
		    (uint32_t)d->connections_per_uid_max,
		.requests_per_connection_max =
		    (uint32_t)d->requests_per_connection_max,
		.requests_max = (uint32_t)d->requests_max,
		.queued_bytes_max = engine_bytes(d->queued_bytes_max),
		.queued_bytes_per_uid_max =
		    engine_bytes(d->queued_bytes_per_uid_max),
	};
}

/* What of the daemon before is still there. */
static int
engine_inherit(struct engine *e, struct activation *activation)
{
	struct server_legacy legacy = {
		.memory = activation->memory,
		.connections = activation->connections,
		.n_connections = activation->n_connections,
		.is_handed_over = activation->is_handed_over,
	};
	struct core_event event = {
		.type = CORE_CAME_BACK,
		.came_back = { server_is_here, server_user, server_seal_secret,
			    e->server },
	};
	uint32_t n = 0;
	int r;

	activation->memory = -1;
	e->journal = keeper_journal(&e->keeper);
	(void)server_journal(e->server, keeper_journal(&e->keeper));
	if (e->keeper.inherited)
		legacy.journal = keeper_legacy(&e->keeper,
		    &legacy.journal_size);
	if (!e->keeper.inherited_all || !keeper_keeps_all(&e->keeper))
		legacy.n_connections = 0;
	r = server_inherit(e->server, &legacy, &n);
	if (activation->n_connections > 0)
		log_write(LOG_INFO, NULL, "of %zu connections that the "
		    "%s, %" PRIu32 " go on", activation->n_connections,
		    activation->is_handed_over ? "daemon before this one had" :
		    "service manager kept", n);
	if (r == 0 && e->keeper.inherited) {
		history_inherited(&e->history, e->core,
		    &e->keeper.told_before, e->keeper.inherited_all, &event,
		    clock_boot_ms());
		engine_must_step(e, &event);
	}
	if (r == 0)
		server_go_on(e->server);
	return r;
}

static int
engine_open_metrics(struct engine *e)
{
	const struct config_daemon *d = &e->config->daemon;
	const struct metrics_http_config config = {
		.listen = d->metrics_listen,
		.mode = (mode_t)d->socket_mode,
		.group = engine_group(d->socket_group),
		.metrics = engine_metrics,
		.arg = e,
	};

	return config.listen == NULL ? 0 :
	    metrics_http_new(e->base, &config, &e->metrics_http);
}

int
engine_start(struct engine *e, char *text, size_t size)
{
	struct server_calls calls = {
		.step = engine_step,
		.core = engine_core,
		.n_namespaces = engine_n_namespaces,
		.namespace_name = engine_namespace_name,
		.defaults = engine_defaults,
		.store_status = engine_store_status,
		.check = engine_check,
		.metrics = engine_metrics,
		.hints = engine_hints,
		.log = engine_log,
		.refused = engine_refused,
		.secret = engine_secret,
		.keep = engine_keep,
		.grow = engine_grow,
		.replace = engine_replace,
	};
	struct activation *activation = e->activation;
	const struct config_daemon *d = &e->config->daemon;
	const struct server_config config = {
		.path = d->socket,
		.fd = activation->listening,
		.owns_file = activation->is_handed_over,
		.mode = (mode_t)d->socket_mode,
		.group = engine_group(d->socket_group),
		.admin_group = engine_group(d->admin_group),
		.admin_any = d->admin != 0,
		.access = &e->config->rules,
		.limits = engine_limits(d),
		.client_last = e->inherited.client_last,
		.version = PACKAGE_VERSION,
		.host = e->host,
	};
	struct core_event event = { .type = CORE_TIMER };
	int r;

	history_start(&e->history, e->config, e->host);
	r = descriptor_store_new(e->base, engine_on_room, e, &e->descriptors);
	if (e->descriptors != NULL)
		calls.is_kept = engine_is_kept;
	if (r == 0)
		r = server_new(e->base, &config, &calls, e, &e->server, text,
		    size);
	if (r < 0)
		return r;
	activation->listening = -1;
	r = engine_inherit(e, activation);
	if (r == 0)
		r = engine_open_metrics(e);
	if (r < 0)
		(void)snprintf(text, size, "%s", error_text(r));
	else
		engine_must_step(e, &event);
	return r;
}
