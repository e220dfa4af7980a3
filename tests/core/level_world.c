/*
 * What neither record may be below is told here: world_reply() looks.
 */
#include "level_world.h"

#include <stdio.h>
#include <string.h>

#include "core/apply.h"
#include "ddblock.h"

struct world w;

static const struct core_namespace native = {
	.name = "default", .lease_ms = 20000, .heartbeat_ms = 5000,
	.danger_ms = 10000, .margin_ms = 1000, .drift_ppm = 10000,
	.poll_ms = 1000, .request_ms = 3000, .try_ms = 1000,
	.audit_ms = 3600000, .handover_max = 100, .bridge = OLD + 1,
};

static const struct core_namespace old = {
	.name = "old", .format = "js-fail-open", .life = LOCK_LIFE_RECORD,
	.lacks = CORE_LACKS_SHARED | CORE_LACKS_FAIL_CLOSED |
	    CORE_LACKS_DATA | CORE_LACKS_ATTRIBUTES,
	.lease_ms = 20000, .heartbeat_ms = 5000, .danger_ms = 10000,
	.margin_ms = 1000, .drift_ppm = 10000, .poll_ms = 1000,
	.request_ms = 3000, .try_ms = 1000, .audit_ms = 3600000,
	.handover_max = 100,
};

/* ---- the store --------------------------------------------------------- */

static struct row *
row_of(const struct operation *o)
{
	return &w.rows[o->namespace_index][o->key.bytes[0] - 'a'];
}

static struct lock_record
row_record(const struct row *r, uint32_t side)
{
	static const char version[] = "seen";

	return (struct lock_record){
		.exists = true, .mode = LOCK_MODE_EXCLUSIVE,
		.token = r->token, .token_text = r->token_text,
		.holders = r->held ? &r->holder : NULL,
		.n_holders = r->held ? 1 : 0,
		.version = side == OLD ? version : NULL,
		.beat = r->beat,
	};
}

/* False: something is in the way. */
static bool
row_apply(const struct operation *o)
{
	const bool is_old = o->namespace_index == OLD;
	const struct apply a = {
		.life = is_old ? LOCK_LIFE_RECORD : LOCK_LIFE_SESSION,
		.beat = o->kind == OPERATION_ACQUIRE ? 0 : o->beat + 1,
		.free_stays = true, .tokens_unbounded = is_old,
	};
	struct row *r = row_of(o);
	struct lock_record next, seen = row_record(r, o->namespace_index);
	struct holder memory[4];
	int verdict;

	ck_assert_uint_le(apply_room(o, &seen), sizeof(memory));
	verdict = apply_lock(&a, o, &seen, memory, &next);
	ck_assert_msg(verdict > 0, "%s: %d", operation_kind_name(o->kind),
	    verdict);
	if (verdict == APPLY_NEW) {
		r->token = next.token;
		r->held = next.n_holders > 0;
		if (r->held)
			r->holder = next.holders[0];
		r->beat = next.beat;
	}
	return verdict != APPLY_CONFLICT;
}

/* Does the store, for once, other than it should? */
static enum fate
fate_take(const struct operation *o)
{
	enum fate *at = &w.fate[o->namespace_index][o->kind], fate = *at;

	w.count[o->namespace_index][o->kind]++;
	if (!w.always)
		*at = FATE_DONE;
	return fate;
}

static struct outcome
row_outcome(const struct operation *o, enum fate fate)
{
	struct outcome out = { .kind = OUTCOME_DONE, .sent_ms = w.now_ms };

	/* A number does not say which it was: as in dlock. */
	if (o->kind == OPERATION_EXTEND && o->namespace_index == OLD &&
	    o->version == NULL && o->token_seen >= TOKEN_MAX)
		fate = FATE_REFUSED;
	if (fate == FATE_REFUSED) {
		out = (struct outcome){ .kind = OUTCOME_REFUSED,
			.code = DDBLOCK_E_BAD_RECORD };
		(void)snprintf(out.text, sizeof(out.text), "what is there");
		return out;
	}
	if (o->kind >= OPERATION_SESSION_OPEN && fate == FATE_DONE) {
		out.session = (struct session_record){ .exists = true,
			.beat = o->beat + 1, .lease_ms = 20000,
			.dead = o->kind == OPERATION_SESSION_CLOSE ||
			    o->kind == OPERATION_SESSION_READ };
		return out;
	}
	if (fate == FATE_CONFLICT ||
	    (fate != FATE_LOST && !row_apply(o)))
		out.kind = OUTCOME_CONFLICT;
	if (fate == FATE_UNKNOWN || fate == FATE_LOST)
		return (struct outcome){ .kind = OUTCOME_UNKNOWN,
			.code = DDBLOCK_E_UNREACHABLE,
			.unanswered = true, .unanswered_ms = w.now_ms };
	out.lock = row_record(row_of(o), o->namespace_index);
	return out;
}

/* All of them are free. */
static struct outcome
row_together(const struct operation *o, struct outcome_part parts[KEYS])
{
	struct outcome out = { .kind = OUTCOME_DONE, .sent_ms = w.now_ms,
		.parts = parts };

	ck_assert_uint_le(o->n_keys, KEYS);
	for (size_t i = 0; i < o->n_keys; i++) {
		const struct outcome one =
		    row_outcome(o->parts[i], FATE_DONE);

		ck_assert_int_eq(one.kind, OUTCOME_DONE);
		parts[i] = (struct outcome_part){ .kind = one.kind,
			.lock = one.lock };
	}
	return out;
}

/* ---- the world --------------------------------------------------------- */

static void world_step(struct core_event *);

static void
world_reply(const struct core_reply *r)
{
	if (r->verb != CORE_ACQUIRE)
		return;
	w.replies++;
	w.code = r->code;
	w.cause = r->cause;
	(void)snprintf(w.text, sizeof(w.text), "%s",
	    r->text != NULL ? r->text : "");
	(void)snprintf(w.token_text, sizeof(w.token_text), "%s",
	    r->token_text != NULL ? r->token_text : "");
	if (r->code != 0)
		return;
	w.hold = r->hold;
	w.token = r->token;
	for (uint32_t i = 0; i < r->n_parts; i++)
		w.told[r->parts[i].key.bytes[0] - 'a'] = r->parts[i].token;
	/* What is told is in both records by then. */
	for (uint32_t i = 0; i < KEYS; i++) {
		uint64_t token = r->n_parts > 0 ? w.told[i] : w.token;

		if (!w.rows[OLD][i].held || w.rows[OLD][i].token_text != NULL)
			continue;
		ck_assert_uint_ge(w.rows[OLD][i].token, token);
		ck_assert_uint_ge(w.rows[NATIVE][i].token, token);
	}
}

static void
world_answer(struct operation *o, enum fate fate)
{
	struct outcome_part parts[KEYS];
	struct outcome out = o->kind == OPERATION_TOGETHER ?
	    row_together(o, parts) : row_outcome(o, fate);
	struct core_event ev = { .type = CORE_STORED,
		.stored = { o, &out } };

	world_step(&ev);
}

static void
world_step(struct core_event *ev)
{
	struct core_update up;

	ev->now_ms = w.now_ms;
	ck_assert_int_eq(core_step(w.core, ev, &up), 0);
	w.next_ms = up.next_ms;
	for (struct core_action *a = up.actions; a != NULL; a = a->next) {
		if (a->type == CORE_REPLY)
			world_reply((const struct core_reply *)a);
		else if (a->type == CORE_NOTICE && ((struct core_notice *)a)
		    ->kind == CORE_LOST)
			w.losses++;
		else if (a->type == CORE_SUBMIT)
			w.queue[w.n_queue++] =
			    &((struct core_submit *)a)->operation;
	}
}

/* All that is under way is answered, but what is kept. */
static void
world_settle(void)
{
	for (size_t i = 0; i < w.n_queue; i++) {
		struct operation *o = w.queue[i];
		enum fate fate = fate_take(o);

		ck_assert_uint_lt(w.n_queue,
		    sizeof(w.queue) / sizeof(w.queue[0]));
		if (fate == FATE_KEEP)
			w.kept = o;
		else
			world_answer(o, fate);
	}
	w.n_queue = 0;
}

void
world_run(uint64_t ms)
{
	uint64_t end_ms = w.now_ms + ms;

	world_settle();
	while (w.next_ms <= end_ms) {
		struct core_event ev = { .type = CORE_TIMER };

		if (w.next_ms > w.now_ms)
			w.now_ms = w.next_ms;
		world_step(&ev);
		world_settle();
	}
	w.now_ms = end_ms;
}

/* What was kept back has an answer. */
void
world_land(enum fate fate)
{
	struct operation *o = w.kept;

	ck_assert_ptr_nonnull(o);
	w.kept = NULL;
	world_answer(o, fate);
	world_settle();
}

void
world_begin(uint64_t old_token, uint64_t native_token)
{
	const struct core_namespace namespaces[SIDES] = { native, old };
	const struct core_config config = {
		.namespaces = namespaces, .n_namespaces = SIDES,
		.limits = { .clients_max = 10, .requests_per_client_max = 10,
		    .holds_per_client_max = 10, .watches_per_client_max = 10,
		    .watches_max = 10, .locks_max = 100, .requests_max = 100,
		    .observations_max = 100, .doubts_max = 100 },
		.host = "A",
	};
	const uint64_t seed[4] = { 1, 2, 3, 4 };
	struct core_event ev = { .type = CORE_TIMER };

	memset(&w, 0, sizeof(w));
	w.now_ms = 1000;
	for (int i = 0; i < KEYS; i++) {
		w.rows[OLD][i].token = old_token;
		w.rows[NATIVE][i].token = native_token;
	}
	ck_assert_int_eq(core_new(&config, seed, w.now_ms, &w.core), 0);
	world_step(&ev);
	world_settle();
}

void
world_end(void)
{
	core_free(w.core);
}

void
world_ask(struct core_request *ask)
{
	struct core_event ev = { .type = CORE_REQUEST };

	ask->request = ++w.serial;
	ev.request = *ask;
	world_step(&ev);
	world_settle();
}

void
world_acquire_in(uint32_t side, uint64_t client, uint64_t wait_ms)
{
	struct core_request ask = { .client = client, .verb = CORE_ACQUIRE,
		.namespace_index = side, .key = key_text("a"),
		.wait_ms = wait_ms, .terms.mode = LOCK_MODE_EXCLUSIVE };

	world_ask(&ask);
}

void
world_acquire(uint64_t client, uint64_t wait_ms)
{
	world_acquire_in(NATIVE, client, wait_ms);
}

void
world_release(uint64_t client)
{
	struct core_request ask = { .client = client, .verb = CORE_RELEASE,
		.hold = w.hold };

	world_ask(&ask);
}

void
world_event(struct core_event *ev)
{
	world_step(ev);
	world_settle();
}

void
world_leave(uint64_t client)
{
	struct core_event ev = { .type = CORE_GONE, .client = client };

	world_event(&ev);
}

unsigned
world_raises(int side)
{
	return w.count[side][OPERATION_EXTEND];
}

/* Neither record has anybody any more. */
void
world_expect_free(void)
{
	world_run(30000);
	for (int i = 0; i < SIDES * KEYS; i++)
		ck_assert(!w.rows[i / KEYS][i % KEYS].held);
}
