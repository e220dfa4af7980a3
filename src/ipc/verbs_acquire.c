/*
 * ACQUIRE and TRY: on which terms a lock is asked for.
 */
#include <signal.h>
#include <string.h>

#include "common/error.h"
#include "ipc/connection.h"
#include "ipc/process.h"

#define ACQUIRE_POLL_MIN_MS 10

_Static_assert(TOGETHER_MAX == DDBLOCK_KEYS_MAX,
    "the header tells callers of the library how many keys there may be");

/* ---- one argument each ------------------------------------------------ */

/* One of two words: is it the other one? */
static int
acquire_either(struct connection *c, const struct codec_text *text,
    const char *name, const char *one, const char *other, bool *ret)
{
	*ret = codec_is(text, other);
	if (*ret || codec_is(text, one))
		return 0;
	return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "%s is %s or %s", name,
	    one, other);
}

static int
acquire_mode(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	bool shared;
	int r = acquire_either(c, text, "mode", "exclusive", "shared",
	    &shared);

	q->terms.mode = shared ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE;
	return r;
}

int
verbs_limit(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	uint64_t limit;

	if (!codec_parse_number(text->bytes, text->length, &limit) ||
	    limit == 0 || limit > CORE_LIMIT_MAX)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "limit is how "
		    "many may share the lock, 1 to %d; without it, any number "
		    "may", CORE_LIMIT_MAX);
	q->terms.limit = (uint32_t)limit;
	return 0;
}

static int
acquire_wait(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	if (!codec_is(text, "forever"))
		return verbs_duration(c, text, "wait", &q->wait_ms);
	q->wait_ms = CORE_FOREVER;
	return 0;
}

static int
acquire_poll(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	int r = verbs_duration(c, text, "poll", &q->poll_ms);

	if (r == 0 && q->poll_ms < ACQUIRE_POLL_MIN_MS)
		r = verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "poll is at least %dms", ACQUIRE_POLL_MIN_MS);
	return r;
}

static int
acquire_policy(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	int r = acquire_either(c, text, "policy", "fail-open", "fail-closed",
	    &q->terms.fail_closed);

	q->fail_open = r == 0 && !q->terms.fail_closed;
	return r;
}

/* A time, and not none. */
static int
acquire_time(struct connection *c, const struct codec_text *text,
    const char *name, uint64_t *ret_ms)
{
	int r = verbs_duration(c, text, name, ret_ms);

	if (r == 0 && *ret_ms == 0)
		r = verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "%s is more than 0s", name);
	return r;
}

static int
acquire_max_hold(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	return acquire_time(c, text, "max_hold", &q->terms.max_hold_ms);
}

static int
acquire_keepalive(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	int r = acquire_time(c, text, "keepalive", &q->terms.keepalive_ms);

	if (r == 0)
		c->promises = true;
	return r;
}

static int
acquire_danger(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	if (!codec_is(text, "never"))
		return acquire_time(c, text, "danger", &q->terms.danger_ms);
	q->terms.danger_ms = CORE_FOREVER;
	return 0;
}

static int
acquire_only_if_exists(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	return verbs_boolean(c, text, "only_if_exists", &q->only_if_exists);
}

static int
acquire_renew(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	return acquire_either(c, text, "renew", "auto", "manual",
	    &q->terms.manual);
}

static int
acquire_reentrant(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	return verbs_boolean(c, text, "reentrant", &q->terms.reentrant);
}

static int
acquire_on_close(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	return acquire_either(c, text, "on_close", "release", "lease",
	    &q->terms.stays);
}

/* It goes into the record, and is shown to people. */
static int
acquire_owner(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	if (text->length == 0 || text->length > OWNER_LENGTH_MAX ||
	    !codec_is_line(text->bytes, text->length))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "the owner is "
		    "one line of UTF-8 text, 1 to %d bytes",
		    OWNER_LENGTH_MAX);
	q->owner = text->bytes;	/* a NUL follows */
	q->named = true;
	return 0;
}

static int
acquire_linger(struct connection *c, const struct codec_text *text,
    struct core_request *q)
{
	const struct server *s = c->server;
	int r = acquire_time(c, text, "linger", &q->terms.linger_ms);

	if (r < 0)
		return r;
	c->secretive = true;
	q->user = c->peer.uid;
	r = s->calls.secret(s->arg, &q->secret);
	return r == 0 ? 0 :
	    verbs_reason(c, r, "there are no random bits for a secret");
}

/* One key, or several of them; they come first. */
static int
acquire_keys(struct connection *c, const struct codec_line *l,
    struct core_request *q, struct key keys[TOGETHER_MAX],
    char names[TOGETHER_MAX][KEY_BYTES_MAX])
{
	uint32_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n_arguments; i++) {
		if (l->arguments[i].name.length > 0)
			continue;
		if (i > n)
			return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
			    "several keys come one after the other");
		r = verbs_name(c, l, &l->arguments[i].value,
		    q->namespace_index, names[n], &keys[n]);
		for (uint32_t j = 0; r == 0 && j < n; j++) {
			if (key_equal(keys[j], keys[n]))
				r = verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
				    "the key \"%.60s\" is given twice",
				    keys[n].bytes);
		}
		n++;
	}
	q->key = keys[0];
	if (n > 1) {
		q->keys = keys;
		q->n_keys = n;
	}
	return r;
}

/* Which of them a verb takes, the table of verbs says. */
static const struct {
	const char *name;
	int (*parse)(struct connection *, const struct codec_text *,
	    struct core_request *);
} acquire_arguments[] = {
	{ "mode", acquire_mode },
	{ "limit", verbs_limit },
	{ "wait", acquire_wait },
	{ "poll", acquire_poll },
	{ "policy", acquire_policy },
	{ "max_hold", acquire_max_hold },
	{ "keepalive", acquire_keepalive },
	{ "danger", acquire_danger },
	{ "only_if_exists", acquire_only_if_exists },
	{ "renew", acquire_renew },
	{ "reentrant", acquire_reentrant },
	{ "on_close", acquire_on_close },
	{ "owner", acquire_owner },
	{ "linger", acquire_linger },
};

/* ---- all of them ------------------------------------------------------ */

static int
acquire_parse(struct connection *c, const struct codec_line *l,
    struct core_request *q)
{
	const size_t n =
	    sizeof(acquire_arguments) / sizeof(acquire_arguments[0]);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct codec_text *text =
		    codec_find(l, acquire_arguments[i].name);

		if (text != NULL)
			r = acquire_arguments[i].parse(c, text, q);
	}
	return r;
}

/* Do they contradict each other? */
static int
acquire_agree(struct connection *c, const struct core_request *q)
{
	if (q->terms.limit > 0 && q->terms.mode != LOCK_MODE_SHARED)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "limit goes "
		    "with mode=shared; exclusive use has one holder anyway");
	if (q->change != NULL && q->terms.mode == LOCK_MODE_SHARED)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "who shares a "
		    "lock reads what is kept in it; to change it takes "
		    "exclusive use");
	if (q->n_keys > 0 &&
	    (q->terms.fail_closed || core_terms_are_own(&q->terms)))
		return verbs_reason(c, DDBLOCK_E_UNSUPPORTED,
		    "policy=fail-closed, max_hold, keepalive, danger, "
		    "renew=manual, reentrant and on_close=lease go with one "
		    "key");
	if (q->n_keys > 0 && (q->change != NULL || q->only_if_exists))
		return verbs_reason(c, DDBLOCK_E_UNSUPPORTED, "what is kept "
		    "in a lock is asked for and changed with one key");
	return 0;
}

/* For the process that was passed with it, which is told of a loss by a
 * signal. */
static int
acquire_process(struct connection *c, const struct codec_line *l,
    struct core_request *q)
{
	const struct codec_text *text = codec_find(l, "process");
	const struct codec_text *number = codec_find(l, "signal");
	uint64_t signal = SIGTERM;
	bool process = false;
	int r = text == NULL ? 0 :
	    verbs_boolean(c, text, "process", &process);

	if (r == 0 && number != NULL && (!process ||
	    !codec_parse_number(number->bytes, number->length, &signal) ||
	    signal >= NSIG))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "signal is the "
		    "number of the signal that tells the process of "
		    "process=yes of a loss, or 0 for none");
	if (r < 0 || !process)
		return r;
	return process_take(c, (int)signal, &q->terms.process);
}

/* What it wants to hear while it waits. */
static int
acquire_report(struct connection *c, const struct codec_line *l, bool *ret)
{
	const struct codec_text *text = codec_find(l, "report");

	*ret = text != NULL;
	if (text == NULL || codec_is(text, "queue"))
		return 0;
	return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
	    "report is queue: a place in line");
}

static int
acquire_ask(struct connection *c, const struct codec_line *l,
    struct core_event *event, bool reports)
{
	struct pending *p;
	int r = verbs_ask(c, l, event);

	/* It may have been answered already. */
	p = r == 0 && reports ? pending_find(c, c->requests) : NULL;
	if (p != NULL)
		report_begin(c, p);
	return r;
}

static int
acquire_lock(struct connection *c, const struct codec_line *l, bool waits)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *q = &event.request;
	char owner[OWNER_LENGTH_MAX + 1];
	struct verbs_change change;
	bool reports = false;
	struct key keys[TOGETHER_MAX];
	char names[TOGETHER_MAX][KEY_BYTES_MAX];
	int r;

	q->verb = CORE_ACQUIRE;
	q->terms.mode = LOCK_MODE_EXCLUSIVE;
	r = verbs_namespace(c, l, &q->namespace_index);
	if (r == 0 && waits)
		q->wait_ms = c->server->calls.defaults(c->server->arg,
		    q->namespace_index).wait_ms;
	if (r == 0)
		r = acquire_keys(c, l, q, keys, names);
	if (r == 0)
		r = acquire_parse(c, l, q);
	if (r == 0)
		r = verbs_change(c, l, &change, &q->change);
	if (r == 0)
		r = acquire_agree(c, q);
	if (r == 0)
		r = acquire_report(c, l, &reports);
	if (r == 0)
		r = acquire_process(c, l, q);
	if (r < 0)
		return r;
	(void)server_owner(c->server, q->namespace_index, c, owner);
	if (!q->named)
		q->owner = owner;
	r = acquire_ask(c, l, &event, reports);
	if (r < 0)
		process_drop(c->server, q->terms.process);
	explicit_bzero(&q->secret, sizeof(q->secret));
	return r;
}

int
verbs_acquire(struct connection *c, const struct codec_line *l)
{
	return acquire_lock(c, l, true);
}

int
verbs_try(struct connection *c, const struct codec_line *l)
{
	return acquire_lock(c, l, false);
}
