/*
 * A session opened, or will not: all that waited for it in its namespace goes
 * on, or is told so. That may be all the waiters that there are, so a step
 * looks at some, in the order of asking.
 */
#include "core/client/room.h"

static void
wake_begin(struct core *core, struct namespace *ns, int code)
{
	if (!ns->waking) {
		ns->waking = true;
		core->n_waking++;
	}
	ns->woken = 0;
	ns->wake_last = core->request_serial;
	ns->wake_code = code;
}

/* Waiters could not ask before there was a session. */
void
wake_opened(struct core *core, struct namespace *ns)
{
	wake_begin(core, ns, 0);
}

/* There will be none: waiters should not wait for a session that will not come.
 * */
void
wake_refused(struct core *core, struct namespace *ns, int code)
{
	wake_begin(core, ns, code);
}

/* One for several keys may be between two locks. */
static void
wake_one(struct core *core, struct namespace *ns, struct request *r)
{
	struct lock *l = r->waiter.lock;
	int code = ns->wake_code;

	if (r->ns != ns || l == NULL || l->grants != NULL)
		return;
	if (code < 0)
		request_reply(core, r, code, 0,
		    code == ns->text_code ? ns->text : NULL);
	else if (l->queue != &r->waiter)
		return;
	lock_advance(core, l);
}

static void
wake_in(struct core *core, struct namespace *ns, uint32_t *n_left)
{
	for (; *n_left > 0; (*n_left)--) {
		struct request *r = request_waiting_after(core, ns->woken);

		if (r == NULL || r->waiter.serial > ns->wake_last) {
			ns->waking = false;
			core->n_waking--;
			return;
		}
		ns->woken = r->waiter.serial;
		wake_one(core, ns, r);
	}
}

void
wake_some(struct core *core, uint32_t *n_left)
{
	for (uint32_t i = 0; i < core->n_namespaces; i++) {
		if (core->namespaces[i].waking)
			wake_in(core, &core->namespaces[i], n_left);
	}
	if (core->due_multis != NULL)
		multi_run(core);
}
