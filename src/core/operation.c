/*
 * The words for operations and outcomes.
 */
#include "core/operation.h"

static const char *const operation_names[] = {
	[OPERATION_READ] = "read",
	[OPERATION_READ_MANY] = "read many",
	[OPERATION_ACQUIRE] = "acquire",
	[OPERATION_RELEASE] = "release",
	[OPERATION_EXTEND] = "extend",
	[OPERATION_WANT] = "want",
	[OPERATION_UNWANT] = "unwant",
	[OPERATION_SCAN] = "scan",
	[OPERATION_SESSION_OPEN] = "session open",
	[OPERATION_SESSION_BEAT] = "session beat",
	[OPERATION_SESSION_READ] = "session read",
	[OPERATION_SESSION_KILL] = "session kill",
	[OPERATION_SESSION_BURY] = "session bury",
	[OPERATION_SESSION_CLOSE] = "session close",
};

static const char *const outcome_names[] = {
	[OUTCOME_DONE] = "done",
	[OUTCOME_CONFLICT] = "conflict",
	[OUTCOME_UNKNOWN] = "unknown",
	[OUTCOME_REFUSED] = "refused",
};

#define LENGTH_OF(array) (sizeof(array) / sizeof((array)[0]))

const char *
operation_kind_name(enum operation_kind kind)
{
	if ((size_t)kind >= LENGTH_OF(operation_names) ||
	    operation_names[kind] == NULL)
		return "none";
	return operation_names[kind];
}

const char *
outcome_kind_name(enum outcome_kind kind)
{
	if ((size_t)kind >= LENGTH_OF(outcome_names) ||
	    outcome_names[kind] == NULL)
		return "none";
	return outcome_names[kind];
}
