/*
 * 128 random bits that name a session or a grant and are never used twice.
 */
#ifndef DDBLOCKD_CORE_IDENT_H
#define DDBLOCKD_CORE_IDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 32 lower-case hexadecimal digits. */
#define IDENT_TEXT_LENGTH 32

struct ident {
	uint64_t high;
	uint64_t low;
};

static inline bool
ident_equal(struct ident a, struct ident b)
{
	return a.high == b.high && a.low == b.low;
}

static inline bool
ident_is_none(struct ident i)
{
	return i.high == 0 && i.low == 0;
}

bool ident_is_among(const struct ident *, size_t n, struct ident);

/*
 * The name of a hold in a format without sessions, made of any: as bytes it is
 * a UUID of version 4 whose last four bytes are zero, and have room for the
 * number of a renewal.
 */
#define IDENT_RENEWALS_MAX UINT32_MAX
struct ident ident_renewable(struct ident);

/* One that follows from these bytes alone; never none. */
struct ident ident_hash(const char *bytes, size_t length);

/* Write the text form and a NUL. */
void ident_format(struct ident, char text[IDENT_TEXT_LENGTH + 1]);

/* Read exactly IDENT_TEXT_LENGTH digits. False if they are not that. */
bool ident_parse(const char *text, size_t length, struct ident *ret);

#endif
