/*
 * Performs what identity.h wishes inside the event loop.
 */
#include "identity/provider.h"

#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "aws/scrub.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/ignored.h"
#include "identity/provider_fetch.h"
#include "identity/provider_file.h"
#include "identity/provider_run.h"

/* The loop's timers stand still while the host sleeps, and the wall clock may
 * be set: look again so often, though there be nothing to do. */
#define PROVIDER_LOOK_MS 30000
#define PROVIDER_TEXT_MAX 256

struct provider_listener {
	TAILQ_ENTRY(provider_listener) link;
	provider_heard_fn heard;
	void *arg;
};

struct provider {
	struct event_base *base;
	struct identity *identity;
	struct event *timer;	/* until the next wake, or a failure's turn */
	int64_t difference_ms;	/* the endpoint's clock - the host's */
	TAILQ_HEAD(, provider_listener) listeners;

	/* One errand at a time, by one of these. */
	const struct errand *errand;	/* under way; or NULL */
	struct provider_fetch *fetch;
	struct provider_file *file;
	struct provider_run *run;
	int failure;		/* it did not begin: told by the timer; or 0 */
	char failure_text[PROVIDER_TEXT_MAX];
	bool curl;		/* to be done with */
};

static void provider_follow(struct provider *p, struct identity_step *step);

static uint64_t
provider_wall_ms(const struct provider *p)
{
	return (uint64_t)((int64_t)clock_wall_ms() + p->difference_ms);
}

static struct identity_now
provider_now(const struct provider *p)
{
	struct identity_now now = {
		.boot_ms = clock_boot_ms(), .wall_ms = provider_wall_ms(p),
	};

	/* Without: it waits as long as other daemons. */
	ignored(getrandom(&now.random, sizeof(now.random), GRND_NONBLOCK));
	return now;
}

static void
provider_on_done(void *arg, const struct errand_answer *answer)
{
	struct provider *p = arg;
	struct identity_now now = provider_now(p);
	struct identity_step step;

	p->errand = NULL;
	p->fetch = NULL;
	p->file = NULL;
	p->run = NULL;
	identity_answer(p->identity, &now, answer, &step);
	provider_follow(p, &step);
}

static void
provider_set_timer(struct provider *p, uint64_t wait_ms)
{
	struct timeval t;

	if (wait_ms > PROVIDER_LOOK_MS)
		wait_ms = PROVIDER_LOOK_MS;
	t = clock_interval(wait_ms);
	(void)evtimer_add(p->timer, &t);
}

static void
provider_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct provider *p = arg;
	struct identity_now now = provider_now(p);
	struct identity_step step;

	(void)fd;
	(void)what;
	if (p->failure != 0) {
		const struct errand_answer a = {
			.code = p->failure, .body = "",
			.text = p->failure_text,
		};

		p->failure = 0;
		provider_on_done(p, &a);
		return;
	}
	if (p->errand != NULL)
		return;
	identity_wake(p->identity, &now, &step);
	provider_follow(p, &step);
}

/* 0, or why it cannot even begin. */
static int
provider_begin(struct provider *p, const struct errand *e,
    const char **ret_text)
{
	switch (e->kind) {
	case ERRAND_READ:
	case ERRAND_WRITE:
		return provider_file_start(p->base, e, provider_on_done, p,
		    &p->file);
	case ERRAND_FETCH:
		return provider_fetch_start(p->base, e, provider_now(p).wall_ms
		    / 1000, provider_on_done, p, &p->fetch);
	case ERRAND_RUN:
		return provider_run_start(p->base, e, provider_on_done, p,
		    &p->run, ret_text);
	case ERRAND_NONE:
		break;
	}
	assert(e->kind != ERRAND_NONE);
	return DDBLOCK_E_INTERNAL;
}

static void
provider_perform(struct provider *p, const struct errand *e)
{
	const char *text = NULL;
	int r;

	assert(p->errand == NULL);
	p->errand = e;
	r = provider_begin(p, e, &text);
	if (r == 0) {
		(void)event_del(p->timer);
		return;
	}
	p->failure = r;
	(void)snprintf(p->failure_text, sizeof(p->failure_text), "%s",
	    text != NULL ? text : error_text(r));
	provider_set_timer(p, 0);
}

static void
provider_tell(struct provider *p, bool changed)
{
	struct provider_listener *l, *next;

	for (l = TAILQ_FIRST(&p->listeners); l != NULL; l = next) {
		next = TAILQ_NEXT(l, link);
		l->heard(l->arg, changed);
	}
}

static void
provider_follow(struct provider *p, struct identity_step *step)
{
	uint64_t now_ms = clock_boot_ms();

	if (step->errand != NULL && p->errand == NULL)
		provider_perform(p, step->errand);
	else if (p->errand == NULL)
		provider_set_timer(p, step->wake_ms > now_ms ?
		    step->wake_ms - now_ms : 0);
	if (step->changed || step->errand == NULL)
		provider_tell(p, step->changed);
}

int
provider_new(struct event_base *base, const struct identity_config *config,
    struct provider **ret)
{
	struct provider *p = calloc(1, sizeof(*p));
	struct identity_step step;
	struct identity_now now;
	int r;

	if (p == NULL)
		return DDBLOCK_E_NOMEM;
	p->base = base;
	TAILQ_INIT(&p->listeners);
	p->timer = evtimer_new(base, provider_on_timer, p);
	r = p->timer == NULL ? DDBLOCK_E_NOMEM : scrub_libcurl();
	p->curl = r == 0;
	if (r == 0)
		r = identity_new(config, &p->identity);
	if (r < 0) {
		provider_free(p);
		return r;
	}
	now = provider_now(p);
	identity_start(p->identity, &now, &step);
	provider_follow(p, &step);
	*ret = p;
	return 0;
}

void
provider_free(struct provider *p)
{
	if (p == NULL)
		return;
	assert(TAILQ_EMPTY(&p->listeners));
	provider_fetch_stop(p->fetch);
	provider_file_stop(p->file);
	provider_run_stop(p->run);
	if (p->timer != NULL)
		event_free(p->timer);
	identity_free(p->identity);
	if (p->curl)
		scrub_libcurl_done();
	free(p);
}

int
provider_listen(struct provider *p, provider_heard_fn heard, void *arg,
    struct provider_listener **ret)
{
	struct provider_listener *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return DDBLOCK_E_NOMEM;
	l->heard = heard;
	l->arg = arg;
	TAILQ_INSERT_TAIL(&p->listeners, l, link);
	*ret = l;
	return 0;
}

void
provider_unlisten(struct provider *p, struct provider_listener *l)
{
	if (l == NULL)
		return;
	TAILQ_REMOVE(&p->listeners, l, link);
	free(l);
}

uint32_t
provider_listeners(const struct provider *p)
{
	const struct provider_listener *l;
	uint32_t n = 0;

	TAILQ_FOREACH(l, &p->listeners, link)
		n++;
	return n;
}

void
provider_view(const struct provider *p, struct identity_view *ret)
{
	identity_view(p->identity, provider_wall_ms(p), ret);
}

void
provider_rejected(struct provider *p, const struct credentials *used)
{
	struct identity_now now = provider_now(p);
	struct identity_step step;

	identity_rejected(p->identity, &now, used, &step);
	provider_follow(p, &step);
}

void
provider_set_clock(struct provider *p, int64_t difference_ms)
{
	p->difference_ms = difference_ms;
}
