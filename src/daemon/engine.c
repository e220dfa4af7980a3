/*
 * The engine. Everything that happens comes from the event loop: a line from a
 * client, an outcome of a store, the clock. None of it may arrive while a step
 * is being performed, which is asserted: the core's actions are valid until
 * the next step only.
 *
 * libevent's timers stand still while the host sleeps; a lease does not. So
 * the core's deadline is a timerfd on CLOCK_BOOTTIME.
 */
#include <config.h>	/* the build's */

#include "daemon/engine.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "daemon/checks.h"
#include "daemon/history.h"
#include "daemon/stores.h"
#include "daemon/watch.h"
#include "ddblock.h"
#include "ipc/server.h"
#include "store/store.h"

struct engine {
	struct event_base *base;
	const struct config *config;
	const char *host;
	struct engine_calls calls;
	void *arg;
	struct core *core;
	struct server *server;
	struct stores *opener;
	struct store *stores[CORE_NAMESPACES_MAX];
	struct watch watches[CORE_NAMESPACES_MAX];
	struct checks_run checks[CORE_NAMESPACES_MAX];
	uint32_t n_namespaces;
	struct history history;
	int timer_fd;
	struct event *timer;
	uint64_t armed_ms;	/* when the timer will fire */
	bool stepping;
	bool stopping;
	bool stopped;
	bool closing;
};

static void
engine_arm(struct engine *e, uint64_t next_ms)
{
	struct itimerspec t = { 0 };
	int r;

	/* Firing early is harmless; setting the timer at each step is not
	 * free. */
	if (next_ms >= e->armed_ms)
		return;
	e->armed_ms = next_ms;
	if (next_ms == 0)
		next_ms = 1;	/* 0 would stop the timer */
	t.it_value.tv_sec = (time_t)(next_ms / 1000);
	t.it_value.tv_nsec = (long)(next_ms % 1000) * 1000000;
	r = timerfd_settime(e->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
	assert(r == 0); /* the arguments are in range */
}

static void
engine_submit(struct engine *e, struct core_submit *submit)
{
	assert(submit->operation.namespace_index < e->n_namespaces);
	store_submit(e->stores[submit->operation.namespace_index],
	    &submit->operation);
}

static void
engine_perform(struct engine *e, const struct core_update *update,
    uint64_t now_ms)
{
	struct core_action *next;

	for (struct core_action *a = update->actions; a != NULL; a = next) {
		next = a->next;
		history_action(&e->history, e->core, a, now_ms);
		if (a->type == CORE_NOTICE)
			watch_notice(e->core, (const struct core_notice *)a,
			    now_ms);
		if (a->type == CORE_BROKE)
			watch_broke(e->watches, (const struct core_broke *)a);
		if (a->type == CORE_SUBMIT)
			engine_submit(e, (struct core_submit *)a);
		else if (e->server != NULL)
			server_perform(e->server, a);
	}
}

/* The server's way into the core, and everybody's. */
static int
engine_step(void *arg, struct core_event *event)
{
	struct engine *e = arg;
	struct core_update update;
	int r;

	/* What is held at the end is left to its lease: the connections that
	 * server_free() closes are no reason to release it. */
	if (e->closing)
		return DDBLOCK_E_SHUTTING_DOWN;
	assert(!e->stepping);
	e->stepping = true;
	history_event(&e->history, event);
	event->now_ms = clock_boot_ms();
	if (event->type == CORE_CUT)
		watch_cut_off(e->core, event->client, event->now_ms);
	r = core_step(e->core, event, &update);
	/* Also if the request was refused: something may have been due. */
	engine_perform(e, &update, event->now_ms);
	if (r < 0 && event->type == CORE_REQUEST)
		history_refused(&e->history, &event->request, r);
	engine_arm(e, update.next_ms);
	e->stopped = e->stopping && update.stopped;
	e->stepping = false;
	if (e->stopped && e->calls.stopped != NULL) {
		void (*stopped)(void *) = e->calls.stopped;

		e->calls.stopped = NULL;	/* once */
		stopped(e->arg);
	}
	return r;
}

/* For events that the core cannot refuse. */
static void
engine_must_step(struct engine *e, struct core_event *event)
{
	int r = engine_step(e, event);

	if (r < 0)
		log_write(LOG_ERR, "core", "a step failed: %s",
		    error_text(r));
}

static void
engine_look_at_sessions(struct engine *e)
{
	uint64_t now_ms = clock_boot_ms();
	bool changed = false;

	if (e->stopping && engine_held(e) == 0)
		return;		/* they are closed on purpose */
	for (uint32_t i = 0; i < e->n_namespaces; i++) {
		if (watch_session(&e->watches[i], e->core, i, now_ms))
			changed = true;
	}
	if (changed)
		e->calls.changed(e->arg);
}

static void
engine_on_outcome(void *arg, struct operation *operation,
    const struct outcome *outcome)
{
	struct engine *e = arg;
	struct core_event event = {
		.type = CORE_STORED,
		.stored = { .operation = operation, .outcome = outcome },
	};
	/* The core may free the operation. */
	bool session = operation->kind >= OPERATION_SESSION_OPEN;

	if (watch_outcome(&e->watches[operation->namespace_index], operation,
	    outcome, e->stores[operation->namespace_index]))
		e->calls.changed(e->arg);
	history_outcome(&e->history, operation, outcome);
	engine_must_step(e, &event);
	if (session)
		engine_look_at_sessions(e);
}

static void
engine_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;
	struct core_event event = { .type = CORE_TIMER };
	uint64_t times;

	(void)what;
	if (read(fd, &times, sizeof(times)) < 0 && errno == EAGAIN)
		return;
	e->armed_ms = CORE_FOREVER;
	engine_must_step(e, &event);
	engine_look_at_sessions(e);
}

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

	return checks_start(&e->checks[index], e->stores[index], e->server,
	    client, request);
}

static void
engine_log(void *arg, int priority, const char *text)
{
	(void)arg;
	log_write(priority, "client", "%s", text);
}

static int
engine_secret(void *arg, struct ident *ret)
{
	(void)arg;
	return getrandom(ret, sizeof(*ret), 0) == (ssize_t)sizeof(*ret) ? 0 :
	    DDBLOCK_E_SYSTEM;
}

static int
engine_open_stores(struct engine *e, char *text, size_t size)
{
	struct store_status status;
	int r = stores_new(e->base, &e->opener);

	for (size_t i = 0; r == 0 && i < e->config->n_namespaces; i++) {
		const struct config_namespace *n = &e->config->namespaces[i];

		e->watches[i].name = n->name;
		r = stores_open(e->opener, n, e->host, false,
		    engine_on_outcome, e, &e->stores[i], text, size);
		if (r < 0)
			break;
		e->n_namespaces++;
		store_view_status(e->stores[i], &status);
		log_write(LOG_INFO, NULL,
		    "namespace %s: store=%s%s%s scope=%s where=%s", n->name,
		    status.kind, status.format != NULL ? " format=" : "",
		    status.format != NULL ? status.format : "",
		    status.scope, status.where);
	}
	return r;
}

static int
engine_open_core(struct engine *e)
{
	const struct config_daemon *d = &e->config->daemon;
	struct core_namespace namespaces[CORE_NAMESPACES_MAX];
	const struct core_config config = {
		.namespaces = namespaces,
		.n_namespaces = e->n_namespaces,
		.limits = {
			.clients_max = (uint32_t)d->connections_max,
			.requests_per_client_max =
			    (uint32_t)d->requests_per_connection_max,
			.holds_per_client_max =
			    (uint32_t)d->holds_per_connection_max,
			.watches_per_client_max =
			    (uint32_t)d->watches_per_connection_max,
			.watches_max = (uint32_t)d->watches_max,
			.locks_max = (uint32_t)d->locks_max,
			.requests_max = (uint32_t)d->requests_max,
			.observations_max = 10000,
			.doubts_max = 10000,
		},
		.host = e->host,
	};
	uint64_t seed[4];
	int r;

	if (getrandom(seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		return DDBLOCK_E_SYSTEM;
	for (uint32_t i = 0; i < e->n_namespaces; i++)
		namespaces[i] = config_core_namespace(
		    &e->config->namespaces[i]);
	r = core_new(&config, seed, clock_boot_ms(), &e->core);
	explicit_bzero(seed, sizeof(seed));
	return r;
}

static int
engine_open_timer(struct engine *e)
{
	e->timer_fd = timerfd_create(CLOCK_BOOTTIME,
	    TFD_NONBLOCK | TFD_CLOEXEC);
	if (e->timer_fd < 0)
		return DDBLOCK_E_SYSTEM;
	e->timer = event_new(e->base, e->timer_fd, EV_READ | EV_PERSIST,
	    engine_on_timer, e);
	if (e->timer == NULL || event_add(e->timer, NULL) < 0)
		return DDBLOCK_E_NOMEM;
	return 0;
}

int
engine_new(struct event_base *base, const struct config *config,
    const char *host, const struct engine_calls *calls, void *arg,
    struct engine **ret, char *text, size_t size)
{
	struct engine *e = calloc(1, sizeof(*e));
	int r;

	(void)snprintf(text, size, "%s", error_text(DDBLOCK_E_NOMEM));
	if (e == NULL)
		return DDBLOCK_E_NOMEM;
	e->base = base;
	e->config = config;
	e->host = host;
	e->calls = *calls;
	e->arg = arg;
	e->timer_fd = -1;
	e->armed_ms = CORE_FOREVER;
	r = engine_open_stores(e, text, size);
	if (r == 0) {
		r = engine_open_core(e);
		if (r == 0)
			r = engine_open_timer(e);
		if (r < 0)
			(void)snprintf(text, size, "%s", error_text(r));
	}
	if (r < 0) {
		engine_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

void
engine_free(struct engine *e)
{
	if (e == NULL)
		return;
	e->closing = true;
	history_end(&e->history, e->stopped);
	server_free(e->server);
	for (uint32_t i = 0; i < e->n_namespaces; i++)
		store_free(e->stores[i]);
	stores_free(e->opener);
	core_free(e->core);
	if (e->timer != NULL)
		event_free(e->timer);
	if (e->timer_fd >= 0)
		(void)close(e->timer_fd);
	free(e);
}

/* The configuration's check has found it. */
static gid_t
engine_group(const char *name)
{
	const struct group *group = name == NULL ? NULL : getgrnam(name);

	return group == NULL ? (gid_t)-1 : group->gr_gid;
}

int
engine_start(struct engine *e, char *text, size_t size)
{
	static const struct server_calls calls = {
		.step = engine_step,
		.core = engine_core,
		.n_namespaces = engine_n_namespaces,
		.namespace_name = engine_namespace_name,
		.defaults = engine_defaults,
		.store_status = engine_store_status,
		.check = engine_check,
		.log = engine_log,
		.secret = engine_secret,
	};
	const struct config_daemon *d = &e->config->daemon;
	const struct server_config config = {
		.path = d->socket,
		.mode = (mode_t)d->socket_mode,
		.group = engine_group(d->socket_group),
		.admin_group = engine_group(d->admin_group),
		.limits = {
			.connections_max = (uint32_t)d->connections_max,
			.connections_per_uid_max =
			    (uint32_t)d->connections_per_uid_max,
			.requests_per_connection_max =
			    (uint32_t)d->requests_per_connection_max,
			.queued_bytes_max = d->queued_bytes_max,
			.queued_bytes_per_uid_max =
			    d->queued_bytes_per_uid_max,
		},
		.version = PACKAGE_VERSION,
		.host = e->host,
	};
	struct core_event event = { .type = CORE_TIMER };
	int r;

	history_start(&e->history, e->config, e->host);
	r = server_new(e->base, &config, &calls, e, &e->server, text, size);
	if (r < 0)
		return r;
	engine_must_step(e, &event);
	return 0;
}

void
engine_stop(struct engine *e, uint64_t wait_ms)
{
	struct core_event event = { .type = CORE_STOP };

	e->stopping = true;
	server_stop(e->server, wait_ms);
	engine_must_step(e, &event);
}

void
engine_stop_release(struct engine *e)
{
	struct core_event event = { .type = CORE_STOP_RELEASE };

	engine_must_step(e, &event);
}

void
engine_describe(const struct engine *e, struct buffer *buffer)
{
	(void)buffer_printf(buffer, "%u locks held", engine_held(e));
	for (uint32_t i = 0; i < e->n_namespaces; i++) {
		(void)buffer_append_text(buffer, "; ");
		watch_describe(&e->watches[i], buffer);
	}
}

uint32_t
engine_held(const struct engine *e)
{
	struct core_namespace_view v;
	uint64_t now_ms = clock_boot_ms();
	uint32_t held = 0;

	for (uint32_t i = 0; i < e->n_namespaces; i++) {
		core_view_namespace(e->core, i, now_ms, &v);
		held += v.held;
	}
	return held;
}
