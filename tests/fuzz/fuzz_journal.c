/*
 * What a process may find as the journal of the one before it. Whatever it is,
 * it is refused as a whole, or makes a core that stands its own checks, asks
 * the store for nothing that has no sense, and can leave a journal itself.
 *
 * The first byte chooses: 0, the rest is the block itself; otherwise it is the
 * time, four bytes, and entries with right checksums: their kind, their length
 * in two bytes, and so many bytes.
 */
#include "fuzz.h"

#include "common/journal.h"
#include "ddblock.h"
#include "settings.h"

#define BLOCK_SIZE (64 * 1024)
#define STEPS 24
#define SUBMITS_MAX 128

struct life {
	struct core *core;
	uint64_t now_ms;
	uint64_t next_ms;
	struct operation *submits[SUBMITS_MAX];
	size_t n_submits;
};

static _Alignas(64) uint8_t blocks[2][BLOCK_SIZE];

static uint64_t
journal_number(struct fuzz_input *in, int bytes)
{
	uint64_t n = 0;

	for (int i = 0; i < bytes; i++)
		n |= (uint64_t)fuzz_byte(in) << (8 * i);
	return n;
}

static void
journal_write(struct fuzz_input *in, uint8_t *block)
{
	static uint8_t data[JOURNAL_DATA_MAX];
	struct journal j;

	journal_format(&j, block, BLOCK_SIZE);
	while (in->length > 0) {
		const uint16_t kind = (uint16_t)journal_number(in, 1);
		size_t length = (size_t)journal_number(in, 2);
		journal_place place = 0;

		if (length > in->length)
			length = in->length;
		if (length > sizeof(data))
			length = sizeof(data);
		memcpy(data, in->at, length);
		in->at += length;
		in->length -= length;
		if (!journal_put(&j, &place, kind, data, length, NULL, 0))
			break;
	}
	journal_commit(&j);
}

/* All that is read of a block is within it. */
static void
journal_look(const uint8_t *block, size_t size)
{
	struct journal_entry e = { .place = 0 };
	size_t n = 0;

	while (journal_read(block, size, &e)) {
		FUZZ_CHECK((const uint8_t *)e.data >= block &&
		    (const uint8_t *)e.data + e.length <= block + size);
		FUZZ_CHECK(++n <= size / 16);
	}
}

/* ---- the life of what was made of it ------------------------------------ */

static bool
life_is_here(void *arg, uint64_t client)
{
	(void)arg;
	return client % 2 == 0;
}

static void
life_step(struct life *l, struct core_event *event)
{
	struct core_update update;

	event->now_ms = l->now_ms;
	(void)core_step(l->core, event, &update);
	l->next_ms = update.next_ms;
	for (struct core_action *a = update.actions; a != NULL; a = a->next) {
		struct operation *o;

		if (a->type != CORE_SUBMIT)
			continue;
		o = &((struct core_submit *)(void *)a)->operation;
		FUZZ_CHECK(operation_is_sound(o));
		if (l->n_submits < SUBMITS_MAX)
			l->submits[l->n_submits++] = o;
	}
}

static void
life_answer(struct life *l, unsigned how)
{
	struct operation *o = l->submits[--l->n_submits];
	struct outcome outcome = {
		.kind = OUTCOME_UNKNOWN, .code = DDBLOCK_E_UNREACHABLE,
		.sent_ms = l->now_ms, .unanswered = true,
		.unanswered_ms = l->now_ms,
	};
	struct core_event event = {
		.type = CORE_STORED,
		.stored = { .operation = o, .outcome = &outcome },
	};

	if (o->kind == OPERATION_READ || (o->kind >= OPERATION_SESSION_OPEN &&
	    how % 4 != 0))
		outcome = (struct outcome){ .kind = how % 4 == 1 &&
			o->kind != OPERATION_READ ? OUTCOME_CONFLICT :
			OUTCOME_DONE, .sent_ms = l->now_ms, .session = {
			.exists = true, .beat = o->beat + 1,
			.lease_ms = o->lease_ms } };
	else if (how % 2 == 0)
		outcome = (struct outcome){ .kind = OUTCOME_REFUSED,
			.code = DDBLOCK_E_THROTTLED };
	life_step(l, &event);
}

/* What is held is released, and its clients go. */
static void
life_release(struct life *l)
{
	struct core_hold_view v;
	struct core_event event = { .type = CORE_REQUEST };

	if (!core_next_hold(l->core, 0, l->now_ms, &v))
		return;
	if (v.client % 2 != 0) {
		event = (struct core_event){ .type = CORE_TIMER };
	} else {
		event.request = (struct core_request){ .client = v.client,
			.request = UINT64_C(1) << 40, .verb = CORE_RELEASE,
			.namespace_index = v.namespace_index, .hold = v.id };
	}
	life_step(l, &event);
}

static void
life_go(struct life *l)
{
	struct core_event event = {
		.type = CORE_CAME_BACK,
		.came_back = { .is_here = life_is_here },
	};

	life_step(l, &event);
	for (unsigned i = 0; i < STEPS; i++) {
		event = (struct core_event){ .type = CORE_TIMER };
		if (l->n_submits > 0 && i % 3 != 2)
			life_answer(l, i);
		else if (i % 7 == 5)
			life_release(l);
		if (i % 3 == 0 && l->next_ms != CORE_FOREVER &&
		    l->next_ms > l->now_ms)
			l->now_ms = l->next_ms;
		life_step(l, &event);
	}
}

static void
life_leave(struct life *l)
{
	struct core_inherited inherited;
	struct core *core;
	struct journal j;

	journal_format(&j, blocks[1], BLOCK_SIZE);
	/* A block that is full is no defect. */
	if (core_save(l->core, &j) < 0)
		return;
	if (journal_state(blocks[1], BLOCK_SIZE) != JOURNAL_GOOD)
		return;
	/* What was damaged once may be refused now. */
	core = fuzz_inherit(blocks[1], BLOCK_SIZE, l->now_ms, &inherited);
	core_free(core);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	struct life l = { .now_ms = 50000 };
	struct core_inherited inherited;
	const bool raw = fuzz_byte(&in) == 0;

	fuzz_reset_cores();
	if (raw) {
		memset(blocks[0], 0, BLOCK_SIZE);
		memcpy(blocks[0], in.at, in.length < BLOCK_SIZE ? in.length :
		    BLOCK_SIZE);
	} else {
		l.now_ms = journal_number(&in, 4);
		journal_write(&in, blocks[0]);
	}
	(void)journal_version(blocks[0], BLOCK_SIZE);
	if (journal_state(blocks[0], BLOCK_SIZE) != JOURNAL_GOOD)
		return 0;
	journal_look(blocks[0], BLOCK_SIZE);
	l.core = fuzz_inherit(blocks[0], BLOCK_SIZE, l.now_ms, &inherited);
	if (l.core == NULL)
		return 0;
	life_go(&l);
	life_leave(&l);
	core_free(l.core);
	return 0;
}
