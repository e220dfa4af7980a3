/*
 * Cases for the judge, judged.
 */
#include "judge_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CASE_END_MS 200000

static void
judge_case(const struct judge_case *c, bool guilty)
{
	const char *texts[] = { c->before, guilty ? c->guilty : c->innocent,
		c->after, NULL };
	struct judge *j = story_judge(texts,
	    c->end_ms == 0 ? CASE_END_MS : c->end_ms);
	const struct judge_finding *f = judge_finding(j);

	if (!guilty)
		ck_assert_msg(f == NULL, "%s, %s: innocent, but %" PRIu64
		    ": %s: %s", c->rule, c->what, f == NULL ? 0 : f->at_ms,
		    f == NULL ? "" : f->invariant, f == NULL ? "" : f->text);
	else
		ck_assert_msg(f != NULL && strcmp(f->invariant, c->rule) == 0,
		    "%s, %s: guilty, but %s: %s", c->rule, c->what,
		    f == NULL ? "passed" : f->invariant,
		    f == NULL ? "" : f->text);
	judge_free(j);
}

void
judge_cases(const struct judge_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		judge_case(&cases[i], false);
		judge_case(&cases[i], true);
	}
}
