/*
 * The daemon's life. SIGTERM means: take no more, tell everybody, wait until
 * nothing is held. Locks that are still held then are left to their leases,
 * because releasing a lock under a program that works is not safe; and a second
 * signal means now.
 */
#include "daemon/daemon.h"

#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "aws/scrub.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "daemon/activation.h"
#include "daemon/config_reload.h"
#include "daemon/descriptor_store.h"
#include "daemon/engine.h"
#include "daemon/host_clock.h"
#include "daemon/metrics_http.h"
#include "daemon/notify.h"
#include "daemon/replace.h"
#include "daemon/trail.h"
#include "daemon/watchdog.h"
#include "ddblock.h"

#define DAEMON_TEXT_MAX 1024
#define DAEMON_REPORT_MAX (64 * 1024)
#define DAEMON_SIGNALS 4
/* Open files that belong to neither clients nor stores. */
#define DAEMON_FILES                                                           \
	(64 + METRICS_HTTP_CONNECTIONS_MAX + DESCRIPTOR_STORE_WAITING_MAX)

static const int daemon_signals[DAEMON_SIGNALS] = {
	SIGTERM, SIGINT, SIGHUP, SIGUSR2,
};

struct daemon {
	struct config *config;	/* that counts now */
	const struct reload_source *source;
	struct config **lent;	/* stores have something of these, and of the
				 * first */
	size_t n_lent;
	bool is_lent;		/* so is that which counts now */
	const char *trouble;	/* with the configuration, or NULL */
	struct event_base *base;
	struct engine *engine;
	struct host_clock clock;
	struct watchdog watchdog;
	struct notify notify;
	struct event *signals[DAEMON_SIGNALS];
	struct event *limit;	/* of the wait for holders */
	bool stopping;
	bool releasing;
	bool leaving;
};

static void
daemon_notify(struct daemon *d, const char *state)
{
	struct buffer text;

	buffer_init(&text, DAEMON_TEXT_MAX);
	(void)buffer_printf(&text, "%sSTATUS=", state);
	if (d->trouble != NULL)
		(void)buffer_printf(&text, "%s; ", d->trouble);
	engine_describe(d->engine, &text);
	/* Another status comes with the next change. */
	if (state[0] != '\0')
		notify_tell(&d->notify,
		    buffer_failed(&text) == 0 ? text.data : state);
	else if (buffer_failed(&text) == 0)
		notify_send(text.data);
	buffer_done(&text);
}

static void
daemon_on_changed(void *arg)
{
	struct daemon *d = arg;

	if (!d->stopping)
		daemon_notify(d, "");
}

static void
daemon_on_stopped(void *arg)
{
	struct daemon *d = arg;

	trail_stopped(LOG_INFO, 0, "nothing is held any more; ending");
	(void)event_base_loopexit(d->base, NULL);
}

static void
daemon_on_replaced(void *arg)
{
	struct daemon *d = arg;

	trail_stopped(LOG_INFO, engine_held(d->engine),
	    "another process has taken the place of this one, with %" PRIu32
	    " locks that are held; ending", engine_held(d->engine));
	d->leaving = true;
	(void)event_base_loopbreak(d->base);
}

static void
daemon_set_limit(struct daemon *d, uint64_t ms)
{
	const struct timeval t = clock_interval(ms);

	if (evtimer_add(d->limit, &t) < 0)
		(void)event_base_loopexit(d->base, NULL);
}

/* Holders hear of the loss a margin before the release is sent; then it has to
 * reach the store. */
static uint64_t
daemon_release_ms(const struct config *config)
{
	uint64_t longest_ms = 0;

	for (size_t i = 0; i < config->n_namespaces; i++) {
		const struct config_namespace *n = &config->namespaces[i];
		uint64_t ms = n->margin_ms + 2 * n->request_ms;

		if (ms > longest_ms)
			longest_ms = ms;
	}
	return longest_ms;
}

static void
daemon_on_limit(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;
	uint32_t held = engine_held(d->engine);

	(void)fd;
	(void)what;
	if (d->config->daemon.release_on_stop && !d->releasing) {
		log_write(LOG_WARNING, NULL, "%" PRIu32
		    " locks are still held; releasing them", held);
		d->releasing = true;
		daemon_set_limit(d, daemon_release_ms(d->config));
		engine_stop_release(d->engine);
		return;
	}
	if (held > 0)
		trail_stopped(LOG_WARNING, held, "%" PRIu32
		    " locks are still held; leaving them to their lease; "
		    "ending", held);
	else
		trail_stopped(LOG_WARNING, 0, "nothing is held any more, but "
		    "not all of it could be written; ending");
	(void)event_base_loopexit(d->base, NULL);
}

/* How long the end may take is a setting of ours, and the service manager has
 * one of its own (TimeoutStopSec=), which must not be the shorter one. */
static void
daemon_notify_stopping(struct daemon *d)
{
	uint64_t ms = d->config->daemon.stop_wait_ms +
	    daemon_release_ms(d->config);
	char state[64];

	(void)snprintf(state, sizeof(state), "STOPPING=1\n"
	    "EXTEND_TIMEOUT_USEC=%" PRIu64 "\n", ms * 1000);
	daemon_notify(d, state);
}

static void daemon_fit_connections(struct config *);

/* ---- other settings ---------------------------------------------------- */

int
daemon_log_level(const struct config *config)
{
	static const int levels[] = { LOG_ERR, LOG_WARNING, LOG_INFO,
		LOG_DEBUG };

	return levels[config->daemon.log_level];
}

static void
daemon_log_lines(int level, char *lines)
{
	char *rest = NULL;

	for (char *line = strtok_r(lines, "\n", &rest); line != NULL;
	    line = strtok_r(NULL, "\n", &rest))
		log_write(level, NULL, "%s", line);
}

/* The one before is free, unless a store has something of it. */
static void
daemon_adopt(struct daemon *d, struct config *next)
{
	struct config *before = d->config;
	bool lends = next->n_namespaces > before->n_namespaces;

	d->config = next;
	if (!d->is_lent)
		config_free(before);
	if (lends)
		d->lent[d->n_lent++] = next;
	d->is_lent = lends;
	if (lends) {
		host_clock_done(&d->clock);
		(void)host_clock_start(&d->clock, d->base, next,
		    clock_is_synchronised);
	}
	log_init((enum log_target)next->daemon.log, daemon_log_level(next));
}

static int
daemon_configure(struct daemon *d, struct buffer *report)
{
	struct config **lent = reallocarray(d->lent, d->n_lent + 1,
	    sizeof(struct config *));
	struct config *next;
	char text[DAEMON_TEXT_MAX] = "";
	int r;

	if (lent == NULL)
		return DDBLOCK_E_NOMEM;
	d->lent = lent;
	r = reload_read(d->config, d->source, report, &next);
	if (r < 0)
		return r;
	daemon_fit_connections(next);
	r = engine_configure(d->engine, next, text, sizeof(text));
	if (r < 0) {
		(void)buffer_printf(report, "%s\n",
		    text[0] == '\0' ? error_text(r) : text);
		config_free(next);
		return r;
	}
	daemon_adopt(d, next);
	return 0;
}

static void
daemon_reload(struct daemon *d)
{
	struct buffer report;
	char reloading[96];
	int r;

	/* The service manager goes by this clock. */
	(void)snprintf(reloading, sizeof(reloading), "RELOADING=1\n"
	    "MONOTONIC_USEC=%" PRIu64 "\n", clock_monotonic_us());
	notify_tell(&d->notify, reloading);
	buffer_init(&report, DAEMON_REPORT_MAX);
	r = daemon_configure(d, &report);
	if (report.length > 0)
		daemon_log_lines(r < 0 ? LOG_ERR : LOG_WARNING, report.data);
	buffer_done(&report);
	if (r < 0)
		log_write(LOG_ERR, NULL, "the configuration cannot be used; "
		    "nothing changes");
	else
		log_write(LOG_INFO, NULL, "the configuration was read again");
	d->trouble = r < 0 ? "the configuration cannot be used, the one "
	    "before counts" : NULL;
	daemon_notify(d, "READY=1\n");
}

/* A restart: the next process goes on with everything. */
static bool
daemon_leave(struct daemon *d)
{
	if (d->stopping || !engine_leave(d->engine))
		return false;
	trail_stopped(LOG_INFO, engine_held(d->engine),
	    "SIGUSR2: leaving %" PRIu32 " locks that are held to the next "
	    "process", engine_held(d->engine));
	d->leaving = true;
	(void)event_base_loopbreak(d->base);
	return true;
}

static void
daemon_on_signal(evutil_socket_t number, short what, void *arg)
{
	struct daemon *d = arg;
	uint64_t wait_ms = d->config->daemon.stop_wait_ms;

	(void)what;
	if (number == SIGHUP) {
		log_write(LOG_INFO, NULL, d->stopping ? "SIGHUP: it is too "
		    "late for another configuration" : "SIGHUP: reading the "
		    "configuration again");
		if (!d->stopping)
			daemon_reload(d);
		return;
	}
	if (number == SIGUSR2 && daemon_leave(d))
		return;
	if (d->stopping) {
		trail_stopped(LOG_WARNING, engine_held(d->engine),
		    "a second signal; ending now");
		(void)event_base_loopbreak(d->base);
		return;
	}
	log_write(LOG_INFO, NULL, "%s: waiting up to %" PRIu64
	    " s for %" PRIu32 " locks that are held",
	    number == SIGTERM ? "SIGTERM" : number == SIGINT ? "SIGINT" :
	    "SIGUSR2", (wait_ms + 999) / 1000,
	    engine_held(d->engine));
	d->stopping = true;
	daemon_notify_stopping(d);
	daemon_set_limit(d, wait_ms);
	engine_stop(d->engine, wait_ms);
}

static int
daemon_catch_signals(struct daemon *d)
{
	for (size_t i = 0; i < DAEMON_SIGNALS; i++) {
		d->signals[i] = evsignal_new(d->base, daemon_signals[i],
		    daemon_on_signal, d);
		if (d->signals[i] == NULL ||
		    evsignal_add(d->signals[i], NULL) < 0)
			return DDBLOCK_E_NOMEM;
	}
	d->limit = evtimer_new(d->base, daemon_on_limit, d);
	return d->limit == NULL ? DDBLOCK_E_NOMEM : 0;
}

/* The memory has secrets, and a dump would show them. */
void
daemon_harden(void)
{
	const struct rlimit none = { 0, 0 };
	struct rlimit files;

	scrub_libcrypto();
	(void)prctl(PR_SET_DUMPABLE, 0);
	/* What we may do is not for the programs that we run. */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)signal(SIGPIPE, SIG_IGN);
	/* A file that may not grow is an answer (EFBIG), not an end. */
	(void)signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

static uint64_t
daemon_files(const struct config *config)
{
	uint64_t files = DAEMON_FILES;

	for (size_t i = 0; i < config->n_namespaces; i++)
		files += config_kind(&config->namespaces[i])->files_max;
	return files;
}

/* The kernel's table of them grows now, before there are threads. Later each
 * time would stop the loop for many milliseconds: until no processor can be
 * reading the old table. */
static void
daemon_make_room_for_files(uint64_t files)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int last = fd < 0 || files > INT_MAX ? -1 :
	    fcntl(fd, F_DUPFD_CLOEXEC, (int)files - 1);

	if (last >= 0)
		(void)close(last);
	if (fd >= 0)
		(void)close(fd);
}

/* The limit on open files may be what limits the connections. Stores and the
 * libraries need some, too: no client may take a beat's. */
static void
daemon_fit_connections(struct config *config)
{
	const struct config_origin origin = config_origin_of(
	    config->daemon.origins, CONFIG_DAEMON, "connections_max");
	uint64_t *connections_max = &config->daemon.connections_max;
	uint64_t others = daemon_files(config);
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	if (files.rlim_cur >= *connections_max + others) {
		daemon_make_room_for_files(*connections_max + others);
		return;
	}
	daemon_make_room_for_files(files.rlim_cur);
	if (origin.file != NULL || files.rlim_cur < 2 * others)
		log_write(LOG_WARNING, NULL, "connections_max = %" PRIu64
		    ": only %" PRIuMAX " files may be open, and %" PRIu64
		    " are for other things; raise LimitNOFILE or lower "
		    "connections_max", *connections_max,
		    (uintmax_t)files.rlim_cur, others);
	*connections_max = files.rlim_cur > 2 * others ?
	    files.rlim_cur - others : files.rlim_cur / 2;
}

static void
daemon_done(struct daemon *d)
{
	sigset_t ours;

	engine_free(d->engine);
	watchdog_done(&d->watchdog);
	notify_done(&d->notify);
	host_clock_done(&d->clock);
	/* A signal that comes now asks for what is being done: without our
	 * handlers it would turn a clean end into a death. */
	(void)sigemptyset(&ours);
	for (size_t i = 0; i < DAEMON_SIGNALS; i++)
		(void)sigaddset(&ours, daemon_signals[i]);
	(void)sigprocmask(SIG_BLOCK, &ours, NULL);
	for (size_t i = 0; i < DAEMON_SIGNALS; i++) {
		if (d->signals[i] != NULL)
			event_free(d->signals[i]);
	}
	if (d->limit != NULL)
		event_free(d->limit);
	if (d->base != NULL)
		event_base_free(d->base);
	for (size_t i = 0; i < d->n_lent; i++)
		config_free(d->lent[i]);
	free(d->lent);
	if (!d->is_lent)
		config_free(d->config);
}

/* The next process waits for the end of this one: nothing is taken apart, the
 * system does that at once. */
static _Noreturn void
daemon_abandon(struct daemon *d)
{
	engine_abandon(d->engine);
	log_flush();
	_exit(EX_OK);
}

/* 0, or an error that has been logged. */
static int
daemon_start(struct daemon *d, const char *host, bool replace)
{
	static const struct engine_calls calls = {
		.stopped = daemon_on_stopped,
		.changed = daemon_on_changed,
		.replaced = daemon_on_replaced,
	};
	struct activation activation = { .listening = -1, .memory = -1,
		.journal = -1 };
	char text[DAEMON_TEXT_MAX] = "";
	int r;

	d->base = d->notify.base = event_base_new();
	r = d->base == NULL ? DDBLOCK_E_NOMEM : daemon_catch_signals(d);
	if (r == 0)
		r = watchdog_start(&d->watchdog, d->base);
	if (r == 0)
		r = host_clock_start(&d->clock, d->base, d->config,
		    clock_is_synchronised);
	/* The last thing: another daemon may end for it. */
	if (r == 0)
		r = replace ? replace_take(d->config, &activation, text,
		    sizeof(text)) : activation_take(d->config, &activation,
		    text, sizeof(text));
	if (r == 0)
		r = engine_new(d->base, d->config, host, &activation, &calls,
		    d, &d->engine, text, sizeof(text));
	if (r == 0)
		r = engine_start(d->engine, text, sizeof(text));
	/* Another start may take them if this one failed. */
	if (r == 0)
		activation_refuse(&activation);
	activation_done(&activation);
	if (r < 0)
		log_write(LOG_ERR, NULL, "cannot start: %s",
		    text[0] == '\0' ? error_text(r) : text);
	return r;
}

int
daemon_exit_status(int code)
{
	return code == DDBLOCK_E_BAD_REQUEST ? EX_CONFIG :
	    error_exit_status(code);
}

int
daemon_run(struct config *config, const struct reload_source *source,
    bool replace)
{
	/* The first is the caller's. */
	struct daemon d = { .config = config, .source = source,
		.is_lent = true };
	struct utsname names;
	int r;

	daemon_fit_connections(config);
	if (uname(&names) < 0)
		(void)snprintf(names.nodename, sizeof(names.nodename),
		    "localhost");
	/* This configuration outlives the engine, which borrows the name. */
	r = daemon_start(&d, config->daemon.host != NULL ?
	    config->daemon.host : names.nodename, replace);
	if (r == 0) {
		trail_started(config->daemon.socket, engine_inherited(d.engine),
		    engine_held(d.engine));
		/* The only notice that must arrive. */
		(void)sd_notify(0, "READY=1");
		daemon_notify(&d, "");
		if (event_base_dispatch(d.base) < 0)
			r = DDBLOCK_E_INTERNAL;
		else if (d.leaving)
			daemon_abandon(&d);
		else	/* the last replies that can leave now */
			(void)event_base_loop(d.base, EVLOOP_NONBLOCK);
	}
	daemon_done(&d);
	log_flush();
	return daemon_exit_status(r);
}
