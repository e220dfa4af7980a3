/*
 * Secrets are wiped before their memory goes back: every block that is freed or
 * grown here is inspected first. The linker puts our functions before the
 * allocator's (--wrap).
 */
#include "config.h"

#include <malloc.h>
#include <stdbool.h>
#include <string.h>

#include "aws/credentials.h"
#include "common/buffer.h"
#include "test.h"

#define SECRET "what-nobody-may-find-in-free-memory"

void __real_free(void *p);
void *__real_realloc(void *p, size_t size);
void __wrap_free(void *p);
void *__wrap_realloc(void *p, size_t size);

static unsigned leaks;

static void
look_into(void *p)
{
	if (p != NULL && memmem(p, malloc_usable_size(p),
	    SECRET, strlen(SECRET)) != NULL)
		leaks++;
}

void
__wrap_free(void *p)
{
	look_into(p);
	__real_free(p);
}

void *
__wrap_realloc(void *p, size_t size)
{
	look_into(p);
	return __real_realloc(p, size);
}

TEST(test_it_looks)
{
	struct buffer b;

	leaks = 0;
	buffer_init(&b, 10000);
	ck_assert_int_eq(buffer_append_text(&b, SECRET), 0);
	buffer_done(&b);
	ck_assert_uint_eq(leaks, 1);
}

TEST(test_buffer)
{
	struct buffer b;

	leaks = 0;
	buffer_init_secret(&b, 10000);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(buffer_append_text(&b, SECRET), 0);
	buffer_consume(&b, b.length - strlen(SECRET));
	buffer_shrink(&b);
	buffer_done(&b);
	buffer_init(&b, 10000);
	ck_assert_int_eq(buffer_append_text(&b, SECRET), 0);
	buffer_wipe(&b);
	ck_assert_uint_eq(leaks, 0);
}

TEST(test_credentials)
{
	struct credentials c = { .expires_ms = 0 }, copy = { .expires_ms = 0 };
	char text[256];

	leaks = 0;
	ck_assert_int_eq(credentials_set(&c, "AKID", SECRET, SECRET, text,
	    sizeof(text)), 0);
	ck_assert_int_eq(credentials_copy(&copy, &c), 0);
	ck_assert_int_eq(credentials_set(&c, "AKID", "another", NULL, text,
	    sizeof(text)), 0);
	credentials_done(&copy);
	credentials_done(&c);
	ck_assert_uint_eq(leaks, 0);
}
