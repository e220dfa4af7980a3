/*
 * The server as a whole: its connections by number, the round of work at the
 * end of each turn of the event loop, and the way in for the core's actions.
 */
#include "ipc/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/error.h"
#include "ipc/connection.h"
#include "ipc/process.h"

#define SERVER_SLOT_BITS 20
#define SERVER_SLOTS_MAX (UINT32_C(1) << SERVER_SLOT_BITS)
#define SERVER_SLOTS_MIN 64
#define SERVER_LOG_MAX 512

void
server_log(struct server *s, int priority, const char *format, ...)
{
	char text[SERVER_LOG_MAX];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	s->calls.log(s->arg, priority, text);
}

bool
server_owner(const struct server *s, uint32_t namespace_index,
    const struct connection *c, char ret[OWNER_LENGTH_MAX + 1])
{
	const char *own = s->calls.defaults(s->arg, namespace_index).owner;

	if (own != NULL)
		(void)snprintf(ret, OWNER_LENGTH_MAX + 1, "%s", own);
	else if (c != NULL)
		peer_owner(&c->peer, s->host, ret, OWNER_LENGTH_MAX + 1);
	return own != NULL || c != NULL;
}

struct connection *
server_find(const struct server *s, uint64_t client)
{
	uint32_t slot = (uint32_t)(client & (SERVER_SLOTS_MAX - 1));
	struct connection *c;

	if (slot >= s->n_slots)
		return NULL;
	c = s->slots[slot];
	return c != NULL && c->client == client ? c : NULL;
}

static int
server_grow(struct server *s)
{
	uint32_t n = s->n_slots == 0 ? SERVER_SLOTS_MIN : s->n_slots * 2;
	struct connection **slots;

	if (n > SERVER_SLOTS_MAX)
		return DDBLOCK_E_LIMIT;
	slots = realloc(s->slots, n * sizeof(*slots));
	if (slots == NULL)
		return DDBLOCK_E_NOMEM;
	memset(slots + s->n_slots, 0, (n - s->n_slots) * sizeof(*slots));
	s->slot_hint = s->n_slots;
	s->slots = slots;
	s->n_slots = n;
	return 0;
}

/* Give the connection a number that was never used before. */
int
server_add(struct server *s, struct connection *c)
{
	/* Half of the slots are always free, so one is found soon. */
	if (s->n_connections >= s->n_slots / 2) {
		int r = server_grow(s);

		if (r < 0)
			return r;
	}
	while (s->slots[s->slot_hint % s->n_slots] != NULL)
		s->slot_hint++;
	s->slot_hint %= s->n_slots;
	c->client = ++s->serial << SERVER_SLOT_BITS | s->slot_hint;
	s->slots[s->slot_hint++] = c;
	s->n_connections++;
	return 0;
}

static void
server_remove(struct server *s, struct connection *c)
{
	if (server_find(s, c->client) != c)
		return;
	s->slots[c->client & (SERVER_SLOTS_MAX - 1)] = NULL;
	s->n_connections--;
	if (c->has_work)
		DL_DELETE2(s->work, c, work_prev, work_next);
}

/*
 * Look at this connection at the end of the loop's round. What comes up while
 * that happens waits for the next round, so that new events have their turn.
 */
void
server_schedule(struct server *s, struct connection *c)
{
	static const struct timeval at_once;

	if (!c->has_work) {
		c->has_work = true;
		DL_APPEND2(s->work, c, work_prev, work_next);
	}
	if (s->work_scheduled)
		return;
	s->work_scheduled = true;
	if (!s->working || event_add(s->work_event, &at_once) < 0)
		event_active(s->work_event, EV_TIMEOUT, 0);
}

static void
server_end_connection(struct server *s, struct connection *c)
{
	struct core_event event = {
		.type = c->cut_off ? CORE_CUT : CORE_GONE,
	};

	event.client = c->client;
	if (c->in_core)
		(void)s->calls.step(s->arg, &event);
	/* That it has lost what it had is said if there is room for it. */
	if (c->cut_off && c->out.length > 0)
		connection_send(c);
	server_remove(s, c);
	connection_free(c);
}

static void
server_on_work(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	struct connection *list = s->work;

	(void)fd;
	(void)what;
	s->work_scheduled = false;
	s->working = true;
	s->work = NULL;
	while (list != NULL) {
		struct connection *c = list;

		DL_DELETE2(list, c, work_prev, work_next);
		c->has_work = false;
		if (!c->doomed && c->has_lines && connection_has_room(c))
			connection_run(c);
		if (!c->doomed)
			connection_flush(c);
		if (c->doomed && c->has_work) {
			DL_DELETE2(s->work, c, work_prev, work_next);
			c->has_work = false;
		}
		if (c->doomed)
			server_end_connection(s, c);
		else
			connection_watch(c);
	}
	s->working = false;
}

void
server_take_spare(struct server *s, struct buffer *b)
{
	if (s->n_spare == 0)
		return;
	s->n_spare--;
	b->data = s->spare[s->n_spare].data;
	b->size = s->spare[s->n_spare].size;
}

/* The buffer is empty: keep its memory for the next that needs one. */
void
server_give_spare(struct server *s, struct buffer *b)
{
	if (b->data == NULL)
		return;
	if (s->n_spare == SERVER_SPARE_MAX || b->size > SERVER_SPARE_SIZE_MAX) {
		buffer_done(b);
		return;
	}
	buffer_clear(b);
	s->spare[s->n_spare++] = *b;
	buffer_init(b, b->length_max);
}

static int
server_copy_config(struct server *s, const struct server_config *config)
{
	s->limits = config->limits;
	s->admin_group = config->admin_group;
	s->path = strdup(config->path);
	s->version = strdup(config->version);
	s->host = strdup(config->host);
	if (s->path == NULL || s->version == NULL || s->host == NULL)
		return DDBLOCK_E_NOMEM;
	return 0;
}

int
server_new(struct event_base *base, const struct server_config *config,
    const struct server_calls *calls, void *arg, struct server **ret,
    char *text, size_t text_size)
{
	struct server *s = calloc(1, sizeof(*s));
	int r;

	(void)snprintf(text, text_size, "%s", error_text(DDBLOCK_E_NOMEM));
	if (s == NULL)
		return DDBLOCK_E_NOMEM;
	s->fd = -1;
	s->reserve_fd = -1;
	s->base = base;
	s->calls = *calls;
	s->arg = arg;
	s->started_ms = clock_boot_ms();
	buffer_init(&s->changed, CODEC_LINE_MAX);
	r = server_copy_config(s, config);
	if (r == 0) {
		s->work_event = evtimer_new(base, server_on_work, s);
		s->tell_event = evtimer_new(base, tell_on_time, s);
		r = s->work_event == NULL || s->tell_event == NULL ?
		    DDBLOCK_E_NOMEM : 0;
	}
	if (r == 0)
		r = listener_open(s, config->mode, config->group, text,
		    text_size);
	if (r == 0)
		r = listener_start(s);
	if (r < 0) {
		server_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void
server_free(struct server *s)
{
	if (s == NULL)
		return;
	listener_close(s);
	process_drop_all(s);
	for (uint32_t i = 0; i < s->n_slots; i++) {
		struct connection *c = s->slots[i];

		if (c == NULL)
			continue;
		if (c->out.length > 0)
			connection_send(c); /* last words, if there is room */
		server_remove(s, c);
		connection_free(c);
	}
	if (s->work_event != NULL)
		event_free(s->work_event);
	if (s->tell_event != NULL)
		event_free(s->tell_event);
	while (s->n_spare > 0)
		buffer_done(&s->spare[--s->n_spare]);
	buffer_done(&s->changed);
	free(s->slots);
	free(s->path);
	free(s->version);
	free(s->host);
	free(s);
}

static void
server_renewed(struct server *s, const struct core_renewed *a)
{
	const struct core *core = s->calls.core(s->arg);

	for (uint32_t i = 0; i < s->n_slots; i++) {
		struct connection *c = s->slots[i];

		if (c != NULL && c->renewed != NULL &&
		    core_client_holds(core, c->client, a->namespace_index))
			answer_renewed(c, a->namespace_index, a->until_ms);
	}
}

/* A loss that no client is sure to hear of is told to the process, if it is
 * for one. A client that is cut off may yet hear (server_end_connection()). */
static void
server_notice(struct server *s, const struct core_notice *a)
{
	struct connection *c = server_find(s, a->client);
	bool stays = c != NULL && !c->doomed && a->kind != CORE_UNTOLD;

	if (stays || (c != NULL && c->cut_off && a->kind == CORE_LOST))
		answer_notice(c, a);
	if (!stays && (a->kind == CORE_LOST || a->kind == CORE_UNTOLD))
		process_notify(s, a->hold);
}

void
server_perform(struct server *s, const struct core_action *action)
{
	struct connection *c;

	switch (action->type) {
	case CORE_REPLY: {
		const struct core_reply *a = (const void *)action;

		c = server_find(s, a->client);
		if (c != NULL)
			answer_reply(c, a);
		break;
	}
	case CORE_ROWS: {
		const struct core_rows *a = (const void *)action;

		c = server_find(s, a->client);
		if (c != NULL)
			listing_rows(c, a);
		break;
	}
	case CORE_NOTICE:
		server_notice(s, (const void *)action);
		break;
	case CORE_RENEWED:
		server_renewed(s, (const void *)action);
		break;
	case CORE_CHANGED: {
		const struct core_change *a = (const void *)action;

		c = server_find(s, a->client);
		if (c != NULL)
			change_tell(c, a);
		break;
	}
	case CORE_CLOSE: {
		const struct core_close *a = (const void *)action;

		c = server_find(s, a->client);
		if (c != NULL)
			connection_dismiss(c, DDBLOCK_E_LOCK_NOT_OWNED,
			    "another connection resumed what this one had");
		break;
	}
	case CORE_PARTED:
		process_drop(s,
		    ((const struct core_parted *)(const void *)action)
			->process);
		break;
	case CORE_SUBMIT:
	case CORE_BROKE:
		break; /* not for a client */
	}
}

void
server_stop(struct server *s, uint64_t in_ms)
{
	if (s->stopping)
		return;
	s->stopping = true;
	listener_close(s);
	for (uint32_t i = 0; i < s->n_slots; i++) {
		struct connection *c = s->slots[i];
		struct buffer *b;

		if (c == NULL)
			continue;
		b = connection_out(c);
		codec_begin(b, NULL, "!SHUTDOWN");
		codec_duration(b, "in", in_ms);
		codec_end(b, NULL);
		connection_queued(c);
	}
}

uint32_t
server_connections(const struct server *s)
{
	return s->n_connections;
}
