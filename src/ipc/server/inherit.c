/*
 * What the process before this one left: its connections go on where they were.
 *
 * The journal says what is left to run and to send, but for the last read and
 * the last write, which the wire's memory has (connection/wire.c). Input is run
 * as if it had just come. A request without an answer is asked again, in the
 * order of the first asking, with what is left of its wait; one that cannot be
 * asked twice is answered with an error that says so.
 *
 * Nothing in the journal is believed to make sense: what does not is left out.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>

#include "common/error.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/process.h"
#include "ipc/connection/wire.h"
#include "ipc/server/room.h"

/* An entry that is about a connection; its data is in the old journal. */
struct inherit_entry {
	uint64_t client;
	uint64_t order;		/* among those of its kind and client */
	struct journal_entry entry;
};

/* A request to be asked again. */
struct inherit_request {
	struct keep_request head;
	journal_place place;	/* in our own journal, until then */
	size_t length;
	char *line;
};

struct inherit_process {
	uint64_t client;
	uint64_t number;
};

struct inheritance {
	struct inherit_entry *entries[KEEP_PROCESS - KEEP_CONNECTION + 1];
	size_t n_entries[KEEP_PROCESS - KEEP_CONNECTION + 1];
	struct keep_bytes run;
	struct wire_transfer read, sent;
	char text[SERVER_CHUNK_SIZE];
	struct inherit_request *requests;
	size_t n_requests;
	struct inherit_process *ended;	/* processes */
	size_t n_ended;
};

/* ---- the old journal ---------------------------------------------------- */

static size_t
inherit_head_length(unsigned kind)
{
	static const size_t lengths[] = {
		[KEEP_CONNECTION - KEEP_CONNECTION] =
		    sizeof(struct keep_connection),
		[KEEP_INPUT - KEEP_CONNECTION] = sizeof(struct keep_bytes),
		[KEEP_OUTPUT - KEEP_CONNECTION] = sizeof(struct keep_bytes),
		[KEEP_RUN - KEEP_CONNECTION] = sizeof(struct keep_bytes),
		[KEEP_REQUEST - KEEP_CONNECTION] = sizeof(struct keep_request),
		[KEEP_PROCESS - KEEP_CONNECTION] = sizeof(struct keep_process),
	};

	return kind < KEEP_CONNECTION || kind > KEEP_PROCESS ? SIZE_MAX :
	    lengths[kind - KEEP_CONNECTION];
}

/* What entries of a kind are found by. */
static uint64_t
inherit_order(const struct journal_entry *e)
{
	switch (e->kind) {
	case KEEP_CONNECTION:
		return ((const struct keep_connection *)e->data)->cookie;
	case KEEP_REQUEST:
		return ((const struct keep_request *)e->data)->serial;
	case KEEP_PROCESS:
		return ((const struct keep_process *)e->data)->number;
	default:
		return ((const struct keep_bytes *)e->data)->from;
	}
}

static bool
inherit_note(struct inheritance *in, const struct journal_entry *e)
{
	const size_t k = (size_t)e->kind - KEEP_CONNECTION;
	struct inherit_entry *list = in->entries[k];
	const size_t n = in->n_entries[k];

	if ((n & (n - 1)) == 0) {
		list = reallocarray(list, n == 0 ? 1 : 2 * n, sizeof(*list));
		if (list == NULL)
			return false;
		in->entries[k] = list;
	}
	list[n].entry = *e;
	list[n].order = inherit_order(e);
	/* All kinds begin with it, but for processes. */
	memcpy(&list[n].client, e->data, sizeof(list[n].client));
	in->n_entries[k]++;
	return true;
}

static int
inherit_by_order(const void *a, const void *b)
{
	const struct inherit_entry *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static int
inherit_by_client(const void *a, const void *b)
{
	const struct inherit_entry *x = a, *y = b;

	if (x->client != y->client)
		return x->client > y->client ? 1 : -1;
	return inherit_by_order(a, b);
}

static int
inherit_read(struct inheritance *in, const struct server_legacy *legacy)
{
	struct journal_entry e = { 0 };

	while (journal_read(legacy->journal, legacy->journal_size, &e)) {
		if (e.length >= inherit_head_length(e.kind) &&
		    !inherit_note(in, &e))
			return DDBLOCK_E_NOMEM;
	}
	for (unsigned kind = KEEP_CONNECTION; kind <= KEEP_PROCESS; kind++) {
		const size_t k = kind - KEEP_CONNECTION;

		if (in->n_entries[k] > 0)
			qsort(in->entries[k], in->n_entries[k],
			    sizeof(struct inherit_entry),
			    kind == KEEP_INPUT || kind == KEEP_OUTPUT ?
			    inherit_by_client : inherit_by_order);
	}
	if (in->n_entries[KEEP_RUN - KEEP_CONNECTION] == 1)
		memcpy(&in->run, in->entries[KEEP_RUN - KEEP_CONNECTION]
		    ->entry.data, sizeof(in->run));
	return 0;
}

/* ---- bytes -------------------------------------------------------------- */

/* These bytes are the stream's from there on: append what is new of them. */
static bool
inherit_append(struct buffer *b, uint64_t start, uint64_t from,
    const char *bytes, size_t length)
{
	const uint64_t end = start + b->length;

	if (from + length <= end)
		return true;
	if (from > end)
		return false;	/* there is a gap */
	return buffer_append(b, bytes + (end - from),
	    (size_t)(from + length - end)) == 0;
}

/* The first of this client's; NULL: there is none. */
static const struct inherit_entry *
inherit_first(const struct inheritance *in, enum keep_kind kind,
    uint64_t client)
{
	const struct inherit_entry *list = in->entries[kind - KEEP_CONNECTION];
	size_t low = 0, high = in->n_entries[kind - KEEP_CONNECTION];

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (list[middle].client < client)
			low = middle + 1;
		else
			high = middle;
	}
	return low < in->n_entries[kind - KEEP_CONNECTION] &&
	    list[low].client == client ? &list[low] : NULL;
}

/* What the buffer had: from @start on, which no part precedes. */
static bool
inherit_bytes(const struct inheritance *in, enum keep_kind kind,
    uint64_t client, uint64_t start, struct buffer *b)
{
	const size_t k = (size_t)kind - KEEP_CONNECTION;
	const struct inherit_entry *e = inherit_first(in, kind, client);

	for (; e != NULL && e < in->entries[k] + in->n_entries[k] &&
	    e->client == client; e++) {
		const struct keep_bytes *head = e->entry.data;

		if (!inherit_append(b, start, head->from,
		    (const char *)(head + 1),
		    e->entry.length - sizeof(*head)))
			return false;
	}
	return true;
}

static uint64_t
inherit_start(const struct inheritance *in, enum keep_kind kind,
    uint64_t client, uint64_t at_least)
{
	const struct inherit_entry *e = inherit_first(in, kind, client);

	return e != NULL && e->order > at_least ? e->order : at_least;
}

static bool
inherit_input(struct connection *c, const struct inheritance *in,
    uint64_t start)
{
	const struct wire_transfer *read = &in->read;

	start = inherit_start(in, KEEP_INPUT, c->client, start);
	if (in->run.client == c->client && in->run.from > start)
		start = in->run.from;
	/* Without any other trace of it, that is where its input begins. */
	if (read->client == c->client && read->from > start &&
	    inherit_first(in, KEEP_INPUT, c->client) == NULL)
		start = read->from;
	c->kept.in.from = c->kept.in.to = start;
	return inherit_bytes(in, KEEP_INPUT, c->client, start, &c->in) &&
	    (read->client != c->client || inherit_append(&c->in, start,
	    read->from, read->data, read->length));
}

static bool
inherit_output(struct connection *c, const struct inheritance *in,
    uint64_t start)
{
	const struct wire_transfer *sent = &in->sent;

	start = inherit_start(in, KEEP_OUTPUT, c->client, start);
	if (sent->client == c->client && sent->from + sent->length > start)
		start = sent->from + sent->length;
	c->kept.out.from = c->kept.out.to = start;
	return inherit_bytes(in, KEEP_OUTPUT, c->client, start, &c->out);
}

/* ---- connections -------------------------------------------------------- */

static bool
inherit_settings(struct connection *c, const struct keep_connection *head)
{
	c->n_guesses = head->n_guesses;
	c->tells_restart = head->tells_restart != 0;
	c->resumes = head->resumes != 0;
	c->promises = head->promises != 0;
	c->secretive = head->secretive != 0;
	c->draining = head->draining != 0;
	c->skipping = head->skipping != 0;
	c->in_core = true;
	if (head->renewed != 0)
		c->renewed = calloc(CORE_NAMESPACES_MAX, sizeof(*c->renewed));
	return head->renewed == 0 || c->renewed != NULL;
}

static void
inherit_tell(struct connection *c)
{
	struct buffer *b;

	if (!c->tells_restart)
		return;
	b = connection_out(c);
	codec_begin(b, NULL, "!RESTARTED");
	codec_text_value(b, "version", c->server->version);
	codec_end(b, NULL);
	connection_queued(c);
}

/* Go on with this one. False: it is not taken. */
static bool
inherit_connection(struct server *s, const struct inheritance *in,
    const struct journal_entry *e, int fd)
{
	const struct keep_connection *head = e->data;
	struct connection *c;

	if (connection_new(s, fd, head->client, &c) < 0)
		return false;
	c->kept.number = KEPT_BEFORE;
	if (!inherit_settings(c, head) ||
	    !inherit_input(c, in, head->in_from) ||
	    !inherit_output(c, in, head->out_from) ||
	    peer_rename(&c->peer, (const char *)(head + 1),
	    e->length - sizeof(*head)) < 0) {
		connection_cut(c, "what it said before this process began is "
		    "not known");
		return true;
	}
	c->has_lines = c->in.length > 0 && !c->draining;
	keep_again(c);
	inherit_tell(c);
	server_schedule(s, c);
	return true;
}

static const struct inherit_entry *
inherit_find(const struct inheritance *in, int fd)
{
	struct inherit_entry wanted = { 0 };
	socklen_t length = sizeof(wanted.order);

	if (in->n_entries[0] == 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_COOKIE, &wanted.order, &length) < 0)
		return NULL;
	return bsearch(&wanted, in->entries[0], in->n_entries[0],
	    sizeof(wanted), inherit_by_order);
}

static uint32_t
inherit_connections(struct server *s, const struct inheritance *in,
    struct server_legacy *legacy)
{
	uint32_t n = 0;

	for (size_t i = 0; i < legacy->n_connections; i++) {
		const struct inherit_entry *e =
		    inherit_find(in, legacy->connections[i]);

		if (e == NULL || !inherit_connection(s, in, &e->entry,
		    legacy->connections[i]))
			continue;
		legacy->connections[i] = -1;
		n++;
	}
	return n;
}

/* ---- requests and processes --------------------------------------------- */

/* Until it is asked again it is in our journal as it was in the other. */
static bool
inherit_request(struct server *s, struct inherit_request *q,
    const struct journal_entry *e)
{
	const struct keep_request *head = e->data;

	q->head = *head;
	q->length = e->length - sizeof(*head);
	q->line = malloc(q->length + 1);
	if (q->line == NULL)
		return false;
	memcpy(q->line, head + 1, q->length);
	q->line[q->length] = '\0';
	if (q->head.tag_length > CODEC_TAG_MAX)
		q->head.tag_length = 0;
	if (q->head.serial > s->asked_serial)
		s->asked_serial = q->head.serial;
	(void)keep_put(s, &q->place, KEEP_REQUEST, head, sizeof(*head),
	    q->line, q->length);
	return true;
}

static int
inherit_requests(struct server *s, struct inheritance *in)
{
	const size_t k = KEEP_REQUEST - KEEP_CONNECTION;

	in->requests = calloc(in->n_entries[k] + 1, sizeof(*in->requests));
	if (in->requests == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < in->n_entries[k]; i++) {
		if (server_find(s, in->entries[k][i].client) == NULL)
			continue;
		if (!inherit_request(s, &in->requests[in->n_requests],
		    &in->entries[k][i].entry))
			return DDBLOCK_E_NOMEM;
		in->n_requests++;
	}
	return 0;
}

static int
inherit_processes(struct server *s, struct inheritance *in)
{
	const size_t k = KEEP_PROCESS - KEEP_CONNECTION;

	in->ended = calloc(in->n_entries[k] + 1, sizeof(*in->ended));
	if (in->ended == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < in->n_entries[k]; i++) {
		const struct journal_entry *e = &in->entries[k][i].entry;
		const struct keep_process *head = e->data;

		if (!process_again(s, head, (const char *)(head + 1),
		    e->length - sizeof(*head)))
			in->ended[in->n_ended++] = (struct inherit_process){
				head->client, head->number,
			};
	}
	return 0;
}

static void
inherit_ask(struct server *s, struct inherit_request *q)
{
	struct connection *c = server_find(s, q->head.client);
	char tag[CODEC_TAG_MAX + 1] = "";

	keep_drop(s, &q->place);
	if (c == NULL || c->doomed)
		return;
	memcpy(tag, q->head.tag, q->head.tag_length);
	if (q->length == 0) {
		connection_refuse(c, tag, DDBLOCK_E_SHUTTING_DOWN,
		    "the daemon was restarted before it had the answer; ask "
		    "again");
		return;
	}
	s->again = &q->head;
	input_run_line(c, q->line, q->length);
	s->again = NULL;
}

/* ---- the whole ---------------------------------------------------------- */

int
server_inherit(struct server *s, struct server_legacy *legacy, uint32_t *ret)
{
	struct inheritance *in = calloc(1, sizeof(*in));
	bool knows = false;
	int r;

	*ret = 0;
	if (in == NULL)
		return DDBLOCK_E_NOMEM;
	s->inheritance = in;
	if (s->calls.keep != NULL)
		knows = wire_start(s, legacy->memory, &in->read, &in->sent,
		    in->text);
	legacy->memory = -1;
	if (legacy->journal == NULL)
		return 0;
	r = inherit_read(in, legacy);
	if (r < 0)
		return r;
	/* Without the memory nobody knows what was read and sent last. */
	if (knows)
		*ret = inherit_connections(s, in, legacy);
	r = inherit_processes(s, in);
	return r < 0 ? r : inherit_requests(s, in);
}

bool
server_is_here(void *server, uint64_t client)
{
	return server_find(server, client) != NULL;
}

void
server_go_on(struct server *s)
{
	struct inheritance *in = s->inheritance;

	if (in == NULL)
		return;
	for (size_t i = 0; i < in->n_ended; i++) {
		struct core_event event = { .type = CORE_ENDED };

		event.ended.client = in->ended[i].client;
		event.ended.process = in->ended[i].number;
		(void)s->calls.step(s->arg, &event);
	}
	for (size_t i = 0; i < in->n_requests; i++)
		inherit_ask(s, &in->requests[i]);
	inherit_done(s);
}

void
inherit_done(struct server *s)
{
	struct inheritance *in = s->inheritance;

	if (in == NULL)
		return;
	for (size_t i = 0; i < in->n_requests; i++) {
		explicit_bzero(in->requests[i].line, in->requests[i].length);
		free(in->requests[i].line);
	}
	for (size_t k = 0; k <= KEEP_PROCESS - KEEP_CONNECTION; k++)
		free(in->entries[k]);
	free(in->requests);
	free(in->ended);
	explicit_bzero(in->text, sizeof(in->text));
	free(in);
	s->inheritance = NULL;
}
