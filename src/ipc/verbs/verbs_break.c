/*
 * BREAK: with the token (or, in record formats without sessions, the record)
 * that was seen, and with a reason, for people. It goes into the record and the
 * log, so it is one line of text.
 */
#include <stdio.h>

#include "ipc/connection/rights.h"
#include "ipc/verbs/room.h"

_Static_assert(TOKEN_MAX == (UINT64_C(1) << 53) - 1, "protocol.def says so");

int
verbs_break(struct connection *c, const struct protocol_request *q)
{
	const struct codec_text *record = protocol_text(q, ARGUMENT_RECORD);
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	char who[OWNER_LENGTH_MAX + 32];
	char owner[OWNER_LENGTH_MAX + 1];
	char name[KEY_BYTES_MAX];
	int r = request_lock(c, q, ask, name);

	if (r == 0)
		r = rights_check(c, ask->namespace_index, &ask->key,
		    ACCESS_BREAK);
	if (r < 0)
		return r;
	/* A NUL follows each text. */
	ask->token = protocol_number(q, ARGUMENT_TOKEN);
	ask->record = record == NULL ? NULL : record->bytes;
	ask->reason = protocol_text(q, ARGUMENT_REASON)->bytes;
	owner_of_client(c, owner);
	(void)snprintf(who, sizeof(who), "%s (uid %ld)", owner,
	    (long)c->peer.uid);
	ask->verb = CORE_BREAK;
	ask->owner = who;
	return request_ask(c, q, &event);
}
