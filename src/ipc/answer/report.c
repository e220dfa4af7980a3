/*
 * Reports to clients that wait for a lock: their place in line, and the holder.
 * Checked once a second for all requests that want it, in its user's turn, and
 * sent if it changed; not while so much is unread that the client itself is the
 * reason for the delay. So a client that does not read gets only the latest.
 */
#include "common/clock.h"
#include "common/error.h"
#include "ipc/answer/room.h"
#include "ipc/connection/rights.h"

void
report_begin(struct connection *c, struct pending *p)
{
	const struct server *s = c->server;
	struct core_waiter_view v;

	if (!core_view_request(s->calls.core(s->arg), c->client, p->number,
	    clock_boot_ms(), &v))
		return;
	p->told.serial = v.serial;
	p->reports = true;
	c->n_reports++;
	server_schedule_tell(c->server);
}

/*
 * Is the content new? Times change by themselves, so they do not count.
 */
static bool
report_is_news(const struct report *told, const struct core_waiter_view *v)
{
	const struct core_holder_view *h = &v->holder;

	return !told->said || told->ahead != v->ahead ||
	    told->place != v->place ||
	    told->cause != v->cause || told->held != h->held ||
	    told->dead != h->dead || told->token != h->token ||
	    told->client != h->client || told->n_holders != h->n_holders;
}

static void
report_write(struct connection *c, const struct pending *p,
    const struct core_waiter_view *v)
{
	const struct server *s = c->server;
	struct buffer *b = connection_out(c);

	codec_begin(b, NULL, "!QUEUED");
	if (p->tag_length > 0)
		codec_text_value(b, "tag", p->tag);
	codec_text_value(b, "ns",
	    s->calls.namespace_name(s->arg, v->namespace_index));
	answer_name(b, v->key);
	codec_number(b, "ahead", v->ahead);
	if (v->place > 0)
		codec_number(b, "place", v->place);
	codec_duration(b, "waited", v->waited_ms);
	if (v->cause != 0)
		codec_text_value(b, "cause", error_word(v->cause));
	if (v->holder.held)
		answer_holder(c, b, &v->holder);
	codec_end(b, NULL);
	connection_queued(c);
}

static void
report_say(struct connection *c, struct pending *p, uint64_t now_ms)
{
	const struct server *s = c->server;
	struct core_waiter_view v;

	if (!core_next_waiter(s->calls.core(s->arg), p->told.serial - 1,
	    now_ms, &v) || v.serial != p->told.serial)
		return;
	if (!rights_allow(c, v.namespace_index, v.key, ACCESS_SEE))
		v.holder = (struct core_holder_view){ 0 };
	if (!report_is_news(&p->told, &v))
		return;
	p->told = (struct report){
		.serial = v.serial,
		.said = true,
		.held = v.holder.held,
		.dead = v.holder.dead,
		.ahead = v.ahead,
		.place = v.place,
		.cause = v.cause,
		.n_holders = v.holder.n_holders,
		.client = v.holder.client,
		.token = v.holder.token,
	};
	report_write(c, p, &v);
}

void
report_say_some(struct connection *c)
{
	uint64_t now_ms = clock_boot_ms();
	struct pending *p = c->pending;

	while (p != NULL && p->number <= c->report_after)
		p = p->next;
	for (; p != NULL; p = p->next) {
		if (!p->reports)
			continue;
		if (c->out.length >= CONNECTION_LOW_BYTES)
			break;
		if (turn_is_over(c->server)) {
			server_schedule(c->server, c);
			return;
		}
		report_say(c, p, now_ms);
		c->report_after = p->number;
	}
	c->reports_due = false;
	c->report_after = 0;
}
