/*
 * The error table, for callers.
 */
#include "common/error.h"

const char *
ddblock_error_name(int code)
{
	return error_word(code);
}

const char *
ddblock_error_text(int code)
{
	return error_text(code);
}

int
ddblock_exit_status(int code)
{
	return error_exit_status(code);
}
