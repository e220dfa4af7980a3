/*
 * Locks whose records are read together, because no operation reads them: by
 * the audit (audit.c), and for watchers (watch.c). A lock of a batch is not
 * freed before the answer has been dealt with.
 *
 * The row of a lock counts only if no operation of its own was under way
 * meanwhile: it is not known which of the two the table saw first.
 */
#include "core/reads/room.h"

#include <assert.h>

bool
batch_is_full(const struct batch *b)
{
	return b->n_locks == READ_MANY_MAX;
}

bool
batch_has(const struct batch *b, const struct lock *l)
{
	for (size_t i = 0; i < b->n_locks; i++) {
		if (b->locks[i] == l)
			return true;
	}
	return false;
}

void
batch_add(struct batch *b, struct lock *l)
{
	size_t i = b->n_locks;

	assert(!b->busy && !batch_is_full(b) && l->submission == NULL);
	lock_ref(l);
	b->locks[i] = l;
	b->writes[i] = l->writes;
	b->looks[i] = l->looks;
	b->keys[i] = lock_key(l);
	b->n_locks++;
}

void
batch_send(struct core *core, struct batch *b, struct namespace *ns,
    enum core_about about)
{
	assert(!b->busy && b->n_locks > 0);
	b->submit.operation = (struct operation){
		.user = USER_NONE,
		.keys = b->keys,
		.n_keys = b->n_locks,
	};
	b->busy = true;
	action_submit(core, &b->submit, ns, OPERATION_READ_MANY,
	    core->now_ms + ns->settings.request_ms, about, ns);
}

/* Was no write on this lock under way since the batch was sent? */
bool
batch_is_unwritten(const struct batch *b, size_t i)
{
	return b->locks[i]->writes == b->writes[i];
}

/* And nothing seen of it either, nor will be before this? */
bool
batch_is_news(const struct batch *b, size_t i)
{
	return batch_is_unwritten(b, i) && b->locks[i]->submission == NULL &&
	    b->locks[i]->looks == b->looks[i];
}

/* The answer has been dealt with. When may the next batch be sent? */
uint64_t
batch_end(struct core *core, struct batch *b)
{
	size_t n_locks = b->n_locks;

	b->n_locks = 0;
	for (size_t i = 0; i < n_locks; i++) {
		lock_unref(core, b->locks[i]);
	}
	return core->now_ms + 1000 * n_locks / LOOKS_PER_SECOND;
}
