/*
 * A small file, read or written by a blocking job.
 */
#include <config.h>

#include "identity/provider_file.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aws/blocking_job.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/file_trust.h"

/* A network that hangs must not collect threads for ever. */
#define FILE_WORKS_MAX 16

static atomic_uint file_works;

/* What the thread works on. */
struct file_work {
	enum errand_kind kind;
	char *path;
	char *temporary;	/* beside it, for mkstemp() */
	char *bytes;		/* read: room for length_max + 1; written */
	size_t length;
	size_t length_max;
	int code;
	int error;
	enum file_trust trust;	/* read */
};

struct provider_file {
	struct blocking_job *job;
	struct event *timer;
	errand_done_fn done;
	void *arg;
};

/* ---- on the thread ---- */

static void
file_fail(struct file_work *w, int code)
{
	w->code = code;
	w->error = code == DDBLOCK_E_SYSTEM ? errno : 0;
}

static void
file_read(struct file_work *w)
{
	int fd = open(w->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n = 1;

	if (fd < 0) {
		file_fail(w, DDBLOCK_E_SYSTEM);
		return;
	}
	w->trust = file_trust(fd, w->path);
	if (file_trust_advice(w->trust) != NULL)
		file_fail(w, DDBLOCK_E_DENIED);
	while (w->code == 0 && n != 0 && w->length <= w->length_max) {
		n = read(fd, w->bytes + w->length,
		    w->length_max + 1 - w->length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			file_fail(w, DDBLOCK_E_SYSTEM);
			break;
		}
		w->length += (size_t)n;
	}
	if (w->code == 0 && w->length > w->length_max)
		file_fail(w, DDBLOCK_E_LIMIT);
	(void)close(fd);
}

/* mkstemp() makes it unreadable for other users. */
static int
file_write_to(const struct file_work *w, int fd)
{
	for (size_t at = 0; at < w->length;) {
		ssize_t n = write(fd, w->bytes + at, w->length - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += (size_t)n;
	}
	return fsync(fd);
}

static void
file_write(struct file_work *w)
{
	int fd = mkostemp(w->temporary, O_CLOEXEC);
	bool written;

	if (fd < 0) {
		file_fail(w, DDBLOCK_E_SYSTEM);
		return;
	}
	written = file_write_to(w, fd) == 0;
	if (close(fd) < 0)
		written = false;
	if (written && rename(w->temporary, w->path) == 0)
		return;
	file_fail(w, DDBLOCK_E_SYSTEM);
	(void)unlink(w->temporary);
}

static void
file_work(void *data)
{
	struct file_work *w = data;

	if (w->kind == ERRAND_WRITE)
		file_write(w);
	else
		file_read(w);
}

static void
file_work_free(void *data)
{
	struct file_work *w = data;

	if (w->bytes != NULL) {
		explicit_bzero(w->bytes, w->length);
		free(w->bytes);
	}
	free(w->path);
	free(w->temporary);
	free(w);
	(void)atomic_fetch_sub(&file_works, 1);
}

/* ---- on the loop ---- */

static void
file_on_done(void *arg, void *data)
{
	struct provider_file *f = arg;
	struct file_work *w = data;
	struct errand_answer a = {
		.code = w->code, .error = w->error, .body = "", .text = "",
	};
	errand_done_fn done = f->done;
	void *done_arg = f->arg;

	if (w->code == 0 && w->kind == ERRAND_READ) {
		a.is_exposed = w->trust == FILE_TRUST_READABLE;
		w->bytes[w->length] = '\0';
		a.body = w->bytes;
		a.body_length = w->length;
	} else if (w->code == DDBLOCK_E_SYSTEM) {
		a.text = strerror(w->error);
	} else if (w->code == DDBLOCK_E_DENIED) {
		a.text = file_trust_advice(w->trust);
	} else if (w->code != 0) {
		a.text = "it is too large";
	}
	f->job = NULL;
	provider_file_stop(f);
	done(done_arg, &a);
}

static void
file_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct provider_file *f = arg;
	const struct errand_answer a = {
		.code = DDBLOCK_E_ACQUIRE_TIMEOUT, .body = "",
		.text = "it could not be read or written in time",
	};
	errand_done_fn done = f->done;
	void *done_arg = f->arg;

	(void)fd;
	(void)what;
	provider_file_stop(f);
	done(done_arg, &a);
}

static struct file_work *
file_work_new(const struct errand *e)
{
	static const char suffix[] = ".XXXXXX";
	struct file_work *w = calloc(1, sizeof(*w));
	size_t length = strlen(e->path);

	if (w == NULL)
		return NULL;
	(void)atomic_fetch_add(&file_works, 1);
	w->kind = e->kind;
	w->length_max = e->answer_max;
	w->path = strdup(e->path);
	w->temporary = malloc(length + sizeof(suffix));
	w->bytes = malloc((e->kind == ERRAND_WRITE ? e->body_length :
	    e->answer_max) + 1);
	if (w->path == NULL || w->temporary == NULL || w->bytes == NULL) {
		file_work_free(w);
		return NULL;
	}
	memcpy(w->temporary, e->path, length);
	memcpy(w->temporary + length, suffix, sizeof(suffix));
	if (e->kind == ERRAND_WRITE) {
		memcpy(w->bytes, e->body, e->body_length);
		w->length = e->body_length;
	}
	return w;
}

int
provider_file_start(struct event_base *base, const struct errand *e,
    errand_done_fn done, void *arg, struct provider_file **ret)
{
	static const struct blocking_job_work work = { file_work,
	    file_work_free };
	const struct timeval t = clock_interval(e->timeout_ms);
	struct provider_file *f = calloc(1, sizeof(*f));
	struct file_work *w;
	int r = DDBLOCK_E_NOMEM;

	if (f == NULL)
		return r;
	if (atomic_load(&file_works) >= FILE_WORKS_MAX) {
		free(f);
		return DDBLOCK_E_LIMIT;
	}
	f->done = done;
	f->arg = arg;
	f->timer = evtimer_new(base, file_on_timer, f);
	w = file_work_new(e);
	if (w != NULL)
		r = blocking_job_start(base, &work, w, file_on_done, f,
		    &f->job);
	if (r == 0 && (f->timer == NULL || evtimer_add(f->timer, &t) < 0))
		r = DDBLOCK_E_NOMEM;
	if (r < 0) {
		provider_file_stop(f);
		return r;
	}
	*ret = f;
	return 0;
}

void
provider_file_stop(struct provider_file *f)
{
	if (f == NULL)
		return;
	if (f->timer != NULL)
		event_free(f->timer);
	blocking_job_abandon(f->job);
	free(f);
}
