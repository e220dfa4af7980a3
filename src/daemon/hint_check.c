/*
 * The part of CHECK that is about hints. See hint_check.h.
 *
 * A key is derived for each host that is asked, so some are asked in a turn of
 * the loop, and others than this client are served between.
 */
#include "daemon/hint_check.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/clock.h"
#include "common/error.h"
#include "daemon/hinter.h"
#include "ddblock.h"
#include "hints/hint_findings.h"
#include "hints/hint_round.h"

#define CHECK_TURN 8		/* hosts */
#define CHECK_AGAIN_MS 300	/* until silent hosts are asked again */
#define CHECK_END_MS 700	/* after that */

struct hint_check {
	struct hint_check_config config;
	store_finding_fn found;
	void *arg;
	struct hint_check **owner;
	struct event *timer;
	unsigned try;		/* that is being asked, */
	uint32_t next;		/* from this host on */
	struct hint_findings_table table;
	struct hint_round round;
	struct finding finding;
};

void
hint_check_free(struct hint_check *k)
{
	if (k == NULL)
		return;
	if (k->timer != NULL)
		event_free(k->timer);
	free(k);
}

static void
hint_check_end(struct hint_check *k)
{
	store_finding_fn found = k->found;
	void *arg = k->arg;

	/* What follows may begin another one. */
	*k->owner = NULL;
	hint_check_free(k);
	found(arg, NULL);
}

static void
hint_check_tell(struct hint_check *k)
{
	k->found(k->arg, &k->finding);
}

static void
hint_check_conclude(struct hint_check *k)
{
	if (hint_findings_heard(&k->round, &k->table, &k->finding))
		hint_check_tell(k);
	if (hint_findings_refused(&k->round, &k->finding))
		hint_check_tell(k);
	hint_check_end(k);
}

static void
hint_check_arm(struct hint_check *k, uint64_t ms)
{
	const struct timeval t = clock_interval(ms);

	if (event_add(k->timer, &t) < 0)
		event_active(k->timer, EV_TIMEOUT, 0);
}

/* ---- asking -------------------------------------------------------------- */

static void
hint_check_ask(struct hint_check *k, uint32_t peer, unsigned try)
{
	const struct hint_round_peer *p = &k->round.peers[peer];
	int r = hinter_ping(k->config.hinter, k->config.namespace_index,
	    &p->party, &p->address, hint_round_digest(&k->round, peer, try));

	hint_round_sent(&k->round, peer, try, r, clock_boot_us());
}

/* Some more hosts. False: there is none left. */
static bool
hint_check_ask_some(struct hint_check *k)
{
	int n = 0;

	for (; k->next < k->round.n && n < CHECK_TURN; k->next++) {
		if (!hint_round_wants(&k->round, k->next, k->try))
			continue;
		hint_check_ask(k, k->next, k->try);
		n++;
	}
	return k->next < k->round.n;
}

static void
hint_check_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct hint_check *k = arg;

	(void)fd;
	(void)what;
	if (hint_round_is_over(&k->round) || k->try == HINT_ROUND_TRIES) {
		hint_check_conclude(k);
		return;
	}
	if (hint_check_ask_some(k)) {
		hint_check_arm(k, 0);
		return;
	}
	k->next = 0;
	k->try++;
	hint_check_arm(k, k->try < HINT_ROUND_TRIES ? CHECK_AGAIN_MS :
	    CHECK_END_MS);
}

void
hint_check_heard(struct hint_check *k, const struct hint_id *sender,
    uint64_t digest)
{
	uint32_t again;

	if (k == NULL)
		return;
	again = hint_round_heard(&k->round, sender, digest, clock_boot_us());
	if (again != HINT_ROUND_NOBODY)
		hint_check_ask(k, again, HINT_ROUND_TRIES - 1);
	if (hint_round_is_over(&k->round))
		event_active(k->timer, EV_TIMEOUT, 0);
}

/* ---- which hosts there are ----------------------------------------------- */

static void
hint_check_on_session(void *arg, const struct store_session *session)
{
	struct hint_check *k = arg;
	const struct hint_round_session s = {
		.id = hinter_id(session->id),
		.contact = session->contact,
		.host = session->host,
		.expired = session->expired,
	};

	if (!hinter_is_own(k->config.hinter, session->id))
		hint_round_add(&k->round, &s);
}

static void
hint_check_on_sessions(void *arg, const struct store_sessions_end *end)
{
	struct hint_check *k = arg;

	if (end->code != 0) {
		hint_findings_unlisted(end->code, end->text, &k->finding);
		hint_check_tell(k);
		hint_check_end(k);
		return;
	}
	k->table = (struct hint_findings_table){ end->all, end->n_examined };
	hint_check_arm(k, 0);
}

/* Why nothing can be asked; false: it can. */
static bool
hint_check_cannot(struct hint_check *k, const struct hinter_view *v)
{
	if (v->address[0] == '\0')
		hint_findings_unbound(&k->finding);
	else if (!hinter_is_known(k->config.hinter,
	    k->config.namespace_index))
		hint_findings_unknown(&k->finding);
	else
		return false;
	hint_check_tell(k);
	hint_check_end(k);
	return true;
}

static int
hint_check_begin(struct hint_check *k)
{
	static const struct store_sessions_calls calls = {
		.session = hint_check_on_session,
		.ended = hint_check_on_sessions,
	};
	struct hinter_view v;
	uint64_t digest;

	hinter_view(k->config.hinter, &v);
	if (hint_check_cannot(k, &v))
		return 0;
	if (getrandom(&digest, sizeof(digest), 0) != (ssize_t)sizeof(digest))
		return DDBLOCK_E_SYSTEM;
	hint_round_init(&k->round, &v.own, &v.public, k->config.host, digest);
	return store_sessions(k->config.store, &calls, k);
}

int
hint_check_start(const struct hint_check_config *config,
    store_finding_fn found, void *arg, struct hint_check **ret)
{
	struct hint_check *k = calloc(1, sizeof(*k));
	int r = DDBLOCK_E_NOMEM;

	if (k == NULL)
		return r;
	k->config = *config;
	k->found = found;
	k->arg = arg;
	k->owner = ret;
	k->timer = evtimer_new(config->base, hint_check_on_timer, k);
	*ret = k;
	if (k->timer != NULL)
		r = hint_check_begin(k);
	if (r < 0) {
		*ret = NULL;
		hint_check_free(k);
	}
	return r;
}
