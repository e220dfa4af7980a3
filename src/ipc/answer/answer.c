/*
 * The core's answers as lines.
 */
#include <inttypes.h>
#include <stdio.h>

#include "ipc/answer/room.h"

void
answer_use(struct buffer *b, enum lock_mode mode, uint64_t limit)
{
	codec_text_value(b, "mode",
	    mode == LOCK_MODE_SHARED ? "shared" : "exclusive");
	if (mode == LOCK_MODE_SHARED && limit > 0)
		codec_number(b, "limit", limit);
}

void
answer_name(struct buffer *b, struct key name)
{
	const struct key_parts parts = key_split(name);

	codec_value(b, "key", parts.key.bytes, parts.key.length);
	if (key_is_sorted(&parts))
		codec_value(b, "sort", parts.sort.bytes, parts.sort.length);
}

void
answer_shared(struct buffer *b, enum lock_mode mode, uint64_t limit)
{
	if (mode == LOCK_MODE_SHARED)
		answer_use(b, mode, limit);
}

void
answer_policy(struct buffer *b, bool fail_closed)
{
	if (fail_closed)
		codec_text_value(b, "policy", "fail-closed");
}

/* 0: no token. A token too large for a number is a text; its number is 0, so
 * that a client which looks at the number alone is refused. */
void
answer_token(struct buffer *b, uint64_t token, const char *text)
{
	codec_number(b, "token", text != NULL ? 0 : token);
	if (text != NULL)
		codec_text_value(b, "token_text", text);
}

/* The owners of local holds are not stored: they are known here. */
static void
answer_owner_name(struct connection *c, struct buffer *b,
    const struct core_holder_view *v)
{
	char owner[OWNER_LENGTH_MAX + 1];

	if (v->here && !v->named && owner_of_hold(c->server,
	    v->namespace_index, v->client, v->process, owner))
		codec_text_value(b, "owner", owner);
	else if (v->owner[0] != '\0')
		codec_text_value(b, "owner", v->owner);
}

void
answer_owner(struct connection *c, struct buffer *b,
    const struct core_holder_view *v)
{
	if (v->token > 0 || v->token_text != NULL)
		answer_token(b, v->token, v->token_text);
	if (!v->held)
		return;
	answer_owner_name(c, b, v);
	if (v->mode == LOCK_MODE_SHARED)
		codec_number(b, "holders", v->n_holders);
	answer_policy(b, v->fail_closed);
	if (v->seen)
		codec_duration(b, "unchanged", v->unchanged_ms);
	if (v->silent)
		codec_boolean(b, "alive", false);
}

/* The token and the number of holders, which are both the same only while no
 * holder comes or goes; and the last renewal that is known. */
static void
answer_version(struct buffer *b, const struct core_holder_view *v)
{
	char version[64];

	(void)snprintf(version, sizeof(version),
	    "%" PRIu64 "-%" PRIu32 "-%" PRIu64, v->token, v->n_holders,
	    v->renewal);
	codec_text_value(b, "version", version);
}

void
answer_holder(struct connection *c, struct buffer *b,
    const struct core_holder_view *v)
{
	const struct connection *holder;

	codec_text_value(b, "state", !v->held ? "free" :
	    v->dead ? "dead" : "held");
	answer_owner(c, b, v);
	if (v->n_hosts_waiting > 0)
		codec_number(b, "hosts_waiting", v->n_hosts_waiting);
	if (v->broken_by != NULL)
		codec_text_value(b, "broken_by", v->broken_by);
	if (v->record != NULL)
		codec_text_value(b, "record", v->record);
	if (!v->held)
		return;
	answer_use(b, v->mode, v->limit);
	if (v->acquired_at_s > 0)
		codec_number(b, "acquired_at", v->acquired_at_s);
	codec_boolean(b, "here", v->here);
	if (v->here)
		codec_duration(b, "held", v->held_ms);
	holder = v->here ? server_find(c->server, v->client) : NULL;
	if (holder != NULL)
		codec_number(b, "pid", (uint64_t)holder->peer.pid);
	if (v->lease_ms > 0)
		codec_duration(b, "lease", v->lease_ms);
	if (v->ends)
		codec_duration(b, "expires", v->ends_ms);
	answer_version(b, v);
}

/* A fail-closed hold has no deadline. */
void
answer_until(struct buffer *b, uint64_t remaining_ms, uint64_t until_ms)
{
	if (until_ms == 0)
		return;
	codec_duration(b, "remaining", remaining_ms);
	codec_number(b, "until_boot_ms", until_ms);
}
