/*
 * What was freed below something in use goes back to the system, step by step.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/trim.h"
#include "test.h"

#define BLOCK 200
#define BLOCKS (4 * TRIM_KEPT_BYTES / BLOCK)

static size_t
resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	size_t all, resident;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%zu %zu", &all, &resident), 2);
	(void)fclose(f);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Is malloc() that of the C library? */
static bool
has_own_malloc(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return false;
#else
	return true;
#endif
#else
	return true;
#endif
}

static void *
block_new(void)
{
	void *block = malloc(BLOCK);

	ck_assert_ptr_nonnull(block);
	memset(block, 'x', BLOCK);
	return block;
}

TEST_NOT_EMULATED("qemu's heap does not grow")

TEST(test_given_back)
{
	static char *blocks[BLOCKS];
	struct trim t = { .size = 0 };
	size_t before = resident_bytes(), most, in_use, steps = 0;
	char *last;

	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = block_new();
	last = block_new();
	for (size_t i = 0; i < BLOCKS; i++) {
		if (i % (BLOCKS / 4) != 0)
			free(blocks[i]);
	}
	most = resident_bytes();
	ck_assert_uint_gt(most, before + 3 * TRIM_KEPT_BYTES);
	in_use = mallinfo2().uordblks;
	/* A piece at a time. */
	while (trim_step(&t, 0))
		steps++;
	ck_assert_ptr_null(t.pieces);
	if (has_own_malloc()) {
		ck_assert_uint_gt(steps, 100);
		ck_assert_uint_eq(mallinfo2().uordblks, in_use);
		ck_assert_uint_lt(resident_bytes(),
		    before + 2 * TRIM_KEPT_BYTES);
	}
	/* Nothing that is in use was touched. */
	for (size_t i = 0; i < BLOCKS; i += BLOCKS / 4) {
		for (size_t k = 0; k < BLOCK; k++)
			ck_assert_int_eq(blocks[i][k], 'x');
		free(blocks[i]);
	}
	ck_assert_int_eq(last[BLOCK - 1], 'x');
	free(last);
}

TEST(test_ended_in_the_middle)
{
	struct trim t = { .size = 0 };

	for (int i = 0; i < 5; i++)
		(void)trim_step(&t, 0);
	trim_done(&t);
	ck_assert_ptr_null(t.pieces);
	trim_done(&t);
}
