/*
 * A journal: a change counts whole or not at all, wherever its writer dies, and
 * a block that is not what was written is not believed.
 */
#include <stdlib.h>
#include <string.h>

#include "common/journal.h"
#include "test.h"

#define BLOCK 8192
#define KEYS 12
#define LENGTH_MAX 120

/* What an entry says: the rest is its length in bytes of its version. */
struct note {
	uint32_t key;
	uint32_t version;
};

/* The versions that count, of each key; 0: there is no entry. */
struct notes {
	uint32_t versions[KEYS];
	size_t n;
};

static struct journal j;
static uint8_t *block;
static journal_place places[KEYS];
static struct notes now, committed;
static bool committing;
static unsigned long copies, copies_of_new;
static uint32_t dice;

/* Many times over: check itself notes each place that it passes. */
static void
must(bool holds, const char *what)
{
	if (!holds)
		ck_abort_msg("%s", what);
}

static uint32_t
roll(uint32_t below)
{
	dice = dice * 1664525 + 1013904223;
	return (dice >> 8) % below;
}

static struct notes
read_notes(const uint8_t *memory, size_t size)
{
	struct journal_entry e = { .place = 0 };
	struct notes ret = { .n = 0 };
	struct note note;

	while (journal_read(memory, size, &e)) {
		const uint8_t *data = e.data;

		must(e.length >= sizeof(note), "too short");
		memcpy(&note, data, sizeof(note));
		must(note.key < KEYS && e.kind == note.key + 7, "no such key");
		must(ret.versions[note.key] == 0, "twice");
		for (size_t i = sizeof(note); i < e.length; i++)
			must(data[i] == (uint8_t)note.version, "its bytes");
		ret.versions[note.key] = note.version;
		ret.n++;
	}
	return ret;
}

static bool
same(const struct notes *a, const struct notes *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* The writer dies here: what does the next one find? */
static void
die(void *arg)
{
	uint8_t *copy = malloc(j.size);
	enum journal_state state;
	struct notes found;

	(void)arg;
	must(copy != NULL, "memory");
	memcpy(copy, j.memory, j.size);
	state = journal_state(copy, j.size);
	if (state == JOURNAL_EMPTY) {
		must(j.sequence == 1, "empty");
	} else {
		must(state == JOURNAL_GOOD, "not good");
		found = read_notes(copy, j.size);
		if (committing && same(&found, &now)) {
			copies_of_new++;
			committed = now;
		}
		must(same(&found, &committed), "not whole");
	}
	copies++;
	free(copy);
}

static void
begin(size_t size, uint32_t seed)
{
	block = malloc(size);
	must(block != NULL, "memory");
	memset(block, 0xa5, size);
	memset(places, 0, sizeof(places));
	now = committed = (struct notes){ .n = 0 };
	committing = false;
	copies = copies_of_new = 0;
	dice = seed;
	journal_format(&j, block, size);
}

static bool
put(uint32_t key, uint32_t version, size_t length)
{
	const struct note note = { key, version };
	uint8_t tail[JOURNAL_DATA_MAX];

	memset(tail, (int)(version & 255), length);
	if (!journal_put(&j, &places[key], (uint16_t)(key + 7), &note,
	    sizeof(note), tail, length))
		return false;
	now.n += now.versions[key] == 0;
	now.versions[key] = version;
	return true;
}

static void
end(uint32_t key)
{
	journal_end(&j, &places[key]);
	ck_assert_uint_eq(places[key], 0);
	now.n -= now.versions[key] != 0;
	now.versions[key] = 0;
}

static void
commit(void)
{
	committing = true;
	journal_commit(&j);
	committing = false;
	committed = now;
}

/* A change of a few entries, and now and then of none. */
static void
change(uint32_t serial)
{
	for (uint32_t n = roll(5); n > 0; n--) {
		const uint32_t key = roll(KEYS);

		if (roll(3) == 0)
			end(key);
		else
			ck_assert(put(key, serial * 8 + n, roll(LENGTH_MAX)));
	}
	commit();
}

TEST_LOOP(test_death, 1, 10)
{
	begin(BLOCK, (uint32_t)_i);
	j.before_store = die;
	for (uint32_t i = 1; i < 400; i++)
		change(i);
	ck_assert_uint_gt(copies, 1000);
	ck_assert_uint_gt(copies_of_new, 200);
	free(block);
}

TEST(test_what_is_not_committed)
{
	struct notes found;

	begin(BLOCK, 1);
	ck_assert_int_eq(journal_state(block, BLOCK), JOURNAL_EMPTY);
	ck_assert(put(1, 1, 10));
	ck_assert_int_eq(journal_state(block, BLOCK), JOURNAL_EMPTY);
	commit();
	ck_assert(put(1, 2, 10));
	ck_assert(put(2, 2, 10));
	end(1);
	ck_assert_int_eq(journal_state(block, BLOCK), JOURNAL_GOOD);
	found = read_notes(block, BLOCK);
	ck_assert_uint_eq(found.n, 1);
	ck_assert_uint_eq(found.versions[1], 1);
	commit();
	found = read_notes(block, BLOCK);
	ck_assert_uint_eq(found.n, 1);
	ck_assert_uint_eq(found.versions[2], 2);
	free(block);
}

/* What was ended is used again: any number of changes fit into one page. */
TEST(test_again)
{
	begin(JOURNAL_SIZE_MIN, 1);
	for (uint32_t i = 1; i < 10000; i++) {
		ck_assert(put(i % 3, i, 50));
		commit();
	}
	free(block);
}

/* But not before that change counts. */
TEST(test_not_yet_again)
{
	journal_place first;

	begin(JOURNAL_SIZE_MIN, 1);
	ck_assert(put(1, 1, 50));
	commit();
	first = places[1];
	ck_assert(put(1, 2, 50));
	ck_assert(put(2, 2, 50));
	ck_assert_uint_ne(places[1], first);
	ck_assert_uint_ne(places[2], first);
	commit();
	ck_assert(put(3, 3, 50));
	ck_assert_uint_eq(places[3], first);
	free(block);
}

TEST(test_no_room)
{
	uint8_t before[JOURNAL_SIZE_MIN], *larger;
	journal_place place;
	struct notes found;

	begin(JOURNAL_SIZE_MIN, 1);
	ck_assert(put(0, 1, JOURNAL_SIZE_MIN / 2));
	commit();
	memcpy(before, block, sizeof(before));
	place = places[0];
	ck_assert(!put(0, 2, JOURNAL_SIZE_MIN / 2));
	ck_assert(!put(1, 2, JOURNAL_SIZE_MIN / 2));
	ck_assert_uint_eq(places[0], place);
	ck_assert_uint_eq(places[1], 0);
	ck_assert_mem_eq(before, block, sizeof(before));
	larger = malloc(4 * (size_t)JOURNAL_SIZE_MIN);
	ck_assert_ptr_nonnull(larger);
	memcpy(larger, block, JOURNAL_SIZE_MIN);
	free(block);
	journal_move(&j, larger, 4 * (size_t)JOURNAL_SIZE_MIN);
	ck_assert(put(0, 2, JOURNAL_SIZE_MIN / 2));
	ck_assert(put(1, 3, JOURNAL_SIZE_MIN / 2));
	commit();
	found = read_notes(larger, j.size);
	ck_assert(same(&found, &now));
	ck_assert_uint_eq(found.n, 2);
	free(larger);
}

TEST(test_longest)
{
	const size_t length = JOURNAL_DATA_MAX - sizeof(struct note);

	begin(4 * (size_t)JOURNAL_DATA_MAX, 1);
	for (uint32_t i = 1; i < 10; i++) {
		ck_assert(put(0, i, length));
		ck_assert(put(1, i, 0));
		commit();
		ck_assert_int_eq(journal_state(block, j.size), JOURNAL_GOOD);
	}
	ck_assert_uint_eq(read_notes(block, j.size).n, 2);
	free(block);
}

/* One that has been in use, with entries that were ended and used again, and a
 * change that was not committed. */
static void
used_block(uint32_t seed)
{
	begin(BLOCK, seed);
	for (uint32_t i = 1; i < 50 + seed; i++)
		change(i);
	ck_assert(put(0, 1000, 30));
	end(1);
}

/* A byte that is another one is found, or says nothing. */
TEST_LOOP(test_damage, 1, 3)
{
	static const uint8_t masks[] = { 1, 2, 0x10, 0x80, 0xff };
	unsigned long n_found = 0;
	uint8_t *copy;

	used_block((uint32_t)_i);
	copy = malloc(BLOCK);
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, block, BLOCK);
	for (size_t at = 0; at < BLOCK; at++) {
		for (size_t m = 0; m < sizeof(masks); m++) {
			struct notes found;

			copy[at] ^= masks[m];
			if (journal_state(copy, BLOCK) == JOURNAL_GOOD) {
				found = read_notes(copy, BLOCK);
				must(same(&found, &committed), "damage");
			} else {
				n_found++;
			}
			copy[at] ^= masks[m];
		}
	}
	ck_assert_uint_gt(n_found, 1000);
	free(copy);
	free(block);
}

/* Memory of exactly that size, so that the sanitizer sees what is read beside
 * it. */
static void
judge(const uint8_t *memory, size_t size)
{
	uint8_t *copy = malloc(size > 0 ? size : 1);
	struct journal_entry e = { .place = 0 };
	unsigned long sum = 0;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, memory, size);
	(void)journal_version(copy, size);
	if (journal_state(copy, size) == JOURNAL_GOOD) {
		while (journal_read(copy, size, &e)) {
			for (size_t i = 0; i < e.length; i++)
				sum += ((const uint8_t *)e.data)[i];
		}
	}
	ck_assert_uint_lt(sum, BLOCK * 256);
	free(copy);
}

TEST(test_truncated)
{
	used_block(3);
	for (size_t size = 0; size < BLOCK; size++)
		judge(block, size);
	free(block);
}

TEST_LOOP(test_hostile, 0, 50)
{
	used_block(1 + (uint32_t)_i % 7);
	dice = (uint32_t)_i;
	for (int round = 0; round < 20; round++) {
		for (uint32_t n = 1 + roll(8); n > 0; n--)
			block[8 + roll(roll(2) == 0 ? 400 : BLOCK - 8)] =
			    (uint8_t)roll(256);
		judge(block, BLOCK);
	}
	for (size_t i = 8; i < BLOCK; i++)
		block[i] = (uint8_t)roll(256);
	judge(block, BLOCK);
	free(block);
}

TEST(test_other_version)
{
	begin(BLOCK, 1);
	ck_assert(put(0, 1, 1));
	commit();
	ck_assert_uint_eq(journal_version(block, BLOCK), JOURNAL_VERSION);
	block[8]++;
	ck_assert_int_eq(journal_state(block, BLOCK), JOURNAL_OTHER_VERSION);
	ck_assert_uint_eq(journal_version(block, BLOCK), JOURNAL_VERSION + 1);
	block[0]++;
	ck_assert_int_eq(journal_state(block, BLOCK), JOURNAL_DAMAGED);
	ck_assert_uint_eq(journal_version(block, BLOCK), 0);
	free(block);
}
