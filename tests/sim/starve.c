/*
 * Memory that runs out inside a core. The linker puts these functions before
 * the allocator's (--wrap); they fail only allocations inside one chosen step
 * of the core.
 */
#include "world_state.h"

#include <stdlib.h>
#include <string.h>

static struct {
	unsigned host;
	uint32_t left;	/* allocations until the first that fails, plus one */
	uint32_t count;	/* that fail then */
	uint32_t made;	/* so far */
	bool inside;	/* a step of that core */
} starve;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *text);

void
starve_arm(unsigned host, uint32_t nth, uint32_t count)
{
	starve.host = host;
	starve.left = nth;
	starve.count = count;
	starve.made = 0;
}

/* How many that core has made since, before any failed. */
uint32_t
starve_made(unsigned host)
{
	return starve.host == host ? starve.made : 0;
}

void
starve_disarm(void)
{
	starve.count = 0;
	starve.inside = false;
}

void
starve_enter(unsigned host)
{
	starve.inside = starve.count > 0 && starve.host == host;
}

void
starve_leave(void)
{
	starve.inside = false;
}

static bool
starve_fails(void)
{
	if (!starve.inside || starve.count == 0)
		return false;
	if (starve.left > 1) {
		starve.left--;
		starve.made++;
		return false;
	}
	starve.count--;
	return true;
}

void *
__wrap_malloc(size_t size)
{
	return starve_fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return starve_fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
	return starve_fails() ? NULL : __real_realloc(p, size);
}

char *
__wrap_strdup(const char *text)
{
	return starve_fails() ? NULL : __real_strdup(text);
}
