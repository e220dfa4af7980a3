/*
 * sts:AssumeRole, signed with the credentials that came before it in the plan.
 */
#include <stddef.h>

#include "identity/source_internal.h"

static enum source_verdict
source_assume_role_start(struct source *s)
{
	enum source_verdict verdict;

	source_sts_begin(s, "AssumeRole", s->role);
	if (s->role->external_id != NULL)
		source_sts_parameter(s, "ExternalId", s->role->external_id);
	verdict = source_sts_send(s);
	s->errand.signer = s->signer;
	s->errand.service = "sts";
	s->errand.region = s->params->region;
	return verdict;
}

static enum source_verdict
source_assume_role_answer(struct source *s, const struct errand_answer *a)
{
	return source_sts_answer(s, "AssumeRole", s->role, a);
}

const struct source_methods source_assume_role = {
	.name = "assume-role",
	.start = source_assume_role_start,
	.answer = source_assume_role_answer,
};
