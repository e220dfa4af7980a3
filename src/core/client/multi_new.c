/*
 * Making and freeing what is asked for by one request for several locks
 * (multi.c): all the memory that it will need.
 */
#include "core/client/room.h"

#include <stdlib.h>
#include <string.h>

#include "ddblock.h"

static int
multi_compare(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	size_t n = x->length < y->length ? x->length : y->length;
	int order = memcmp(x->bytes, y->bytes, n);

	return order != 0 ? order :
	    (x->length > y->length) - (x->length < y->length);
}

static void
multi_free_answer(struct multi *j)
{
	for (uint32_t i = 0; i < j->n_rows; i++)
		free(j->answer[i].token_text);
	free(j->answer);
}

/* The core goes away: its locks and holds are freed without it. */
void
multi_free_all(struct core *core)
{
	struct multi *j, *next;
	struct multi_operation *t, *next_operation;

	DL_FOREACH_SAFE(core->multis, j, next)
	{
		for (uint32_t i = 0; !j->held && i < j->n; i++)
			hold_free(core, j->parts[i].hold);
		multi_free_answer(j);
		free(j);
	}
	DL_FOREACH_SAFE(core->multi_operations, t, next_operation)
	{
		free(t);
	}
}

/* Free it and the holds that no client has. */
void
multi_free(struct core *core, struct multi *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct part *part = &j->parts[i];

		if (!j->held)
			hold_free(core, part->hold);
		if (part->lock != NULL) {
			lock_unref(core, part->lock);
		}
	}
	DL_DELETE(core->multis, j);
	multi_free_answer(j);
	free(j);
}

static int
multi_add_lock(struct core *core, struct multi *j, struct namespace *ns,
    const struct core_request *ask, struct key key)
{
	struct part *part = &j->parts[j->n++];
	struct lock *l = lock_find(ns, key);
	int code = 0;

	part->hold = hold_new(ask, j);
	if (part->hold == NULL)
		return DDBLOCK_E_NOMEM;
	code = terms_new(core, ns, part->hold, &ask->terms);
	if (code == 0 && l == NULL)
		code = lock_new(core, ns, key, &l);
	if (code < 0)
		return code;
	part->lock = l;
	lock_ref(l);
	return 0;
}

/* How many locks a request for @n_keys (0: for one) takes; 0: only one. */
uint32_t
multi_n_parts(const struct namespace *ns, uint32_t n_keys)
{
	if (ns->bridge == NULL)
		return n_keys;
	return n_keys == 0 ? 2 : 2 * n_keys;
}

static int
multi_add_locks(struct core *core, struct multi *j, struct namespace *ns,
    const struct core_request *ask, const struct key *keys, uint32_t n)
{
	int code = 0;

	for (uint32_t i = 0; code == 0 && ns != NULL && i < n; i++)
		code = multi_add_lock(core, j, ns, ask, keys[i]);
	return code;
}

/* For all that @ask names; @r is not in a queue yet. */
int
multi_new(struct core *core, struct request *r,
    const struct core_request *ask, struct multi **ret)
{
	const struct key *asked = ask->n_keys == 0 ? &ask->key : ask->keys;
	uint32_t n = ask->n_keys == 0 ? 1 : ask->n_keys;
	uint32_t n_parts = multi_n_parts(r->ns, ask->n_keys);
	struct key keys[MULTI_MAX];
	struct multi *j;
	int code;

	memcpy(keys, asked, n * sizeof(*keys));
	qsort(keys, n, sizeof(*keys), multi_compare);
	for (uint32_t i = 1; i < n; i++) {
		if (multi_compare(&keys[i - 1], &keys[i]) == 0)
			return DDBLOCK_E_BAD_REQUEST;
	}
	j = calloc(1, sizeof(*j) + n_parts * sizeof(struct part));
	if (j == NULL)
		return DDBLOCK_E_NOMEM;
	DL_APPEND(core->multis, j);
	j->request = r;
	j->is_multi = ask->n_keys > 0;
	j->answer = calloc(n, sizeof(*j->answer));
	code = j->answer == NULL ? DDBLOCK_E_NOMEM :
	    multi_add_locks(core, j, r->ns->bridge, ask, keys, n);
	if (code == 0)
		code = multi_add_locks(core, j, r->ns, ask, keys, n);
	if (code < 0) {
		multi_free(core, j);
		return code;
	}
	*ret = j;
	return 0;
}
