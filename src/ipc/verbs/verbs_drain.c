/*
 * DRAIN and UNDRAIN: no new grants, and again.
 */
#include <inttypes.h>
#include <syslog.h>

#include "common/clock.h"
#include "ipc/verbs/room.h"

/* In which namespaces; all of them, unless it says it. */
static int
drain_namespaces(struct connection *c, const struct protocol_request *q,
    uint64_t *ret)
{
	*ret = UINT64_MAX;
	return request_namespaces(c, q, ret);
}

static uint64_t
drain_held(const struct server *s, uint64_t namespaces)
{
	uint32_t n = s->calls.n_namespaces(s->arg);
	struct core_namespace_view v;
	uint64_t held = 0;

	for (uint32_t i = 0; i < n; i++) {
		if ((namespaces >> i & 1) == 0)
			continue;
		core_view_namespace(s->calls.core(s->arg), i, clock_boot_ms(),
		    &v);
		held += v.held;
	}
	return held;
}

static int
drain_order(struct connection *c, const struct protocol_request *q,
    enum core_event_type type)
{
	struct server *s = c->server;
	struct core_event event = { .type = type };
	struct buffer *b;
	uint64_t held;
	int r = drain_namespaces(c, q, &event.namespaces);

	if (r == 0)
		r = request_administers(c, event.namespaces);
	if (r < 0)
		return r;
	r = connection_step(c, &event);
	if (r < 0)
		return r;
	held = drain_held(s, event.namespaces);
	server_log(s, LOG_NOTICE, (int64_t)c->peer.uid,
	    "client %s (pid %ld, uid %ld): %s; %" PRIu64 " held",
	    c->peer.name, (long)c->peer.pid, (long)c->peer.uid,
	    type == CORE_DRAIN ?
	    "no new locks are granted from now on (DRAIN)" :
	    "locks are granted again (UNDRAIN)", held);
	b = connection_out(c);
	codec_begin(b, q->line->tag.bytes, "OK");
	codec_number(b, "held", held);
	codec_end(b, NULL);
	connection_queued(c);
	return 0;
}

int
verbs_drain(struct connection *c, const struct protocol_request *q)
{
	return drain_order(c, q, CORE_DRAIN);
}

int
verbs_undrain(struct connection *c, const struct protocol_request *q)
{
	return drain_order(c, q, CORE_UNDRAIN);
}
