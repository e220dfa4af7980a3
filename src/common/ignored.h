/*
 * System calls whose failure does not matter; the reason is beside each. A cast
 * to void does not satisfy GCC where libc wants its results looked at
 * (_FORTIFY_SOURCE).
 */
#ifndef DDBLOCKD_COMMON_IGNORED_H
#define DDBLOCKD_COMMON_IGNORED_H

#include <sys/types.h>

static inline void
ignored(ssize_t result)
{
	(void)result;
}

#endif
