/*
 * Damaged journals. Where a daemon inherits, others inherit from copies of the
 * same journal in which entries are missing, twice there, of another kind,
 * shorter, longer, or have other bytes, with checksums that are right. Each is
 * refused, or makes a core that stands its own checks, and that leaves a
 * journal which can be inherited. None of them is heard of. Copies in which
 * something ends days later are refused.
 */
#include "world_state.h"

#include <stdlib.h>
#include <string.h>

#include "core/operation.h"
#include "core/saved.h"
#include "core/succession.h"
#include "ddblock.h"

#define SPOIL_COPIES 4
#define SPOIL_STEPS 24
#define SPOIL_ENTRIES_MAX 512
#define SPOIL_BYTES (1 << 20)
#define SPOIL_SUBMITS_MAX 64
#define SPOIL_CLIENTS_MAX 64

enum { SPOIL_STREAM = 400 };

struct spoil {
	struct host *host;
	uint64_t drawn;
	struct journal_entry entries[SPOIL_ENTRIES_MAX];
	size_t n;
	struct operation *submits[SPOIL_SUBMITS_MAX];
	size_t n_submits;
	uint64_t here[SPOIL_CLIENTS_MAX];	/* the clients that are; or 0 */
	size_t n_here;
	uint64_t now_ms;
};

static uint64_t
spoil_dice(struct spoil *s, uint64_t limit)
{
	return world_chance(s->host->world, SPOIL_STREAM + s->host->index,
	    s->host->world->now * 100000 + s->drawn++, limit);
}

/* One of @n places. */
static size_t
spoil_pick(struct spoil *s, size_t n)
{
	return (size_t)spoil_dice(s, n);
}

/* ---- a damaged copy ----------------------------------------------------- */

static void
spoil_read(struct spoil *s, const void *memory, size_t size)
{
	struct journal_entry e = { .place = 0 };

	while (s->n < SPOIL_ENTRIES_MAX && journal_read(memory, size, &e))
		s->entries[s->n++] = e;
}

/* Values that are at the edge of something, or small, or any. */
static uint64_t
spoil_value(struct spoil *s)
{
	static const uint64_t edges[] = { 0, 1, 2, 255, 65535, UINT32_MAX,
		INT64_MAX, UINT64_MAX, TOKEN_MAX, TOKEN_MAX + 1 };

	switch (spoil_dice(s, 4)) {
	case 0:
		return edges[spoil_dice(s, sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return spoil_dice(s, 9);
	case 2:
		return s->now_ms + spoil_dice(s, 3) - 1;
	default:
		return spoil_dice(s, UINT64_MAX);
	}
}

static void
spoil_bytes(struct spoil *s, uint8_t *data, size_t length)
{
	const size_t width = (size_t)1 << spoil_dice(s, 4);
	const uint64_t value = spoil_value(s);
	const size_t at = length < width ? 0 :
	    width * spoil_pick(s, length / width);
	const struct journal_entry *other =
	    &s->entries[spoil_dice(s, s->n)];

	if (length < width)
		return;
	/* What another one has there, so that two are alike. */
	if (spoil_dice(s, 3) == 0 && other->length >= at + width)
		memcpy(data + at, (const uint8_t *)other->data + at, width);
	else
		memcpy(data + at, &value, width);
}

static void
spoil_put(struct spoil *s, struct journal *j, const struct journal_entry *e,
    bool damaged)
{
	uint8_t data[JOURNAL_DATA_MAX] = { 0 };
	journal_place place = 0;
	size_t length = e->length;
	uint16_t kind = e->kind;

	memcpy(data, e->data, length);
	if (damaged) {
		switch (spoil_dice(s, 8)) {
		case 0:
			kind = (uint16_t)spoil_dice(s, 10);
			break;
		case 1:
			length = spoil_pick(s, length + 1);
			break;
		case 2:
			length += spoil_pick(s, 9);
			break;
		default:
			for (uint64_t n = 1 + spoil_dice(s, 3); n > 0; n--)
				spoil_bytes(s, data, length);
		}
	}
	if (!journal_put(j, &place, kind, data, length, NULL, 0))
		world_find(s->host->world, "X", "no room to spoil");
}

static void
spoil_copy(struct spoil *s, struct journal *j)
{
	const size_t bad = spoil_pick(s, s->n);
	const bool many = spoil_dice(s, 4) == 0;

	for (size_t i = 0; i < s->n; i++) {
		const bool damaged = many ? spoil_dice(s, 4) == 0 : i == bad;

		if (!damaged) {
			spoil_put(s, j, &s->entries[i], false);
			continue;
		}
		switch (spoil_dice(s, 6)) {
		case 0:
			break;
		case 1:
			spoil_put(s, j, &s->entries[i], false);
			spoil_put(s, j, &s->entries[i], false);
			break;
		case 2:
			spoil_put(s, j, &s->entries[i], false);
			spoil_put(s, j, &s->entries[i], true);
			break;
		default:
			spoil_put(s, j, &s->entries[i], true);
		}
	}
	journal_commit(j);
}

/* ---- ends ---------------------------------------------------------------- */

/* Where entries have when something ends that a client had: max_hold, linger,
 * its work after a cut, what stays at least, and the gap of what was lost
 * (saved_hold, saved_terms, saved_at_least, saved_grant). */
static const struct {
	uint16_t kind;
	size_t at;
} spoil_ends[] = {
	{ SAVED_HOLD, 48 + 8 }, { SAVED_HOLD, 48 + 48 },
	{ SAVED_HOLD, 48 + 56 }, { SAVED_HOLD, 48 + 88 + 8 },
	{ SAVED_GRANT, 56 },
};

#define SPOIL_ENDS (sizeof(spoil_ends) / sizeof(spoil_ends[0]))

/* Move this end of this entry, if it has it, beyond all that there can be. */
static bool
spoil_stretch(const struct spoil *s, struct journal_entry *e, uint8_t *data,
    size_t which)
{
	const size_t at = spoil_ends[which].at;
	uint64_t value;

	if (e->kind != spoil_ends[which].kind ||
	    e->length < at + sizeof(value))
		return false;
	memcpy(data, e->data, e->length);
	memcpy(&value, data + at, sizeof(value));
	/* All of them are within a day. */
	if (value <= s->now_ms || value > s->now_ms + CORE_LINGER_MAX_MS)
		return false;
	value += 2 * CORE_LINGER_MAX_MS;
	memcpy(data + at, &value, sizeof(value));
	e->data = data;
	return true;
}

/* False: no entry has this end. */
static bool
spoil_copy_end(struct spoil *s, struct journal *j, size_t which)
{
	bool found = false;

	for (size_t i = 0; i < s->n; i++) {
		uint8_t data[JOURNAL_DATA_MAX];
		struct journal_entry e = s->entries[i];

		found = found || spoil_stretch(s, &e, data, which);
		spoil_put(s, j, &e, false);
	}
	journal_commit(j);
	return found;
}

/* ---- the life of what was made of it ------------------------------------ */

static bool
spoil_is_here(void *arg, uint64_t client)
{
	struct spoil *s = arg;

	if (s->n_here == SPOIL_CLIENTS_MAX || spoil_dice(s, 2) == 0)
		return false;
	s->here[s->n_here++] = client;
	return true;
}

/* NULL: it has ended. */
static uint64_t *
spoil_find_client(struct spoil *s, uint64_t client)
{
	for (size_t i = 0; i < s->n_here; i++) {
		if (s->here[i] == client)
			return &s->here[i];
	}
	return NULL;
}

static void
spoil_act(struct spoil *s, struct core *core, struct core_event *ev)
{
	struct core_update update;

	ev->now_ms = s->now_ms;
	(void)core_step(core, ev, &update);
	for (struct core_action *a = update.actions; a != NULL; a = a->next) {
		if (a->type != CORE_SUBMIT ||
		    s->n_submits == SPOIL_SUBMITS_MAX)
			continue;
		s->submits[s->n_submits++] =
		    &((struct core_submit *)(void *)a)->operation;
	}
}

static void
spoil_answer(struct spoil *s, struct core *core)
{
	struct operation *o;
	struct outcome outcome = { .sent_ms = s->now_ms };
	struct core_event ev = { .type = CORE_STORED };
	size_t i;

	if (s->n_submits == 0)
		return;
	i = spoil_pick(s, s->n_submits);
	o = s->submits[i];
	s->submits[i] = s->submits[--s->n_submits];
	if (!operation_is_sound(o))
		world_find(s->host->world, "X", "%s: what was made of a "
		    "damaged journal asks for nonsense", s->host->name);
	outcome.kind = OUTCOME_UNKNOWN;
	outcome.unanswered = true;
	outcome.unanswered_ms = s->now_ms;
	if (o->kind == OPERATION_READ || o->kind >= OPERATION_SESSION_OPEN) {
		outcome = (struct outcome){ .kind = OUTCOME_DONE,
			.sent_ms = s->now_ms, .session = { .exists = true,
			    .beat = o->beat + 1, .lease_ms = o->lease_ms } };
		if (spoil_dice(s, 4) == 0 && o->kind != OPERATION_READ)
			outcome.kind = OUTCOME_CONFLICT;
	} else if (spoil_dice(s, 2) == 0) {
		outcome = (struct outcome){ .kind = OUTCOME_REFUSED,
			.code = DDBLOCK_E_THROTTLED };
	}
	ev.stored.operation = o;
	ev.stored.outcome = &outcome;
	spoil_act(s, core, &ev);
}

/* Who is there asks for what there is. */
static void
spoil_ask(struct spoil *s, struct core *core)
{
	struct core_event ev = { .type = CORE_REQUEST };
	struct core_hold_view v;
	char key[KEY_BYTES_MAX] = "a";
	size_t length = 1;
	uint64_t *here;

	if (!core_next_hold(core, 0, s->now_ms, &v))
		return;
	while (spoil_dice(s, 3) != 0 &&
	    core_next_hold(core, v.hold, s->now_ms, &v))
		;
	here = spoil_find_client(s, v.client);
	if (here == NULL)
		return;
	if (spoil_dice(s, 2) == 0) {
		length = v.key.length;
		memcpy(key, v.key.bytes, length);
	}
	ev.request = (struct core_request){ .client = v.client,
		.request = s->drawn, .namespace_index = v.namespace_index,
		.key = { key, length }, .hold = v.id, .wait_ms =
		    spoil_dice(s, 5000), .terms = { .mode =
		    spoil_dice(s, 2) == 0 ? LOCK_MODE_SHARED :
		    LOCK_MODE_EXCLUSIVE, .reentrant = spoil_dice(s, 2) == 0 } };
	ev.request.verb = (enum core_verb[]){ CORE_ACQUIRE, CORE_RELEASE,
		CORE_RENEW, CORE_DOWNGRADE, CORE_GET }[spoil_dice(s, 5)];
	if (spoil_dice(s, 4) == 0) {
		ev = (struct core_event){ .type = spoil_dice(s, 2) == 0 ?
			CORE_GONE : CORE_CUT, .client = v.client };
		*here = 0;
	}
	spoil_act(s, core, &ev);
}

static void
spoil_live(struct spoil *s, struct core *core)
{
	struct core_event ev = { .type = CORE_CAME_BACK, .came_back = {
	    .is_here = spoil_is_here, .arg = s } };

	s->n_submits = s->n_here = 0;
	spoil_act(s, core, &ev);
	for (unsigned i = 0; i < SPOIL_STEPS; i++) {
		ev = (struct core_event){ .type = CORE_TIMER };
		if (spoil_dice(s, 4) == 0)
			s->now_ms += spoil_dice(s, 3000);
		switch (spoil_dice(s, 3)) {
		case 0:
			spoil_ask(s, core);
			break;
		case 1:
			spoil_act(s, core, &ev);
			break;
		default:
			spoil_answer(s, core);
		}
	}
}

/* ---- all of it --------------------------------------------------------- */

static struct core *
spoil_core(struct spoil *s)
{
	const uint64_t seed[CORE_SEED_WORDS] = { 1, 2, 3, s->drawn };
	struct core_namespace namespaces[PLAN_NAMESPACES_MAX];
	struct core_config config;
	struct core *core;

	order_config(s->host, namespaces, &config);
	if (core_new(&config, seed, s->now_ms, &core) < 0)
		exit(1);
	return core;
}

static int
spoil_inherit(struct core *core, const struct journal *j)
{
	struct core_legacy legacy = { .memory = j->memory, .size = j->size };
	struct core_inherited inherited;

	for (uint32_t i = 0; i < CORE_NAMESPACES_MAX; i++)
		legacy.namespaces[i] = i + 1;
	if (journal_state(j->memory, j->size) != JOURNAL_GOOD)
		return DDBLOCK_E_BAD_RECORD;
	return core_inherit(core, &legacy, &inherited);
}

static void
spoil_one(struct spoil *s, uint8_t *memory)
{
	struct core *core = spoil_core(s);
	struct journal j;

	journal_format(&j, memory, SPOIL_BYTES);
	spoil_copy(s, &j);
	if (spoil_inherit(core, &j) == 0) {
		spoil_live(s, core);
		journal_format(&j, memory, SPOIL_BYTES);
		if (core_save(core, &j) < 0)
			world_find(s->host->world, "X", "cannot save");
		core_free(core);
		core = spoil_core(s);
		/* What was damaged once may be refused now: that is safe. */
		if (journal_state(memory, SPOIL_BYTES) == JOURNAL_GOOD)
			(void)spoil_inherit(core, &j);
	}
	core_free(core);
}

/* Each kind of end by itself: what ends too late is refused. */
static void
spoil_each_end(struct spoil *s, uint8_t *memory)
{
	struct journal j;

	for (size_t i = 0; i < SPOIL_ENDS; i++) {
		struct core *core = spoil_core(s);

		journal_format(&j, memory, SPOIL_BYTES);
		if (spoil_copy_end(s, &j, i) && spoil_inherit(core, &j) == 0)
			world_find(s->host->world, "X", "%s takes over what "
			    "ends in days", s->host->name);
		core_free(core);
	}
}

void
spoil_journal(struct host *h, const void *memory, size_t size)
{
	struct spoil *s = world_alloc(sizeof(*s));
	uint8_t *copy = world_alloc(SPOIL_BYTES);

	s->host = h;
	spoil_read(s, memory, size);
	for (unsigned i = 0; i < SPOIL_COPIES && s->n > 0; i++) {
		s->now_ms = host_boot_ms(h);
		spoil_one(s, copy);
	}
	s->now_ms = host_boot_ms(h);
	spoil_each_end(s, copy);
	free(copy);
	free(s);
}
