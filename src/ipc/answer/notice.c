/*
 * The events of holds, as lines.
 */
#include "common/clock.h"
#include "common/error.h"
#include "ipc/answer/room.h"

void
answer_write_renewed(struct connection *c)
{
	const struct server *s = c->server;
	uint64_t now_ms;
	uint32_t n;

	if (c->renewed == NULL)
		return;
	n = s->calls.n_namespaces(s->arg);
	now_ms = clock_boot_ms();
	for (uint32_t i = 0; i < n; i++) {
		uint64_t until_ms = c->renewed[i];
		struct buffer *b;

		c->renewed[i] = 0;
		if (until_ms <= now_ms)
			continue;
		b = connection_out(c);
		codec_begin(b, NULL, "!RENEWED");
		codec_text_value(b, "ns", s->calls.namespace_name(s->arg, i));
		answer_until(b, until_ms - now_ms, until_ms);
		codec_end(b, NULL);
		connection_queued(c);
	}
}

void
answer_notice(struct connection *c, const struct core_notice *a)
{
	struct buffer *b;

	/* A renewal of one hold alone, without danger: only a client that asked
	 * for renewals is told. */
	if (a->kind == CORE_PROLONGED && c->renewed == NULL)
		return;
	answer_write_renewed(c);
	b = connection_out(c);
	switch (a->kind) {
	case CORE_IN_DANGER:
		codec_begin(b, NULL, "!LOCK_IN_DANGER");
		codec_number(b, "id", a->hold);
		answer_until(b, a->remaining_ms, a->until_ms);
		codec_text_value(b, "reason", error_word(a->cause == 0 ?
		    DDBLOCK_E_UNREACHABLE : a->cause));
		break;
	case CORE_UNTOLD:	/* not to a client */
		return;
	case CORE_PROLONGED:
	case CORE_SAFE:
		codec_begin(b, NULL, "!LOCK_SAFE");
		codec_number(b, "id", a->hold);
		answer_until(b, a->remaining_ms, a->until_ms);
		break;
	case CORE_LOST:
		codec_begin(b, NULL, "!LOCK_LOST");
		codec_number(b, "id", a->hold);
		codec_text_value(b, "reason", core_loss_name(a->loss));
		break;
	}
	codec_end(b, NULL);
	connection_queued(c);
}

/* Only the latest matters: it replaces an unsent one, unless a line about a
 * hold came between (answer_write_renewed()). */
void
answer_renewed(struct connection *c, uint32_t namespace_index,
    uint64_t until_ms)
{
	c->renewed[namespace_index] = until_ms;
	server_schedule(c->server, c);
}
