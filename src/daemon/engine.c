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

#include "daemon/engine_state.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "daemon/activation.h"
#include "daemon/descriptor_store.h"
#include "daemon/history.h"
#include "daemon/journal_death.h"
#include "daemon/keeper.h"
#include "daemon/stores.h"
#include "daemon/event_log.h"
#include "ddblock.h"
#include "ipc/server.h"
#include "store/store.h"

static void
engine_arm(struct engine *e, uint64_t next_ms, uint64_t now_ms)
{
	struct itimerspec t = { 0 };
	int r;

	/* Firing early is harmless; setting the timer at each step is not
	 * free. */
	if (next_ms >= e->armed_ms)
		return;
	e->armed_ms = next_ms;
	e->due_ms = next_ms > now_ms ? next_ms : now_ms;
	if (next_ms == 0)
		next_ms = 1;	/* 0 would stop the timer */
	t.it_value = clock_moment(next_ms);
	r = timerfd_settime(e->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
	assert(r == 0); /* the arguments are in range */
}

static void
engine_submit(struct engine *e, struct core_submit *submit)
{
	assert(submit->operation.namespace_index < e->n_namespaces);
	hinter_submitting(e->hinter, &submit->operation);
	store_submit(e->stores[submit->operation.namespace_index],
	    &submit->operation);
}

static void
engine_submit_all(struct engine *e, const struct core_update *update)
{
	struct core_action *next;

	for (struct core_action *a = update->actions; a != NULL; a = next) {
		next = a->next;
		if (a->type == CORE_SUBMIT)
			engine_submit(e, (struct core_submit *)a);
		else if (a->type == CORE_HINT)
			hinter_perform(e->hinter,
			    (const struct core_hint *)a);
	}
}

struct trail
engine_trail(const struct engine *e)
{
	return (struct trail){
		.config = e->config, .core = e->core, .server = e->server,
		.asked = e->asked,
	};
}

/* A client for the log; NULL: it has left. */
static const struct server_client *
engine_client(const struct engine *e, uint64_t client,
    struct server_client *ret)
{
	return e->server != NULL &&
	    server_view_client(e->server, client, ret) ? ret : NULL;
}

static void
engine_log_action(const struct engine *e, const struct core_action *a,
    uint64_t now_ms)
{
	const struct trail trail = engine_trail(e);
	struct server_client who;

	if (a->type == CORE_REPLY) {
		trail_reply(&trail, (const struct core_reply *)a, now_ms);
	} else if (a->type == CORE_NOTICE) {
		const struct core_notice *n = (const struct core_notice *)a;

		event_log_notice(e->watches, e->core, n,
		    engine_client(e, n->client, &who), now_ms);
	} else if (a->type == CORE_BROKE) {
		const struct core_broke *b = (const struct core_broke *)a;

		event_log_broke(e->watches, b,
		    engine_client(e, b->client, &who));
	}
}

/* From within a step. */
static void
engine_on_ended(void *arg, const struct core_ended *ended)
{
	const struct trail trail = engine_trail(arg);

	trail_ended(&trail, ended);
}

/* The server queues its lines, and sends none before the next turn of the
 * loop. */
static void
engine_tell(struct engine *e, const struct core_update *update, uint64_t now_ms)
{
	for (struct core_action *a = update->actions; a != NULL; a = a->next) {
		history_action(&e->history, e->core, a, now_ms);
		engine_log_action(e, a, now_ms);
		if (e->server != NULL)
			server_perform(e->server, a);
	}
}

/* What is done is known to the next daemon, with the answers that tell of it,
 * before anybody hears of it. */
static void
engine_save(struct engine *e, uint64_t now_ms)
{
	struct journal *journal;

	if (e->server != NULL)
		server_save(e->server);
	keeper_save(&e->keeper, &e->history, e->core, now_ms);
	journal = keeper_journal(&e->keeper);
	if (e->server == NULL || journal == e->journal)
		return;
	/* It was given up, or there is one again. */
	e->journal = journal;
	(void)server_journal(e->server, journal);
}

/* The server's way into the core, and everybody's. */
int
engine_step(void *arg, struct core_event *event)
{
	struct engine *e = arg;
	struct server_client who;
	struct core_update update;
	int r;

	/* Locks that are held at the end are left to their leases: the
	 * connections that server_free() closes are no reason to release it. */
	if (e->closing)
		return DDBLOCK_E_SHUTTING_DOWN;
	assert(!e->stepping);
	e->stepping = true;
	e->asked = event->type == CORE_REQUEST ? &event->request : NULL;
	history_event(&e->history, event);
	event->now_ms = clock_boot_ms();
	if (event->type == CORE_CUT)
		event_log_cut_off(e->watches, e->core, event->client,
		    engine_client(e, event->client, &who), event->now_ms);
	r = core_step(e->core, event, &update);
	/* Also if the request was refused: something may have been due. */
	engine_tell(e, &update, event->now_ms);
	if (r < 0 && event->type == CORE_REQUEST)
		history_refused(&e->history, &event->request, r);
	engine_save(e, event->now_ms);
	engine_submit_all(e, &update);
	engine_arm(e, update.next_ms, event->now_ms);
	memory_note(&e->memory);
	e->asked = NULL;
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
void
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
		if (event_log_session(&e->watches[i], e->core, i, now_ms))
			changed = true;
	}
	if (changed)
		e->calls.changed(e->arg);
}

/* Perhaps while a step is performed: this is none. */
static void
engine_on_sending(void *arg, const struct operation *operation, uint64_t beat)
{
	struct engine *e = arg;

	core_sending(e->core, operation, beat);
	engine_save(e, clock_boot_ms());
}

static void
engine_on_refused(void *arg, const struct operation *operation, uint64_t beat)
{
	struct engine *e = arg;

	core_refused(e->core, operation, beat);
}

static bool
engine_is_heartbeat(const struct operation *operation,
    const struct outcome *outcome)
{
	return outcome->kind == OUTCOME_DONE &&
	    (operation->kind == OPERATION_SESSION_BEAT ||
	    operation->kind == OPERATION_REFRESH);
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
	bool heartbeat = engine_is_heartbeat(operation, outcome);

	if (event_log_outcome(&e->watches[operation->namespace_index],
	    operation,
	    outcome, e->stores[operation->namespace_index]))
		e->calls.changed(e->arg);
	history_outcome(&e->history, operation, outcome);
	metrics_outcome(&e->metrics, operation, outcome, clock_boot_ms());
	hinter_stored(e->hinter, operation, outcome);
	engine_must_step(e, &event);
	if (heartbeat)
		journal_death_beaten();
	if (session)
		engine_look_at_sessions(e);
}

/* What another host says. */
static void
engine_on_hint(void *arg, struct core_event *event)
{
	engine_must_step(arg, event);
}

/* It says that it hears us: to a check that asked, if there is one still. */
static void
engine_on_pong(void *arg, const struct hint_id *sender, uint64_t digest)
{
	struct engine *e = arg;

	for (uint32_t i = 0; i < e->n_namespaces; i++)
		hint_check_heard(e->checks[i].hints, sender, digest);
}

static int
engine_open_hinter(struct engine *e)
{
	static const struct hinter_calls calls = {
		.step = engine_on_hint, .pong = engine_on_pong,
	};

	return hinter_new(e->base, &e->config->daemon, &calls, e,
	    &e->hinter);
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
	metrics_lag(&e->metrics, e->due_ms, clock_boot_ms());
	log_tick();
	engine_must_step(e, &event);
	engine_look_at_sessions(e);
}

/* Those of the namespaces that have none yet. */
static int
engine_open_stores(struct engine *e, const struct config *config, char *text,
    size_t size)
{
	struct store_status status;
	int r = 0;

	for (size_t i = e->n_namespaces; i < config->n_namespaces; i++) {
		const struct config_namespace *n = &config->namespaces[i];

		e->watches[i] = (struct event_log){ .name = n->name };
		r = stores_open(e->opener, n, e->host, false,
		    engine_on_outcome, e, &e->stores[i], text, size);
		if (r < 0)
			break;
		store_on_attempts(e->stores[i], engine_on_sending,
		    engine_on_refused, e);
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

static void
engine_close_stores(struct engine *e, uint32_t n)
{
	while (e->n_namespaces > n) {
		store_free(e->stores[--e->n_namespaces]);
		e->stores[e->n_namespaces] = NULL;
		client_check_cancel(&e->checks[e->n_namespaces]);
	}
}

/* @namespaces is room for what the result points to. */
static struct core_config
engine_core_config(const struct engine *e, const struct config *config,
    struct core_namespace namespaces[CORE_NAMESPACES_MAX])
{
	for (uint32_t i = 0; i < e->n_namespaces; i++) {
		namespaces[i] = config_core_namespace(&config->namespaces[i]);
		namespaces[i].hints =
		    hinter_serves(e->hinter, &config->namespaces[i]);
	}
	return (struct core_config){
		.namespaces = namespaces,
		.n_namespaces = e->n_namespaces,
		.limits = config_core_limits(&config->daemon),
		.host = e->host,
	};
}

/* Of nothing, or of what the daemon before this one left. */
static int
engine_open_core(struct engine *e)
{
	struct core_namespace namespaces[CORE_NAMESPACES_MAX];
	const struct core_config config =
	    engine_core_config(e, e->config, namespaces);
	int r = keeper_init(&e->keeper, &e->config->daemon,
	    e->activation->journal);

	e->activation->journal = -1;

	if (r == 0)
		r = keeper_add_namespaces(&e->keeper, e->config,
		    e->n_namespaces);
	if (r == 0)
		r = keeper_new_core(&e->keeper, &config, &e->core,
		    &e->inherited);
	if (r == 0)
		core_on_ended(e->core, engine_on_ended, e);
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
    const char *host, struct activation *activation,
    const struct engine_calls *calls, void *arg, struct engine **ret,
    char *text, size_t size)
{
	struct engine *e = calloc(1, sizeof(*e));
	int r;

	(void)snprintf(text, size, "%s", error_text(DDBLOCK_E_NOMEM));
	if (e == NULL)
		return DDBLOCK_E_NOMEM;
	e->base = base;
	e->config = config;
	e->host = host;
	e->activation = activation;
	e->calls = *calls;
	e->arg = arg;
	e->timer_fd = -1;
	e->armed_ms = CORE_FOREVER;
	metrics_start(&e->metrics);
	r = stores_new(base, &e->opener);
	if (r == 0)
		r = engine_open_stores(e, config, text, size);
	if (r == 0) {
		r = engine_open_hinter(e);
		if (r == 0)
			r = engine_open_core(e);
		if (r == 0)
			r = engine_open_timer(e);
		if (r == 0)
			r = memory_init(&e->memory, base);
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
engine_abandon(struct engine *e)
{
	e->closing = true;
	history_end(&e->history, false);
	descriptor_store_free(e->descriptors);
	e->descriptors = NULL;
	engine_close_stores(e, 0);
}

void
engine_free(struct engine *e)
{
	if (e == NULL)
		return;
	e->closing = true;
	history_end(&e->history, e->stopped);
	metrics_http_free(e->metrics_http);
	server_free(e->server);
	descriptor_store_free(e->descriptors);
	engine_close_stores(e, 0);
	stores_free(e->opener);
	core_free(e->core);
	hinter_free(e->hinter);
	/* What is left to its lease, the next daemon may have. */
	keeper_done(&e->keeper, !e->stopped);
	if (e->timer != NULL)
		event_free(e->timer);
	if (e->timer_fd >= 0)
		(void)close(e->timer_fd);
	memory_done(&e->memory);
	free(e);
}

int
engine_configure(struct engine *e, const struct config *config, char *text,
    size_t size)
{
	const struct server_limits limits = engine_limits(&config->daemon);
	struct core_namespace namespaces[CORE_NAMESPACES_MAX];
	struct core_config settings;
	struct core_event event = { .type = CORE_CONFIGURE };
	uint32_t n = e->n_namespaces;
	int r = engine_open_stores(e, config, text, size);

	if (r == 0)
		r = keeper_add_namespaces(&e->keeper, config,
		    e->n_namespaces);
	if (r == 0) {
		settings = engine_core_config(e, config, namespaces);
		event.config = &settings;
		r = engine_step(e, &event);
		if (r < 0)
			(void)snprintf(text, size, "%s", error_text(r));
	}
	if (r < 0) {
		keeper_remove_namespaces(&e->keeper, n);
		engine_close_stores(e, n);
		return r;
	}
	e->config = config;
	for (uint32_t i = 0; i < n; i++)
		stores_configure(e->opener, &config->namespaces[i],
		    e->stores[i]);
	server_configure(e->server, &limits,
	    engine_group(config->daemon.admin_group),
	    config->daemon.admin != 0, &config->rules);
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

bool
engine_leave(struct engine *e)
{
	return server_leave(e->server);
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
		event_log_describe(&e->watches[i], buffer);
	}
}

bool
engine_inherited(const struct engine *e)
{
	return e->keeper.inherited;
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
