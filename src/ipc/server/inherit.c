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
#include "ipc/connection/secret.h"
#include "ipc/connection/wire.h"
#include "ipc/server/left.h"
#include "ipc/server/room.h"

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
	struct left left;
	struct keep_bytes run;
	struct wire_transfer read, sent;
	char text[SERVER_CHUNK_SIZE];
	struct inherit_request *requests;
	size_t n_requests;
	struct inherit_process *ended;	/* processes */
	size_t n_ended;
};

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

/* What the buffer had: from @start on, which no part precedes. */
static bool
inherit_bytes(const struct inheritance *in, enum keep_kind kind,
    uint64_t client, uint64_t start, struct buffer *b)
{
	const size_t k = (size_t)kind - KEEP_CONNECTION;
	const struct left_entry *e = left_first(&in->left, kind, client);

	for (; e != NULL && e < in->left.entries[k] + in->left.n_entries[k] &&
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
	const struct left_entry *e = left_first(&in->left, kind, client);

	return e != NULL && e->order > at_least ? e->order : at_least;
}

/* How much of what was read last is its client's: all, or nothing. */
static size_t
inherit_last_read(struct connection *c, const struct wire_transfer *read)
{
	if (read->length > 0 && !sender_is_client(c, &read->sender))
		return 0;
	return read->length;
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
	    left_first(&in->left, KEEP_INPUT, c->client) == NULL)
		start = read->from;
	c->kept.in.from = c->kept.in.to = start;
	return inherit_bytes(in, KEEP_INPUT, c->client, start, &c->in) &&
	    (read->client != c->client || inherit_append(&c->in, start,
	    read->from, read->data, inherit_last_read(c, read)));
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
	c->peer.heard = (head->flags & KEEP_NAMED) != 0 &&
	    (head->flags & KEEP_SET_USER_ID) == 0;
	c->peer.real_uid = c->peer.uid;
	c->peer.by_heir = (head->flags & KEEP_BY_HEIR) != 0;
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
    const struct server_legacy *legacy, const struct journal_entry *e, int fd)
{
	const struct keep_connection *head = e->data;
	const struct connection_before before = {
		.client = head->client, .name = (const char *)(head + 1),
		.name_length = e->length - sizeof(*head),
	};
	struct connection *c;

	if (connection_new(s, fd, &before, &c) < 0)
		return false;
	if (legacy->is_handed_over)
		(void)keep_socket(c);
	else
		c->kept.number = KEPT_BEFORE;
	if (!inherit_settings(c, head) ||
	    !inherit_input(c, in, head->in_from) ||
	    !inherit_output(c, in, head->out_from)) {
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

static const struct left_entry *
inherit_find(const struct inheritance *in, int fd)
{
	struct left_entry wanted = { 0 };
	socklen_t length = sizeof(wanted.order);

	if (in->left.n_entries[0] == 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_COOKIE, &wanted.order, &length) < 0)
		return NULL;
	return bsearch(&wanted, in->left.entries[0], in->left.n_entries[0],
	    sizeof(wanted), left_by_order);
}

static uint32_t
inherit_connections(struct server *s, const struct inheritance *in,
    struct server_legacy *legacy)
{
	uint32_t n = 0;

	for (size_t i = 0; i < legacy->n_connections; i++) {
		const struct left_entry *e =
		    inherit_find(in, legacy->connections[i]);

		if (e == NULL || !inherit_connection(s, in, legacy, &e->entry,
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

	in->requests = calloc(in->left.n_entries[k] + 1, sizeof(*in->requests));
	if (in->requests == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < in->left.n_entries[k]; i++) {
		if (server_find(s, in->left.entries[k][i].client) == NULL)
			continue;
		if (!inherit_request(s, &in->requests[in->n_requests],
		    &in->left.entries[k][i].entry))
			return DDBLOCK_E_NOMEM;
		in->n_requests++;
	}
	return 0;
}

static int
inherit_processes(struct server *s, struct inheritance *in)
{
	const size_t k = KEEP_PROCESS - KEEP_CONNECTION;

	in->ended = calloc(in->left.n_entries[k] + 1, sizeof(*in->ended));
	if (in->ended == NULL)
		return DDBLOCK_E_NOMEM;
	for (size_t i = 0; i < in->left.n_entries[k]; i++) {
		const struct journal_entry *e = &in->left.entries[k][i].entry;
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
	if (legacy->is_handed_over && s->wire != NULL && s->wire_number == 0)
		s->wire_number = s->calls.keep(s->arg, s->wire_fd, true);
	legacy->memory = -1;
	if (legacy->journal == NULL) {
		wire_change_key(s);	/* nothing is sealed by it */
		return 0;
	}
	r = left_read(&in->left, s, legacy);
	if (r < 0)
		return r;
	if (in->left.n_entries[KEEP_RUN - KEEP_CONNECTION] == 1)
		memcpy(&in->run, in->left.entries[KEEP_RUN - KEEP_CONNECTION]
		    ->entry.data, sizeof(in->run));
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

uint32_t
server_user(void *server, uint64_t client)
{
	return server_find(server, client)->peer.uid;
}

int
server_learn_secret(void *arg, struct ident clear, struct core_secret *ret)
{
	(void)arg;
	return secret_learn(NULL, clear, ret);
}

void
server_seal_secret(void *server, struct core_secret *secret)
{
	const struct ident clear = secret->clear;

	(void)secret_learn(server, clear, secret);
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
	left_done(&in->left);
	free(in->requests);
	free(in->ended);
	explicit_bzero(in->text, sizeof(in->text));
	free(in);
	s->inheritance = NULL;
}
