/*
 * The resumes that go on. Such a client has the secret from the beginning, as
 * the one has that it takes over: whatever ends in between, what each of them
 * has lingers by it.
 */
#include "core/client/room.h"

#include <stdlib.h>

#include "ddblock.h"

struct resume *
resume_new(struct core *core, struct client *to)
{
	struct resume *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return NULL;
	m->to = to;
	to->resume = m;
	DL_APPEND(core->resumes, m);
	return m;
}

void
resume_free(struct core *core, struct resume *m)
{
	if (m == NULL)
		return;
	if (m->from != NULL)
		m->from->resume = NULL;
	m->to->resume = NULL;
	DL_DELETE(core->resumes, m);
	if (!action_is_due(&m->closing.action)) {
		free(m);
		return;
	}
	m->next = core->dead_resumes;
	core->dead_resumes = m;
}

void
resume_forget(struct core *core)
{
	while (core->dead_resumes != NULL) {
		struct resume *m = core->dead_resumes;

		core->dead_resumes = m->next;
		free(m);
	}
}

/* The process died before it was over. */
int
resume_inherit(struct core *core, struct client *to, bool resumes)
{
	struct resume *m;

	if (to->linger == NULL || to->gone)
		return DDBLOCK_E_BAD_RECORD;
	m = resume_new(core, to);
	if (m == NULL)
		return DDBLOCK_E_NOMEM;
	m->inherited = m->moves = true;
	m->resumes = resumes;
	return 0;
}
