/*
 * The server as a whole, and the way in for the core's actions.
 */
#include "ipc/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "ipc/answer/answer.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/process.h"
#include "ipc/connection/rights.h"
#include "ipc/connection/secret.h"
#include "ipc/connection/wire.h"
#include "ipc/server/room.h"

static int
server_copy_config(struct server *s, const struct server_config *config)
{
	s->limits = config->limits;
	server_count_from(s, config->client_last);
	s->admin_group = config->admin_group;
	s->admin_any = config->admin_any;
	rights_configure(s, config->access);
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
	s->fd = config->fd;
	s->reserve_fd = -1;
	s->base = base;
	s->calls = *calls;
	s->arg = arg;
	s->started_ms = clock_boot_ms();
	buffer_init(&s->changed, CODEC_LINE_MAX);
	buffer_init(&s->asked, CODEC_LINE_MAX);
	s->wire_fd = -1;
	r = server_copy_config(s, config);
	if (r == 0) {
		s->work_event = evtimer_new(base, round_on_work, s);
		s->tell_event = evtimer_new(base, tell_on_time, s);
		r = s->work_event == NULL || s->tell_event == NULL ?
		    DDBLOCK_E_NOMEM : 0;
	}
	if (r == 0)
		r = listener_open(s, config, text, text_size);
	if (r == 0)
		r = listener_start(s);
	if (r < 0) {
		server_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* What is above a limit that was lowered may stay: who is connected keeps the
 * room that it has. */
void
server_configure(struct server *s, const struct server_limits *limits,
    gid_t admin_group, bool admin_any, const struct access *access)
{
	bool had_limits;

	s->limits = *limits;
	s->admin_group = admin_group;
	s->admin_any = admin_any;
	for (uint32_t i = 0; i < s->n_slots; i++) {
		struct connection *c = s->slots[i];

		if (c != NULL &&
		    c->out.length_max < limits->queued_bytes_max)
			c->out.length_max = limits->queued_bytes_max;
	}
	for (struct user *u = s->users; u != NULL; u = u->next)
		u->spared_bytes = u->queued_bytes;
	owner_forget_users(&s->owner_users);
	had_limits = s->access_limits;
	rights_configure(s, access);
	judge_all(s, had_limits || s->access_limits);
}

void
server_free(struct server *s)
{
	if (s == NULL)
		return;
	inherit_done(s);
	listener_close(s);
	process_drop_all(s);
	for (uint32_t i = 0; i < s->n_slots; i++) {
		struct connection *c = s->slots[i];

		if (c == NULL)
			continue;
		if (c->out.length > 0 && !s->leaving)
			connection_send(c); /* last lines, if there is room */
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
	buffer_wipe(&s->asked);
	freelist_done(&s->parts);
	secret_stop(s);
	wire_stop(s);
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

/* If no client is sure to be told of a loss, the process is told, if the hold
 * is for a process. A client that is cut off may still be told
 * (round_end()). */
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
			    "another connection resumed the holds of this one");
		break;
	}
	case CORE_PARTED:
		process_drop(s,
		    ((const struct core_parted *)(const void *)action)
			->process);
		break;
	case CORE_NO_ACTION:
	case CORE_SUBMIT:
	case CORE_BROKE:
	case CORE_HINT:
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

int
server_journal(struct server *s, struct journal *journal)
{
	return keep_start(s, journal);
}

void
server_save(struct server *s)
{
	keep_asked(s);
}

bool
server_leave(struct server *s)
{
	if (s->journal == NULL || s->wire == NULL)
		return false;
	keep_commit(s);
	s->journal = NULL;	/* it is the next process's now */
	s->leaving = true;
	s->file.ours = false;	/* and so is the file */
	return true;
}

uint32_t
server_connections(const struct server *s)
{
	return s->n_connections;
}

bool
server_view_client(const struct server *s, uint64_t client,
    struct server_client *ret)
{
	const struct connection *c = server_find(s, client);

	if (c == NULL)
		return false;
	*ret = peer_view(&c->peer);
	return true;
}
