/*
 * One round: the status; the lists, if they are due and looked at; the lock
 * that is looked into, if one is. Each request is sent when the one before is
 * answered, so the daemon works on no more than one of them.
 *
 * A daemon lists all that it has, so with many locks a listing takes long. Then
 * it comes less often; and one of more rows than FEED_ROWS_MAX is ended.
 */
#include <config.h>

#include "cli/top/feed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define FEED_RETRY_MS 300
#define FEED_SILENT_MS 3000
#define FEED_BREAK_TRIES 5	/* for a record that changes meanwhile */

struct feed_record {
	const char *owner;	/* whose it is to be */
	char *record;		/* or NULL */
};

static void feed_start(struct feed *, enum feed_phase);

void
feed_init(struct feed *f, const char *path, struct model *m,
    struct detail *d, struct view *v)
{
	*f = (struct feed){ .path = path, .model = m, .detail = d, .view = v };
}

void
feed_done(struct feed *f)
{
	ddblock_close(f->d);
	f->d = NULL;
}

/* ---- the connection ------------------------------------------------- */

static void
feed_trouble(struct feed *f, int code, const char *why)
{
	(void)snprintf(f->view->trouble, sizeof(f->view->trouble), "%s: %s",
	    f->path, why[0] != '\0' ? why : ddblock_error_text(code));
	f->code = code;
	f->retry_ms = clock_boot_ms() + FEED_RETRY_MS;
	f->changed = true;
}

static void
feed_lose(struct feed *f)
{
	char why[256];

	(void)snprintf(why, sizeof(why), "%s", ddblock_last_text(f->d));
	ddblock_close(f->d);
	f->d = NULL;
	f->phase = FEED_IDLE;
	f->lost = false;
	f->view->silent_ms = 0;
	feed_trouble(f, DDBLOCK_E_NO_DAEMON, why);
}

static void
feed_on_event(void *arg, struct ddblock *d, const struct ddblock_event *event)
{
	struct feed *f = arg;

	(void)d;
	if (event->kind == DDBLOCK_EVENT_DISCONNECTED)
		f->lost = true;
}

static void
feed_connect(struct feed *f)
{
	int r = ddblock_open(f->path, "ddblock-top", &f->d);

	if (r < 0) {
		f->d = NULL;
		feed_trouble(f, r, r == DDBLOCK_E_NO_DAEMON ?
		    strerror(errno) : "");
		return;
	}
	ddblock_on_event(f->d, feed_on_event, f);
	f->view->trouble[0] = '\0';
	f->due_ms = f->lists_due_ms = 0;
	f->inside_wanted = f->view->mode == VIEW_DETAIL;
	f->changed = true;
}

/* ---- a round -------------------------------------------------------- */

static bool
feed_lists_are_due(const struct feed *f)
{
	const struct view *v = f->view;

	return v->mode == VIEW_LIST && f->lists_due_ms <= clock_boot_ms() &&
	    !(v->paused && f->lists_due_ms != 0);
}

static void
feed_end_of_lists(struct feed *f)
{
	struct model *m = f->model;
	uint64_t now_ms = clock_boot_ms();
	uint64_t pace_ms = f->view->interval_ms;

	model_end(m, now_ms, clock_wall_ms(), f->partial);
	f->view->pace_ms = m->took_ms * FEED_SHARE;
	if (f->view->pace_ms > pace_ms)
		pace_ms = f->view->pace_ms;
	f->lists_due_ms = m->began_ms + pace_ms;
	f->n_looks++;
	view_on_lists(f->view, m);
}

/* After the answer of a phase, the next. */
static void
feed_go_on(struct feed *f)
{
	bool inside = f->view->mode == VIEW_DETAIL &&
	    (f->inside_wanted || !f->view->paused);

	switch (f->phase) {
	case FEED_STATUS:
		feed_start(f, feed_lists_are_due(f) ? FEED_WAITING :
		    inside ? FEED_GET : FEED_IDLE);
		break;
	case FEED_WAITING:
		feed_start(f, FEED_HELD);
		break;
	case FEED_HELD:
		feed_end_of_lists(f);
		feed_start(f, inside ? FEED_GET : FEED_IDLE);
		break;
	case FEED_GET:
		feed_start(f, FEED_KEY_HELD);
		break;
	case FEED_KEY_HELD:
		feed_start(f, FEED_KEY_WAITING);
		break;
	case FEED_KEY_WAITING:
		if (f->inside_number == f->detail->number) {
			detail_end(f->detail);
			view_on_detail(f->view, f->detail);
		}
		feed_start(f, FEED_IDLE);
		break;
	default:
		break;
	}
}

static void
feed_on_row(void *arg, const struct ddblock_row *row, bool final)
{
	struct feed *f = arg;
	struct model_namespace ns;
	struct row r;

	(void)final;	/* of the others, the reply has it */
	f->heard_ms = clock_boot_ms();
	if (f->ended)
		return;
	switch (f->phase) {
	case FEED_STATUS:
		feed_namespace(&ns, row);
		model_namespace(f->model, &ns);
		return;
	case FEED_WAITING:
		feed_waiting_row(&r, row);
		model_wait(f->model, &r);
		break;
	case FEED_HELD:
		feed_held_row(&r, row);
		model_hold(f->model, &r);
		break;
	case FEED_KEY_HELD:
		feed_held_row(&r, row);
		if (f->inside_number == f->detail->number)
			detail_hold(f->detail, &r);
		break;
	case FEED_KEY_WAITING:
		feed_waiting_row(&r, row);
		if (f->inside_number == f->detail->number)
			detail_waiter(f->detail, &r);
		break;
	default:
		return;
	}
	if (++f->n_rows < FEED_ROWS_MAX)
		return;
	f->ended = f->partial = true;
	(void)ddblock_cancel(f->d, f->request);
}

static void
feed_on_reply(void *arg, struct ddblock *d, const struct ddblock_reply *reply)
{
	struct feed *f = arg;
	struct model_daemon daemon;

	(void)d;
	f->heard_ms = clock_boot_ms();
	f->changed = true;
	if (reply->code != 0 && !f->ended)
		f->code = reply->code;
	if (f->lost || reply->code == DDBLOCK_E_NO_DAEMON)
		return;
	if (reply->code != 0 && !f->ended && f->phase != FEED_GET) {
		view_say(f->view, PAGE_BAD, "%s: %s",
		    ddblock_error_name(reply->code), reply->text);
		/* The round is over. */
		f->lists_due_ms = f->heard_ms + f->view->interval_ms;
		feed_start(f, FEED_IDLE);
		return;
	}
	if (f->phase == FEED_STATUS && reply->row != NULL) {
		feed_daemon(&daemon, reply->row);
		model_status(f->model, &daemon, f->heard_ms);
	}
	if (f->phase == FEED_GET &&
	    f->inside_number == f->detail->number) {
		if (reply->row != NULL)
			feed_inside(f->detail, reply->row);
		f->detail->coming.code = reply->code;
	}
	feed_go_on(f);
}

/* Send the request of that phase. */
static void
feed_start(struct feed *f, enum feed_phase phase)
{
	static const enum ddblock_query_kind kinds[] = {
		[FEED_STATUS] = DDBLOCK_QUERY_STATUS,
		[FEED_WAITING] = DDBLOCK_QUERY_WAITING,
		[FEED_HELD] = DDBLOCK_QUERY_HELD,
		[FEED_GET] = DDBLOCK_QUERY_GET,
		[FEED_KEY_HELD] = DDBLOCK_QUERY_HELD,
		[FEED_KEY_WAITING] = DDBLOCK_QUERY_WAITING,
	};
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;

	f->phase = phase;
	f->n_rows = 0;
	f->ended = false;
	if (phase == FEED_IDLE)
		return;
	if (phase == FEED_STATUS)
		model_begin_status(f->model);
	if (phase == FEED_WAITING) {
		f->partial = false;
		model_begin(f->model, clock_boot_ms());
	}
	if (phase == FEED_GET) {
		f->inside_wanted = false;
		f->inside_number = f->detail->number;
		detail_begin(f->detail, clock_wall_ms());
	}
	query.ns = phase == FEED_STATUS ? NULL : f->ns;
	query.sort = phase == FEED_STATUS ? NULL : f->sort;
	if (phase >= FEED_GET) {
		query.ns = f->detail->ns;
		query.key = f->detail->key;
		query.sort = f->detail->sort[0] == '\0' ? NULL :
		    f->detail->sort;
	}
	if (ddblock_query_start(f->d, kinds[phase], &query, feed_on_row,
	    feed_on_reply, f, &f->request) < 0)
		f->lost = true;
}

void
feed_step(struct feed *f)
{
	uint64_t now_ms = clock_boot_ms();

	if (f->d == NULL && now_ms >= f->retry_ms)
		feed_connect(f);
	if (f->d == NULL)
		return;
	if (f->phase == FEED_IDLE && (now_ms >= f->due_ms ||
	    f->inside_wanted)) {
		f->due_ms = now_ms + f->view->interval_ms;
		f->heard_ms = now_ms;
		feed_start(f, FEED_STATUS);
	}
	if (f->lost || ddblock_dispatch(f->d) < 0 || f->lost) {
		feed_lose(f);
		return;
	}
	now_ms = clock_boot_ms();
	if (f->phase == FEED_IDLE || now_ms < f->heard_ms + FEED_SILENT_MS)
		f->view->silent_ms = 0;
	else {
		f->view->silent_ms = now_ms - f->heard_ms;
		f->changed = true;
	}
}

int
feed_fd(struct feed *f)
{
	return f->d == NULL ? -1 : ddblock_fd(f->d);
}

uint64_t
feed_next_ms(const struct feed *f)
{
	if (f->d == NULL)
		return f->retry_ms;
	if (f->phase != FEED_IDLE)
		return f->heard_ms + FEED_SILENT_MS + f->view->silent_ms;
	return f->inside_wanted ? 0 : f->due_ms;
}

/* ---- what the user wants -------------------------------------------- */

void
feed_look(struct feed *f)
{
	const struct model *m = f->model;
	uint64_t rest_ms = f->view->pace_ms > f->view->interval_ms ?
	    m->took_ms : 0;

	/* Typing does not make a daemon list without a pause. */
	f->lists_due_ms = m->began_ms + m->took_ms + rest_ms;
	f->due_ms = f->lists_due_ms;
	if (f->view->paused)
		f->lists_due_ms = 0;
}

void
feed_open(struct feed *f)
{
	f->inside_wanted = true;
}

static void
feed_broken(struct feed *f, int code, const char *text)
{
	if (code == 0)
		view_say(f->view, PAGE_GOOD, "broken: %s", f->detail->key);
	else
		view_say(f->view, PAGE_BAD, "not broken: %s: %s",
		    ddblock_error_name(code), text == NULL ||
		    text[0] == '\0' ? ddblock_error_text(code) : text);
	f->inside_wanted = f->view->mode == VIEW_DETAIL;
	f->changed = true;
}

static void
feed_on_break(void *arg, struct ddblock *d, const struct ddblock_reply *reply)
{
	(void)d;
	feed_broken(arg, reply->code, reply->text);
}

/* The present record, if its owner is the one that was shown. */
static void
feed_on_record(void *arg, const struct ddblock_row *row, bool final)
{
	struct feed_record *r = arg;
	const char *owner = ddblock_row_find(row, "owner", NULL);
	const char *record = ddblock_row_find(row, "record", NULL);

	if (final && record != NULL && owner != NULL &&
	    strcmp(owner, r->owner) == 0)
		r->record = strdup(record);
}

/* In a format without tokens a living holder writes another record with each
 * heartbeat. So its latest one is broken, as by `ddblock break`. */
static int
feed_break_latest(struct feed *f, const char *sort)
{
	struct ddblock_query_options query = DDBLOCK_QUERY_OPTIONS_INIT;
	struct feed_record latest = { .owner = f->view->breaking.owner };
	int r;

	query.ns = f->detail->ns;
	query.key = f->detail->key;
	query.sort = sort;
	r = ddblock_query(f->d, DDBLOCK_QUERY_GET, &query, feed_on_record,
	    &latest);
	if (r < 0)
		return r;
	if (latest.record == NULL)
		return DDBLOCK_E_LOCK_STOLEN;
	r = ddblock_break_record(f->d, query.key, query.ns, sort,
	    latest.record, f->view->breaking.reason);
	free(latest.record);
	return r;
}

static void
feed_break_record(struct feed *f, const char *sort)
{
	int r = DDBLOCK_E_WRONG_TOKEN;

	for (int i = 0; i < FEED_BREAK_TRIES && r == DDBLOCK_E_WRONG_TOKEN;
	    i++)
		r = feed_break_latest(f, sort);
	if (r == DDBLOCK_E_LOCK_STOLEN)
		feed_broken(f, DDBLOCK_E_WRONG_TOKEN,
		    "it has another holder by now");
	else
		feed_broken(f, r, r < 0 ? ddblock_last_text(f->d) : "");
}

void
feed_break(struct feed *f)
{
	const struct view_breaking *b = &f->view->breaking;
	const char *sort = f->detail->sort[0] == '\0' ? NULL :
	    f->detail->sort;
	int r;

	if (f->d == NULL || b->number != f->detail->number) {
		feed_broken(f, DDBLOCK_E_NO_DAEMON, "");
		return;
	}
	if (b->token == 0) {
		feed_break_record(f, sort);
		return;
	}
	r = ddblock_break_start(f->d, f->detail->key, f->detail->ns, sort,
	    b->token, b->reason, feed_on_break, f, NULL);
	if (r < 0)
		feed_broken(f, r, ddblock_last_text(f->d));
	else
		view_say(f->view, PAGE_PLAIN, "breaking");
}
