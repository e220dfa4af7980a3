/*
 * The environment of a test: "NAME=VALUE" each, up to NULL or the end.
 */
#ifndef DDBLOCKD_TESTS_VARIABLES_H
#define DDBLOCKD_TESTS_VARIABLES_H

#include <string.h>

#define VARIABLES_MAX 8

static inline const char *
variables_get(const char *const variables[VARIABLES_MAX], const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < VARIABLES_MAX && variables[i] != NULL; i++)
		if (strncmp(variables[i], name, length) == 0 &&
		    variables[i][length] == '=')
			return variables[i] + length + 1;
	return NULL;
}

#endif
