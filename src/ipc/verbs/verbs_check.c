/*
 * CHECK: the stores check the namespaces, one after the other. It costs
 * requests and shows details of a table and its host, so it is for the
 * administrators of the daemon, and for the user that it runs as.
 */
#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/finding.h"
#include "ddblock.h"
#include "ipc/verbs/room.h"

static void
check_end(struct connection *c, struct pending *p)
{
	struct buffer *b = connection_out(c);

	codec_begin(b, p->tag, "OK");
	codec_number(b, "rows", p->listing->n_rows);
	codec_number(b, "warnings", p->listing->n_warnings);
	codec_number(b, "errors", p->listing->n_errors);
	codec_end(b, NULL);
	pending_free(c, p);
	connection_queued(c);
}

/* Check the next namespace, or end. Negative: with the reason, and @p is
 * gone. */
static int
check_next(struct connection *c, struct pending *p)
{
	const struct server *s = c->server;
	struct listing *l = p->listing;
	int r;

	if (l->namespaces == 0) {
		check_end(c, p);
		return 0;
	}
	l->namespace_index = (uint32_t)__builtin_ctzll(l->namespaces);
	l->namespaces &= l->namespaces - 1;
	r = s->calls.check(s->arg, l->namespace_index, c->client, p->number);
	if (r == 0)
		return 0;
	if (r == DDBLOCK_E_LIMIT)
		(void)connection_reason(c, r, "namespace \"%.60s\" is being "
		    "checked already",
		    s->calls.namespace_name(s->arg, l->namespace_index));
	else
		(void)connection_reason(c, r, "%s", error_text(r));
	pending_free(c, p);
	return r;
}

static void
check_row(struct connection *c, struct pending *p, const struct finding *f)
{
	const struct server *s = c->server;
	struct listing *l = p->listing;
	struct buffer *b = connection_out(c);

	l->n_rows++;
	l->n_warnings += f->state == FINDING_WARNING;
	l->n_errors += f->state == FINDING_ERROR;
	codec_begin(b, p->tag, "+");
	codec_text_value(b, "ns",
	    s->calls.namespace_name(s->arg, l->namespace_index));
	codec_text_value(b, "check", f->check);
	codec_text_value(b, "state", finding_word(f->state));
	codec_text_value(b, "text", f->text);
	if (f->advice[0] != '\0')
		codec_text_value(b, "advice", f->advice);
	codec_end(b, NULL);
	connection_queued(c);
}

/* What the core saw in the records; nothing is said if that is as it should be.
 */
static void
check_tokens(struct connection *c, struct pending *p)
{
	const struct server *s = c->server;
	struct core_namespace_view v;
	struct finding f;

	core_view_namespace(s->calls.core(s->arg),
	    p->listing->namespace_index, clock_boot_ms(), &v);
	if (v.counters.tokens_back == 0)
		return;
	finding_set(&f, "tokens", FINDING_WARNING, "%" PRIu64 " records had "
	    "lower tokens than before, since this daemon began: was the table "
	    "restored from a backup?", v.counters.tokens_back);
	finding_advise(&f, "raise the tokens of all records, once: ddblock "
	    "raise-tokens --ns=%s", v.name);
	check_row(c, p, &f);
}

void
server_finding(struct server *s, uint64_t client, uint64_t request,
    const struct finding *f)
{
	struct connection *c = server_find(s, client);
	struct pending *p = c == NULL ? NULL : pending_find(c, request);
	char tag[CODEC_TAG_MAX + 1];
	int r;

	if (p == NULL)
		return;
	if (f != NULL) {
		check_row(c, p, f);
		return;
	}
	check_tokens(c, p);
	(void)memcpy(tag, p->tag, sizeof(tag));
	r = check_next(c, p);
	if (r < 0)
		connection_refuse(c, tag, r, s->reason);
}

int
verbs_check(struct connection *c, const struct protocol_request *q)
{
	const struct server *s = c->server;
	uint32_t n = s->calls.n_namespaces(s->arg);
	uint64_t namespaces = UINT64_MAX >> (64 - n);
	struct pending *p = NULL;
	int r = request_namespaces(c, q, &namespaces);

	if (r == 0)
		r = request_administers(c, namespaces);
	if (r == 0)
		r = request_pending_rows(c, PENDING_CHECK, q, NULL, &p);
	if (r < 0)
		return r;
	p->listing->namespaces = namespaces;
	return check_next(c, p);
}
