/*
 * RAISE: a higher token for the record of a lock, by an administrator.
 */
#include "ipc/verbs/room.h"

int
verbs_raise(struct connection *c, const struct protocol_request *q)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	char name[KEY_BYTES_MAX];
	int r = request_lock(c, q, ask, name);

	if (r == 0)
		r = request_administers(c,
		    UINT64_C(1) << ask->namespace_index);
	if (r < 0)
		return r;
	ask->verb = CORE_RAISE;
	ask->token = protocol_number(q, ARGUMENT_TO);
	return request_ask(c, q, &event);
}
