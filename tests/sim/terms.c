/*
 * The terms of a condition, as text.
 */
#include "terms.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* How long is the term that begins here? */
static size_t
term_length(const char *text)
{
	bool between = false;
	unsigned depth = 0;
	size_t n = 0;

	for (; text[n] != '\0'; n++) {
		if (text[n] == '(') {
			depth++;
		} else if (text[n] == ')') {
			if (depth-- == 0)
				break;
		} else if (strncmp(text + n, " BETWEEN ", 9) == 0) {
			between = true;
		} else if (strncmp(text + n, " AND ", 5) == 0 && between) {
			between = false;
		} else if (strncmp(text + n, " AND ", 5) == 0 ||
		    strncmp(text + n, " OR ", 4) == 0) {
			break;
		}
	}
	return n;
}

void
terms_find(const char *condition, struct terms *t)
{
	unsigned stack[TERMS_GROUPS_MAX] = { 0 }, depth = 0;
	size_t at = 0;

	memset(t, 0, sizeof(*t));
	t->n_groups = 1;
	while (condition[at] != '\0') {
		if (condition[at] == '(') {
			ck_assert_uint_lt(t->n_groups, TERMS_GROUPS_MAX);
			stack[++depth] = t->n_groups++;
			at++;
		} else if (condition[at] == ')') {
			depth--;
			at++;
		} else if (strncmp(condition + at, " AND ", 5) == 0) {
			at += 5;
		} else if (strncmp(condition + at, " OR ", 4) == 0) {
			t->any[stack[depth]] = true;
			at += 4;
		} else {
			ck_assert_uint_lt(t->n, TERMS_MAX);
			t->of[t->n] = (struct term){ at,
				term_length(condition + at), stack[depth] };
			at += t->of[t->n++].length;
		}
	}
}

bool
term_drop(const char *term, bool any, unsigned way,
    char ret[TERMS_TEXT_MAX])
{
	char what[TERMS_TEXT_MAX], low[64], high[64];

	if (sscanf(term, "%4000s BETWEEN %63s AND %63s", what, low,
	    high) == 3 && way < 2) {
		(void)snprintf(ret, TERMS_TEXT_MAX, way == 0 ?
		    "(%s >= %s OR %s)" : "(%s <= %s OR %s)", what,
		    way == 0 ? low : high, term);
		return true;
	}
	if (way > 0)
		return false;
	(void)snprintf(ret, TERMS_TEXT_MAX, any ? "(%s AND (NOT %s))" :
	    "(%s OR (NOT %s))", term, term);
	return true;
}
