/*
 * The translation of several acquires that happen together or not at all: what
 * is known of each of its parts.
 */
#include "core/apply.h"
#include "ddblock.h"
#include "store/translation_internal.h"

/* False: nothing can be said of it yet. */
static bool
translation_judge_part(const struct translation *e, size_t i,
    struct outcome_part *ret)
{
	const struct operation *part = e->operation->parts[i];
	const struct apply a = { .life = e->dialect->life };
	bool unknown = e->acknowledged || translation_unanswered(e) != NULL;
	int verdict;

	*ret = (struct outcome_part){ .kind = OUTCOME_REFUSED };
	switch (e->view.parts[i]) {
	case DIALECT_PART_UNSEEN:
		return false;
	case DIALECT_PART_SPARED:
		return true;
	case DIALECT_PART_BAD:
		ret->kind = unknown ? OUTCOME_UNKNOWN : OUTCOME_REFUSED;
		ret->code = DDBLOCK_E_BAD_RECORD;
		return true;
	case DIALECT_PART_SEEN:
		break;
	}
	ret->lock = e->view.locks[i];
	verdict = apply_judge_lock(&a, part, &ret->lock);
	if (verdict == APPLY_SAME)
		ret->kind = OUTCOME_DONE;
	else if (verdict == APPLY_CONFLICT)
		ret->kind = OUTCOME_CONFLICT;
	return true;
}

/*
 * The view shows what is known of each key. If one has our grant, an attempt
 * without an answer took effect after all, and those that were spared have
 * theirs, too: look.
 */
enum translation_verdict
translation_judge_parts(struct translation *e, uint32_t attempt,
    struct outcome *ret)
{
	const struct translation_attempt *a = &e->attempts[attempt];
	const struct translation_attempt *first = translation_unanswered(e);
	bool look = a->what.step == DIALECT_LOOK;
	size_t n = e->operation->n_keys, n_done = 0;
	struct outcome_part *parts =
	    dialect_view_alloc(&e->view, n, sizeof(*parts));
	bool known = true;

	if (parts == NULL)
		return translation_refuse(e, DDBLOCK_E_NOMEM, "", ret);
	for (size_t i = 0; i < n; i++) {
		if (!translation_judge_part(e, i, &parts[i]))
			known = false;
		if (parts[i].kind == OUTCOME_DONE)
			n_done++;
	}
	if (!look && (!known || n_done > 0))
		return translation_look(e);
	if (!known) {
		translation_trouble(e, DDBLOCK_E_THROTTLED,
		    "the store left some of the keys unread");
		return TRANSLATION_LATER;
	}
	(void)translation_final(e, n_done == n ?
	    OUTCOME_DONE : OUTCOME_CONFLICT, 0, e->view.text, (first != NULL ?
	    first : a)->sent_ms, ret);
	ret->parts = parts;
	return TRANSLATION_FINAL;
}

/* False: it is known to be invalid, and the look does not show why. */
static bool
translation_is_telling(const struct translation *e)
{
	for (size_t i = 0; e->invalid != 0 && i < e->operation->n_keys; i++) {
		if (e->view.parts[i] == DIALECT_PART_BAD)
			return true;
	}
	return e->invalid == 0;
}

enum translation_verdict
translation_ok_parts(struct translation *e, uint32_t attempt,
    struct outcome *ret)
{
	if (e->attempts[attempt].what.step != DIALECT_LOOK) {
		e->acknowledged = true;
		return translation_look(e);
	}
	if (!translation_is_telling(e))
		return translation_refuse(e, e->invalid, e->text, ret);
	return translation_judge_parts(e, attempt, ret);
}

/* There are no transactions at this endpoint: one by one they may be acquired.
 * */
enum translation_verdict
translation_spare_parts(struct translation *e, uint32_t attempt,
    struct outcome *ret)
{
	struct outcome_part *parts = dialect_view_alloc(&e->view,
	    e->operation->n_keys, sizeof(*parts));

	if (parts == NULL)
		return translation_refuse(e, DDBLOCK_E_NOMEM, "", ret);
	for (size_t i = 0; i < e->operation->n_keys; i++)
		parts[i] = (struct outcome_part){ .kind = OUTCOME_REFUSED };
	(void)translation_final(e, OUTCOME_CONFLICT, 0, "",
	    e->attempts[attempt].sent_ms, ret);
	ret->parts = parts;
	return TRANSLATION_FINAL;
}
