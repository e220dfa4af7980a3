/*
 * The sessions in a table. See dynamodb_sessions.h.
 *
 * A table has one key space for locks and sessions, so to find these is to look
 * at all of it. A person waits for the result, so what is long has an end.
 */
#include "store/dynamodb_sessions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <json-c/json.h>

#include "common/clock.h"
#include "common/error.h"
#include "dialect/json.h"
#include "dialect/native/native_sessions.h"

#define SESSIONS_CALL_MS 5000
#define SESSIONS_BODY_MAX 16384
#define SESSIONS_PAGES_MAX 200
#define SESSIONS_LATE_MS 5000	/* so much later than its lease it is over */

struct dynamodb_sessions {
	struct dynamodb_jobs *jobs;
	struct store_sessions_calls calls;
	void *arg;
	struct dynamodb_sessions **owner;
	struct event *timer;		/* to begin, from the loop */
	struct aws_call *call;		/* under way; or NULL */
	struct json_object *from;	/* where the next page begins */
	uint32_t n_pages;
	uint64_t n_examined;
	uint64_t wall_ms;		/* the endpoint's, at the beginning */
};

void
dynamodb_sessions_cancel(struct dynamodb_sessions *l)
{
	if (l == NULL)
		return;
	if (l->call != NULL)
		aws_call_cancel(l->call);
	if (l->timer != NULL)
		event_free(l->timer);
	json_object_put(l->from);
	free(l);
}

static void
dynamodb_sessions_end(struct dynamodb_sessions *l, int code, const char *text)
{
	const struct store_sessions_end end = {
		.code = code,
		.text = text,
		.all = code == 0 && l->from == NULL,
		.n_examined = l->n_examined,
	};
	void (*ended)(void *, const struct store_sessions_end *) =
	    l->calls.ended;
	void *arg = l->arg;

	/* What follows may begin another one; the text may be the answer's. */
	*l->owner = NULL;
	dynamodb_sessions_cancel(l);
	ended(arg, &end);
}

static void dynamodb_sessions_send(struct dynamodb_sessions *l);

static void
dynamodb_sessions_tell(struct dynamodb_sessions *l, struct json_object *items)
{
	size_t n = json_object_is_type(items, json_type_array) ?
	    json_object_array_length(items) : 0;

	for (size_t i = 0; i < n; i++) {
		struct native_session s;
		struct store_session told;

		if (!native_read_listed(l->jobs->table,
		    json_object_array_get_idx(items, i), l->wall_ms, &s))
			continue;
		told = (struct store_session){
			.id = s.id, .contact = s.contact, .host = s.host,
			.expired = s.quiet_ms > s.lease_ms + SESSIONS_LATE_MS,
		};
		l->calls.session(l->arg, &told);
	}
}

/* Take in a page, and ask for the next one, or end. */
static void
dynamodb_sessions_take(struct dynamodb_sessions *l, struct json_object *page)
{
	struct json_object *count = json_find(page, "ScannedCount");
	int n;

	dynamodb_sessions_tell(l, json_find(page, "Items"));
	n = json_object_get_int(count);
	l->n_examined += n > 0 ? (uint64_t)n : 0;
	json_object_put(l->from);
	l->from = json_object_get(json_find(page, "LastEvaluatedKey"));
	if (l->from == NULL || ++l->n_pages == SESSIONS_PAGES_MAX)
		dynamodb_sessions_end(l, 0, "");
	else
		dynamodb_sessions_send(l);
}

static void
dynamodb_sessions_on_answer(void *arg, const struct aws_answer *answer)
{
	struct dynamodb_sessions *l = arg;
	struct json_object *page;
	struct aws_error e;

	l->call = NULL;
	aws_errors_classify_answer(answer, &e);
	dynamodb_jobs_learn(l->jobs, answer, &e);
	if (e.class != AWS_CLASS_OK) {
		dynamodb_sessions_end(l, e.code, e.text);
		return;
	}
	page = json_read_object(NULL, answer->body, answer->body_length);
	if (page == NULL)
		dynamodb_sessions_end(l, DDBLOCK_E_PROTOCOL,
		    error_text(DDBLOCK_E_PROTOCOL));
	else
		dynamodb_sessions_take(l, page);
	json_object_put(page);
}

static void
dynamodb_sessions_send(struct dynamodb_sessions *l)
{
	struct buffer body;
	int r;

	buffer_init(&body, SESSIONS_BODY_MAX);
	native_write_sessions(l->jobs->table, l->from, l->wall_ms, &body);
	r = buffer_failed(&body);
	if (r == 0)
		r = aws_client_call(l->jobs->client, AWS_LANE_BULK, USER_NONE,
		    "Scan", body.data, body.length, SESSIONS_CALL_MS,
		    dynamodb_sessions_on_answer, l, &l->call);
	buffer_done(&body);
	if (r < 0)
		dynamodb_sessions_end(l, r, error_text(r));
	else
		l->jobs->requests++;
}

static void
dynamodb_sessions_begin(evutil_socket_t fd, short what, void *arg)
{
	struct dynamodb_sessions *l = arg;

	(void)fd;
	(void)what;
	l->wall_ms = aws_client_wall_ms(l->jobs->client);
	if (l->wall_ms == 0)
		l->wall_ms = clock_wall_ms();
	dynamodb_sessions_send(l);
}

int
dynamodb_sessions_run(struct dynamodb_jobs *jobs,
    const struct store_sessions_calls *calls, void *arg,
    struct dynamodb_sessions **ret)
{
	struct dynamodb_sessions *l;

	assert(*ret == NULL);
	if (jobs->dialect != &dialect_native)
		return DDBLOCK_E_UNSUPPORTED;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return DDBLOCK_E_NOMEM;
	l->jobs = jobs;
	l->calls = *calls;
	l->arg = arg;
	l->owner = ret;
	l->timer = evtimer_new(jobs->base, dynamodb_sessions_begin, l);
	if (l->timer == NULL) {
		dynamodb_sessions_cancel(l);
		return DDBLOCK_E_NOMEM;
	}
	*ret = l;
	event_active(l->timer, EV_TIMEOUT, 0);
	return 0;
}
