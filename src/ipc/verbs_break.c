/*
 * BREAK: administrators only, with the token (or, in record formats without
 * sessions, the record) that was seen, and with a reason for those who will
 * ask.
 */
#include <stdio.h>
#include <syslog.h>

#include "ddblock.h"
#include "ipc/connection.h"

#define BREAK_REASON_MAX 200	/* bytes */

static int
break_token(struct connection *c, const struct codec_line *l,
    struct core_request *q)
{
	const struct codec_text *text = codec_find(l, "token");
	const struct codec_text *record = codec_find(l, "record");
	uint64_t *ret = &q->token;

	if ((text == NULL) == (record == NULL))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "BREAK needs "
		    "token=, as GET or LIST showed it, or record=, as GET did");
	if (record != NULL && (record->length == 0 ||
	    !codec_is_line(record->bytes, record->length)))
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "record is the text that GET showed");
	if (record != NULL) {
		q->record = record->bytes;	/* a NUL follows */
		return 0;
	}
	if (codec_parse_number(text->bytes, text->length, ret) &&
	    *ret > 0 && *ret <= TOKEN_MAX)
		return 0;
	return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
	    "token is the lock's number that GET or LIST showed");
}

/* It goes into the record and the log, so it is one line of text. */
static int
break_reason(struct connection *c, const struct codec_line *l,
    const char **ret)
{
	const struct codec_text *text = codec_find(l, "reason");

	if (text == NULL || text->length == 0)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST,
		    "BREAK needs reason=, for those who will ask why");
	if (!codec_is_line(text->bytes, text->length) ||
	    text->length > BREAK_REASON_MAX)
		return verbs_reason(c, DDBLOCK_E_BAD_REQUEST, "the reason is "
		    "one line of UTF-8 text, at most %d bytes",
		    BREAK_REASON_MAX);
	*ret = text->bytes;	/* a NUL follows */
	return 0;
}

static int
break_deny(struct connection *c)
{
	server_log(c->server, LOG_WARNING, "client %s (pid %ld, uid %ld) may "
	    "not break locks", c->peer.name, (long)c->peer.pid,
	    (long)c->peer.uid);
	return verbs_reason(c, DDBLOCK_E_DENIED, "only root and the members "
	    "of the daemon's admin_group may break a lock");
}

int
verbs_break(struct connection *c, const struct codec_line *l)
{
	struct core_event event = { .type = CORE_REQUEST };
	struct core_request *q = &event.request;
	char who[OWNER_LENGTH_MAX + 32];
	char owner[OWNER_LENGTH_MAX + 1];
	char name[KEY_BYTES_MAX];
	int r;

	if (!peer_is_admin(&c->peer, c->fd, c->server->admin_group))
		return break_deny(c);
	r = verbs_namespace(c, l, &q->namespace_index);
	if (r == 0)
		r = verbs_name(c, l, &l->arguments[0].value,
		    q->namespace_index, name, &q->key);
	if (r == 0)
		r = break_token(c, l, q);
	if (r == 0)
		r = break_reason(c, l, &q->reason);
	if (r < 0)
		return r;
	peer_owner(&c->peer, c->server->host, owner, sizeof(owner));
	(void)snprintf(who, sizeof(who), "%s (uid %ld)", owner,
	    (long)c->peer.uid);
	q->verb = CORE_BREAK;
	q->owner = who;
	return verbs_ask(c, l, &event);
}
