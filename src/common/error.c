/*
 * The error table. See err.def.
 */
#include "common/error.h"

#include <string.h>

struct error_row {
	const char *word;
	const char *text;
	int exit_status;
};

static const struct error_row error_rows[] = {
	{ "OK", "it worked", 0 },
#define X(name, exit_status, again, text, note) { #name, text, exit_status },
#include "common/err.def"
#undef X
};

#define ERROR_ROWS (sizeof(error_rows) / sizeof(error_rows[0]))

_Static_assert(ERROR_ROWS <= ERROR_CODES_MAX, "ERROR_CODES_MAX is too small");

/* The position of each row, to be held against the constants of ddblock.h. */
enum {
	POSITION_OK,
#define X(name, exit_status, again, text, note) POSITION_##name,
#include "common/err.def"
#undef X
};

#define X(name, exit_status, again, text, note)                                \
	_Static_assert(DDBLOCK_E_##name == -(int)POSITION_##name,              \
	    "err.def and ddblock.h disagree on " #name);
#include "common/err.def"
#undef X

static const struct error_row *
error_row(int code)
{
	if (code > 0 || code <= -(int)ERROR_ROWS)
		return &error_rows[POSITION_INTERNAL];
	return &error_rows[-code];
}

const char *
error_word(int code)
{
	return error_row(code)->word;
}

const char *
error_text(int code)
{
	return error_row(code)->text;
}

int
error_exit_status(int code)
{
	return error_row(code)->exit_status;
}

int
error_from_word(const char *word, size_t length)
{
	for (size_t i = 1; i < ERROR_ROWS; i++) {
		if (strlen(error_rows[i].word) == length &&
		    memcmp(error_rows[i].word, word, length) == 0)
			return -(int)i;
	}
	return 0;
}
