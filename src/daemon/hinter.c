/*
 * The daemon's hints. Nothing here may end or delay anything else: what cannot
 * be sent, or came from nobody known, is counted and forgotten.
 */
#include "daemon/hinter.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/log.h"
#include "daemon/hinter_waiting.h"
#include "ddblock.h"
#include "hints/hint_contact.h"
#include "hints/hint_met.h"
#include "hints/hint_socket.h"

#define HINTER_BIND_MS 1000	/* until an address is tried again */

_Static_assert(HINT_CONTACT_MAX <= CONTACT_TEXT_MAX + 1,
    "a store would take a contact for none");

/* One of ours. */
struct hinter_session {
	struct hinter_session *prev, *next;	/* by last use */
	struct ident id;
	uint32_t namespace_index;
	uint32_t n_operations;	/* under way, with its contact */
	bool known;		/* its item has the contact */
	char contact[HINT_CONTACT_MAX];
};

struct hinter {
	struct event_base *base;
	struct hinter_calls calls;
	void *arg;
	struct hint_address address;	/* to be bound to */
	struct hint_address public;	/* for the others */
	char public_text[HINT_ADDRESS_TEXT_MAX];
	struct hints *hints;
	struct hint_socket *socket;	/* NULL: not yet */
	bool bound_later;		/* and that was said */
	struct event *bind;
	struct event *look;		/* for hosts that are not known */
	struct hinter_session *sessions;
	uint32_t n_sessions;
	struct hint_met met;
	struct hinter_waiting waiting;
	struct event *read;		/* what could not be read before */
	bool rereading;
};

/* ---- names --------------------------------------------------------------- */

struct hint_id
hinter_id(struct ident id)
{
	struct hint_id ret;

	hint_format_write_number(id.high, ret.bytes);
	hint_format_write_number(id.low, ret.bytes + 8);
	return ret;
}

static struct ident
hinter_ident(const struct hint_id *id)
{
	return (struct ident){ hint_format_read_number(id->bytes),
		hint_format_read_number(id->bytes + 8) };
}

static const enum hint_kind hinter_kinds[] = {
	[CORE_HINT_FREED] = HINT_FREED,
	[CORE_HINT_WANTED] = HINT_WANTED,
	[CORE_HINT_BROKEN] = HINT_BROKEN,
	[CORE_HINT_CHANGED] = HINT_CHANGED,
	[CORE_HINT_WATCHING] = HINT_WATCHING,
	[CORE_HINT_USED] = HINT_USED,
};

/* ---- sessions of ours ---------------------------------------------------- */

static struct hinter_session *
hinter_find(const struct hinter *h, struct ident id)
{
	struct hinter_session *s;

	DL_FOREACH(h->sessions, s)
	{
		if (ident_equal(s->id, id))
			return s;
	}
	return NULL;
}

/* The one of this namespace that was used last, if others may know it. */
static const struct hinter_session *
hinter_own(const struct hinter *h, uint32_t namespace_index)
{
	const struct hinter_session *s, *last = NULL;

	DL_FOREACH(h->sessions, s)
	{
		if (s->namespace_index == namespace_index && s->known)
			last = s;
	}
	return last;
}

static void
hinter_forget(struct hinter *h, struct hinter_session *s)
{
	const struct hint_id id = hinter_id(s->id);

	hints_forget_session(h->hints, &id);
	DL_DELETE(h->sessions, s);
	h->n_sessions--;
	free(s);
}

/* Make room: one that nothing is under way for. */
static void
hinter_evict(struct hinter *h)
{
	struct hinter_session *s;

	DL_FOREACH(h->sessions, s)
	{
		if (s->n_operations == 0) {
			hinter_forget(h, s);
			return;
		}
	}
}

/* With a key pair of its own: a session that another process had has another
 * one from now on. NULL: it does without hints. */
static struct hinter_session *
hinter_add(struct hinter *h, struct ident id, uint32_t namespace_index)
{
	uint8_t random[HINT_KEY_BYTES], public_key[HINT_KEY_BYTES];
	const struct hint_id name = hinter_id(id);
	struct hinter_session *s;
	int r;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return NULL;
	if (h->n_sessions >= HINTS_SESSIONS_MAX)
		hinter_evict(h);
	s = calloc(1, sizeof(*s));
	r = s == NULL ? DDBLOCK_E_NOMEM :
	    hints_add_session(h->hints, &name, random, public_key);
	explicit_bzero(random, sizeof(random));
	if (r < 0) {
		free(s);
		return NULL;
	}
	s->id = id;
	s->namespace_index = namespace_index;
	hint_contact_format(&h->public, public_key, s->contact);
	DL_APPEND(h->sessions, s);
	h->n_sessions++;
	return s;
}

static bool
hinter_renews(const struct operation *o)
{
	return o->kind == OPERATION_SESSION_OPEN ||
	    o->kind == OPERATION_SESSION_BEAT;
}

void
hinter_submitting(struct hinter *h, struct operation *o)
{
	struct hinter_session *s;

	o->contact = NULL;
	if (h == NULL || h->socket == NULL || !hinter_renews(o))
		return;
	s = hinter_find(h, o->session);
	if (s == NULL)
		s = hinter_add(h, o->session, o->namespace_index);
	if (s == NULL || s->known)
		return;
	s->n_operations++;
	o->contact = s->contact;
}

/* ---- what others are told ------------------------------------------------ */

/* Now, or never; false: the other host is not known yet. */
static bool
hinter_send(struct hinter *h, const struct core_hint *hint)
{
	const struct hinter_session *own =
	    hinter_own(h, hint->namespace_index);
	const struct hint_body body = {
		.kind = hinter_kinds[hint->kind],
		.n_digests = 1,
		.digests = { hint->digest },
	};
	struct hint_id from, to;

	if (own == NULL)
		return false;
	from = hinter_id(own->id);
	to = hinter_id(hint->session);
	return hint_socket_send(h->socket, &from, &to, &body) !=
	    DDBLOCK_E_BAD_REQUEST;
}

void
hinter_perform(struct hinter *h, const struct core_hint *hint)
{
	if (hinter_send(h, hint))
		return;
	waiting_add_hint(&h->waiting, hint, clock_boot_ms());
	event_active(h->look, EV_TIMEOUT, 0);
}

/* Ask for the sessions of those that hints wait for. */
static void
hinter_on_look(evutil_socket_t fd, short what, void *arg)
{
	struct core_event event = { .type = CORE_STRANGER };
	struct hinter *h = arg;
	struct core_hint hint;

	(void)fd;
	(void)what;
	while (waiting_ask(&h->waiting, &hint)) {
		event.stranger.namespace_index = hint.namespace_index;
		event.stranger.session = hint.session;
		h->calls.step(h->arg, &event);
	}
}

/* This host is known now. */
static void
hinter_send_waiting(struct hinter *h, struct ident session)
{
	struct core_hint hint;

	while (waiting_take_hint(&h->waiting, session, clock_boot_ms(),
	    &hint))
		(void)hinter_send(h, &hint);
	if (waiting_ready(&h->waiting, session))
		event_active(h->read, EV_TIMEOUT, 0);
}

/* What of its letters cannot be read now, never can. */
static void
hinter_on_read(evutil_socket_t fd, short what, void *arg)
{
	uint8_t bytes[HINT_BYTES];
	struct hinter *h = arg;

	(void)fd;
	(void)what;
	h->rereading = true;
	while (waiting_take_letter(&h->waiting, clock_boot_ms(), bytes))
		hint_socket_again(h->socket, bytes);
	h->rereading = false;
}

/* ---- what stores say ----------------------------------------------------- */

/* To this session of ours. */
static void
hinter_introduce(struct hinter *h, const struct hinter_session *own,
    const struct hint_id *session, const char *contact)
{
	const struct hint_id id = hinter_id(own->id);
	struct hint_party peer = { .id = *session };
	struct hint_address address;

	if (hint_contact_parse(contact, &address, peer.public_key) &&
	    hints_add_peer(h->hints, &id, &peer, &address) == 0)
		hinter_send_waiting(h, hinter_ident(session));
}

static void
hinter_met(struct hinter *h, const struct operation *o,
    const struct session_record *session)
{
	const struct hinter_session *own = hinter_own(h, o->namespace_index);
	const struct hint_id id = hinter_id(o->session);

	hint_met_remember(&h->met, o->namespace_index, &id,
	    session->dead ? NULL : session->contact);
	if (own != NULL && session->contact != NULL)
		hinter_introduce(h, own, &id, session->contact);
}

/* Others may know this session of ours from now on. */
static void
hinter_known(struct hinter *h, struct hinter_session *s)
{
	const struct hint_met_host *host;
	uint32_t at = 0;

	s->known = true;
	while ((host = hint_met_next(&h->met, s->namespace_index, &at)) != NULL)
		hinter_introduce(h, s, &host->session, host->contact);
}

static void
hinter_renewed(struct hinter *h, const struct operation *o,
    const struct outcome *outcome)
{
	struct hinter_session *s = hinter_find(h, o->session);

	if (s == NULL)
		return;
	/* The one of the namespace that was used last is its own. */
	DL_DELETE(h->sessions, s);
	DL_APPEND(h->sessions, s);
	if (o->contact == NULL)
		return;
	s->n_operations--;
	if (outcome->kind == OUTCOME_DONE && !s->known)
		hinter_known(h, s);
}

void
hinter_stored(struct hinter *h, const struct operation *o,
    const struct outcome *outcome)
{
	bool answered = outcome->kind == OUTCOME_DONE ||
	    outcome->kind == OUTCOME_CONFLICT;
	struct hinter_session *s;

	if (h == NULL || o->kind < OPERATION_SESSION_OPEN)
		return;
	if (hinter_renews(o))
		hinter_renewed(h, o, outcome);
	if (!answered)
		return;
	s = hinter_find(h, o->session);
	if (s == NULL)
		hinter_met(h, o, &outcome->session);
	else if (s->n_operations == 0 && (outcome->session.dead ||
	    o->kind == OPERATION_SESSION_CLOSE))
		hinter_forget(h, s);
}

/* ---- what others say ----------------------------------------------------- */

static void
hinter_on_hint(void *arg, const struct hint *hint)
{
	struct hinter *h = arg;
	const struct hinter_session *s =
	    hinter_find(h, hinter_ident(&hint->head.receiver));
	struct core_event event = { .type = CORE_HINTED };
	uint32_t namespace_index;

	if (s == NULL)
		return;
	if (hint->body.kind == HINT_PONG) {
		h->calls.pong(h->arg, &hint->head.sender,
		    hint->body.digests[0]);
		return;
	}
	/* A step may end the session. */
	namespace_index = s->namespace_index;
	event.hinted.session = hinter_ident(&hint->head.sender);
	for (int kind = CORE_HINT_FREED; kind <= CORE_HINT_USED; kind++) {
		if (hinter_kinds[kind] != hint->body.kind)
			continue;
		for (uint8_t i = 0; i < hint->body.n_digests; i++) {
			event.hinted.namespace_index = namespace_index;
			event.hinted.kind = (enum core_hint_kind)kind;
			event.hinted.digest = hint->body.digests[i];
			h->calls.step(h->arg, &event);
		}
	}
}

static void
hinter_on_stranger(void *arg, const struct hint_head *head,
    const uint8_t bytes[HINT_BYTES])
{
	struct hinter *h = arg;
	const struct hinter_session *s =
	    hinter_find(h, hinter_ident(&head->receiver));
	struct core_event event = { .type = CORE_STRANGER };

	if (s == NULL || h->rereading)
		return;
	waiting_add_letter(&h->waiting, hinter_ident(&head->sender), bytes,
	    clock_boot_ms());
	event.stranger.namespace_index = s->namespace_index;
	event.stranger.session = hinter_ident(&head->sender);
	h->calls.step(h->arg, &event);
}

static void
hinter_on_trouble(void *arg, const char *text)
{
	(void)arg;
	log_write(LOG_WARNING, "hints", "%s", text);
}

/* ---- who hears us -------------------------------------------------------- */

bool
hinter_is_known(const struct hinter *h, uint32_t namespace_index)
{
	return hinter_own(h, namespace_index) != NULL;
}

bool
hinter_is_own(const struct hinter *h, struct ident session)
{
	return hinter_find(h, session) != NULL;
}

int
hinter_ping(struct hinter *h, uint32_t namespace_index,
    const struct hint_party *peer, const struct hint_address *address,
    uint64_t digest)
{
	const struct hinter_session *own = hinter_own(h, namespace_index);
	const struct hint_body body = {
		.kind = HINT_PING, .n_digests = 1, .digests = { digest },
	};
	struct hint_id from;
	int r;

	if (own == NULL)
		return DDBLOCK_E_BAD_REQUEST;
	from = hinter_id(own->id);
	r = hints_add_peer(h->hints, &from, peer, address);
	return r < 0 ? r :
	    hint_socket_send(h->socket, &from, &peer->id, &body);
}

/* ---- its life ------------------------------------------------------------ */

static void
hinter_bind(struct hinter *h)
{
	static const struct hint_socket_calls calls = {
		.hint = hinter_on_hint,
		.stranger = hinter_on_stranger,
		.trouble = hinter_on_trouble,
	};
	const struct timeval again = clock_interval(HINTER_BIND_MS);
	char text[256];

	if (hint_socket_new(h->base, &h->address, h->hints, &calls, h,
	    &h->socket, text, sizeof(text)) < 0) {
		if (!h->bound_later)
			log_write(LOG_WARNING, "hints", "%s; trying again, "
			    "and until then there are no hints", text);
		h->bound_later = true;
		(void)event_add(h->bind, &again);
		return;
	}
	if (h->public.port == 0)
		h->public.port = hint_socket_address(h->socket).port;
	hint_address_format(&h->public, h->public_text);
	log_write(LOG_INFO, "hints", "other hosts reach this one at %s",
	    h->public_text);
}

static void
hinter_on_bind(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	hinter_bind(arg);
}

static int
hinter_make(struct hinter *h, const struct config_daemon *d)
{
	const char *public = d->hints_address != NULL ?
	    d->hints_address : d->hints;
	struct siphash_key key;
	int r;

	if (!hint_address_parse(d->hints, strlen(d->hints), &h->address) ||
	    !hint_address_parse(public, strlen(public), &h->public))
		return DDBLOCK_E_BAD_REQUEST;
	if (getrandom(&key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return DDBLOCK_E_SYSTEM;
	r = hints_new(&hints_limits_default, &h->address, &key, &h->hints);
	if (r < 0)
		return r;
	h->bind = evtimer_new(h->base, hinter_on_bind, h);
	h->look = event_new(h->base, -1, 0, hinter_on_look, h);
	h->read = event_new(h->base, -1, 0, hinter_on_read, h);
	return h->bind == NULL || h->look == NULL || h->read == NULL ?
	    DDBLOCK_E_NOMEM : 0;
}

int
hinter_new(struct event_base *base, const struct config_daemon *d,
    const struct hinter_calls *calls, void *arg, struct hinter **ret)
{
	struct hinter *h;
	int r;

	*ret = NULL;
	if (d->hints == NULL)
		return 0;
	h = calloc(1, sizeof(*h));
	if (h == NULL)
		return DDBLOCK_E_NOMEM;
	h->base = base;
	h->calls = *calls;
	h->arg = arg;
	r = hinter_make(h, d);
	if (r < 0) {
		hinter_free(h);
		return r;
	}
	hinter_bind(h);
	*ret = h;
	return 0;
}

void
hinter_free(struct hinter *h)
{
	if (h == NULL)
		return;
	while (h->sessions != NULL)
		hinter_forget(h, h->sessions);
	hint_socket_free(h->socket);
	if (h->bind != NULL)
		event_free(h->bind);
	if (h->look != NULL)
		event_free(h->look);
	if (h->read != NULL)
		event_free(h->read);
	hints_free(h->hints);
	free(h);
}

bool
hinter_serves(const struct hinter *h, const struct config_namespace *n)
{
	return h != NULL && config_kind(n)->has_formats &&
	    n->store.format == STORE_FORMAT_NATIVE;
}

void
hinter_view(const struct hinter *h, struct hinter_view *ret)
{
	*ret = (struct hinter_view){
		.address = h->public_text,
		.own = h->address,
		.public = h->public,
		.n_peers = hints_n_peers(h->hints),
		.counters = hints_counters(h->hints),
	};
}
