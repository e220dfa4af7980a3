/*
 * RESUME: the holds that an ended connection left become this connection's.
 * The core decides whether, and its views show the holds, a row for each lock;
 * they are written at once, so that they come before any later event. It may
 * take long: what the client says next may be about these holds, and waits.
 */
#include <string.h>

#include "common/error.h"
#include "ipc/connection/keep.h"
#include "ipc/connection/secret.h"
#include "ipc/verbs/room.h"

_Static_assert(IDENT_TEXT_LENGTH == 32, "protocol.def says so");

int
verbs_resume(struct connection *c, const struct protocol_request *q)
{
	const struct codec_text *secret = protocol_text(q, ARGUMENT_SECRET);
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *ask = &event.request;
	struct core_secret known;
	struct ident clear;
	struct pending *p = NULL;
	int r;

	c->secretive = true;
	if (!ident_parse(secret->bytes, secret->length, &clear))
		return connection_reason(c, DDBLOCK_E_BAD_REQUEST, "%s",
		    protocol_argument(ARGUMENT_SECRET)->refusal);
	keep_no_line(c->server);
	r = secret_learn(c->server, clear, &known);
	if (r < 0)
		return r;
	ask->verb = CORE_RESUME;
	ask->secret = &known;
	ask->terms.resumes = c->resumes;
	/* The rows need memory only now, not when it is done. */
	r = request_pending_rows(c, PENDING_RESUME, q, NULL, &p);
	if (r == 0) {
		c->resuming = true;
		r = request_step(c, p, &event);
	}
	explicit_bzero(&clear, sizeof(clear));
	explicit_bzero(&known, sizeof(known));
	return r;
}
