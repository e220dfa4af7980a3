/*
 * Requests on their way to the table and answers on their way back: latency,
 * loss before and after the effect, delay, repetition, cuts, refusals. The
 * faults of a message come from the plan; the rest of its fate from the seed.
 */
#include "world_state.h"

#include <stdlib.h>
#include <string.h>

#include "ddblock.h"
#include "peer.h"

enum {
	NETWORK_STREAM_OUT = 400,
	NETWORK_STREAM_BACK = 500,
};

static uint64_t
network_trip_ms(struct world *w, unsigned stream, const struct host *h)
{
	uint64_t spread = w->plan->latency_max_ms - w->plan->latency_ms;

	return w->plan->latency_ms + world_chance(w, stream + h->index,
	    h->n_messages, spread + 1);
}

/* No request waits for its answer. */
static void
network_forsake(struct message *m)
{
	for (size_t i = 0; m->job != NULL && i < ATTEMPTS_OUT_MAX; i++)
		if (m->job->tries[i].message == m)
			m->job->tries[i].message = NULL;
	m->job = NULL;
	if (m->call != NULL)
		m->call->message = NULL;
	m->call = NULL;
	if (m->host->look_message == m)
		m->host->look_message = NULL;
}

static bool
network_is_awaited(const struct message *m)
{
	return m->job != NULL || m->call != NULL || m->host->look_message == m;
}

static void
network_free(struct message *m)
{
	struct world *w = m->host->world;

	network_forsake(m);
	*m->link = m->next;
	if (m->next != NULL)
		m->next->link = m->link;
	world_remove_alarm(w, &m->alarm);
	dynamo_answer_done(&m->answer);
	free(m->body);
	free(m);
}

void
network_done(struct world *w)
{
	while (w->messages != NULL)
		network_free(w->messages);
}

void
network_end(struct host *h)
{
	struct message *m, *next;

	for (m = h->world->messages; m != NULL; m = next) {
		next = m->next;
		if (m->host == h && !m->landed)
			network_free(m);
	}
}

/* No request waits for its answer any more; it may still take effect. */
void
network_abandon(struct message *m)
{
	if (m == NULL)
		return;
	network_forsake(m);
	if (m->landed)
		network_free(m);
}

/* ---- the answer ------------------------------------------------------- */

static void
network_deliver_peer(struct message *m)
{
	struct peer_call *call = m->call;

	if (call == NULL)
		return;
	network_forsake(m);
	peer_answered(call, m->fault == MESSAGE_UNSENT ? NULL : &m->answer);
}

static void
network_deliver(struct message *m)
{
	struct host *h = m->host;
	struct job *j = m->job;
	struct aws_answer answer = {
		.status = m->answer.status, .maybe_applied = true,
		.body = m->answer.body.data,
		.body_length = m->answer.body.length,
		.text = "", .sent_ms = m->sent_boot_ms,
	};
	bool knew = h->skew.known;

	if (m->fault == MESSAGE_UNSENT) {
		answer.maybe_applied = false;
		answer.code = DDBLOCK_E_UNREACHABLE;
		answer.text = "the connection was refused";
	} else {
		skew_learn(&h->skew, m->sent_boot_ms, host_boot_ms(h),
		    m->date_s);
	}
	if (j != NULL) {
		m->job = NULL;
		job_answered(j, m, &answer);
	}
	if (!knew && h->skew.known)
		job_start_all(h);
}

/* ---- the request ------------------------------------------------------ */

static bool
network_is_cut(const struct host *h)
{
	return h->world->now < h->cut_until ||
	    h->world->now < h->world->table_cut_until;
}

static void
network_hit(struct message *m, const char *what)
{
	if (m->job != NULL)
		m->job->hit = true;
	world_trace(m->host->world, WORLD_TRACE_FAULT, m->host->name,
	    "! %s: %s", m->what, what);
}

/* A signature is valid for a quarter of an hour of the service's clock. */
static bool
network_signature_is_good(const struct message *m, uint64_t wall_ms)
{
	uint64_t apart = wall_ms > m->signed_ms ? wall_ms - m->signed_ms :
	    m->signed_ms - wall_ms;

	return apart <= WORLD_SIGNATURE_MS;
}

void
network_serve(struct message *m, uint64_t wall_ms)
{
	struct world *w = m->host->world;

	w->writer = m->host->index;
	w->writer_sent = m->sent;
	dynamo_request(w->dynamo, wall_ms, m->operation, m->body, m->length,
	    &m->answer);
	w->writer = FACT_BY_HAND;
}

static void
network_work(struct message *m)
{
	struct world *w = m->host->world;
	uint64_t wall_ms = WORLD_WALL_MS + w->now;

	/* The first answer to a repeated request is dropped. */
	dynamo_answer_done(&m->answer);
	dynamo_answer_init(&m->answer);
	if (w->now < w->throttled_until && m->fault == 0) {
		m->fault = MESSAGE_THROTTLED;
		network_hit(m, "throttled");
	}
	if (m->fault == MESSAGE_THROTTLED) {
		dynamo_fail(&m->answer, 400,
		    "ProvisionedThroughputExceededException", "slow down");
	} else if (m->fault == MESSAGE_FAILED) {
		dynamo_fail(&m->answer, 500, "InternalServerError",
		    "try again");
	} else if (m->fault == MESSAGE_REFUSED) {
		dynamo_fail(&m->answer, 400, m->fault_type, "no");
	} else if (m->fault == MESSAGE_DENIED) {
		dynamo_fail(&m->answer, 400, "AccessDeniedException", "no");
	} else if (!network_signature_is_good(m, wall_ms)) {
		dynamo_fail(&m->answer, 400, "InvalidSignatureException",
		    "Signature expired");
	} else {
		if (m->fault == MESSAGE_UNPROCESSED)
			dynamo_leave_unprocessed(w->dynamo, m->fault_count);
		if (m->fault == MESSAGE_IN_THE_WAY)
			dynamo_refuse_condition(w->dynamo);
		w->serve(m, wall_ms);
	}
	if (m->fault == MESSAGE_FAILED_AFTER)
		dynamo_fail(&m->answer, 500, "InternalServerError",
		    "try again");
	m->date_s = (int64_t)(wall_ms / 1000);
}

/*
 * An intermediary without an answer sends the request once more, and passes on
 * the second answer. An answered request is never repeated: TCP does not, and
 * our HTTP client must not.
 */
static bool
network_repeats(struct message *m)
{
	struct world *w = m->host->world;
	struct fact f = { .kind = FACT_REPEATED, .host = m->host->index };

	if (m->fault != MESSAGE_TWICE || m->repeated)
		return false;
	m->repeated = true;
	if (m->host->peer == NULL)
		world_tell(w, &f);
	network_work(m);
	world_set(w, &m->alarm, w->now + m->fault_ms);
	return true;
}

static void
network_land(struct message *m)
{
	struct host *h = m->host;
	struct world *w = h->world;
	bool late = !network_is_awaited(m);

	if (late)
		world_trace(w, WORLD_TRACE_FAULT, h->name, "* %s lands %s",
		    m->what, m->repeated ? "again" : "late");
	if (network_repeats(m))
		return;
	network_work(m);
	m->landed = true;
	if (late)
		network_free(m);
	else if (m->fault != MESSAGE_ANSWER_LOST)
		world_set(w, &m->alarm, w->now + m->trip_ms +
		    (m->fault == MESSAGE_ANSWER_LATE ? m->fault_ms : 0));
}

static void
network_on_alarm(struct world *w, struct alarm *a)
{
	struct message *m = (struct message *)(void *)a;
	struct host *h = m->host;

	if (!m->landed) {
		network_land(m);
		return;
	}
	if (host_is_paused(h)) {
		world_set(w, a, h->paused_until);
		return;
	}
	if (network_is_cut(h) && m->fault != MESSAGE_UNSENT) {
		network_hit(m, "the answer is cut off");
		if (m->job != NULL || m->call != NULL)
			return;		/* until its time is over */
	} else if (h->peer != NULL) {
		network_deliver_peer(m);
	} else {
		network_deliver(m);
	}
	network_free(m);
}

/* ---- sending ---------------------------------------------------------- */

/* The fault that waits for this message, or for this whole operation, if any.
 * Another fault for the same message hits the next one. */
static bool
network_meet(struct host *h, enum operation_kind kind, bool whole,
    struct fault *ret)
{
	bool met = false;
	size_t kept = 0;

	for (size_t i = 0; i < h->n_faults; i++) {
		struct fault *f = &h->faults[i];
		bool its = f->whole == whole &&
		    (f->operation == PLAN_ANY || f->operation == kind);

		if (its && f->left > 1)
			f->left--;
		else if (its && !met) {
			*ret = *f;
			met = true;
			if (f->many-- <= 1)
				continue;
		}
		h->faults[kept++] = *f;
	}
	h->n_faults = kept;
	return met;
}

/* The faults of this message, of that operation or of none. */
static bool
network_fault(struct host *h, struct job *j, enum operation_kind kind,
    struct fault *ret)
{
	if (j != NULL && !j->sent)
		(void)network_meet(h, kind, true, &j->whole);
	if (j != NULL)
		j->sent = true;
	if (network_meet(h, kind, false, ret))
		return true;
	if (j == NULL || j->whole.fault == 0)
		return false;
	*ret = j->whole;
	return true;
}

static void
network_spoil(struct message *m, const struct fault *f)
{
	struct world *w = m->host->world;

	if (f->fault == MESSAGE_UNPROCESSED &&
	    strcmp(m->operation, "BatchGetItem") != 0)
		return;
	m->fault = f->fault;
	m->fault_ms = f->ms;
	m->fault_count = f->count;
	m->fault_type = f->type;
	w->history.messages_hit[f->fault] = true;
	network_hit(m, f->fault == MESSAGE_REFUSED ? f->type :
	    plan_fault_name(f->fault));
}

struct message *
network_send(struct host *h, struct job *j, const char *operation,
    const char *body, size_t length, enum operation_kind kind,
    const char *what)
{
	struct world *w = h->world;
	struct message *m = world_alloc(sizeof(*m));
	struct fault fault;
	uint64_t arrives;

	h->n_messages++;
	w->history.messages++;
	m->host = h;
	m->job = j;
	m->operation = operation;
	m->kind = kind;
	m->body = world_alloc(length + 1);
	memcpy(m->body, body, length);
	m->length = length;
	m->sent = w->now;
	m->sent_boot_ms = host_boot_ms(h);
	m->signed_ms = skew_wall_ms(&h->skew, m->sent_boot_ms);
	if (m->signed_ms == 0)
		m->signed_ms = host_wall_ms(h);
	memcpy(m->what, what, strnlen(what, sizeof(m->what) - 1));
	dynamo_answer_init(&m->answer);
	m->next = w->messages;
	m->link = &w->messages;
	if (m->next != NULL)
		m->next->link = &m->next;
	w->messages = m;
	world_add_alarm(w, &m->alarm, network_on_alarm);

	if (kind != PLAN_ANY && network_fault(h, j, kind, &fault))
		network_spoil(m, &fault);
	m->trip_ms = network_trip_ms(w, NETWORK_STREAM_BACK, h);
	arrives = w->now + network_trip_ms(w, NETWORK_STREAM_OUT, h);
	if (w->now < h->down_until || m->fault == MESSAGE_UNSENT) {
		if (m->fault == 0)
			network_hit(m, "the connection is refused");
		m->fault = MESSAGE_UNSENT;
		m->landed = true;
		arrives = w->now + 1;
	} else if (network_is_cut(h) || m->fault == MESSAGE_LOST) {
		if (m->fault == 0)
			network_hit(m, "cut off");
		m->landed = true;	/* no answer will come */
		return m;
	} else if (m->fault == MESSAGE_LATE) {
		arrives += m->fault_ms;
	}
	world_set(w, &m->alarm, arrives);
	return m;
}
