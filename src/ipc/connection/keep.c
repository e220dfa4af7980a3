/*
 * Entries in the journal, for the process after this one.
 *
 * An entry is put when what it tells of changes. The change is committed with
 * the step of the core that it belongs to: so a request is there or its answer,
 * and an answer with the grant that it tells of. And it is committed before
 * anything is read or sent (wire.c), so that what the last transfer did is all
 * that the journal does not know.
 *
 * Input may be half a line with a secret, and the output of some has one: they
 * are hidden (secret.c).
 *
 * Bytes are counted from the connection's beginning. What is not run or not
 * sent yet is there in parts; mostly there are none, because a line is run when
 * it comes.
 */
#include "config.h"

#include "ipc/connection/keep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/error.h"
#include "ipc/connection/process.h"
#include "ipc/connection/secret.h"

#define KEEP_PART_MAX (16 * 1024)
#define KEEP_LINE_MAX (16 * 1024)	/* of a request that is asked again */

_Static_assert(sizeof(((struct keep_hidden *)NULL)->nonce) == SECRET_NONCE,
    "one for each");
_Static_assert(KEEP_LINE_MAX + sizeof(struct keep_request) <=
    JOURNAL_DATA_MAX && KEEP_PART_MAX + sizeof(struct keep_hidden) <=
    JOURNAL_DATA_MAX, "entries have room");

/* ---- entries ------------------------------------------------------------ */

bool
keep_put(struct server *s, journal_place *place, enum keep_kind kind,
    const void *head, size_t head_length, const void *tail,
    size_t tail_length)
{
	while (s->journal != NULL) {
		if (journal_put(s->journal, place, (uint16_t)kind, head,
		    head_length, tail, tail_length))
			return true;
		if (!s->calls.grow(s->arg))
			(void)keep_start(s, NULL);
	}
	return false;
}

void
keep_drop(struct server *s, journal_place *place)
{
	if (s->journal != NULL)
		journal_end(s->journal, place);
	*place = 0;
}

void
keep_commit(struct server *s)
{
	keep_asked(s);
	if (s->journal != NULL)
		journal_commit(s->journal);
}

/* ---- bytes -------------------------------------------------------------- */

static bool
keep_put_hidden(struct connection *c, enum keep_kind kind, struct kept_part *p,
    const char *bytes)
{
	struct keep_hidden head = { { c->client, p->from }, { 0 } };
	char turned[KEEP_PART_MAX];

	if (!secret_nonce(c->server, head.nonce) ||
	    !secret_turn(c->server, head.nonce, bytes, turned, p->length)) {
		keep_end(c);
		return false;
	}
	return keep_put(c->server, &p->place, kind == KEEP_INPUT ?
	    KEEP_HIDDEN_INPUT : KEEP_HIDDEN_OUTPUT, &head, sizeof(head),
	    turned, p->length);
}

static bool
keep_put_part(struct connection *c, enum keep_kind kind, struct kept_part *p,
    const char *bytes)
{
	const struct keep_bytes head = { .client = c->client, .from = p->from };

	if ((kind == KEEP_INPUT || c->secretive) && secret_hides(c->server))
		return keep_put_hidden(c, kind, p, bytes);
	return keep_put(c->server, &p->place, kind, &head, sizeof(head), bytes,
	    p->length);
}

/* The buffer's bytes beyond those that have entries. */
static void
keep_append(struct connection *c, enum keep_kind kind, struct kept_stream *k,
    const struct buffer *b)
{
	struct kept_part **last = &k->parts;

	while (*last != NULL)
		last = &(*last)->next;
	while (c->kept.on && k->to < k->from + b->length) {
		const size_t at = (size_t)(k->to - k->from);
		struct kept_part *p = freelist_take(&c->server->parts,
		    sizeof(*p));

		if (p == NULL) {
			keep_end(c);
			return;
		}
		*p = (struct kept_part){ .from = k->to };
		p->length = b->length - at;
		if (p->length > KEEP_PART_MAX)
			p->length = KEEP_PART_MAX;
		*last = p;
		last = &p->next;
		k->to += p->length;
		if (!keep_put_part(c, kind, p, b->data + at))
			return;
	}
}

/* Its bytes before this one are gone from the buffer. */
static void
keep_consume(struct connection *c, enum keep_kind kind, struct kept_stream *k,
    uint64_t from, const struct buffer *b)
{
	struct kept_part *p;

	k->from = from;
	if (k->to < from)
		k->to = from;
	while ((p = k->parts) != NULL && p->from + p->length <= from) {
		k->parts = p->next;
		keep_drop(c->server, &p->place);
		freelist_give(&c->server->parts, p);
	}
	if (p == NULL || p->from >= from)
		return;
	p->length -= (size_t)(from - p->from);
	p->from = from;
	(void)keep_put_part(c, kind, p, b->data);
}

static void
keep_unwatch(struct connection *c, struct kept_watch **link)
{
	struct kept_watch *w = *link;

	*link = w->next;
	keep_drop(c->server, &w->place);
	free(w);
}

static void
keep_forget(struct connection *c, struct kept_stream *k)
{
	struct kept_part *p;

	while ((p = k->parts) != NULL) {
		k->parts = p->next;
		keep_drop(c->server, &p->place);
		freelist_give(&c->server->parts, p);
	}
}

void
keep_run(struct connection *c, size_t used)
{
	struct server *s = c->server;
	struct keep_bytes head = { .client = c->client };

	if (!c->kept.on)
		return;
	head.from = c->kept.in.from + used;
	(void)keep_put(s, &s->run, KEEP_RUN, &head, sizeof(head), NULL, 0);
}

void
keep_input(struct connection *c, size_t length)
{
	struct kept_stream *in = &c->kept.in;

	if (!c->kept.on)
		return;
	keep_consume(c, KEEP_INPUT, in, in->from + length - c->in.length,
	    &c->in);
	keep_append(c, KEEP_INPUT, in, &c->in);
}

void
keep_output(struct connection *c)
{
	if (c->kept.on)
		keep_append(c, KEEP_OUTPUT, &c->kept.out, &c->out);
}

void
keep_sent(struct connection *c, size_t n)
{
	if (c->kept.on)
		keep_consume(c, KEEP_OUTPUT, &c->kept.out,
		    c->kept.out.from + n, &c->out);
}

/* ---- connections -------------------------------------------------------- */

void
keep_connection(struct connection *c)
{
	struct keep_connection head = {
		.client = c->client,
		.in_from = c->kept.in.from,
		.out_from = c->kept.out.from,
		.n_guesses = c->n_guesses,
		.renewed = c->renewed != NULL,
		.tells_restart = c->tells_restart,
		.resumes = c->resumes,
		.promises = c->promises,
		.secretive = c->secretive,
		.draining = c->draining,
		.skipping = c->skipping,
		.flags = (uint8_t)(KEEP_NAMED | (c->peer.heard &&
		    c->peer.real_uid != c->peer.uid ? KEEP_SET_USER_ID : 0) |
		    (c->peer.by_heir ? KEEP_BY_HEIR : 0)),
	};
	socklen_t length = sizeof(head.cookie);

	if (!c->kept.on)
		return;
	if (getsockopt(c->fd, SOL_SOCKET, SO_COOKIE, &head.cookie,
	    &length) < 0) {
		keep_end(c);
		return;
	}
	(void)keep_put(c->server, &c->kept.place, KEEP_CONNECTION, &head,
	    sizeof(head), c->peer.name, strlen(c->peer.name));
}

void
keep_again(struct connection *c)
{
	c->kept.on = c->server->journal != NULL;
	keep_connection(c);
	keep_append(c, KEEP_INPUT, &c->kept.in, &c->in);
	keep_output(c);
}

bool
keep_socket(struct connection *c)
{
	struct server *s = c->server;
	const uint64_t number = s->calls.keep(s->arg, c->fd, false);

	c->kept.number = number == SERVER_KEEP_LATER ? 0 : number;
	return number != 0;
}

void
keep_begin(struct connection *c)
{
	struct server *s = c->server;

	/* In the middle of something it is too late. */
	if (c->kept.on || s->journal == NULL || s->wire == NULL ||
	    c->in.length > 0 || c->out.length > 0 || c->n_pending > 0 ||
	    c->draining || c->kept.watched)
		return;
	c->kept.in = c->kept.out = (struct kept_stream){ 0 };
	keep_again(c);
	/* First the entry: a socket without one is never a new connection. */
	keep_commit(s);
	if (c->kept.number == 0 && !keep_socket(c))
		keep_end(c);
}

void
server_keep_more(struct server *s)
{
	struct connection *c;

	for (uint32_t i = 0; i < s->n_slots; i++) {
		c = s->slots[s->late_slot++ % s->n_slots];
		if (c == NULL || !c->kept.on || c->kept.number != 0)
			continue;
		if (!keep_socket(c) || c->kept.number == 0)
			return;
	}
}

void
keep_end(struct connection *c)
{
	struct pending *p;

	keep_forget(c, &c->kept.in);
	keep_forget(c, &c->kept.out);
	if (c->server->asking.connection == c)
		c->server->asking.pending = NULL;
	for (p = c->pending; p != NULL; p = p->next)
		keep_drop(c->server, &p->place);
	while (c->kept.watches != NULL)
		keep_unwatch(c, &c->kept.watches);
	keep_drop(c->server, &c->kept.place);
	c->kept.on = false;
}

/* ---- requests ----------------------------------------------------------- */

void
keep_line(struct connection *c, const char *line, size_t length)
{
	struct buffer *b = &c->server->asked;

	keep_asked(c->server);
	buffer_clear(b);
	if (c->kept.on && length <= KEEP_LINE_MAX)
		(void)buffer_append(b, line, length);
}

void
keep_no_line(struct server *s)
{
	if (s->asked.length > 0)
		explicit_bzero(s->asked.data, s->asked.length);
	buffer_clear(&s->asked);
}

static struct keep_request
keep_new_request(const struct connection *c)
{
	struct server *s = c->server;

	return (struct keep_request){
		.client = c->client,
		.serial = ++s->asked_serial,
		.asked_ms = s->again != NULL ? s->again->asked_ms :
		    clock_boot_ms(),
	};
}

void
keep_request(struct connection *c, struct pending *p, uint64_t process)
{
	struct server *s = c->server;

	if (!c->kept.on)
		return;
	keep_asked(s);
	s->asking = (struct kept_asking){ c, p, process };
}

void
keep_asked(struct server *s)
{
	const struct buffer *line = &s->asked;
	struct pending *p = s->asking.pending;
	struct keep_request head;

	if (p == NULL)
		return;
	s->asking.pending = NULL;
	head = keep_new_request(s->asking.connection);
	head.process = s->asking.process;
	head.tag_length = (uint32_t)p->tag_length;
	memcpy(head.tag, p->tag, p->tag_length);
	(void)keep_put(s, &p->place, KEEP_REQUEST, &head, sizeof(head),
	    line->data, buffer_failed(line) == 0 ? line->length : 0);
}

/* The tag is the client's again when it has the answer. */
static struct kept_watch *
keep_new_watch(const struct buffer *line, const struct core_request *q)
{
	const char *verb = line->length > 0 && line->data[0] == '#' ?
	    memchr(line->data, ' ', line->length) : line->data;
	const size_t length = verb == NULL ? 0 :
	    line->length - (size_t)(verb - line->data);
	struct kept_watch *w = calloc(1, sizeof(*w) + q->key.length + length);

	if (w == NULL)
		return NULL;
	w->namespace_index = q->namespace_index;
	w->key_length = q->key.length;
	w->line_length = length;
	memcpy(w->text, q->key.bytes, q->key.length);
	if (length > 0)
		memcpy(w->text + q->key.length, verb, length);
	while (w->line_length > 0 && w->text[q->key.length] == ' ')
		memmove(w->text + q->key.length,
		    w->text + q->key.length + 1, --w->line_length);
	return w;
}

void
keep_watch(struct connection *c, struct pending *p,
    const struct core_request *q)
{
	c->kept.watched = true;
	if (!c->kept.on)
		return;
	p->watch = keep_new_watch(&c->server->asked, q);
	if (p->watch == NULL)
		keep_end(c);
}

void
keep_watch_no_more(struct connection *c, uint32_t namespace_index,
    struct key key)
{
	struct kept_watch **link = &c->kept.watches;

	while (*link != NULL && ((*link)->namespace_index !=
	    namespace_index || (*link)->key_length != key.length ||
	    memcmp((*link)->text, key.bytes, key.length) != 0))
		link = &(*link)->next;
	if (*link != NULL)
		keep_unwatch(c, link);
}

void
keep_watched(struct connection *c, struct pending *p, bool watches)
{
	struct kept_watch *w = p->watch;
	struct keep_request head;

	if (w == NULL)
		return;
	keep_watch_no_more(c, w->namespace_index,
	    (struct key){ w->text, w->key_length });
	if (!watches || !c->kept.on)
		return;
	p->watch = NULL;
	w->next = c->kept.watches;
	c->kept.watches = w;
	head = keep_new_request(c);
	head.answered = 1;
	(void)keep_put(c->server, &w->place, KEEP_REQUEST, &head,
	    sizeof(head), w->text + w->key_length, w->line_length);
}

/* ---- another journal ---------------------------------------------------- */

/* Of the one before: what was there is nowhere. */
static void
keep_forget_all(struct server *s)
{
	struct process *p, *next;

	s->journal = NULL;
	s->run = 0;
	HASH_ITER(hh, s->processes, p, next)
	{
		p->place = 0;
	}
	for (uint32_t i = 0; i < s->n_slots; i++) {
		if (s->slots[i] != NULL)
			keep_end(s->slots[i]);
	}
}

int
keep_start(struct server *s, struct journal *journal)
{
	struct process *p, *next;

	keep_forget_all(s);
	s->journal = journal;
	HASH_ITER(hh, s->processes, p, next)
	{
		process_keep(p);
	}
	return journal == NULL || s->journal != NULL ? 0 : DDBLOCK_E_LIMIT;
}
