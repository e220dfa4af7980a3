/*
 * Entries that outlive their process (journal.h).
 *
 *     head | slot | slot | ... | room never used
 *
 * A slot keeps its size for ever. Stores are in the order that they are written
 * in here: only a compiler could change that for a process that dies, hence the
 * fences.
 */
#include "common/journal.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#define JOURNAL_MAGIC UINT64_C(0x6c6e726a626b6464)	/* ddbkjrnl */
#define JOURNAL_UNIT 16		/* bytes that sizes are multiples of */
#define JOURNAL_NEVER UINT64_MAX

/* What there is after a change. */
struct journal_change {
	uint64_t sequence;
	uint64_t digest;	/* of the entries that count */
};

struct journal_head {
	uint64_t magic;
	uint32_t version;
	uint32_t used;		/* bytes of head and slots */
	uint64_t committed;	/* the last change that counts */
	uint64_t spare;
	struct journal_change changes[2];	/* that one's, in the place of
						 * its lowest bit */
};

struct journal_slot {
	uint64_t sequence;	/* of the change that wrote it, */
	uint64_t ended;		/* and of the one that ended it; or 0 */
	uint16_t units;		/* with this */
	uint16_t kind;
	uint32_t checksum;	/* of sequence, units, kind, length and data */
	journal_place next;	/* freed: for this process only */
	uint16_t length;
	uint16_t spare;
};

_Static_assert(sizeof(struct journal_head) == 64, "entries are aligned");
_Static_assert(sizeof(struct journal_slot) == 32, "entries are aligned");
_Static_assert(JOURNAL_DATA_MAX <= UINT16_MAX, "lengths have room");

static struct journal_head *
journal_head(const struct journal *j)
{
	return (struct journal_head *)(void *)j->memory;
}

static struct journal_slot *
journal_slot(const struct journal *j, journal_place place)
{
	return (struct journal_slot *)(void *)(j->memory + place);
}

/* What is stored next is stored after all before it. */
static void
journal_fence(struct journal *j)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (j->before_store != NULL)
		j->before_store(j->before_store_arg);
}

static uint64_t
journal_mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 32;
}

/* By words, not by bytes: most of what an entry costs is this. */
static uint32_t
journal_checksum(const struct journal_slot *slot)
{
	const uint8_t *data = (const uint8_t *)(slot + 1);
	size_t left = slot->length;
	uint64_t sum = journal_mix(slot->sequence, (uint64_t)slot->units |
	    (uint64_t)slot->kind << 16 | (uint64_t)slot->length << 32);
	uint64_t word;

	for (; left >= sizeof(word); left -= sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		sum = journal_mix(sum, word);
		data += sizeof(word);
	}
	word = 0;
	memcpy(&word, data, left);
	return (uint32_t)journal_mix(sum, word);
}

/* What an entry adds to the digest: an entry too many or too few shows. */
static uint64_t
journal_share(journal_place place, const struct journal_slot *slot)
{
	uint64_t share = (uint64_t)place << 32 | slot->checksum;

	share = (share ^ share >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	share = (share ^ share >> 27) * UINT64_C(0x94d049bb133111eb);
	return share ^ share >> 31;
}

/* ---- writing ---------------------------------------------------------- */

void
journal_format(struct journal *j, void *memory, size_t size)
{
	struct journal_head head = {
		.version = JOURNAL_VERSION,
		.used = sizeof(head),
	};

	assert(size >= JOURNAL_SIZE_MIN && size <= JOURNAL_SIZE_MAX);
	*j = (struct journal){
		.memory = memory, .size = size, .sequence = 1,
	};
	memcpy(memory, &head, sizeof(head));
	journal_fence(j);
	journal_head(j)->magic = JOURNAL_MAGIC;
}

void
journal_move(struct journal *j, void *memory, size_t size)
{
	assert(size >= j->size && size <= JOURNAL_SIZE_MAX);
	j->memory = memory;
	j->size = size;
}

/* A slot that was never used. 0: there is no room. */
static journal_place
journal_carve(struct journal *j, uint16_t units)
{
	struct journal_head *head = journal_head(j);
	const journal_place place = head->used;
	const size_t size = (size_t)units * JOURNAL_UNIT;
	struct journal_slot *slot;

	if (j->size - place < size)
		return 0;
	slot = journal_slot(j, place);
	*slot = (struct journal_slot){
		.sequence = JOURNAL_NEVER, .units = units,
	};
	journal_fence(j);
	head->used = (uint32_t)(place + size);
	return place;
}

static journal_place
journal_take(struct journal *j, uint16_t units)
{
	const journal_place place = j->free[units];

	if (place == 0)
		return journal_carve(j, units);
	j->free[units] = journal_slot(j, place)->next;
	return place;
}

bool
journal_put(struct journal *j, journal_place *place, uint16_t kind,
    const void *head, size_t head_length, const void *tail,
    size_t tail_length)
{
	const size_t length = head_length + tail_length;
	const size_t size = sizeof(struct journal_slot) + length;
	const uint16_t units =
	    (uint16_t)((size + JOURNAL_UNIT - 1) / JOURNAL_UNIT);
	struct journal_slot *slot;
	journal_place at;
	uint8_t *data;

	assert(length <= JOURNAL_DATA_MAX);
	at = journal_take(j, units);
	if (at == 0)
		return false;
	slot = journal_slot(j, at);
	slot->sequence = JOURNAL_NEVER;
	journal_fence(j);
	data = (uint8_t *)(slot + 1);
	slot->ended = 0;
	slot->kind = kind;
	slot->length = (uint16_t)length;
	memcpy(data, head, head_length);
	if (tail_length > 0)
		memcpy(data + head_length, tail, tail_length);
	journal_fence(j);
	slot->sequence = j->sequence;
	slot->checksum = journal_checksum(slot);
	j->digest += journal_share(at, slot);
	journal_end(j, place);
	*place = at;
	j->changed = true;
	return true;
}

void
journal_end(struct journal *j, journal_place *place)
{
	struct journal_slot *slot;

	if (*place == 0)
		return;
	slot = journal_slot(j, *place);
	j->digest -= journal_share(*place, slot);
	journal_fence(j);
	slot->ended = j->sequence;
	slot->next = j->ended;
	j->ended = *place;
	*place = 0;
	j->changed = true;
}

void
journal_commit(struct journal *j)
{
	struct journal_head *head = journal_head(j);

	if (!j->changed)
		return;
	j->changed = false;
	journal_fence(j);
	head->changes[j->sequence % 2] = (struct journal_change){
		.sequence = j->sequence, .digest = j->digest,
	};
	journal_fence(j);
	head->committed = j->sequence;
	journal_fence(j);
	/* It is not to be taken for the one that counts. */
	head->changes[(j->sequence + 1) % 2].sequence = 0;
	j->sequence++;
	while (j->ended != 0) {
		const journal_place place = j->ended;
		struct journal_slot *slot = journal_slot(j, place);

		j->ended = slot->next;
		slot->next = j->free[slot->units];
		j->free[slot->units] = place;
	}
}

/* ---- reading: nothing in the block is believed ------------------------- */

static bool
journal_read_head(const void *memory, size_t size, struct journal_head *ret)
{
	if (size < JOURNAL_SIZE_MIN || size > JOURNAL_SIZE_MAX)
		return false;
	memcpy(ret, memory, sizeof(*ret));
	return ret->magic == JOURNAL_MAGIC;
}

/* The slot at @place; NULL: there can be none. */
static const struct journal_slot *
journal_slot_at(const void *memory, const struct journal_head *head,
    journal_place place)
{
	const struct journal_slot *slot = (const void *)
	    ((const uint8_t *)memory + place);
	const size_t left = head->used - place;

	if (left < sizeof(*slot) || left < (size_t)slot->units * JOURNAL_UNIT ||
	    (size_t)slot->units * JOURNAL_UNIT < sizeof(*slot))
		return NULL;
	return slot;
}

/* Was it written by a change that was committed, and not ended by one? */
static bool
journal_counts(const struct journal_head *head,
    const struct journal_slot *slot)
{
	return slot->sequence <= head->committed &&
	    (slot->ended == 0 || slot->ended > head->committed);
}

static bool
journal_is_sound(const struct journal_slot *slot)
{
	const size_t room =
	    (size_t)slot->units * JOURNAL_UNIT - sizeof(*slot);

	return slot->length <= room && slot->length <= JOURNAL_DATA_MAX &&
	    slot->checksum == journal_checksum(slot);
}

enum journal_state
journal_state(const void *memory, size_t size)
{
	struct journal_head head;
	const struct journal_slot *slot;
	const struct journal_change *change;
	uint64_t digest = 0;
	journal_place at;

	if (!journal_read_head(memory, size, &head))
		return JOURNAL_DAMAGED;
	if (head.version != JOURNAL_VERSION &&
	    head.version != JOURNAL_VERSION - 1)
		return JOURNAL_OTHER_VERSION;
	if (head.used > size || head.used < sizeof(head) ||
	    head.used % JOURNAL_UNIT != 0)
		return JOURNAL_DAMAGED;
	for (at = sizeof(head); at < head.used;
	    at += (journal_place)slot->units * JOURNAL_UNIT) {
		slot = journal_slot_at(memory, &head, at);
		if (slot == NULL)
			return JOURNAL_DAMAGED;
		if (!journal_counts(&head, slot))
			continue;
		if (!journal_is_sound(slot))
			return JOURNAL_DAMAGED;
		digest += journal_share(at, slot);
	}
	change = &head.changes[head.committed % 2];
	if (change->sequence != head.committed || change->digest != digest)
		return JOURNAL_DAMAGED;
	return head.committed == 0 ? JOURNAL_EMPTY : JOURNAL_GOOD;
}

uint32_t
journal_version(const void *memory, size_t size)
{
	struct journal_head head;

	return journal_read_head(memory, size, &head) ? head.version : 0;
}

bool
journal_read(const void *memory, size_t size, struct journal_entry *entry)
{
	struct journal_head head;
	const struct journal_slot *slot;
	journal_place at = entry->place;

	if (!journal_read_head(memory, size, &head))
		return false;
	if (at == 0)
		at = sizeof(head);
	else if ((slot = journal_slot_at(memory, &head, at)) != NULL)
		at += (journal_place)slot->units * JOURNAL_UNIT;
	for (; at < head.used;
	    at += (journal_place)slot->units * JOURNAL_UNIT) {
		slot = journal_slot_at(memory, &head, at);
		if (slot == NULL)
			return false;
		if (!journal_counts(&head, slot))
			continue;
		*entry = (struct journal_entry){
			.place = at, .kind = slot->kind,
			.length = slot->length, .data = slot + 1,
		};
		return true;
	}
	return false;
}
