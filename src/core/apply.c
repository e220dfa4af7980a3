/*
 * Conditions and effects: what holds for records of each life.
 */
#include "core/apply.h"

#include "core/apply_rules.h"
#include "ddblock.h"

bool
apply_has(const struct lock_record *l, const struct holder *h)
{
	for (size_t i = 0; i < l->n_holders; i++) {
		if (ident_equal(l->holders[i].grant, h->grant) &&
		    ident_equal(l->holders[i].session, h->session))
			return true;
	}
	return false;
}

int
apply_judge_tokens(uint64_t token, uint64_t n)
{
	if (n > TOKEN_MAX || token > TOKEN_MAX - n)
		return DDBLOCK_E_BAD_RECORD;
	return APPLY_NEW;
}

int
apply_judge_read(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	(void)a;
	(void)o;
	(void)l;
	return APPLY_SAME;
}

static const struct apply_rule *
apply_rule(const struct apply *a, const struct operation *o)
{
	return a->life == LOCK_LIFE_SESSION ?
	    &apply_rules[o->kind] : &apply_alone_rules[o->kind];
}

int
apply_judge_lock(const struct apply *a, const struct operation *o,
    const struct lock_record *l)
{
	const struct apply_rule *rule = apply_rule(a, o);

	return rule->judge != NULL ?
	    rule->judge(a, o, l) : DDBLOCK_E_UNSUPPORTED;
}

int
apply_lock(const struct apply *a, const struct operation *o,
    const struct lock_record *old, void *memory, struct lock_record *ret)
{
	struct lock_record r = *old;
	int verdict;

	if (a->life == LOCK_LIFE_SESSION && !operation_is_sound(o))
		return DDBLOCK_E_BAD_REQUEST;
	verdict = apply_judge_lock(a, o, old);
	if (verdict < 0)
		return verdict;
	if (verdict == APPLY_NEW)
		apply_rule(a, o)->make(a, o, memory, &r);
	r.asked_s = a->wall_s;
	*ret = r;
	return verdict;
}

/* One more element than there is, of each set that an operation changes. */
size_t
apply_room(const struct operation *o, const struct lock_record *old)
{
	if (o->kind == OPERATION_READ)
		return 0;
	return (old->n_holders + 1) * sizeof(struct holder) +
	    (old->n_exclusive_waiters + old->n_shared_waiters + old->n_line +
	    old->n_marks + 2) * sizeof(struct ident);
}

uint64_t
apply_beat(const struct operation *o, uint64_t sent_ms)
{
	return sent_ms > o->beat ? sent_ms : o->beat + 1;
}
