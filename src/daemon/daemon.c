/*
 * The daemon's life. SIGTERM means: take no more, tell everybody, wait until
 * nothing is held. What is still held at the limit is left to its lease,
 * because releasing a lock under a program that works is not safe; and a
 * second signal means now.
 */
#include "daemon/daemon.h"

#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>

#include "aws/scrub.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "daemon/engine.h"
#include "daemon/host_clock.h"
#include "daemon/notify.h"
#include "ddblock.h"

#define DAEMON_TEXT_MAX 1024
#define DAEMON_SIGNALS 3
/* Open files that are no client's, beside those of the stores. */
#define DAEMON_FILES 64

static const int daemon_signals[DAEMON_SIGNALS] = {
	SIGTERM, SIGINT, SIGHUP,
};

struct daemon {
	const struct config *config;
	struct event_base *base;
	struct engine *engine;
	struct host_clock clock;
	struct event *signals[DAEMON_SIGNALS];
	struct event *limit;	/* of the wait for holders */
	bool stopping;
	bool releasing;
};

static void
daemon_notify(struct daemon *d, const char *state)
{
	struct buffer text;

	buffer_init(&text, DAEMON_TEXT_MAX);
	(void)buffer_printf(&text, "%sSTATUS=", state);
	engine_describe(d->engine, &text);
	notify_send(buffer_failed(&text) == 0 ? text.data : state);
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

	log_write(LOG_INFO, NULL, "nothing is held any more; ending");
	(void)event_base_loopexit(d->base, NULL);
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
		log_write(LOG_WARNING, NULL, "%" PRIu32 " locks are still "
		    "held; leaving them to their lease; ending", held);
	else
		log_write(LOG_WARNING, NULL, "nothing is held any more, but "
		    "not all of it could be written; ending");
	(void)event_base_loopexit(d->base, NULL);
}

static void
daemon_on_signal(evutil_socket_t number, short what, void *arg)
{
	struct daemon *d = arg;
	uint64_t wait_ms = d->config->daemon.stop_wait_ms;

	(void)what;
	if (number == SIGHUP) {
		log_write(LOG_WARNING, NULL, "SIGHUP: the configuration "
		    "cannot be read again yet; restart ddblockd for that");
		return;
	}
	if (d->stopping) {
		log_write(LOG_WARNING, NULL, "a second signal; ending now");
		(void)event_base_loopbreak(d->base);
		return;
	}
	log_write(LOG_INFO, NULL, "%s: waiting up to %" PRIu64
	    " s for %" PRIu32 " locks that are held",
	    number == SIGTERM ? "SIGTERM" : "SIGINT", (wait_ms + 999) / 1000,
	    engine_held(d->engine));
	d->stopping = true;
	daemon_notify(d, "STOPPING=1\n");
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

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 ||
	    files.rlim_cur >= *connections_max + others)
		return;
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
}

/* 0, or an error that has been logged. */
static int
daemon_start(struct daemon *d, const char *host)
{
	static const struct engine_calls calls = {
		.stopped = daemon_on_stopped,
		.changed = daemon_on_changed,
	};
	char text[DAEMON_TEXT_MAX] = "";
	int r;

	d->base = event_base_new();
	r = d->base == NULL ? DDBLOCK_E_NOMEM : daemon_catch_signals(d);
	if (r == 0)
		r = host_clock_start(&d->clock, d->base, d->config,
		    clock_is_synchronised);
	if (r == 0)
		r = engine_new(d->base, d->config, host, &calls, d,
		    &d->engine, text, sizeof(text));
	if (r == 0)
		r = engine_start(d->engine, text, sizeof(text));
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
daemon_run(struct config *config)
{
	struct daemon d = { .config = config };
	struct utsname names;
	int r;

	daemon_fit_connections(config);
	if (uname(&names) < 0)
		(void)snprintf(names.nodename, sizeof(names.nodename),
		    "localhost");
	r = daemon_start(&d, names.nodename);
	if (r == 0) {
		log_write(LOG_INFO, NULL, "ready on %s",
		    config->daemon.socket);
		/* The only notice that must arrive. */
		(void)sd_notify(0, "READY=1");
		daemon_notify(&d, "");
		if (event_base_dispatch(d.base) < 0)
			r = DDBLOCK_E_INTERNAL;
		else	/* the last replies, as far as they can leave now */
			(void)event_base_loop(d.base, EVLOOP_NONBLOCK);
	}
	daemon_done(&d);
	log_flush();
	return daemon_exit_status(r);
}
