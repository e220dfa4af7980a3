/*
 * The life of a connection: opens it, with all its state, and closes it.
 */
#include "lib/connection.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "lib/hold.h"
#include "lib/options.h"
#include "lib/reconnect.h"
#include "lib/request.h"
#include "lib/watch.h"

#define OPEN_WAIT_MAX_MS ((int64_t)1 << 48)	/* no sum of it overflows */
/* systemd makes a socket, and gives it to its group a moment later. */
#define OPEN_DENIED_MAX_MS 2000

static const char *
open_path(const char *path)
{
	if (path == NULL || path[0] == '\0')
		path = getenv("DDBLOCK_SOCKET");
	return path == NULL || path[0] == '\0' ? DDBLOCK_SOCKET : path;
}

static int
open_new(const struct ddblock_connect_options *o, struct ddblock **ret)
{
	const char *path = open_path(o->path);
	struct ddblock *d;

	if (strlen(path) >= CONNECTION_PATH_MAX)
		return DDBLOCK_E_BAD_REQUEST;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return DDBLOCK_E_NOMEM;
	connection_init(d, path);
	d->deadline_ms = DDBLOCK_NEVER_MS;
	TAILQ_INIT(&d->requests);
	TAILQ_INIT(&d->holds);
	TAILQ_INIT(&d->watches);
	(void)memcpy(d->default_namespace, "default", sizeof("default"));
	d->again.wanted = o->resume != 0;
	d->again.least_ms = REQUEST_ANSWER_MS;
	if (o->wait_ms > REQUEST_ANSWER_MS)
		d->again.least_ms = o->wait_ms > OPEN_WAIT_MAX_MS ?
		    OPEN_WAIT_MAX_MS : (uint64_t)o->wait_ms;
	*ret = d;
	if (o->name == NULL)
		return 0;
	d->again.name = strdup(o->name);
	return d->again.name == NULL ? DDBLOCK_E_NOMEM : 0;
}

/* DDBLOCK_E_CANCELLED: the caller does not want to wait any more. */
static int
open_pause(const struct ddblock_connect_options *o, uint64_t ms)
{
	struct pollfd one = { .fd = o->interrupt_fd, .events = POLLIN };

	if (poll(&one, 1, ms > INT_MAX ? INT_MAX : (int)ms) < 0 &&
	    errno != EINTR)
		return DDBLOCK_E_SYSTEM;
	return one.revents != 0 ? DDBLOCK_E_CANCELLED : 0;
}

/* May a daemon be there soon, if connecting failed with this errno? */
static bool
open_may_help(int error, uint64_t denied_ms)
{
	return error == ENOENT || error == ECONNREFUSED || error == EAGAIN ||
	    error == ECONNRESET || error == ENOTDIR ||
	    (error == EACCES && denied_ms <= OPEN_DENIED_MAX_MS);
}

/* The first connection; for a time, if there is none. */
static int
open_wait(struct ddblock *d, const struct ddblock_connect_options *o)
{
	uint64_t from_ms = clock_boot_ms(), allowed_ms = 0, waited_ms;
	bool told = false;
	int r, saved;

	for (;;) {
		uint64_t pause_ms, left_ms = 0;

		r = connection_connect(d);
		saved = errno;
		waited_ms = clock_boot_ms() - from_ms;
		if (saved != EACCES)
			allowed_ms = waited_ms;
		if (r == 0 || o->wait_ms <= 0 ||
		    !open_may_help(saved, waited_ms - allowed_ms))
			break;
		if (!told && saved != EACCES && o->on_wait != NULL) {
			o->on_wait(o->wait_arg, saved);
			told = true;
		}
		if (waited_ms < (uint64_t)o->wait_ms)
			left_ms = (uint64_t)o->wait_ms - waited_ms;
		pause_ms = reconnect_pause_ms(&d->again);
		if (left_ms == 0)
			break;
		r = open_pause(o, pause_ms < left_ms ? pause_ms : left_ms);
		if (r < 0)
			return r;
	}
	errno = saved;
	return r;
}

int
ddblock_connect(const struct ddblock_connect_options *options,
    struct ddblock **ret)
{
	struct ddblock_connect_options o = DDBLOCK_CONNECT_OPTIONS_INIT;
	struct ddblock *d = NULL;
	int r;

	if (options != NULL &&
	    options_copy(&o, sizeof(o), options, options->size) < 0)
		return DDBLOCK_E_UNSUPPORTED;
	r = open_new(&o, &d);
	/* The greeting goes out with the first request, in one write. */
	if (r == 0)
		r = reconnect_greet(d);
	if (r == 0)
		r = open_wait(d, &o);
	if (r < 0) {
		int saved = errno;

		ddblock_close(d);
		errno = saved;
		return r;
	}
	d->blocks = false;
	d->again.pause_ms = 0;
	d->again.up_ms = clock_boot_ms();
	*ret = d;
	return 0;
}

int
ddblock_open(const char *path, const char *name, struct ddblock **ret)
{
	struct ddblock_connect_options o = DDBLOCK_CONNECT_OPTIONS_INIT;

	o.path = path;
	o.name = name;
	return ddblock_connect(&o, ret);
}

void
ddblock_close(struct ddblock *d)
{
	if (d == NULL)
		return;
	request_free_all(d);
	hold_free_all(d);
	watch_free_all(d);
	connection_done(d);
	explicit_bzero(d->secret, sizeof(d->secret));
	free(d->again.name);
	free(d);
}
